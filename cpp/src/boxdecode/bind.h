#pragma once

#include "boxdecode/plan/plan.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// Chooses the function of each word, of a prepared plan and its heads. The only place where words become code.
void bind_words(PlanState &plan);

}  // namespace simaai::kernels::ops::boxdecode::detail
