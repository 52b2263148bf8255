#pragma once

#include "boxdecode/context/context.h"
#include "boxdecode/select/collector.h"

/// From bytes to candidates. In: one head's score lanes. Out: every candidate that passes the score gate. Never: a box, or
/// which family the head is of.
namespace simaai::kernels::ops::boxdecode::detail {

using Scan = void (*)(const Frame &frame, const HeadPlan &head, Collector &collector);

using BestClass = simaai::kernels::detail::Best (*)(const Frame &frame, const HeadPlan &head, std::uint32_t cell,
                                                    std::uint32_t anchor);

/// Finds the first best of the class lanes of a site, by its key and its index among them.
[[nodiscard]] BestClass best_class_for(const PlanState &plan, const HeadPlan &head) noexcept;

/// The scan for a score form; with objectness an anchor is first held against that.
[[nodiscard]] Scan scan_for(const Recipe &recipe, const HeadPlan &head) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
