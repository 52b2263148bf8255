#include <cassert>

#include "boxdecode/check/groups.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

Finding wrong_tensor(std::size_t port, const char *member, std::string message) {
  return Error{ErrorCode::InvalidTensor, path("inputs", port, member), std::move(message)};
}

Finding check_own_shape(const TensorSpec &spec, std::size_t port) {
  const Shape &shape = spec.shape;
  const std::string what = path("inputs", port, ".shape") + " is " + text(shape);
  if (shape.size() < 3 || shape.size() > 6) {
    return wrong_tensor(port, ".shape", what + "; it must have 3 to 6 sides, the last three H, W and C");
  }
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    const bool outer = axis + 3 < shape.size();
    if (outer && shape[axis] != 1) {
      return wrong_tensor(port, ".shape", what + "; every side before H, W and C must be 1");
    }
    if (shape[axis] < 1 || shape[axis] > largest_side) {
      return wrong_tensor(port, ".shape", what + "; each side must be 1 to " + text(largest_side));
    }
  }
  switch (spec.dtype) {
    case DType::Int8:
    case DType::UInt8:
    case DType::BFloat16:
    case DType::Float16:
    case DType::Float32: return std::nullopt;
    case DType::Int32: break;
  }
  return wrong_tensor(port, ".dtype",
                      path("inputs", port, ".dtype") + " is " + text(spec.dtype) +
                          "; inputs are Int8, UInt8, BFloat16, Float16 or Float32");
}

// How many channels a port has and how many it needs, in words.
Finding wrong_channels(const Request &request, const Recipe &recipe, std::size_t port, const std::string &needs) {
  return wrong_tensor(port, ".shape",
                      path("inputs", port) + " has " + text(extent_of(request.inputs[port]).channels) + " channels; " +
                          recipe.name + " " + needs);
}

std::string side_by_side(std::int64_t height, std::int64_t width) { return text(height) + "x" + text(width); }

class SignatureCheck {
public:
  SignatureCheck(const Request &request, Facts &facts) : request_(request), facts_(facts), recipe_(*facts.recipe) {}

  Finding run() {
    const Signature &signature = recipe_.signature;
    const Params &params = request_.params;
    const std::size_t levels = signature.grids.size();
    bool matches = params.heads.size() == levels && params.model_input_size.width == signature.input_side &&
                   params.model_input_size.height == signature.input_side;
    std::int64_t encoded = 0;
    for (std::size_t level = 0; matches && level < levels; ++level) {
      const Extent loc = extent_of(request_.inputs[params.heads[level].boxes]);
      const Extent conf = extent_of(request_.inputs[params.heads[level].scores]);
      const std::int64_t grid = signature.grids[level];
      const std::int32_t anchors = signature.anchors[level];
      const std::int64_t depth = conf.channels / anchors;
      matches = loc.height == grid && loc.width == grid && conf.height == grid && conf.width == grid &&
                loc.channels == 4 * anchors && conf.channels == depth * anchors && depth >= 2 &&
                (level == 0 || depth == encoded) && (signature.other_class_counts || depth == signature.encoded_classes);
      encoded = depth;
      HeadFacts head;
      head.grid = {grid, grid, 0};
      head.anchors = anchors;
      head.set_channels(Part::Box, 4);
      head.set_channels(Part::Background, 1);
      head.set_channels(Part::Classes, encoded - 1);
      facts_.heads.push_back(head);
    }
    if (!matches) {
      return Error{ErrorCode::UnsupportedRecipe, "params.profile", message()};
    }
    if (signature.prefix ? params.num_classes > encoded : params.num_classes != encoded) {
      return invalid_parameter("params.num_classes", "params.num_classes is " + text(params.num_classes) +
                                                         "; the conf tensors encode " + text(encoded) +
                                                         " classes, the background counted");
    }
    return std::nullopt;
  }

private:
  [[nodiscard]] std::string message() const {
    const Signature &signature = recipe_.signature;
    const ImageSize size = request_.params.model_input_size;
    std::string seen = "the request has input " + text(size.width) + "x" + text(size.height) + " and heads";
    for (const Head &head : request_.params.heads) {
      const Extent loc = extent_of(request_.inputs[head.boxes]);
      const Extent conf = extent_of(request_.inputs[head.scores]);
      seen += std::string(" ") + side_by_side(loc.height, loc.width) + " loc " + text(loc.channels) + " conf ";
      if (conf.height != loc.height || conf.width != loc.width) {
        seen += side_by_side(conf.height, conf.width) + " ";
      }
      seen += text(conf.channels) + ",";
    }
    seen.back() = ';';
    seen += std::string(" ") + recipe_.name + " is input " + text(signature.input_side) + "x" + text(signature.input_side) +
            " and six heads";
    for (std::size_t level = 0; level < signature.grids.size(); ++level) {
      const std::int64_t grid = signature.grids[level];
      const std::int32_t anchors = signature.anchors[level];
      seen += std::string(" ") + side_by_side(grid, grid) + " loc " + text(4 * anchors) + " conf " + text(anchors) + "·" +
              (signature.other_class_counts ? std::string("C") : text(signature.encoded_classes)) + ",";
    }
    seen.pop_back();
    return seen + (signature.other_class_counts ? " with one C of at least 2" : "");
  }

  const Request &request_;
  Facts &facts_;
  const Recipe &recipe_;
};

class HeadCheck {
public:
  HeadCheck(const Request &request, const Facts &facts, std::size_t index)
      : request_(request), facts_(facts), recipe_(*facts.recipe), index_(index), head_(request.params.heads[index]) {}

  std::variant<HeadFacts, Error> run() {
    found_.grid = extent_of(request_.inputs[head_.boxes]);
    found_.combined = is_combined(recipe_, head_);
    for (const PortRule &rule : recipe_.ports) {
      count(rule.parts);
    }
    count(recipe_.combined);
    Finding finding = check_grids();
    if (!finding) {
      finding = found_.combined ? check_combined() : check_apart();
    }
    if (finding) {
      return *std::move(finding);
    }
    return found_;
  }

private:
  // What a head keeps in a port of its own when it keeps them apart, a combined one has where it names that role.
  void count(const Parts &parts) {
    for (const Part part : parts) {
      const std::optional<PortRule> rule = recipe_.port_of(part);
      const bool there = !rule || port_of(head_, rule->role).has_value();
      found_.set_channels(part, there ? told_channels(request_, part) : 0);
    }
  }

  Finding check_grids() {
    const Extent grid = found_.grid;
    const ImageSize model = request_.params.model_input_size;
    const std::string boxes = path("inputs", head_.boxes) + " has a grid of " + text(grid.height) + "x" + text(grid.width);
    if (!recipe_.free_grid && (model.width % grid.width != 0 || model.height % grid.height != 0)) {
      return wrong_tensor(head_.boxes, ".shape",
                          boxes + "; " + recipe_.name + " needs one that divides the model input of " + text(model.height) +
                              "x" + text(model.width) + " (height x width)");
    }
    if (steps_by_pixels(recipe_.priors) && (grid.width > model.width || grid.height > model.height)) {
      return wrong_tensor(head_.boxes, ".shape",
                          boxes + ", larger than the model input of " + text(model.height) + "x" + text(model.width) +
                              "; a cell must be at least one pixel");
    }
    for (const Role role : all_roles) {
      const std::optional<std::size_t> port = port_of(head_, role);
      if (!port) {
        continue;
      }
      const Extent other = extent_of(request_.inputs[*port]);
      if (other.height != grid.height || other.width != grid.width) {
        return wrong_tensor(*port, ".shape",
                            path("inputs", *port) + " (" + role_name(role) + ") has a grid of " + text(other.height) + "x" +
                                text(other.width) + "; " + path("inputs", head_.boxes) + ", the boxes of the same head, has " +
                                text(grid.height) + "x" + text(grid.width));
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] std::int64_t channels(std::size_t port) const { return extent_of(request_.inputs[port]).channels; }

  [[nodiscard]] Finding wrong(std::size_t port, const std::string &needs) const {
    return wrong_channels(request_, recipe_, port, needs);
  }

  Finding settle_anchors() {
    switch (recipe_.anchors) {
      case AnchorRule::One:
      case AnchorRule::Three:
      case AnchorRule::Nine: found_.anchors = fixed_anchors(recipe_.anchors); break;
      case AnchorRule::Table:
        found_.anchors = static_cast<std::int32_t>(resolved_anchors(request_.params, recipe_)[index_].size());
        break;
      case AnchorRule::BoxPairs:
        if (channels(head_.boxes) % 2 != 0) {
          return wrong(head_.boxes, "needs an even number, a centre x and y for each anchor");
        }
        found_.anchors = static_cast<std::int32_t>(channels(head_.boxes) / 2);
        break;
      case AnchorRule::Levels: found_.anchors = recipe_.signature.anchors[index_]; break;
    }
    return std::nullopt;
  }

  Finding check_combined() {
    if (Finding finding = settle_anchors()) {
      return finding;
    }
    const std::int64_t wanted = found_.anchors * std::int64_t{found_.channels_of(recipe_.combined)};
    if (channels(head_.boxes) == wanted) {
      return std::nullopt;
    }
    std::string needs = "with " + text(request_.params.num_classes) + " classes needs " + text(wanted) + " = ";
    needs += found_.anchors > 1 ? text(found_.anchors) + "·(" : "";
    bool first = true;
    for (const Part part : recipe_.combined) {
      if (found_.channels_of(part) > 0) {
        needs += (first ? "" : " + ") + text(found_.channels_of(part)) + part_name(part);
        first = false;
      }
    }
    needs += found_.anchors > 1 ? ")" : "";
    needs +=
        keypoint_hint(channels(head_.boxes) - (found_.channels_of(recipe_.combined) - found_.channels_of(Part::Keypoints)));
    return wrong(head_.boxes, needs);
  }

  [[nodiscard]] static const char *part_name(Part part) {
    switch (part) {
      case Part::Box: return " box";
      case Part::Center: return " centre";
      case Part::Size: return " size";
      case Part::Objectness: return " objectness";
      case Part::Classes: return " classes";
      case Part::Background: return " background";
      case Part::Keypoints: return " keypoint channels";
      case Part::Coefficients: return " mask coefficients";
    }
    return "";
  }

  // The way out where so many keypoint channels were seen and other words would describe them.
  [[nodiscard]] std::string keypoint_hint(std::int64_t seen) const {
    const Params &params = request_.params;
    const bool without_visibility = seen == 2 * params.num_keypoints || params.keypoint_dims == 2;
    if (params.task != Task::Pose || seen < 1 || !without_visibility) {
      return "";
    }
    std::string ways;
    if (seen % 2 == 0) {
      ways += "; " + text(seen) + " channels are " + text(seen / 2) + " keypoints of x, y with keypoint_dims 2";
    }
    if (seen % 3 == 0) {
      ways += std::string(ways.empty() ? "; " + text(seen) + " channels are " : ", or ") + text(seen / 3) +
              " of x, y, visibility with keypoint_dims 3";
    }
    return ways;
  }

  Finding check_apart() {
    if (Finding finding = settle_anchors()) {
      return finding;
    }
    if (Finding finding = check_bins()) {
      return finding;
    }
    for (const Role role : all_roles) {
      if (Finding finding = check_role(role)) {
        return finding;
      }
    }
    return std::nullopt;
  }

  // The number of bins is the port's own.
  Finding check_bins() {
    if (!has_bins(recipe_.box.curve)) {
      return std::nullopt;
    }
    constexpr std::int64_t most_bins = 64;
    const std::int64_t bins = channels(head_.boxes) / 4;
    if (channels(head_.boxes) % 4 != 0 || bins < 2 || bins > most_bins) {
      return wrong(head_.boxes, "needs 4·R, four sides of 2 to 64 bins (4·16 = 64 in most models; four raw distances without "
                                "bins are Yolo26V1 or Yolo6V1)");
    }
    found_.set_channels(Part::Box, 4 * bins);
    if (index_ > 0 && facts_.heads.front().channels_of(Part::Box) != found_.channels_of(Part::Box)) {
      return wrong(head_.boxes, "needs the " + text(facts_.heads.front().channels_of(Part::Box)) +
                                    " of the first head: the number of bins is the same for all heads");
    }
    return std::nullopt;
  }

  Finding check_role(Role role) const {
    const std::optional<std::size_t> port = port_of(head_, role);
    const std::optional<PortRule> rule = recipe_.port(role);
    const std::int64_t of_one_anchor = rule ? found_.channels_of(rule->parts) : 0;
    const std::int64_t wanted = found_.anchors * of_one_anchor;
    if (!port || channels(*port) == wanted) {
      return std::nullopt;
    }
    std::string needs = role == Role::Scores ? "with " + text(request_.params.num_classes) + " classes needs " : "needs ";
    needs += text(wanted) + " for " + role_name(role);
    if (found_.anchors > 1) {
      needs += " (" + text(found_.anchors) + " anchors of " + text(of_one_anchor) + ")";
    }
    return wrong(*port, needs + (role == Role::Extra ? extra_reason(channels(*port)) : ""));
  }

  // Why an extra port needs so many channels.
  [[nodiscard]] std::string extra_reason(std::int64_t seen) const {
    switch (request_.params.task) {
      case Task::Detection: break;
      case Task::Pose: return " with " + text(request_.params.num_keypoints) + " keypoints" + keypoint_hint(seen);
      case Task::Segmentation: return ", as many coefficients as the prototypes have channels";
    }
    return "";
  }

  const Request &request_;
  const Facts &facts_;
  const Recipe &recipe_;
  std::size_t index_;
  const Head &head_;
  HeadFacts found_ = {};
};

// The profile's own anchors belong to strides 8, 16, 32(, 64) in that order.
Finding check_anchor_strides(const Request &request, const Facts &facts) {
  if (!has_anchor_tables(facts.recipe->priors) || !request.params.anchors.empty()) {
    return std::nullopt;
  }
  const ImageSize model = request.params.model_input_size;
  std::int64_t stride = 8;
  for (std::size_t head = 0; head < facts.heads.size(); ++head, stride *= 2) {
    const Extent grid = facts.heads[head].grid;
    if (grid.width * stride != model.width || grid.height * stride != model.height) {
      return invalid_parameter("params.anchors", "params.anchors is empty and " + path("params.heads", head) +
                                                     " has no stride of " + text(stride) + "; the table of " +
                                                     facts.recipe->name +
                                                     " is for strides 8, 16, 32(, 64) in that order: pass "
                                                     "the anchors of each head");
    }
  }
  return std::nullopt;
}

}  // namespace

bool in_task(Part part, Task task) {
  switch (part) {
    case Part::Box:
    case Part::Center:
    case Part::Size:
    case Part::Objectness:
    case Part::Classes:
    case Part::Background: return true;
    case Part::Keypoints: return task == Task::Pose;
    case Part::Coefficients: return task == Task::Segmentation;
  }
  return false;
}

std::int32_t told_channels(const Request &request, Part part) {
  const Params &params = request.params;
  if (!in_task(part, params.task)) {
    return 0;
  }
  switch (part) {
    case Part::Box: return 4;
    case Part::Center:
    case Part::Size: return 2;
    case Part::Objectness:
    case Part::Background: return 1;
    case Part::Classes: return static_cast<std::int32_t>(params.num_classes);
    case Part::Keypoints: return static_cast<std::int32_t>(params.keypoint_dims * params.num_keypoints);
    case Part::Coefficients:
      assert(params.mask_prototype && *params.mask_prototype < request.inputs.size());
      return static_cast<std::int32_t>(extent_of(request.inputs[*params.mask_prototype]).channels);
  }
  return 0;
}

std::vector<std::vector<Anchor>> resolved_anchors(const Params &params, const Recipe &recipe) {
  if (!params.anchors.empty()) {
    return params.anchors;
  }
  std::vector<std::vector<Anchor>> tables;
  const auto split = [&tables](std::span<const Anchor> table) {
    for (std::size_t first = 0; first < table.size(); first += 3) {
      tables.push_back({table[first], table[first + 1], table[first + 2]});
    }
  };
  if (params.heads.size() == 3) {
    split(recipe.anchors_of_three_heads);
  } else if (params.heads.size() == 4) {
    split(recipe.anchors_of_four_heads);
  }
  return tables;
}

Finding check_shapes(const Request &request, Facts &facts) {
  for (std::size_t port = 0; port < request.inputs.size(); ++port) {
    if (Finding finding = check_own_shape(request.inputs[port], port)) {
      return finding;
    }
  }
  if (has_signature(facts.recipe->anchors)) {
    return SignatureCheck(request, facts).run();
  }
  for (std::size_t head = 0; head < request.params.heads.size(); ++head) {
    auto found = HeadCheck(request, facts, head).run();
    if (auto *error = std::get_if<Error>(&found)) {
      return std::move(*error);
    }
    facts.heads.push_back(std::get<HeadFacts>(found));
  }
  if (request.params.mask_prototype) {
    const std::size_t port = *request.params.mask_prototype;
    if (extent_of(request.inputs[port]).channels > most_mask_channels) {
      return wrong_channels(request, *facts.recipe, port,
                            "needs 1 to " + text(most_mask_channels) + " prototypes (32 in most models)");
    }
  }
  return check_anchor_strides(request, facts);
}

}  // namespace simaai::kernels::ops::boxdecode::detail
