#pragma once

#include <optional>

#include "boxdecode/recipes/recipe.h"

/// What checks and preparation ask of a word. In: a word. Out: yes, no, or a number. Never: what follows from the answer.
///
/// No switch has a default label: the compiler asks for the answers of a new word. Those of curves stand beside them.
namespace simaai::kernels::ops::boxdecode::detail {

/// As many anchors as the rule itself says; 0: the request, the shapes or the signature say it.
[[nodiscard]] constexpr std::int32_t fixed_anchors(AnchorRule rule) {
  switch (rule) {
    case AnchorRule::One: return 1;
    case AnchorRule::Three: return 3;
    case AnchorRule::Nine: return 9;
    case AnchorRule::Table:
    case AnchorRule::BoxPairs:
    case AnchorRule::Levels: break;
  }
  return 0;
}

/// Whether heads must match a complete signature.
[[nodiscard]] constexpr bool has_signature(AnchorRule rule) {
  switch (rule) {
    case AnchorRule::One:
    case AnchorRule::Three:
    case AnchorRule::Nine:
    case AnchorRule::Table:
    case AnchorRule::BoxPairs: return false;
    case AnchorRule::Levels: return true;
  }
  return false;
}

/// Whether Params::box_unit says the unit.
[[nodiscard]] constexpr bool is_told(LengthUnit unit) {
  switch (unit) {
    case LengthUnit::Cells:
    case LengthUnit::Anchors:
    case LengthUnit::Pixels:
    case LengthUnit::Frame: return false;
    case LengthUnit::Told: return true;
  }
  return false;
}

/// Whether corners may come out as parts of the frame.
[[nodiscard]] constexpr bool may_be_normalised(LengthUnit unit) {
  switch (unit) {
    case LengthUnit::Cells:
    case LengthUnit::Anchors:
    case LengthUnit::Pixels: return false;
    case LengthUnit::Frame:
    case LengthUnit::Told: return true;
  }
  return false;
}

/// Whether corners come out as parts of the frame and are then multiplied with the model size.
[[nodiscard]] constexpr bool is_normalised(LengthUnit unit, BoxUnit told) {
  switch (unit) {
    case LengthUnit::Cells:
    case LengthUnit::Anchors:
    case LengthUnit::Pixels: return false;
    case LengthUnit::Frame: return true;
    case LengthUnit::Told: break;
  }
  switch (told) {
    case BoxUnit::Pixels: return false;
    case BoxUnit::Normalised: return true;
  }
  return false;
}

/// From a cell's corner to its point, in cells.
[[nodiscard]] constexpr float offset_of(GridPoint point) {
  switch (point) {
    case GridPoint::Corner: return 0.0F;
    case GridPoint::Center: return 0.5F;
    case GridPoint::HalfBefore: return -0.5F;
  }
  return 0.0F;
}

/// Whether anchors come from the profile's tables, by the number of heads.
[[nodiscard]] constexpr bool has_anchor_tables(PriorRule rule) {
  switch (rule) {
    case PriorRule::None:
    case PriorRule::SsdNvidia:
    case PriorRule::SsdTensorFlow:
    case PriorRule::SsdTorchvision:
    case PriorRule::EfficientDet:
    case PriorRule::Rpn: return false;
    case PriorRule::YoloAnchors: return true;
  }
  return false;
}

/// Whether priors step by whole pixels, so that a cell needs at least one.
[[nodiscard]] constexpr bool steps_by_pixels(PriorRule rule) {
  switch (rule) {
    case PriorRule::None:
    case PriorRule::YoloAnchors:
    case PriorRule::SsdNvidia:
    case PriorRule::SsdTensorFlow:
    case PriorRule::SsdTorchvision:
    case PriorRule::EfficientDet: return false;
    case PriorRule::Rpn: return true;
  }
  return false;
}

/// Whether a score needs every logit of its anchor.
[[nodiscard]] constexpr bool is_softmax(ScoreForm form) {
  switch (form) {
    case ScoreForm::BestClass:
    case ScoreForm::EveryClass: return false;
    case ScoreForm::SoftmaxBest: return true;
  }
  return false;
}

/// The activation that a recipe fixes; empty where the request says it.
[[nodiscard]] constexpr std::optional<ScoreActivation> fixed_activation(ActivationRule rule) {
  switch (rule) {
    case ActivationRule::Explicit: break;
    case ActivationRule::Sigmoid: return ScoreActivation::Sigmoid;
    case ActivationRule::Softmax: return ScoreActivation::Softmax;
  }
  return std::nullopt;
}

/// Whether boxes suppress each other at a threshold. Without suppression the best valid boxes are kept.
[[nodiscard]] constexpr bool suppresses_at(SuppressionRule rule, float threshold) {
  switch (rule) {
    case SuppressionRule::ClassAware: return true;
    case SuppressionRule::ClassAwareUnlessZero: return threshold != 0.0F;
    case SuppressionRule::None: break;
  }
  return false;
}

/// Whether boxes never suppress each other.
[[nodiscard]] constexpr bool never_suppresses(SuppressionRule rule) {
  switch (rule) {
    case SuppressionRule::ClassAware:
    case SuppressionRule::ClassAwareUnlessZero: return false;
    case SuppressionRule::None: return true;
  }
  return false;
}

/// Whether only stretched images are taken.
[[nodiscard]] constexpr bool takes_stretch_only(ResizeRule rule) {
  switch (rule) {
    case ResizeRule::Letterbox:
    case ResizeRule::TopLeft:
    case ResizeRule::Stretch: return false;
    case ResizeRule::StretchOnly: return true;
  }
  return false;
}

/// Whether keypoints come in pixels or normalised, not in cells.
[[nodiscard]] constexpr bool are_decoded(KeypointForm form) {
  switch (form) {
    case KeypointForm::None:
    case KeypointForm::TwiceRawPlusCell:
    case KeypointForm::RawPlusCellCenter: return false;
    case KeypointForm::ModelPixels: return true;
  }
  return false;
}

/// Whether score channels that are padded must end at a multiple of 16.
[[nodiscard]] constexpr bool pads_to_sixteen(ScorePadding padding, bool objectness) {
  switch (padding) {
    case ScorePadding::Any: return false;
    case ScorePadding::Sixteen: return true;
    case ScorePadding::SixteenWithObjectness: return objectness;
  }
  return false;
}

/// Whether a single class may, or does, score by objectness alone.
[[nodiscard]] constexpr bool scores_by_objectness(OneClassRule rule, bool requested) {
  switch (rule) {
    case OneClassRule::Product: return false;
    case OneClassRule::ByRequest: return requested;
    case OneClassRule::ObjectnessAlone: return true;
  }
  return false;
}

/// Whether the request says how a single class scores.
[[nodiscard]] constexpr bool is_told(OneClassRule rule) {
  switch (rule) {
    case OneClassRule::Product:
    case OneClassRule::ObjectnessAlone: return false;
    case OneClassRule::ByRequest: return true;
  }
  return false;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
