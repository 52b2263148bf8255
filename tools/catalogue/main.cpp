// Prints docs/catalogue.md: what each recipe is, from the recipes themselves. What no recipe says (models, exports, sources)
// comes from texts.h.
//
//   sima_catalogue                 prints the page
//   sima_catalogue --check FILE    compares it with a file and names the first line that differs

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "boxdecode/check/groups.h"
#include "boxdecode/check/text.h"
#include "boxdecode/plan/plan.h"
#include "boxdecode/recipes/catalogue.h"
#include "texts.h"

namespace catalogue {
namespace {

using namespace detail;
using bd::Anchor;

// A number with up to six significant digits.
std::string rounded(double value) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%.6g", value);
  return buffer;
}

std::string joined(const std::vector<std::string> &parts, const char *between) {
  std::string all;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    all += (i == 0 ? "" : between) + parts[i];
  }
  return all;
}

std::string tasks_of(const Recipe &recipe) {
  std::string tasks = "Detection";
  tasks += recipe.pose() ? ", Pose" : "";
  tasks += recipe.segmentation() ? ", Segmentation" : "";
  return tasks;
}

bool has_signature(const Recipe &recipe) { return has_signature(recipe.anchors); }

std::string enclosed(char open, const std::string &text, char close) { return open + text + close; }

// The task that a part needs; empty: none in particular.
std::string task_of(Part part) {
  if (in_task(part, bd::Task::Detection)) {
    return {};
  }
  return in_task(part, bd::Task::Pose) ? "Pose" : "Segmentation";
}

// Whether a combined head has a part only where it names a role for it.
bool is_optional(const Recipe &recipe, Part part) {
  const std::optional<PortRule> rule = recipe.port_of(part);
  return rule && rule->optional;
}

std::string presence_of(const PortRule &rule) {
  std::vector<std::string> tasks;
  for (const Part part : rule.parts) {
    if (const std::string task = task_of(part); !task.empty()) {
      tasks.push_back(task);
    }
  }
  return !tasks.empty() ? joined(tasks, ", ") : rule.optional ? "on all heads or on none" : "always";
}

// Channels of one anchor in a port that holds these parts and nothing else.
std::string channels_of(const Recipe &recipe, const Parts &parts) {
  std::string sum;
  std::vector<std::string> by_task;
  const bool counted = recipe.background_first() && Recipe::has(parts, Part::Background);
  for (const Part part : parts) {
    const std::string count = part_channels(part, recipe.box);
    if (!task_of(part).empty()) {
      by_task.push_back(count);
    } else if (is_optional(recipe, part) && !sum.empty()) {
      sum += " (+ " + count + ")";
    } else if (!(counted && part == Part::Background)) {
      sum += (sum.empty() ? "" : " + ") + (counted && part == Part::Classes ? "C" : count);
    }
  }
  if (by_task.empty()) {
    return sum;
  }
  return sum.empty() ? joined(by_task, " or ") : sum + " (+ " + joined(by_task, " or ") + ")";
}

// What one anchor holds, in the order of memory; in brackets what only some heads have.
std::string contents_of(const Recipe &recipe, const Parts &parts, bool combined) {
  std::vector<std::string> names;
  for (const Part part : parts) {
    const std::string name = part_contents(part, recipe.box);
    const bool some = combined && (is_optional(recipe, part) || !task_of(part).empty());
    names.push_back(some ? enclosed('(', name, ')') : name);
  }
  return enclosed('[', joined(names, ", "), ']');
}

std::string channel_order(const Recipe &recipe) {
  std::vector<std::string> ports;
  const Major usual = recipe.ports.empty() ? Major::Anchor : recipe.ports.begin()->major;
  const auto add = [&](const std::string &name, const std::string &contents, Major major) {
    ports.push_back(name + " " + contents + (major == usual ? "" : " " + major_text(major)));
  };
  for (const PortRule &rule : recipe.ports) {
    if (task_of(*rule.parts.begin()).empty()) {
      add(name_of(rule.role), contents_of(recipe, rule.parts, false), rule.major);
      continue;
    }
    std::vector<std::string> ways;  // one for each task
    for (const Part part : rule.parts) {
      ways.push_back(enclosed('[', part_contents(part, recipe.box), ']'));
    }
    add(name_of(rule.role), joined(ways, " or "), rule.major);
  }
  if (!recipe.combined.empty()) {
    add("combined", contents_of(recipe, recipe.combined, true), Major::Anchor);
  }
  return (recipe.anchors == AnchorRule::One ? "" : major_text(usual) + ": ") + joined(ports, "; ");
}

std::string arrangement_text(const Recipe &recipe) {
  if (recipe.ports.empty()) {
    return "one port for each head: `boxes` and `scores` name the same one";
  }
  if (recipe.combined.empty()) {
    return "one port for each role";
  }
  return "one port for each role, or one for each head (`boxes`, `scores` and every other role that is there name the "
         "same one); every head in the same form";
}

std::string background_text(const Recipe &recipe) {
  if (!recipe.has(Part::Background)) {
    return "none";
  }
  return recipe.background_first() ? "class 0, never emitted; ids keep their encoded index, and `num_classes` counts it"
                                   : "the last encoded class, never emitted; `num_classes` does not count it";
}

std::string heads_text(const Recipe &recipe) {
  if (has_signature(recipe)) {
    return "exactly " + text(recipe.signature.grids.size());
  }
  return recipe.exact_heads != 0 ? "exactly " + text(recipe.exact_heads) : "1 to 64";
}

std::string grid_text(const Recipe &recipe) {
  if (has_signature(recipe)) {
    return "fixed by the signature; model input " + text(recipe.signature.input_side) + "x" + text(recipe.signature.input_side);
  }
  if (steps_by_pixels(recipe.priors)) {
    return "any, no larger than the model input";
  }
  return recipe.free_grid ? "any" : "must divide the model input";
}

std::string classes_text(const Recipe &recipe) {
  if (recipe.exact_classes != 0) {
    return "`num_classes` is " + text(recipe.exact_classes);
  }
  const Signature &signature = recipe.signature;
  if (signature.prefix) {
    return text(signature.encoded_classes) + " encoded; `num_classes` 2 to " + text(signature.encoded_classes) +
           " selects a prefix";
  }
  if (has_signature(recipe)) {
    return text(signature.encoded_classes) + " encoded in the published model; another count C ≥ 2 is read from the conf "
                                             "tensors, and `num_classes` equals it";
  }
  return "`num_classes` is what the score head has";
}

std::string best_class_score(const Recipe &recipe) {
  const std::string product = "act(objectness)·act(class), where act(objectness) must be > 0";
  const std::string one_class = one_class_text(recipe.one_class);
  if (!recipe.has(Part::Objectness)) {
    return "act(class)";
  }
  return (is_optional(recipe, Part::Objectness) ? "act(class), or with objectness " : "") + product + one_class;
}

std::string score_text(const Recipe &recipe) {
  std::string score = score_formula(recipe.score);
  if (recipe.score == ScoreForm::BestClass) {
    score += "; score = " + best_class_score(recipe);
  }
  if (is_softmax(recipe.score)) {
    score += "; " + nonfinite_text(recipe.nonfinite_logit);
  }
  if (recipe.class_is_level) {
    score += "; the class id is the head's index";
  }
  return score;
}

std::string layout_text(const Recipe &recipe) {
  std::vector<std::string> rules;
  if (recipe.any_channel_tile) {
    rules.emplace_back("`MlaCBlocked` takes any tile_c");
  } else if (recipe.channel_tile_sixteen) {
    rules.emplace_back("`MlaCBlocked` needs a tile_c that is a multiple of 16 or holds all channels");
  } else {
    rules.emplace_back(
        "`MlaCBlocked` needs a tile_c that is a multiple of 16 or holds all channels for INT8 and UINT8; BF16 takes "
        "any");
  }
  if (!recipe.combined.empty()) {
    rules.emplace_back("a combined port needs such a tile_c for BF16 too, and a multiple of 16 physical channels where it is "
                       "padded");
  }
  if (const std::string padding = padding_text(recipe.score_padding); !padding.empty()) {
    rules.push_back(padding);
  }
  return joined(rules, "; ");
}

std::string parameters_text(const Recipe &recipe) {
  std::vector<std::string> taken;
  const auto take = [&taken](bool used, const char *name) {
    if (used) {
      taken.emplace_back(name);
    }
  };
  take(recipe.takes_anchors, "`anchors`");
  take(is_told(recipe.box.unit), "`box_unit`");
  take(recipe.takes_anchor_scale, "`anchor_scale`");
  take(is_told(recipe.box.curve), "`box_activation`");
  take(recipe.takes_peak_window, "`peak_window`");
  take(!never_suppresses(recipe.suppression), "`class_agnostic`, `suppression_corners`");
  take(is_told(recipe.one_class), "`one_class_uses_objectness`");
  take(recipe.pose(), "`num_keypoints`, `keypoint_dims` (Pose)");
  take(are_decoded(recipe.keypoints), "`keypoint_unit` (Pose)");
  take(recipe.segmentation(), "`mask_prototype`, `mask_encoding` (Segmentation)");
  return joined(taken, ", ");
}

// ---- priors, as the library makes them ------------------------------------------------------------------------------

struct LevelShape {
  std::uint32_t grid = 0;
  std::uint32_t anchors = 0;
};

std::vector<LevelShape> example_levels(const Recipe &recipe) {
  std::vector<LevelShape> levels;
  if (has_signature(recipe)) {
    for (std::size_t level = 0; level < recipe.signature.grids.size(); ++level) {
      levels.push_back({static_cast<std::uint32_t>(recipe.signature.grids[level]),
                        static_cast<std::uint32_t>(recipe.signature.anchors[level])});
    }
    return levels;
  }
  if (steps_by_pixels(recipe.priors)) {
    return {{200, 3}, {100, 3}, {50, 3}, {25, 3}, {13, 3}};
  }
  return {{64, 9}, {32, 9}, {16, 9}, {8, 9}, {4, 9}};
}

std::int64_t example_side(const Recipe &recipe) {
  if (has_signature(recipe)) {
    return recipe.signature.input_side;
  }
  return steps_by_pixels(recipe.priors) ? 800 : 512;
}

std::string size_text(const Anchor &size, double unit) {
  return rounded(static_cast<double>(size.width) * unit) + "×" + rounded(static_cast<double>(size.height) * unit);
}

// The priors of one head set: first centre and sizes in pixels.
std::string prior_table(const Recipe &recipe) {
  const std::vector<LevelShape> levels = example_levels(recipe);
  PlanState plan;
  plan.recipe = &recipe;
  plan.params.profile = recipe.profile;
  plan.params.model_input_size = {example_side(recipe), example_side(recipe)};
  plan.heads.resize(levels.size());
  plan.params.heads.resize(levels.size());
  const bool normalised = has_signature(recipe);
  const double unit = normalised ? static_cast<double>(example_side(recipe)) : 1.0;
  std::string rows = "| level | grid | A | first centre | width×height of the anchors, pixels |\n|---|---|---|---|---|\n";
  std::uint64_t total = 0;
  for (std::size_t level = 0; level < levels.size(); ++level) {
    HeadPlan &head = plan.heads[level];
    head.width = levels[level].grid;
    head.height = levels[level].grid;
    head.anchors = levels[level].anchors;
    const Priors priors = make_priors(plan, level);
    std::vector<std::string> sizes;
    for (const Anchor &size : priors.sizes) {
      sizes.push_back(size_text(size, unit));
    }
    rows += "| " + text(level) + " | " + text(head.width) + "x" + text(head.height) + " | " + text(head.anchors) + " | " +
            rounded(static_cast<double>(priors.center_x.front()) * unit) + " | " + joined(sizes, ", ") + " |\n";
    total += static_cast<std::uint64_t>(head.width) * head.height * head.anchors;
  }
  std::string title = "Priors at " + text(example_side(recipe)) + "x" + text(example_side(recipe)) + ": " + text(total);
  return title + "\n\n" + rows + "\n";
}

std::string anchor_table(const Recipe &recipe) {
  std::string rows = "| heads | strides | anchors of each head, width×height in pixels |\n|---|---|---|\n";
  for (const std::size_t heads : {std::size_t{3}, std::size_t{4}}) {
    bd::Params params;
    params.heads.resize(heads);
    std::vector<std::string> per_head;
    for (const std::vector<Anchor> &anchors : resolved_anchors(params, recipe)) {
      std::vector<std::string> sizes;
      for (const Anchor &size : anchors) {
        sizes.push_back(size_text(size, 1.0));
      }
      per_head.push_back(joined(sizes, ", "));
    }
    rows += "| " + text(heads) + " | " + (heads == 3 ? "8, 16, 32" : "8, 16, 32, 64") + " | " + joined(per_head, "; ") + " |\n";
  }
  return rows + "\n";
}

// ---- the page -------------------------------------------------------------------------------------------------------

const char *const introduction =
    R"(# Catalogue of recipes

<!-- Written by tools/catalogue from cpp/src/boxdecode/recipes. Do not edit: build the target sima_catalogue and run
     `sima_catalogue > docs/catalogue.md`. A test compares. -->

A recipe says what the ports of a head hold and what becomes of them. You choose one by name; nothing is guessed from shapes or
names of models, and a request that does not fit a recipe is refused with the numbers that were seen and wanted.

Find your model in the table, then compare the section's *roles* with the tensors that your export really has. Where they differ,
*exports that do not fit* says how to recognise what you have.

Notation: W, H the grid of a head, mw, mh the model input; (gx, gy) a cell; s the stride, mw/W for x and mh/H for y; σ the sigmoid
1/(1 + e^−x); act the activation; nc = `num_classes`; A anchors a cell; C encoded classes; M mask coefficients, as many as the
prototypes have channels (1 to 64); R bins. How numbers are rounded is in [numerics](numerics.md), what layouts are in
[layouts](layouts.md), what goes wrong in the field in [the FAQ](faq.md).

What holds everywhere: a port serves one role; every input must be used; inputs are INT8, UINT8, BF16, FP16 or FP32; at most 4,096
physical channels (`MlaCBlocked`: 4,096 logical ones); a detection threshold is inclusive; coordinates outside the image are clipped
only when a detection is written.

)";

std::string overview() {
  std::string page = "| profile | models | tasks | heads |\n|---|---|---|---|\n";
  for (const Recipe *recipe : all_recipes) {
    std::string anchor = recipe->name;
    std::transform(anchor.begin(), anchor.end(), anchor.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
    page += std::string("| [") + recipe->name + "](#" + anchor + ") | " + family_of(recipe->profile).models + " | " +
            tasks_of(*recipe) + " | " + heads_text(*recipe) + " |\n";
  }
  return page + "\n";
}

std::string role_table(const Recipe &recipe) {
  std::string table = "| role | named | channels of one anchor |\n|---|---|---|\n";
  if (recipe.ports.empty()) {
    return table + "| boxes = scores | always | " + channels_of(recipe, recipe.combined) + " |\n\n";
  }
  for (const PortRule &rule : recipe.ports) {
    table += "| " + name_of(rule.role) + " | " + presence_of(rule) + " | " + channels_of(recipe, rule.parts) + " |\n";
  }
  if (!recipe.combined.empty()) {
    table += "| combined: boxes = scores (= objectness) (= extra) | instead | " + channels_of(recipe, recipe.combined) + " |\n";
  }
  return table + "\n";
}

std::string facts(const Recipe &recipe) {
  std::string list;
  const auto item = [&list](const char *name, const std::string &value) {
    if (!value.empty()) {
      list += std::string("- ") + name + ": " + value + ".\n";
    }
  };
  const Formula prior = prior_formula(recipe.priors);
  item("**Heads**", heads_text(recipe) + ", " + arrangement_text(recipe));
  item("**Grid**", grid_text(recipe));
  item("**Anchors a cell**", anchor_count_text(recipe.anchors));
  item("**Channel order**", channel_order(recipe));
  item("**Box**", box_formula(recipe.box));
  item(has_signature(recipe) || recipe.priors == PriorRule::EfficientDet ? "**Priors**" : "**Anchors**", prior.text);
  item("**Score**", score_text(recipe));
  item("**Activation**", activation_text(recipe.activation));
  item("**Background**", background_text(recipe));
  item("**Classes**", classes_text(recipe));
  item("**Suppression**", suppression_text(recipe.suppression));
  item("**Default resize**", resize_text(recipe.resize));
  item("**Keypoints**", keypoint_text(recipe.keypoints));
  item("**Masks**", !recipe.segmentation() ? ""
                    : recipe.ports.empty()
                        ? "the last M channels of each anchor are the coefficients; Head::objectness and Head::extra stay empty"
                    : recipe.anchors == AnchorRule::One ? "extra holds the M coefficients of a cell"
                                                        : "extra holds the M coefficients of each anchor, anchor-major");
  item("**Fifth output**", recipe.publishes_proposals ? "x1, y1, x2, y2 in model pixels, FP32 [K, 4]" : "");
  item("**Layout rules**", layout_text(recipe));
  item("**Own parameters**", parameters_text(recipe));
  item("**Sources**", family_of(recipe.profile).source + (prior.source.empty() ? "" : "; " + prior.source));
  return list + "\n";
}

std::string signature_text(const Recipe &recipe) {
  if (!has_signature(recipe)) {
    return {};
  }
  std::string heads;
  for (std::size_t level = 0; level < recipe.signature.grids.size(); ++level) {
    const std::string side = text(recipe.signature.grids[level]);
    const std::int32_t anchors = recipe.signature.anchors[level];
    heads += (level == 0 ? "" : "; ") + side + "x" + side + " loc " + text(4 * anchors) + " conf " + text(anchors) + "·" +
             (recipe.signature.other_class_counts ? "C" : text(recipe.signature.encoded_classes));
  }
  return "Signature, in this order: " + heads + ". Anything else is refused with both signatures.\n\n";
}

std::string section(const Recipe &recipe) {
  const Family family = family_of(recipe.profile);
  std::string page = std::string("## ") + recipe.name + "\n\n" + "Models: " + family.models + ". Tasks: " + tasks_of(recipe) +
                     ".\n\n" + role_table(recipe) + signature_text(recipe) + facts(recipe);
  if (has_anchor_tables(recipe.priors)) {
    page += anchor_table(recipe);
  } else if (recipe.priors != PriorRule::None) {
    page += prior_table(recipe);
  }
  page += "Exports that fit:\n\n";
  for (const std::string &fit : family.fits) {
    page += "- " + fit + "\n";
  }
  page += "\nExports that do not fit:\n\n| what you see | what it is, what to do |\n|---|---|\n";
  for (const Misfit &misfit : family.misfits) {
    page += "| " + misfit.sign + " | " + misfit.remedy + " |\n";
  }
  page += "\n";
  for (const std::string &note : family.notes) {
    page += note + "\n\n";
  }
  return page;
}

std::string whole_page() {
  std::string page = introduction + overview();
  for (const Recipe *recipe : all_recipes) {
    page += section(*recipe);
  }
  page.pop_back();  // one newline at the end
  return page;
}

// The number of the first line that differs, from 1; 0 when none does.
std::size_t first_difference(const std::string &left, const std::string &right) {
  std::istringstream a(left);
  std::istringstream b(right);
  std::string line_a;
  std::string line_b;
  for (std::size_t number = 1;; ++number) {
    const bool more_a = static_cast<bool>(std::getline(a, line_a));
    const bool more_b = static_cast<bool>(std::getline(b, line_b));
    if (!more_a && !more_b) {
      return left == right ? 0 : number;
    }
    if (more_a != more_b || line_a != line_b) {
      return number;
    }
  }
}

int check_file(const char *path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    std::fprintf(stderr, "%s cannot be read\n", path);
    return 2;
  }
  const std::string seen{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const std::size_t line = first_difference(seen, whole_page());
  if (line == 0) {
    return 0;
  }
  std::fprintf(stderr, "%s:%zu: differs from the recipes; write it anew with: sima_catalogue > docs/catalogue.md\n", path,
               line);
  return 1;
}

}  // namespace
}  // namespace catalogue

int main(int argc, char **argv) {
  const std::vector<std::string_view> arguments(argv + 1, argv + argc);
  if (arguments.empty()) {
    std::fputs(catalogue::whole_page().c_str(), stdout);
    return 0;
  }
  if (arguments.size() == 2 && arguments[0] == "--check") {
    return catalogue::check_file(argv[2]);
  }
  std::fputs("usage: sima_catalogue [--check FILE]\n", stderr);
  return 2;
}
