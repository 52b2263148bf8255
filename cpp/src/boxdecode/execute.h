#pragma once

#include <span>

#include <simaai/kernels/ops/boxdecode.h>

namespace simaai::kernels::ops::boxdecode::detail {

/// The public execute but for the rows beyond the count, which stay as they are: for a caller that keeps its buffers and
/// copies the rows that count. K masks that nobody reads take longer to clear than a frame takes to decode. `geometry` may be
/// null: the plan's own mapping.
Status execute_rows(const Plan &plan, const ImageGeometry *geometry, ExecutionContext &context,
                    std::span<const ConstHostBuffer> inputs, std::span<const HostBuffer> outputs);

}  // namespace simaai::kernels::ops::boxdecode::detail
