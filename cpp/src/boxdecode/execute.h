#pragma once

#include "boxdecode/plan/plan.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// Writes the decoded boxes that are valid and that the plan's policy of suppression admits, until `max_detections`. Returns
/// how many.
[[nodiscard]] Accept accept_for(const PlanState &plan) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
