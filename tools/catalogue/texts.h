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
/// Corners from what the channels hold, and the names of the channels in their order.
[[nodiscard]] std::string box_formula(const detail::BoxRule &rule);
[[nodiscard]] std::string box_channels(const detail::Recipe &recipe);
[[nodiscard]] std::string score_formula(detail::ScoreForm form);
[[nodiscard]] Formula prior_formula(detail::PriorRule rule);
[[nodiscard]] std::string activation_text(detail::ActivationRule rule);
[[nodiscard]] std::string background_text(detail::Background background);
[[nodiscard]] std::string nonfinite_text(detail::NonfiniteLogit rule);
[[nodiscard]] std::string suppression_text(detail::SuppressionRule rule);
[[nodiscard]] std::string resize_text(detail::ResizeRule rule);
[[nodiscard]] std::string keypoint_text(detail::KeypointForm form);
/// What a single class adds to a product with objectness; empty, or a clause behind a semicolon.
[[nodiscard]] std::string one_class_text(detail::OneClassRule rule);
[[nodiscard]] std::string arrangement_text(detail::Arrangement arrangement);
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
