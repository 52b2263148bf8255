#pragma once

#include <span>

#include <simaai/kernels/ops/boxdecode.h>

#include "boxdecode/plan/plan.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// The public execute but for the rows beyond the count, which stay as they are: for a caller that keeps its buffers and
/// copies the rows that count. K masks that nobody reads take longer to clear than a frame takes to decode. `geometry` may be
/// null: the plan's own mapping.
Status execute_rows(const Plan &plan, const ImageGeometry *geometry, ExecutionContext &context,
                    std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs);

/// Writes the decoded boxes that are valid and that the plan's policy of suppression admits, until `max_detections`. Returns
/// how many.
[[nodiscard]] Accept accept_for(const PlanState &plan) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
