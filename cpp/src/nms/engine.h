#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <variant>

#include <simaai/kernels/ops/nms.h>

#include "kernels/nms_kernels.h"
#include "nms/scratch.h"

/// What the public execute and the Python functions share.
/// In: settings that were checked once, borrowed rows, scratch that is large enough. Out: the kept rows, in the scratch.
/// Never: an allocation on success, a look at the capacity, a lock.
namespace simaai::kernels::detail {

/// Parameters in the form in which a run needs them.
struct NmsSettings {
  ops::nms::Method method = ops::nms::Method::Hard;
  ops::nms::InvalidRows invalid = ops::nms::InvalidRows::Refuse;
  double iou_threshold = 0.5;
  NmsThreshold threshold = {};
  float sigma = 0.5F;
  float score_threshold = -std::numeric_limits<float>::infinity();
  bool has_score_threshold = false;
  std::size_t limit = std::numeric_limits<std::size_t>::max();
  const NmsKernels *kernels = nullptr;
};

/// Borrowed rows. At most one of the class pointers is set.
struct NmsRows {
  const float *boxes = nullptr;
  const float *scores = nullptr;
  std::size_t count = 0;
  const std::int32_t *classes_32 = nullptr;
  const std::int64_t *classes_64 = nullptr;
  [[nodiscard]] bool has_classes() const noexcept { return classes_32 != nullptr || classes_64 != nullptr; }
};

/// What Params say, checked. `prefix` stands before the name of a parameter in an error's field.
[[nodiscard]] std::variant<NmsSettings, Error> prepare_nms(const ops::nms::Params &params, const std::string &prefix);

/// Kept rows: scratch.kept[0..count), scores scratch.kept_scores[0..count).
[[nodiscard]] std::variant<std::size_t, Error> run_nms(const NmsSettings &settings, NmsScratch &scratch, const NmsRows &rows);

/// The kernels that fit this CPU, or those that a test forced.
[[nodiscard]] const NmsKernels &select_nms_kernels() noexcept;

}  // namespace simaai::kernels::detail
