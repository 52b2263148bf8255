#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <variant>

#include <simaai/kernels/status.h>

/// Suppression of overlapping boxes, on float boxes that are already decoded.
///
///     Request ─check_inference→ Plan ─create_context→ ExecutionContext
///     boxes, scores, class ids ─execute→ indices of the kept rows, their scores, count
///
/// Boxes are [N, 4] rows x1, y1, x2, y2 with x2 ≥ x1 and y2 ≥ y1, continuous coordinates (no +1). All arithmetic is FP32:
///     area = (x2 − x1)·(y2 − y1)
///     inter = max(0, min(x2) − max(x1)) · max(0, min(y2) − max(y1))
///     IoU = inter / ((areaA + areaB) − inter)
/// The same input gives the same output on every CPU.
namespace simaai::kernels::ops::nms {

/// What happens to a box that overlaps a better one of its class.
enum class Method {
  Hard,          ///< removed when IoU > iou_threshold, the FP32 IoU against the double threshold; 0/0 removes nothing
  SoftLinear,    ///< score·(1 − IoU) when IoU > iou_threshold
  SoftGaussian,  ///< score·e^(−IoU²/sigma), always
  SoftAdaptive,  ///< score·(1 − IoU) when the larger area is more than twice the smaller one, otherwise as SoftGaussian
};

/// What happens to a row with a NaN score, a coordinate that is not finite, x2 < x1 or y2 < y1; in the soft methods also one
/// with an infinite score.
enum class InvalidRows {
  Refuse,  ///< execute returns an error that names the first one
  Drop,    ///< it neither counts nor suppresses
};

/// Element type of the class ids that execute will get. None: boxes of all classes suppress each other.
enum class ClassIds { None, Int32, Int64 };

/// The parameters of a plan. `capacity` must be set; the others have the defaults of the Python functions.
struct Params {
  std::int64_t capacity = -1;  ///< most rows of one call, 0 to 2^31 − 1
  Method method = Method::Hard;
  double iou_threshold = 0.5;                                 ///< [0, 1], not narrowed; Hard and SoftLinear
  double sigma = 0.5;                                         ///< SoftGaussian, SoftAdaptive: finite and > 0 as FP32
  std::optional<double> score_threshold = std::nullopt;       ///< finite; a score ≥ FP32(threshold) is kept
  std::optional<std::int64_t> max_detections = std::nullopt;  ///< ≥ 0; empty: no limit
  ClassIds class_ids = ClassIds::None;
  InvalidRows invalid = InvalidRows::Refuse;
};

/// What is to be checked. Nothing in it is kept: a plan owns copies.
struct Request {
  const Params &params;
};

/// Borrowed rows of one call; the caller keeps them alive and unchanged until execute has returned.
struct Inputs {
  std::span<const float> boxes;   ///< 4·N: x1, y1, x2, y2 of each row
  std::span<const float> scores;  ///< N
  /// N ids of the plan's type, any values: rows belong together exactly when their ids are equal.
  std::variant<std::monostate, std::span<const std::int32_t>, std::span<const std::int64_t>> class_ids = {};
};

/// Where the results go. The first *count elements are written, nothing behind them.
struct Outputs {
  std::span<std::int64_t> indices;  ///< kept rows; room for min(N, max_detections)
  std::span<float> scores = {};     ///< their scores, decayed by the soft methods; the same room, or empty: not wanted
  std::int64_t *count = nullptr;    ///< how many were kept
};

namespace detail {
struct PlanState;
struct ContextState;
struct Access;
}  // namespace detail

/// The immutable result of validation. A cheap shared handle; copies share contexts, plans that were prepared apart do not,
/// even when they are equal.
class Plan {
public:
  [[nodiscard]] const Params &params() const noexcept;
  /// Bytes that one context allocates: proportional to the capacity.
  [[nodiscard]] std::size_t context_bytes() const noexcept;

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

/// Validates the parameters, in the order of their declaration. Throws nothing but std::bad_alloc.
/// Errors: FloatEnvironment; InvalidParameter at `params.NAME`.
[[nodiscard]] std::variant<Plan, Error> check_inference(const Request &request);

/// Allocates the scratch of one call in flight. Throws nothing but std::bad_alloc. Never null for a plan of check_inference.
[[nodiscard]] std::unique_ptr<ExecutionContext> create_context(const Plan &plan);

/// Suppresses one set of rows. Hard: the kept rows in descending order of score, equal scores in ascending order of index
/// (−0 equals +0). Soft: the rows in the order in which they were picked: repeatedly the best remaining one, equal scores by
/// lower index, until the best is below the score threshold.
/// Checked in this order: context, lock, floating-point environment, buffers, overlap, rows. On any error no output is
/// written. Allocates nothing on success.
/// Errors: ContextMismatch, ContextBusy, FloatEnvironment; InvalidBuffer and BufferOverlap at `boxes`, `scores`, `class_ids`,
/// `outputs.NAME`; InvalidParameter at `boxes[row]` or `scores[row]` for an invalid row.
Status execute(const Plan &plan, ExecutionContext &context, const Inputs &inputs, const Outputs &outputs);

/// How the four numbers of a box are meant.
enum class BoxFormat {
  Corners,         ///< x1, y1, x2, y2 ("xyxy")
  TopLeftAndSize,  ///< x1, y1, width, height ("xywh", COCO)
  CentreAndSize,   ///< centre x, centre y, width, height ("cxcywh", YOLO)
};

/// Converts [N, 4] boxes between formats, through corners; `converted` may be `boxes` itself, and is then converted in place.
/// Errors: InvalidBuffer at `boxes` or `converted` for null, sizes that differ or are no multiple of four; BufferOverlap;
/// InvalidParameter at `from` or `to` for a value that no enumerator has.
Status convert_boxes(std::span<const float> boxes, BoxFormat from, BoxFormat to, std::span<float> converted);
Status convert_boxes(std::span<const double> boxes, BoxFormat from, BoxFormat to, std::span<double> converted);

/// Areas of [N, 4] boxes x1, y1, x2, y2, unclamped. Errors: InvalidBuffer at `boxes` or `areas`; BufferOverlap.
Status box_areas(std::span<const float> boxes, std::span<float> areas);
Status box_areas(std::span<const double> boxes, std::span<double> areas);

/// The N×M IoUs of [N, 4] and [M, 4] boxes, row-major; 0/0 is 0. Errors: InvalidBuffer at `a`, `b` or `ious`; BufferOverlap.
Status box_ious(std::span<const float> a, std::span<const float> b, std::span<float> ious);
Status box_ious(std::span<const double> a, std::span<const double> b, std::span<double> ious);

}  // namespace simaai::kernels::ops::nms
