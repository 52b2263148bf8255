#pragma once

#include <memory>
#include <variant>

#include "boxdecode/check/check.h"
#include "boxdecode/plan/plan.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// Prepares a plan from a request that check() has admitted, all but the functions of its words. The one error that is left is
/// a context that is too large.
[[nodiscard]] std::variant<std::shared_ptr<PlanState>, Error> prepare(const Request &request, const Facts &facts);

}  // namespace simaai::kernels::ops::boxdecode::detail
