#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include <simaai/kernels/ops/boxdecode.h>

#include "boxdecode/recipes/yolo_anchors.h"

/// The closed vocabulary in which a detector family is described. In: nothing. Out: constexpr data. Never: code that runs on
/// a frame. Each word has exactly one implementation elsewhere; a family that needs no new word is one new file of data.
namespace simaai::kernels::ops::boxdecode::detail {

/// What a port of a head holds, in the order in which roles are checked.
enum class Role : std::uint8_t { Boxes, Scores, Objectness, Extra, Sizes };
inline constexpr std::size_t role_count = 5;

/// Whether a head names a port for a role.
enum class Presence : std::uint8_t {
  Never,     ///< the member stays empty; an Inherent part may still lie in another role's port
  Optional,  ///< on all heads or on none
  Required,
  ByTask,  ///< required for Pose and Segmentation, empty for Detection
};

/// Channels of one anchor in a role: fixed + per_class·encoded classes (+ bins, keypoints or coefficients where they apply).
struct RoleRule {
  Presence presence = Presence::Never;
  std::int32_t fixed = 0;
  std::int32_t per_class = 0;
};

/// How the parts of one anchor are spread over ports.
enum class Arrangement : std::uint8_t {
  Apart,            ///< one port a role
  Combined,         ///< boxes == scores: [box, objectness, classes, coefficients] in one port, objectness inherent
  ApartOrCombined,  ///< the caller chooses, for every head alike
};

/// Where objectness lies when no port is named for it.
enum class InherentObjectness : std::uint8_t { None, AfterBox, BeforeClasses };

/// How many anchors a cell has.
enum class AnchorRule : std::uint8_t {
  One,
  Three,
  Nine,
  Table,     ///< as many as the anchor table of the head
  BoxPairs,  ///< half the channels of the boxes port
  Levels,    ///< Signature::anchors
};

/// What the numbers of a box say.
enum class BoxCoding : std::uint8_t {
  Distances,   ///< l, t, r, b from the point of the cell, in cells
  CenterSize,  ///< cx, cy, w, h
  Deltas,      ///< dx, dy, dw, dh against a prior: dx·pw + pcx, exp32(dw)·pw, log sizes cut at ln(1000/16)
};

/// Where in a cell coordinates of the grid count from.
enum class GridPoint : std::uint8_t { Corner, Center, HalfBefore };

/// What a raw number of a box becomes first.
enum class BoxCurve : std::uint8_t {
  Raw,
  Bins,  ///< of each side of Distances: the expectation of a softmax over bins
  Exp,
  DoubleSigmoid,         ///< 2σ(x)
  SquaredDoubleSigmoid,  ///< (2σ(x))²
  Told,                  ///< Params::box_activation
};

/// What centres and sizes are measured in.
enum class LengthUnit : std::uint8_t {
  Cells,    ///< × stride; centres count from the point of the cell
  Anchors,  ///< sizes only: × width or height of the anchor
  Pixels,   ///< of the model; so are priors
  Frame,    ///< corners are formed first, then × model width or height; so are priors
  Told,     ///< Pixels or Frame: Params::box_unit
};

/// How raw box channels become corners in model pixels. Words that a coding does not use keep their default.
struct BoxRule {
  BoxCoding coding = BoxCoding::Distances;
  GridPoint point = GridPoint::Center;
  BoxCurve curve = BoxCurve::Raw;       ///< of distances or centres
  BoxCurve size_curve = BoxCurve::Raw;  ///< of w and h
  LengthUnit unit = LengthUnit::Cells;
  LengthUnit size_unit = LengthUnit::Cells;
  float center_variance = 1.0F;  ///< of deltas
  float size_variance = 1.0F;
  bool y_first = false;  ///< cy, cx, h, w
  bool clip = false;     ///< corners are clipped to the model frame
};

/// Which priors or anchors a box stands on.
enum class PriorRule : std::uint8_t { None, YoloAnchors, SsdNvidia, SsdTensorFlow, SsdTorchvision, EfficientDet, Rpn };

/// How the lanes of an anchor become a candidate.
enum class ScoreForm : std::uint8_t {
  BestClass,    ///< the best class by raw key, times objectness where there is one
  SoftmaxBest,  ///< the best foreground class, softmax over all encoded classes
  EveryClass,   ///< every class of every cell (CenterNet)
};

/// Where the background class lies among the encoded ones.
enum class Background : std::uint8_t { None, First, Last };

/// What a nonfinite logit does to a softmax cell.
enum class NonfiniteLogit : std::uint8_t { DiscardsUnlessMinusInfinity, Discards };

enum class ActivationRule : std::uint8_t { Explicit, Sigmoid, Softmax };

enum class SuppressionRule : std::uint8_t {
  ClassAware,
  ClassAwareUnlessZero,  ///< skipped at threshold 0 (end-to-end heads)
  None,                  ///< streaming top-K
};

enum class ResizeRule : std::uint8_t { Letterbox, TopLeft, Stretch, StretchOnly };

/// How a single class scores where there is objectness.
enum class OneClassRule : std::uint8_t {
  Product,          ///< as any number of classes
  ByRequest,        ///< Params::one_class_uses_objectness
  ObjectnessAlone,  ///< the class channel is not read
};

/// How raw keypoint channels become model pixels.
enum class KeypointForm : std::uint8_t { None, TwiceRawPlusCell, RawPlusCellCenter, ModelPixels };

/// Which padded channel counts and channel tiles a port takes.
enum class ScorePadding : std::uint8_t { Any, Sixteen, SixteenWithObjectness };

/// The complete ordered signature of heads that only fit one network.
struct Signature {
  std::int64_t input_side = 0;
  std::array<std::int64_t, 6> grids = {};
  std::array<std::int32_t, 6> anchors = {};
  std::int64_t encoded_classes = 0;  ///< of the published model
  bool other_class_counts = false;   ///< custom training with another count is accepted
  bool prefix = false;               ///< num_classes may select a prefix
  bool coordinate_major = false;     ///< channel = item·A + anchor instead of anchor·items + item
};

struct Recipe {
  Profile profile;
  const char *name;
  bool pose = false;
  bool segmentation = false;
  std::array<RoleRule, role_count> roles = {};
  Arrangement arrangement = Arrangement::Apart;
  InherentObjectness inherent_objectness = InherentObjectness::None;
  AnchorRule anchors = AnchorRule::One;
  std::size_t exact_heads = 0;  ///< 0: any number
  bool free_grid = false;       ///< the model size need not be a multiple of the grid
  BoxRule box = {};
  PriorRule priors = PriorRule::None;
  ScoreForm score = ScoreForm::BestClass;
  Background background = Background::None;
  NonfiniteLogit nonfinite_logit = NonfiniteLogit::DiscardsUnlessMinusInfinity;
  ActivationRule activation = ActivationRule::Explicit;
  OneClassRule one_class = OneClassRule::Product;
  bool raw_key_order = false;      ///< dense BF16 classes compare raw ordered bits: +0 above −0
  bool class_is_level = false;     ///< the class id is the head's index
  std::int64_t exact_classes = 0;  ///< 0: any number
  SuppressionRule suppression = SuppressionRule::ClassAware;
  ResizeRule resize = ResizeRule::Letterbox;
  KeypointForm keypoints = KeypointForm::None;
  ScorePadding score_padding = ScorePadding::Any;
  bool any_channel_tile = false;      ///< SSD: channel tiles need not be multiples of 16
  bool channel_tile_sixteen = false;  ///< EfficientDet: multiples of 16 for BF16 too
  bool takes_anchors = false;
  const AnchorTable3 *anchors_of_three_heads = nullptr;
  const AnchorTable4 *anchors_of_four_heads = nullptr;
  bool takes_anchor_scale = false;
  bool takes_peak_window = false;
  bool publishes_proposals = false;  ///< fifth output: boxes in model pixels
  Signature signature = {};

  [[nodiscard]] constexpr bool takes_box_unit() const { return box.unit == LengthUnit::Told; }
  [[nodiscard]] constexpr bool takes_box_activation() const { return box.curve == BoxCurve::Told; }
  [[nodiscard]] constexpr const RoleRule &role(Role which) const { return roles[static_cast<std::size_t>(which)]; }
};

}  // namespace simaai::kernels::ops::boxdecode::detail
