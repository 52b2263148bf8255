#pragma once

#include <cstdint>

namespace simaai::kernels::detail {

/// True when an AArch64 FPCR value means round to nearest, gradual underflow for every format, and masked exceptions.
[[nodiscard]] constexpr bool fpcr_is_default(std::uint64_t fpcr) noexcept {
  constexpr std::uint64_t flush_inputs = 1U << 0U;    // FIZ
  constexpr std::uint64_t alternate = 1U << 1U;       // AH
  constexpr std::uint64_t trap_enables = 0x9F00U;     // IOE DZE OFE UFE IXE, IDE
  constexpr std::uint64_t flush_half = 1U << 19U;     // FZ16
  constexpr std::uint64_t rounding_mode = 3U << 22U;  // RMode
  constexpr std::uint64_t flush_to_zero = 1U << 24U;  // FZ
  return (fpcr & (flush_inputs | alternate | trap_enables | flush_half | rounding_mode | flush_to_zero)) == 0;
}

/// True when an x86 MXCSR value means round to nearest, no flush-to-zero, no denormals-are-zero, all exceptions masked.
[[nodiscard]] constexpr bool mxcsr_is_default(std::uint32_t mxcsr) noexcept {
  constexpr std::uint32_t denormals_are_zero = 1U << 6U;
  constexpr std::uint32_t masks = 0x1F80U;
  constexpr std::uint32_t rounding_control = 3U << 13U;
  constexpr std::uint32_t flush_to_zero = 1U << 15U;
  return (mxcsr & (denormals_are_zero | rounding_control | flush_to_zero)) == 0 && (mxcsr & masks) == masks;
}

/// Whether the calling thread computes as IEEE 754 prescribes. Reads the control register, never writes it.
[[nodiscard]] bool float_environment_is_default() noexcept;

/// What to tell a caller whose environment is another one.
inline constexpr const char *float_environment_message =
    "the floating-point environment of this thread is not the IEEE default (round to nearest, no flush-to-zero or "
    "denormals-are-zero, exceptions masked); the usual cause is a shared library built with -ffast-math, which sets "
    "flush-to-zero when it is loaded: find it and load it elsewhere, or restore the default in this thread before the call";

}  // namespace simaai::kernels::detail
