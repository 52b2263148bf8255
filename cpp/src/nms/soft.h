#pragma once

#include <cstddef>

#include "nms/order.h"

namespace simaai::kernels::detail {

/// The soft methods: repeatedly the best remaining row, whose overlap decays the others of its class.
/// In: the admitted rows, finite scores. Out: scratch.kept and scratch.kept_scores in the order of picking; their number.
[[nodiscard]] std::size_t suppress_soft(const NmsSettings &settings, NmsScratch &scratch, const NmsRows &rows,
                                        const Admitted &admitted);

}  // namespace simaai::kernels::detail
