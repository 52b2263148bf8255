#pragma once

#include "boxdecode/recipes/questions.h"

/// What words may stand together. In: a recipe, while the compiler runs. Out: the recipe, or a compile error that shows the
/// sentence of the rule. Never: anything at run time.
namespace simaai::kernels::ops::boxdecode::detail {

/// A sentence that is thrown while the compiler evaluates is what it prints.
consteval void must(bool holds, const char *rule) {
  if (!holds) {
    throw rule;
  }
}

consteval std::size_t times(const Parts &parts, Part part) {
  std::size_t found = 0;
  for (const Part one : parts) {
    found += one == part ? 1U : 0U;
  }
  return found;
}

consteval void check_parts(const Recipe &recipe) {
  must(!recipe.ports.empty() || !recipe.combined.empty(), "a recipe has ports of its own, or combined ones");
  for (std::size_t value = 0; value < part_count; ++value) {
    const auto part = static_cast<Part>(value);
    std::size_t apart = 0;
    for (const PortRule &rule : recipe.ports) {
      apart += times(rule.parts, part);
    }
    must(apart <= 1 && times(recipe.combined, part) <= 1, "a part lies in one place");
  }
  for (const PortRule &rule : recipe.ports) {
    must(!rule.parts.empty(), "a port has parts");
    std::size_t of_this_role = 0;
    for (const PortRule &other : recipe.ports) {
      of_this_role += other.role == rule.role ? 1U : 0U;
    }
    must(of_this_role == 1, "a role has one port");
    must(!rule.optional || rule.role == Role::Objectness, "only objectness may be left out");
  }
  must(recipe.has(Part::Classes), "a recipe has classes");
  must(recipe.has(Part::Box) != recipe.has(Part::Center), "boxes lie in one part, or centres and sizes in two");
  must(recipe.has(Part::Center) == recipe.has(Part::Size), "centres and sizes come together");
  must(!Recipe::has(recipe.combined, Part::Background), "a combined port has no background");
  const std::optional<PortRule> background = recipe.port_of(Part::Background);
  const std::optional<PortRule> classes = recipe.port_of(Part::Classes);
  must(!background || (classes && background->role == classes->role), "the background lies beside the classes");
  must(!recipe.publishes_proposals || (!recipe.pose() && !recipe.segmentation()), "a recipe has one fifth output");
  must((recipe.keypoints != KeypointForm::None) == recipe.pose(), "keypoints have channels and a form, or neither");
}

consteval void check_box(const Recipe &recipe) {
  const BoxRule &box = recipe.box;
  must(has_bins(box.curve) <= (box.coding == BoxCoding::Distances), "bins are those of distances");
  must(!has_bins(box.size_curve), "bins are those of distances");
  must(box.unit != LengthUnit::Anchors, "anchors measure sizes");
  must(box.point == GridPoint::Center || box.unit == LengthUnit::Cells, "a point of the cell needs coordinates in cells");
  must((box.size_unit == LengthUnit::Anchors) <= has_anchor_tables(recipe.priors), "sizes in anchors need a table of them");
  must(is_told(box.unit) == is_told(box.size_unit), "box_unit speaks of the whole box");
  must(is_told(box.curve) == is_told(box.size_curve), "box_activation speaks of the whole box");
  const bool variances = box.center_variance != 1.0F || box.size_variance != 1.0F;
  switch (box.coding) {
    case BoxCoding::Distances:
      must(box.unit == LengthUnit::Cells && box.size_unit == LengthUnit::Cells, "distances are in cells");
      must(!box.y_first && !box.clip && !variances && box.size_curve == BoxCurve::Raw, "distances are l, t, r, b and no more");
      must(recipe.has(Part::Box), "distances lie in one part");
      break;
    case BoxCoding::CenterSize: must(!variances, "variances are those of deltas"); break;
    case BoxCoding::Deltas:
      must(box.unit == LengthUnit::Pixels || box.unit == LengthUnit::Frame, "priors are in pixels or normalised");
      must(box.size_unit == box.unit, "centre and size of a prior have one unit");
      must(box.curve == BoxCurve::Raw && box.size_curve == BoxCurve::Raw, "deltas have their own curve");
      must(recipe.priors != PriorRule::None && !has_anchor_tables(recipe.priors), "deltas need priors with centres");
      break;
  }
}

consteval void check_anchors(const Recipe &recipe) {
  const bool tables = !recipe.anchors_of_three_heads.empty() && !recipe.anchors_of_four_heads.empty();
  must(tables == has_anchor_tables(recipe.priors), "anchors by number of heads need both tables");
  must(!tables || recipe.takes_anchors, "a model may carry anchors of its own");
  must(has_signature(recipe.anchors) == (recipe.signature.input_side != 0), "levels need a signature, and nothing else does");
  must(recipe.background_first() == has_signature(recipe.anchors), "a counted background is known by a signature");
  if (recipe.anchors == AnchorRule::BoxPairs) {
    const std::optional<PortRule> boxes = recipe.port(Role::Boxes);
    must(boxes && boxes->parts.begin() + 1 == boxes->parts.end() && *boxes->parts.begin() == Part::Center,
         "pairs are the centres of a port of their own");
  }
}

consteval void check_scores(const Recipe &recipe) {
  must(is_softmax(recipe.score) <= !recipe.has(Part::Objectness), "a softmax is not multiplied with objectness");
  must(is_softmax(recipe.score) == (fixed_activation(recipe.activation) == ScoreActivation::Softmax),
       "softmax is a form and an activation, or neither");
  must((recipe.score == ScoreForm::EveryClass) <= !recipe.has(Part::Objectness), "every class is scored by itself");
  must((recipe.one_class == OneClassRule::Product) || recipe.has(Part::Objectness), "objectness alone needs objectness");
  must(recipe.class_is_level <= (recipe.exact_classes == 1), "a level is the class of all its boxes");
  must(recipe.takes_peak_window == (recipe.score == ScoreForm::EveryClass), "peaks are sought among every class");
}

/// Whether the words of a recipe may stand together.
consteval bool is_sound(const Recipe &recipe) {
  check_parts(recipe);
  check_box(recipe);
  check_anchors(recipe);
  check_scores(recipe);
  return true;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
