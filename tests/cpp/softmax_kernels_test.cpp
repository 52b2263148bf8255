// mask_bytes, exponentials and bin_distances of every kernel set against the scalar ones.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include "kernels/dispatch.h"

namespace simaai::kernels {
namespace {

std::vector<const detail::Kernels *> sets() {
  std::vector<const detail::Kernels *> found;
  for (const char *name : detail::available_kernels()) {
    detail::force_kernels(name);
    found.push_back(&detail::select_kernels());
  }
  detail::force_kernels(nullptr);
  return found;
}

std::uint32_t draw(std::mt19937 &random) { return static_cast<std::uint32_t>(random()); }

// Bits, with every NaN alike.
std::vector<std::uint32_t> bits_of(const std::vector<float> &values) {
  std::vector<std::uint32_t> bits;
  for (const float value : values) {
    std::uint32_t word;
    std::memcpy(&word, &value, sizeof word);
    bits.push_back(value != value ? 0x7FC00000U : word);
  }
  return bits;
}

TEST(SoftmaxKernels, MaskBytes) {
  std::mt19937 random(1);
  for (int round = 0; round < 400; ++round) {
    const std::uint32_t shift = draw(random) % 12;
    const std::uint32_t buckets = 1 + draw(random) % 300;
    std::vector<std::uint32_t> entries(buckets);
    for (std::uint32_t bucket = 0; bucket < buckets; ++bucket) {
      entries[bucket] = (draw(random) % 255U) | (draw(random) % ((1U << shift) + 2U)) << 8U;
    }
    const std::int32_t low = static_cast<std::int32_t>(draw(random) % 200000) - 100000;
    const std::size_t pixels = draw(random) % 70;
    std::vector<std::int32_t> sums(pixels);
    for (std::int32_t &sum : sums) {
      const auto kind = draw(random) % 8;
      sum = kind == 0   ? low - static_cast<std::int32_t>(draw(random) % 2000000000U)
            : kind == 1 ? low + static_cast<std::int32_t>(draw(random) % 2000000000U)
                        : low + static_cast<std::int32_t>(draw(random) % ((buckets << shift) + 3U)) - 1;
    }
    std::vector<std::uint8_t> expected(pixels);
    const detail::MaskSteps steps{entries.data(), buckets, shift, low};
    detail::scalar_kernels.mask_bytes(sums.data(), pixels, steps, expected.data());
    for (const detail::Kernels *set : sets()) {
      std::vector<std::uint8_t> bytes(pixels);
      set->mask_bytes(sums.data(), pixels, steps, bytes.data());
      ASSERT_EQ(bytes, expected) << set->name;
    }
  }
}

TEST(SoftmaxKernels, BinDistances8) {
  std::mt19937 random(2);
  std::vector<float> table(256);
  for (int round = 0; round < 60; ++round) {
    const float scale =
        std::ldexp(1.0F + static_cast<float>(draw(random) % 1000) / 1000.0F, static_cast<int>(draw(random) % 12) - 8);
    for (std::size_t d = 0; d < 256; ++d) {
      table[d] = std::exp(-scale * static_cast<float>(d));
    }
    for (std::uint32_t bins = 2; bins <= 64; ++bins) {
      const std::size_t side_step = bins + draw(random) % 3 * 16;
      std::vector<std::uint8_t> raw(3 * side_step + bins);
      const auto kind = draw(random) % 4;
      for (std::uint8_t &byte : raw) {
        byte = static_cast<std::uint8_t>(kind == 0 ? 0x80U : kind == 1 ? 0x7FU + (draw(random) & 1U) : draw(random));
      }
      for (const std::uint8_t flip : {std::uint8_t{0}, std::uint8_t{0x80}}) {
        std::vector<float> expected(4), sides(4);
        detail::scalar_kernels.bin_distances_8(raw.data(), side_step, bins, flip, table.data(), expected.data());
        for (const detail::Kernels *set : sets()) {
          set->bin_distances_8(raw.data(), side_step, bins, flip, table.data(), sides.data());
          ASSERT_EQ(bits_of(sides), bits_of(expected)) << set->name << " " << bins;
        }
      }
    }
  }
}

TEST(SoftmaxKernels, BinDistances32) {
  std::mt19937 random(3);
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const float special[] = {infinity, -infinity, NAN, -NAN, 0.0F, -0.0F, 1e-40F, 3e38F, -3e38F, -103.9F, 88.0F};
  for (int round = 0; round < 60; ++round) {
    for (std::uint32_t bins = 2; bins <= 64; ++bins) {
      std::vector<float> x(4 * bins);
      const auto kind = draw(random) % 6;
      for (float &value : x) {
        value = (static_cast<float>(draw(random) % 20001) - 10000.0F) / (kind < 3 ? 1000.0F : 50.0F);
        if (kind == 5 || (kind == 4 && draw(random) % 64 == 0)) {
          value = special[draw(random) % std::size(special)];
        } else if (kind == 3) {
          value = special[4 + draw(random) % 2];
        }
      }
      std::vector<float> expected(4), sides(4);
      detail::scalar_kernels.bin_distances_32(x.data(), bins, expected.data());
      for (const detail::Kernels *set : sets()) {
        set->bin_distances_32(x.data(), bins, sides.data());
        ASSERT_EQ(bits_of(sides), bits_of(expected)) << set->name << " " << bins;
      }
    }
  }
}

// e^x within 2^-40 of a boundary between two floats: an exponential that is a little less exact rounds to the wrong one.
// At −88 the exponential is no normal number.
TEST(SoftmaxKernels, BinDistancesNearRoundingBoundaries) {
  const float near[] = {-0x1.0a8c84p+0F, -0x1.0d2f18p+0F, -0x1.347228p+0F, -0x1.356ac4p+0F, -0x1.5da226p+0F, -0x1.67b772p+0F,
                        -0x1.74a396p+0F, -0x1.83bd26p+0F, -0x1.88c3b2p+0F, -0x1.8fb452p+0F, -0x1.944dep+0F,  -88.0F};
  for (const float x : near) {
    for (std::size_t place = 1; place < 16; ++place) {
      std::vector<float> values(64, -80.0F);
      for (std::size_t side = 0; side < 4; ++side) {
        values[16 * side] = 0.0F;
        values[16 * side + place] = x;
      }
      std::vector<float> expected(4), sides(4);
      detail::scalar_kernels.bin_distances_32(values.data(), 16, expected.data());
      for (const detail::Kernels *set : sets()) {
        set->bin_distances_32(values.data(), 16, sides.data());
        ASSERT_EQ(bits_of(sides), bits_of(expected)) << set->name << " " << x << " in bin " << place;
      }
    }
  }
}

TEST(SoftmaxKernels, Exponentials) {
  std::mt19937 random(4);
  for (int round = 0; round < 4000; ++round) {
    const std::size_t length = draw(random) % 100;
    std::vector<float> x(length);
    for (float &value : x) {
      const std::uint32_t word = draw(random);
      std::memcpy(&value, &word, sizeof value);
      value = draw(random) % 2 == 0 ? value : static_cast<float>(static_cast<std::int32_t>(word)) * 0x1p-24F;
    }
    const float largest = round % 3 == 0 ? 0.0F : static_cast<float>(draw(random) % 1000) / 100.0F;
    std::vector<float> expected(length), terms(length);
    detail::scalar_kernels.exponentials(x.data(), length, largest, expected.data());
    for (const detail::Kernels *set : sets()) {
      set->exponentials(x.data(), length, largest, terms.data());
      ASSERT_EQ(bits_of(terms), bits_of(expected)) << set->name;
    }
  }
}

}  // namespace
}  // namespace simaai::kernels
