#pragma once

#include <cstddef>
#include <cstdint>

#include "nms/scratch.h"
#include "nms/settings.h"

namespace simaai::kernels::detail {

/// Greedy suppression of one group.
/// In: rows[0..count) in score order. Out: the places in `rows` of those that are kept, ascending, kept[0..result), at most
/// `limit`. `kept` has room for count; it may be scratch.kept. Uses scratch.corners, lane_ids, buckets and starts.
[[nodiscard]] std::size_t suppress_hard(const NmsSettings &settings, NmsScratch &scratch, const float *boxes,
                                        const std::uint32_t *rows, std::size_t count, std::size_t limit, std::uint32_t *kept);

}  // namespace simaai::kernels::detail
