#include "kernels/elements_scalar.h"

namespace simaai::kernels::detail {
namespace {

std::int32_t float_key(std::uint32_t bits, std::uint32_t infinity, std::uint32_t magnitude_mask) {
  const std::uint32_t magnitude = bits & magnitude_mask;
  if (magnitude > infinity) {
    return static_cast<std::int32_t>(magnitude_mask);
  }
  const std::int32_t value = static_cast<std::int32_t>(magnitude);
  return (bits & ~magnitude_mask) != 0 ? -value : value;
}

}  // namespace

Best best_8_scalar(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  Best best{as_signed<std::uint8_t>(elements[0] ^ flip), 0};
  for (std::size_t lane = 1; lane < length; ++lane) {
    const std::int32_t key = as_signed<std::uint8_t>(elements[lane] ^ flip);
    if (key > best.key) {
      best = {key, static_cast<std::uint32_t>(lane)};
    }
  }
  return best;
}

Best best_blocks_8_scalar(const std::uint8_t *block, std::size_t block_step, std::size_t length, std::uint32_t flip) {
  Best best = best_8_scalar(block, length < 16 ? length : 16, flip);
  for (std::size_t lane = 16; lane < length; lane += 16) {
    block += block_step;
    const Best next = best_8_scalar(block, length - lane < 16 ? length - lane : 16, flip);
    if (next.key > best.key) {
      best = {next.key, static_cast<std::uint32_t>(lane) + next.index};
    }
  }
  return best;
}

Best best_16_scalar(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  Best best{float_key(elements[0], infinity, 0x7FFFU), 0};
  for (std::size_t lane = 1; lane < length; ++lane) {
    const std::int32_t key = float_key(elements[lane], infinity, 0x7FFFU);
    if (key > best.key) {
      best = {key, static_cast<std::uint32_t>(lane)};
    }
  }
  return best;
}

Best best_32_scalar(const std::uint32_t *elements, std::size_t length) {
  Best best{float_key(elements[0], 0x7F800000U, 0x7FFFFFFFU), 0};
  for (std::size_t lane = 1; lane < length; ++lane) {
    const std::int32_t key = float_key(elements[lane], 0x7F800000U, 0x7FFFFFFFU);
    if (key > best.key) {
      best = {key, static_cast<std::uint32_t>(lane)};
    }
  }
  return best;
}

}  // namespace simaai::kernels::detail
