#pragma once

#include <cstddef>
#include <string>
#include <variant>

#include <simaai/kernels/ops/nms.h>

#include "kernels/kernels.h"
#include "nms/scratch.h"
#include "nms/settings.h"

/// What the public execute and the Python functions share.
/// In: settings that were checked once, borrowed rows, scratch that is large enough. Out: the kept rows, in the scratch.
/// Never: an allocation on success, a look at the capacity, a lock.
namespace simaai::kernels::detail {

/// What Params say, checked. `prefix` stands before the name of a parameter in an error's field.
[[nodiscard]] std::variant<NmsSettings, Error> prepare_nms(const ops::nms::Params &params, const std::string &prefix);

/// Kept rows: scratch.kept[0..count), scores scratch.kept_scores[0..count).
[[nodiscard]] std::variant<std::size_t, Error> run_nms(const NmsSettings &settings, NmsScratch &scratch, const NmsRows &rows);

/// The kernels of a set. The two tables are apart, so that a program with one operator links one of them; a set that is missing
/// here stops the compiler.
[[nodiscard]] const NmsKernels &nms_kernels_of(KernelSet set) noexcept;

/// The kernels of the set that fits this CPU, or that a test forced: the one that a plan of the other operator gets.
[[nodiscard]] const NmsKernels &select_nms_kernels() noexcept;

}  // namespace simaai::kernels::detail
