#pragma once

#include <cstddef>
#include <cstdint>

#include "nms/scratch.h"
#include "nms/settings.h"

/// Score order and class groups.
/// In: admitted scores and rows, class ids. Out: `order`, and the groups. Never: a comparison of rows that ties do not decide.
namespace simaai::kernels::detail {

/// The admitted rows of a call.
struct Admitted {
  std::size_t count = 0;
  bool all = false;  ///< every row; scratch.rows is not filled
  float least = 0;   ///< bounds of the scores
  float largest = 0;
};

/// Fills scratch.order with the admitted rows, descending score, equal scores by ascending row.
void order_by_score(const NmsSettings &settings, NmsScratch &scratch, const Admitted &admitted);

/// Gathers scratch.order[0..count) by class: scratch.ranks and scratch.grouped hold the places in `order` and the rows, class
/// after class, inside a class in score order. Calls nothing back: group k ends where scratch.buckets[k] says. Returns the
/// number of groups.
std::size_t group_by_class(NmsScratch &scratch, const NmsRows &rows, std::size_t count);

}  // namespace simaai::kernels::detail
