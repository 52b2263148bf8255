#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <simaai/kernels/ops/boxdecode.h>

#include "kernels/kernels.h"

/// What a mask logit is worth. In: scales and encoding. Out: a byte, or a step function from integer sums to bytes. Never:
/// where a mask is written.
namespace simaai::kernels::ops::boxdecode::detail {

/// How mask logits of one pair of ports become bytes: from exact integer sums by a step function, or from FP32 dot products.
struct MaskTable {
  bool integer = false;
  float scale = 1.0F;                       ///< product of both dequantization scales
  std::int32_t binary_from = 0;             ///< Binary: 255 from this sum on
  std::vector<std::uint32_t> entries = {};  ///< of steps
  simaai::kernels::detail::MaskSteps steps = {};
};

/// lround(255·sigmoid(logit)), 0 for NaN; Binary: 255 where that is at least 128, else 0.
[[nodiscard]] std::uint8_t mask_byte(float logit, MaskEncoding encoding) noexcept;

/// mask_byte(sum·scale) of every integer sum of up to `channels` products of 8-bit differences, as steps.
[[nodiscard]] std::unique_ptr<MaskTable> make_mask_table(float scale, MaskEncoding encoding, std::uint32_t channels);

}  // namespace simaai::kernels::ops::boxdecode::detail
