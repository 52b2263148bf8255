#include "boxdecode/numeric/mask_table.h"

#include <algorithm>
#include <array>

#include "boxdecode/numeric/score_map.h"
#include "numeric/rounding.h"

namespace simaai::kernels::ops::boxdecode::detail {

std::uint8_t mask_byte(float logit, MaskEncoding encoding) noexcept {
  const float probability = sigmoid(logit);
  if (probability != probability) {
    return 0;
  }
  const std::int64_t value = simaai::kernels::detail::round_half_away(255.0F * probability);
  if (encoding == MaskEncoding::Binary) {
    return value >= 128 ? 255 : 0;
  }
  return static_cast<std::uint8_t>(value);
}

std::unique_ptr<MaskTable> make_mask_table(float scale, MaskEncoding encoding, std::uint32_t channels) {
  auto table = std::make_unique<MaskTable>();
  table->integer = true;
  table->scale = scale;
  const std::int32_t bound = static_cast<std::int32_t>(channels) * 255 * 255;
  const auto byte_of = [&](std::int32_t sum) { return mask_byte(static_cast<float>(sum) * scale, encoding); };
  // The first sum from which the byte is at least `byte`; bound + 1 when there is none. Bytes never fall with the sum.
  const auto first_sum = [&](std::int32_t byte) {
    std::int32_t low = -bound;
    std::int32_t high = bound + 1;
    while (low < high) {
      const std::int32_t middle = low + (high - low) / 2;
      if (byte_of(middle) >= byte) {
        high = middle;
      } else {
        low = middle + 1;
      }
    }
    return low;
  };
  std::array<std::int32_t, 257> floors{};
  floors[0] = -bound;
  floors[256] = bound + 1;
  for (std::int32_t byte = 1; byte < 256; ++byte) {
    floors[static_cast<std::size_t>(byte)] = first_sum(byte);
  }
  table->binary_from = floors[128];
  // Buckets no wider than the least distance of two steps hold at most one step; a step of several bytes starts a bucket of
  // one sum. The first bucket lies below every step and the last one behind all.
  std::int32_t narrowest = bound;
  for (std::size_t byte = 1; byte < 255; ++byte) {
    if (floors[byte + 1] <= bound) {
      narrowest = std::min(narrowest, floors[byte + 1] - floors[byte]);
    }
  }
  std::uint32_t shift = 0;
  while ((std::int32_t{2} << shift) <= narrowest && shift < 20) {
    ++shift;
  }
  const std::int32_t width = std::int32_t{1} << shift;
  const std::int32_t low = floors[1] - width;
  std::int32_t last_step = low;
  for (std::size_t byte = 1; byte < 256; ++byte) {
    last_step = floors[byte] <= bound ? std::max(last_step, floors[byte]) : last_step;
  }
  std::size_t byte = 0;
  for (std::int32_t start = low; start <= last_step + width; start += width) {
    while (byte < 255 && floors[byte + 1] <= start) {
      ++byte;
    }
    const std::int32_t next = byte < 255 ? floors[byte + 1] : bound + 1;
    const std::int32_t distance = std::min(next - start, width);
    table->entries.push_back(static_cast<std::uint32_t>(byte) | static_cast<std::uint32_t>(distance) << 8U);
  }
  table->steps = {table->entries.data(), static_cast<std::uint32_t>(table->entries.size()), shift, low};
  return table;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
