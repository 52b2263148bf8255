#pragma once

#include <optional>
#include <span>

#include "boxdecode/plan/plan.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// The buffers of one call: counts, null, sizes, alignment, address ranges, then overlap. Reads none of their bytes.
[[nodiscard]] std::optional<Error> check_buffers(const PlanState &plan, std::span<const ConstHostBuffer> inputs,
                                                 std::span<const HostBuffer> outputs);

}  // namespace simaai::kernels::ops::boxdecode::detail
