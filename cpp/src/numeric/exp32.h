#pragma once

namespace simaai::kernels::detail {

/// The correctly rounded binary32 of e^x, round to nearest even with gradual underflow: exp32(−inf) = 0, exp32(+inf) = +inf,
/// NaN for NaN. The same bits on every CPU and compiler, because correct rounding leaves no choice.
[[nodiscard]] float exp32(float x) noexcept;

}  // namespace simaai::kernels::detail
