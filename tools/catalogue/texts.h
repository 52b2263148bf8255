#pragma once

#include <string>
#include <vector>

#include "boxdecode/recipes/recipe.h"

/// What the catalogue says of each word of the vocabulary and of each family. In: enumerators. Out: Markdown. Never: a number
/// that the recipes hold, which are printed from there.
///
/// No switch here has a default label: the compiler asks for the text of a new word or a new family.
namespace catalogue {

namespace bd = simaai::kernels::ops::boxdecode;
namespace detail = bd::detail;

/// A formula and where it comes from.
struct Formula {
  std::string text;
  std::string source;
};

[[nodiscard]] std::string name_of(detail::Role role);
/// Corners from what the channels hold.
[[nodiscard]] std::string box_formula(const detail::BoxRule &rule);
/// What the channels of a part hold, in their order, and how many there are.
[[nodiscard]] std::string part_contents(detail::Part part, const detail::BoxRule &rule);
[[nodiscard]] std::string part_channels(detail::Part part, const detail::BoxRule &rule);
[[nodiscard]] std::string score_formula(detail::ScoreForm form);
[[nodiscard]] Formula prior_formula(detail::PriorRule rule);
[[nodiscard]] std::string activation_text(detail::ActivationRule rule);
[[nodiscard]] std::string nonfinite_text(detail::NonfiniteLogit rule);
[[nodiscard]] std::string suppression_text(detail::SuppressionRule rule);
[[nodiscard]] std::string resize_text(detail::ResizeRule rule);
[[nodiscard]] std::string keypoint_text(detail::KeypointForm form);
/// What a single class adds to a product with objectness; empty, or a clause behind a semicolon.
[[nodiscard]] std::string one_class_text(detail::OneClassRule rule);
[[nodiscard]] std::string major_text(detail::Major major);
[[nodiscard]] std::string anchor_count_text(detail::AnchorRule rule);
[[nodiscard]] std::string padding_text(detail::ScorePadding padding);

/// An export that a recipe does not read: how to recognise it, what to do.
struct Misfit {
  std::string sign;
  std::string remedy;
};

struct Family {
  std::string models;
  std::vector<std::string> fits;
  std::vector<Misfit> misfits;
  std::vector<std::string> notes;
  std::string source;  ///< of the box formula
};

[[nodiscard]] Family family_of(bd::Profile profile);

}  // namespace catalogue
