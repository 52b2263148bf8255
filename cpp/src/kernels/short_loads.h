#pragma once

#include <cstddef>
#include <cstdint>

// Reads of fewer bytes than a vector holds: two loads that overlap where the number is no power of two. Always inlined: as a
// call for each pixel, mask products of short pixels took 2.9 times as long (AVX2, 8 bytes).
namespace simaai::kernels::detail {
namespace {

template <typename Unsigned>
Unsigned load_scalar(const std::uint8_t *from) {
  Unsigned value;
  __builtin_memcpy(&value, from, sizeof(value));
  return value;
}

// Sixteen bytes.
struct TwoHalves {
  std::uint64_t low;
  std::uint64_t high;
};

// A row of 1..15 bytes, each of its elements at least once and nothing else.
[[gnu::always_inline]] inline TwoHalves load_short_row(const std::uint8_t *row, std::size_t row_bytes) {
  if (row_bytes >= 8) {
    return {load_scalar<std::uint64_t>(row), load_scalar<std::uint64_t>(row + row_bytes - 8)};
  }
  std::uint64_t both = 0;
  if (row_bytes >= 4) {
    both = load_scalar<std::uint32_t>(row) | static_cast<std::uint64_t>(load_scalar<std::uint32_t>(row + row_bytes - 4)) << 32U;
  } else if (row_bytes >= 2) {
    const std::uint64_t last = load_scalar<std::uint16_t>(row + row_bytes - 2);
    both = (load_scalar<std::uint16_t>(row) | last << 16U) * 0x0000000100000001U;
  } else {
    both = row[0] * 0x0101010101010101U;
  }
  return {both, both};
}

// A pixel of mask prototypes as its first and its last `part` bytes, then zeros. part: 1, 2, 4, 8; part ≤ length ≤ 2·part.
[[gnu::always_inline]] inline TwoHalves load_short_pixel(const std::uint8_t *pixel, std::size_t length, std::size_t part) {
  const std::uint8_t *last = pixel + length - part;
  switch (part) {
    case 8: return {load_scalar<std::uint64_t>(pixel), load_scalar<std::uint64_t>(last)};
    case 4: return {load_scalar<std::uint32_t>(pixel) | static_cast<std::uint64_t>(load_scalar<std::uint32_t>(last)) << 32U, 0};
    case 2: return {load_scalar<std::uint16_t>(pixel) | static_cast<std::uint64_t>(load_scalar<std::uint16_t>(last)) << 16U, 0};
    default: return {pixel[0], 0};
  }
}

// The largest part of a pixel of `length` ≥ 1 bytes.
inline std::size_t part_of_pixel(std::size_t length) {
  std::size_t part = 1;
  while (part * 2 <= length) {
    part *= 2;
  }
  return part;
}

// Values of the bytes of a pixel, one for each byte that is held: zero for bytes that are held a second time.
template <typename Value>
void arrange_as_held(const Value *of_byte, std::size_t length, std::size_t part, Value *held) {
  for (std::size_t at = 0; at < 2 * part; ++at) {
    const std::size_t byte = at < part ? at : length - 2 * part + at;
    held[at] = at < part || byte >= part ? of_byte[byte] : Value{0};
  }
}

}  // namespace
}  // namespace simaai::kernels::detail
