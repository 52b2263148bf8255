#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include <simaai/kernels/status.h>
#include <simaai/kernels/tensor.h>

/// Raw output tensors of a detector in, final detections out.
///
///     Request ─check_inference→ Plan ─create_context→ ExecutionContext
///     bytes ─execute→ boxes, scores, classes, count (and masks, keypoints or proposals)
namespace simaai::kernels::ops::boxdecode {

/// Which detector wrote the heads: roles, channel orders, box and score formulas. docs/catalogue.md has the whole table.
enum class Profile {
  Yolo26V1,
  Yolo6V1,
  Yolo8V1,
  YoloDecodedV1,
  YoloXV1,
  Yolo5V1,
  Yolo7V1,
  YoloAnchorDecodedV1,
  Ssd300V1,
  SsdMobile300V1,
  SsdMobile320V1,
  SsdLiteMobile320V1,
  EfficientDetV1,
  DetrV1,
  CenterNetV1,
  RcnnStage1V1,
};

/// What is wanted besides boxes, scores and classes.
enum class Task { Detection, Pose, Segmentation };

/// How a raw score becomes a score. Heads whose export already holds probabilities take Identity, logits take Sigmoid.
enum class ScoreActivation { Identity, Sigmoid, Softmax };

/// Bytes of a mask: lround(255·probability), or 255 where that is at least 128 and 0 elsewhere.
enum class MaskEncoding { Probability, Binary };

/// Unit of boxes, and of keypoints, in heads that are already decoded.
enum class BoxUnit { Pixels, Normalised };

/// By which corners suppression measures overlap. Integer: rounded ones, in steps of 1/256; small boxes lose and gain overlap
/// by it. Exact: the FP32 ones, by the rule of ops::nms; the threshold is then neither rounded nor above its own value.
enum class SuppressionCorners { Integer, Exact };

/// Width and height in pixels, each 1 to 1,048,576.
struct ImageSize {
  std::int64_t width = 0;
  std::int64_t height = 0;
  bool operator==(const ImageSize &) const = default;
};

/// Width and height of an anchor in model pixels, finite and > 0.
struct Anchor {
  float width = 0.0F;
  float height = 0.0F;
  bool operator==(const Anchor &) const = default;
};

/// value = (raw − zero_point) · dequant_scale. The scale is a multiplier, finite and > 0: turn a reciprocal round first.
struct Quantization {
  float dequant_scale = 0.0F;
  std::int64_t zero_point = 0;  ///< −128..127 for Int8, 0..255 for UInt8
  bool operator==(const Quantization &) const = default;
};

/// The ports (indexes into Request::inputs) that together describe one grid of cells. Combined heads name one port in
/// several roles.
struct Head {
  std::size_t boxes = 0;
  std::size_t scores = 0;
  std::optional<std::size_t> objectness = std::nullopt;
  std::optional<std::size_t> extra = std::nullopt;  ///< keypoints, mask coefficients, or CenterNet's centre offsets
  std::optional<std::size_t> sizes = std::nullopt;  ///< widths and heights of split anchor heads
  bool operator==(const Head &) const = default;
};

/// Aspect kept, content centred, integer content size and pads.
struct CenteredLetterbox {
  bool operator==(const CenteredLetterbox &) const = default;
};
/// Aspect kept, content at the top left, sizes truncated (stock YOLOX, EfficientDet).
struct TopLeftLetterbox {
  bool operator==(const TopLeftLetterbox &) const = default;
};
/// Each axis scaled on its own.
struct Stretch {
  bool operator==(const Stretch &) const = default;
};
/// x_image = x_model · scale_x + offset_x, y alike: for crops and pads that no other policy describes.
struct Affine {
  float scale_x = 1.0F;
  float offset_x = 0.0F;
  float scale_y = 1.0F;
  float offset_y = 0.0F;
  bool operator==(const Affine &) const = default;
};
/// How the image was brought to the model's input size.
using ResizePolicy = std::variant<CenteredLetterbox, TopLeftLetterbox, Stretch, Affine>;

/// Everything that a recipe needs to know. Members without a usable default must be set; members that the recipe does not
/// use must keep their default.
struct Params {
  Profile profile = Profile::Yolo26V1;
  Task task = Task::Detection;
  std::vector<Head> heads = {};                                         ///< 1 to 64, in the order of the feature levels
  std::optional<std::size_t> mask_prototype = std::nullopt;             ///< port of the prototypes, Segmentation only
  ImageSize model_input_size = {};                                      ///< what the network was fed with
  ImageSize original_image_size = {};                                   ///< what detections are reported in
  std::int64_t num_classes = 0;                                         ///< ≥ 1; SSD counts the background, DETR does not
  std::int64_t max_detections = 0;                                      ///< K, 1 to 65,536: capacity of the outputs
  float detection_threshold = std::numeric_limits<float>::quiet_NaN();  ///< [0, 1), a score equal to it passes
  float nms_iou_threshold = std::numeric_limits<float>::quiet_NaN();    ///< [0, 1], strict; see suppression_corners
  std::optional<ScoreActivation> score_activation = std::nullopt;       ///< may be left out where the recipe fixes it
  std::map<std::size_t, Quantization> quantization = {};                ///< one entry for each Int8 or UInt8 port, no other
  std::int64_t num_keypoints = 17;                                      ///< Pose: 1 to 64
  std::vector<std::vector<Anchor>> anchors = {};                        ///< per head; empty: the profile's own table
  std::optional<ResizePolicy> resize = std::nullopt;                    ///< empty: the profile's own policy
  MaskEncoding mask_encoding = MaskEncoding::Probability;
  bool class_agnostic = false;                                 ///< boxes of every class suppress each other
  BoxUnit box_unit = BoxUnit::Pixels;                          ///< decoded YOLO heads
  float anchor_scale = 4.0F;                                   ///< EfficientDet, finite and > 0
  ScoreActivation box_activation = ScoreActivation::Identity;  ///< DETR: Identity or Sigmoid
  std::int64_t peak_window = 1;                                ///< CenterNet: 1 or 3
  /// Recipes that suppress.
  SuppressionCorners suppression_corners = SuppressionCorners::Integer;
  /// YoloDecodedV1 and YoloAnchorDecodedV1 with num_classes 1 and objectness: the score is act(objectness) alone, > 0, and the
  /// class channel is not read, as YOLOv7 does (utils/general.py, non_max_suppression). False: the product. Yolo7V1 always
  /// does this for one class and takes no word for it.
  bool one_class_uses_objectness = false;
  /// YoloDecodedV1, Pose: unit of x and y of the keypoints. Empty: that of box_unit.
  std::optional<BoxUnit> keypoint_unit = std::nullopt;
  /// Pose: numbers of one keypoint in the tensor, 3 for x, y, visibility or 2 for x, y. With 2 the visibility is written as 1.
  std::int64_t keypoint_dims = 3;
};

/// What is to be checked. Nothing in it is kept: a plan owns copies.
struct Request {
  std::span<const TensorSpec> inputs;
  std::optional<std::span<const TensorSpec>> outputs;  ///< empty: the recipe's own, which Plan::output_specs says
  const Params &params;
};

namespace detail {
struct PlanState;
struct ContextState;
struct Access;
}  // namespace detail

/// The immutable result of validation and preparation: readers, tables, priors. A cheap shared handle; copies share
/// contexts, plans that were prepared apart do not, even when they are equal.
class Plan {
public:
  /// The request's parameters, with activation and resize policy resolved.
  [[nodiscard]] const Params &params() const noexcept;
  [[nodiscard]] std::span<const TensorSpec> input_specs() const noexcept;
  [[nodiscard]] std::span<const TensorSpec> output_specs() const noexcept;
  /// Bytes that a view of this input port must cover; 0 for a port that does not exist.
  [[nodiscard]] std::size_t required_bytes(std::size_t input_port) const noexcept;
  /// Bytes that one context allocates.
  [[nodiscard]] std::size_t context_bytes() const noexcept;
  /// Plain facts, one a line, for a person who doubts a configuration: grids, strides, layouts and bytes; per score port the
  /// raw cutoff, the highest reachable score and the number of admitted levels; the image mapping; the kernels. No guesses.
  [[nodiscard]] std::string describe() const;

private:
  friend struct detail::Access;
  explicit Plan(std::shared_ptr<const detail::PlanState> state) noexcept : state_(std::move(state)) {}
  std::shared_ptr<const detail::PlanState> state_;
};

/// Reusable scratch of one call in flight.
class ExecutionContext {
public:
  ~ExecutionContext();
  ExecutionContext(const ExecutionContext &) = delete;
  ExecutionContext &operator=(const ExecutionContext &) = delete;

private:
  friend struct detail::Access;
  explicit ExecutionContext(std::unique_ptr<detail::ContextState> state) noexcept;
  std::unique_ptr<detail::ContextState> state_;
};

/// From model pixels to the pixels of one image size: x_image = (x − shift)·scale for the letterboxes and Stretch,
/// x·scale + shift for Affine.
struct ImageMapping {
  float scale_x = 1.0F;
  float shift_x = 0.0F;
  float scale_y = 1.0F;
  float shift_y = 0.0F;
  bool shift_first = true;  ///< true: (x − shift)·scale; false: x·scale + shift
  bool operator==(const ImageMapping &) const = default;
};

/// The mapping to another original image size for the same plan. It keeps its plan alive; making or copying one allocates
/// nothing and rebuilds nothing.
class ImageGeometry {
public:
  [[nodiscard]] ImageSize image_size() const noexcept { return image_size_; }
  [[nodiscard]] const ImageMapping &mapping() const noexcept { return mapping_; }

private:
  friend struct detail::Access;
  ImageGeometry(std::shared_ptr<const detail::PlanState> state, ImageSize size, ImageMapping mapping) noexcept
      : state_(std::move(state)), image_size_(size), mapping_(mapping) {}
  std::shared_ptr<const detail::PlanState> state_;
  ImageSize image_size_;
  ImageMapping mapping_;
};

/// Validates a request and prepares everything that does not depend on a frame. The first error found is returned; groups
/// are checked in the order parameters, ports and roles, shapes, layouts, quantization, outputs.
/// Throws nothing but std::bad_alloc.
[[nodiscard]] std::variant<Plan, Error> check_inference(const Request &request);

/// Allocates the scratch of one call in flight. Throws nothing but std::bad_alloc. Never null for a plan of check_inference.
[[nodiscard]] std::unique_ptr<ExecutionContext> create_context(const Plan &plan);

/// Decodes one frame. Inputs and outputs are in port order; a view may be longer than its port needs, by any amount: what
/// follows may be padding, other tensors or the next frames of a batch, and is not looked at. On success every byte of every
/// output is written, rows beyond the count with zeros; on any error none is.
/// Checked in this order: context, lock, floating-point environment, buffers, overlap. Allocates nothing on success.
Status execute(const Plan &plan, ExecutionContext &context, std::span<const ConstHostBuffer> inputs,
               std::span<const HostBuffer> outputs);

/// The mapping to another original image. The affine mapping is required exactly when the plan's policy is Affine.
[[nodiscard]] std::variant<ImageGeometry, Error> check_image_geometry(const Plan &plan, ImageSize original_image_size,
                                                                      std::optional<Affine> affine = {});

/// Decodes one frame of another image size. The geometry and the context must come from this plan or a copy of it.
Status execute(const Plan &plan, const ImageGeometry &geometry, ExecutionContext &context,
               std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs);

}  // namespace simaai::kernels::ops::boxdecode
