#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string_view>

#include <simaai/kernels/ops/boxdecode.h>

/// The closed vocabulary in which a detector family is described. In: nothing. Out: constexpr data. Never: code that runs on
/// a frame. What checks and preparation ask of a word is answered in questions.h, what it does to a frame is bound in
/// plan/bind.cpp; a family that needs no new word is one new file of data.
namespace simaai::kernels::ops::boxdecode::detail {

/// The ports that a head names, in the order in which they are checked.
enum class Role : std::uint8_t { Boxes, Scores, Objectness, Extra, Sizes };

/// What channels of one anchor say.
enum class Part : std::uint8_t {
  Box,     ///< four numbers, or four sides of bins
  Center,  ///< the first two of them, where sizes lie elsewhere
  Size,    ///< the last two
  Objectness,
  Classes,
  Background,    ///< one more class beside the others
  Keypoints,     ///< keypoint_dims·num_keypoints; none unless the task is Pose
  Coefficients,  ///< as many as the prototypes have channels; none unless the task is Segmentation
};
inline constexpr std::size_t part_count = 8;

/// A few values in order, in constexpr data.
template <typename Value, std::size_t most>
class FewOf {
public:
  constexpr FewOf() = default;
  constexpr FewOf(std::initializer_list<Value> values) {
    for (const Value &value : values) {
      values_[size_++] = value;
    }
  }
  [[nodiscard]] constexpr const Value *begin() const { return values_.data(); }
  [[nodiscard]] constexpr const Value *end() const { return values_.data() + size_; }
  [[nodiscard]] constexpr bool empty() const { return size_ == 0; }

private:
  std::array<Value, most> values_ = {};
  std::size_t size_ = 0;
};

/// Parts of one anchor in the order of memory.
using Parts = FewOf<Part, 5>;

/// What runs slowest over the channels of a port.
enum class Major : std::uint8_t {
  Anchor,  ///< channel = anchor·items + item
  Part,    ///< channel = item·anchors + anchor
};

/// One port of a head. A head names it unless none of its parts has a channel in the task.
struct PortRule {
  Role role = Role::Boxes;
  Parts parts = {};
  Major major = Major::Anchor;
  bool optional = false;  ///< named by all heads or by none
};
using Ports = FewOf<PortRule, 5>;

/// How many anchors a cell has.
enum class AnchorRule : std::uint8_t {
  One,
  Three,
  Nine,
  Table,     ///< as many as the anchor table of the head
  BoxPairs,  ///< half the channels of the boxes port, whose part is Center
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

/// The formula of a curve, with # for the raw number.
[[nodiscard]] constexpr std::string_view formula_of(BoxCurve curve) {
  switch (curve) {
    case BoxCurve::Raw:
    case BoxCurve::Bins: return "#";
    case BoxCurve::Exp: return "exp32(#)";
    case BoxCurve::DoubleSigmoid: return "2σ(#)";
    case BoxCurve::SquaredDoubleSigmoid: return "(2σ(#))²";
    case BoxCurve::Told: return "act(#)";
  }
  return {};
}

/// Whether the channels of a side are bins.
[[nodiscard]] constexpr bool has_bins(BoxCurve curve) {
  switch (curve) {
    case BoxCurve::Raw:
    case BoxCurve::Exp:
    case BoxCurve::DoubleSigmoid:
    case BoxCurve::SquaredDoubleSigmoid:
    case BoxCurve::Told: return false;
    case BoxCurve::Bins: return true;
  }
  return false;
}

/// Whether Params::box_activation says the curve.
[[nodiscard]] constexpr bool is_told(BoxCurve curve) {
  switch (curve) {
    case BoxCurve::Raw:
    case BoxCurve::Bins:
    case BoxCurve::Exp:
    case BoxCurve::DoubleSigmoid:
    case BoxCurve::SquaredDoubleSigmoid: return false;
    case BoxCurve::Told: return true;
  }
  return false;
}

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

  constexpr bool operator==(const BoxRule &) const = default;
};

/// Which priors or anchors a box stands on.
enum class PriorRule : std::uint8_t { None, YoloAnchors, SsdNvidia, SsdTensorFlow, SsdTorchvision, EfficientDet, Rpn };

/// How the lanes of an anchor become a candidate.
enum class ScoreForm : std::uint8_t {
  BestClass,    ///< the best class by raw key, times objectness where there is one
  SoftmaxBest,  ///< the best foreground class, softmax over all encoded classes
  EveryClass,   ///< every class of every cell (CenterNet)
};

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
};

struct Recipe {
  Profile profile;
  const char *name;
  Ports ports = {};     ///< one port a role; empty: only combined heads
  Parts combined = {};  ///< boxes == scores, anchor-major; empty: only heads apart
  AnchorRule anchors = AnchorRule::One;
  std::size_t exact_heads = 0;  ///< 0: any number
  bool free_grid = false;       ///< the model size need not be a multiple of the grid
  BoxRule box = {};
  PriorRule priors = PriorRule::None;
  ScoreForm score = ScoreForm::BestClass;
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
  std::span<const Anchor> anchors_of_three_heads = {};  ///< three for each head, in pixels
  std::span<const Anchor> anchors_of_four_heads = {};
  bool takes_anchor_scale = false;
  bool takes_peak_window = false;
  bool publishes_proposals = false;  ///< fifth output: boxes in model pixels
  Signature signature = {};

  /// The rule of a role in heads that keep their ports apart, if they have one. A copy: GCC's sanitizers compare no address
  /// with null while compiling.
  [[nodiscard]] constexpr std::optional<PortRule> port(Role role) const {
    for (const PortRule &rule : ports) {
      if (rule.role == role) {
        return rule;
      }
    }
    return std::nullopt;
  }
  /// The role in whose port a part lies in heads apart, if it lies in one.
  [[nodiscard]] constexpr std::optional<PortRule> port_of(Part part) const {
    for (const PortRule &rule : ports) {
      if (has(rule.parts, part)) {
        return rule;
      }
    }
    return std::nullopt;
  }
  [[nodiscard]] static constexpr bool has(const Parts &parts, Part part) {
    for (const Part &one : parts) {
      if (one == part) {
        return true;
      }
    }
    return false;
  }
  [[nodiscard]] constexpr bool pose() const { return has(Part::Keypoints); }
  [[nodiscard]] constexpr bool segmentation() const { return has(Part::Coefficients); }
  [[nodiscard]] constexpr bool has(Part part) const { return port_of(part).has_value() || has(combined, part); }
  /// Objectness that every head has without naming a port for it.
  [[nodiscard]] constexpr bool inherent_objectness() const {
    const std::optional<PortRule> rule = port_of(Part::Objectness);
    return rule ? rule->role != Role::Objectness : has(combined, Part::Objectness);
  }
  /// Whether num_classes counts a background, which then is class 0, and the others keep their index.
  [[nodiscard]] constexpr bool background_first() const {
    const std::optional<PortRule> rule = port_of(Part::Background);
    return rule && *rule->parts.begin() == Part::Background;
  }
};

}  // namespace simaai::kernels::ops::boxdecode::detail
