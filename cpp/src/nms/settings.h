#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

#include <simaai/kernels/ops/nms.h>

#include "kernels/nms_kernels.h"

/// What every part of the operator is told. Includes nothing of this room.
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

}  // namespace simaai::kernels::detail
