// Every kernel set that this CPU can run, by name, against the scalar one: the same bytes for every input, and no touch of a
// byte that is not an element. `Truth` tests hold all sets, the scalar one too, against results worked out by hand.
#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "kernels/kernels.h"
#include "support/guarded_buffer.h"

namespace simaai::kernels {
namespace {

using detail::Best;
using detail::Gate;
using detail::Kernels;
using detail::MaskCoefficients;
using detail::RoundedBox;
using detail::SuppressionBlock;
using test_support::GuardedBuffer;
using test_support::GuardedEnd;

constexpr std::uint32_t seed = 20260726;
constexpr std::array<GuardedEnd, 2> both_ends = {GuardedEnd::First, GuardedEnd::Last};

class Random {
public:
  explicit Random(std::uint32_t start) : engine_(start) {}

  /// Uniform in low..high.
  template <typename Integer>
  Integer between(Integer low, Integer high) {
    return static_cast<Integer>(
        std::uniform_int_distribution<std::int64_t>(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high))(engine_));
  }
  std::uint32_t bits() { return static_cast<std::uint32_t>(engine_()); }
  template <typename Container>
  auto one_of(const Container &values) {
    return values[between<std::size_t>(0, std::size(values) - 1)];
  }

private:
  std::mt19937 engine_;
};

class KernelSet : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    ASSERT_TRUE(detail::force_kernels(GetParam()));
    kernels_ = &detail::select_kernels();
    detail::force_kernels(nullptr);
    ASSERT_STREQ(kernels_->name, GetParam());
  }
  const Kernels &kernels() const { return *kernels_; }

private:
  const Kernels *kernels_ = nullptr;
};

class Equality : public KernelSet {};
class Truth : public KernelSet {};

std::string name_of_set(const ::testing::TestParamInfo<const char *> &info) { return info.param; }

std::vector<const char *> sets_beside_scalar() {
  std::vector<const char *> names = detail::available_kernels();
  names.pop_back();
  return names;
}

// Where scalar is all there is, there is nothing to compare.
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(Equality);
INSTANTIATE_TEST_SUITE_P(Every, Equality, ::testing::ValuesIn(sets_beside_scalar()), name_of_set);
INSTANTIATE_TEST_SUITE_P(Every, Truth, ::testing::ValuesIn(detail::available_kernels()), name_of_set);

TEST(KernelSets, AreTestedByName) {
  std::string names;
  for (const char *name : detail::available_kernels()) {
    names += std::string(" ") + name;
  }
  std::fprintf(stderr, "kernel sets tested here, best first:%s; random seed %u\n", names.c_str(), seed);
  EXPECT_EQ(names.substr(names.rfind(' ')), " scalar");
}

// ---- gates ----------------------------------------------------------------------------------------------------------

/// The three forms of a gate by the bytes of an element.
using GateRows = std::size_t (*)(const std::uint8_t *, std::size_t, std::size_t, std::size_t, Gate, std::uint32_t *);
using GatePlanes = std::size_t (*)(const std::uint8_t *, std::size_t, std::size_t, std::size_t, Gate, void *, std::uint32_t *);
using GateStripes = std::size_t (*)(const std::uint8_t *, std::size_t, const std::size_t *, const std::uint16_t *, std::size_t,
                                    Gate, std::uint32_t *);

GateRows gate_rows(const Kernels &kernels, std::size_t width) {
  return width == 1 ? kernels.gate_rows_8 : width == 2 ? kernels.gate_rows_16 : kernels.gate_rows_32;
}
GatePlanes gate_planes(const Kernels &kernels, std::size_t width) {
  return width == 1 ? kernels.gate_planes_8 : width == 2 ? kernels.gate_planes_16 : kernels.gate_planes_32;
}
GateStripes gate_stripes(const Kernels &kernels, std::size_t width) {
  return width == 1 ? kernels.gate_stripes_8 : kernels.gate_stripes_16;
}

std::int32_t lowest(std::size_t width) { return static_cast<std::int32_t>(-(std::int64_t{1} << (8 * width - 1))); }
std::int32_t highest(std::size_t width) { return static_cast<std::int32_t>((std::int64_t{1} << (8 * width - 1)) - 1); }
std::uint32_t all_bits(std::size_t width) { return static_cast<std::uint32_t>((std::uint64_t{1} << (8 * width)) - 1); }

void put(std::uint8_t *to, std::size_t width, std::uint32_t value) { std::memcpy(to, &value, width); }

/// A gate that is used (flip 0, the sign, all but the sign) or any other; thresholds at the extremes or inside.
Gate random_gate(Random &random, std::size_t width) {
  const std::uint32_t sign = std::uint32_t{1} << (8 * width - 1);
  const std::array<std::uint32_t, 6> flips = {0U, 0U, sign, sign - 1U, all_bits(width), random.bits() & all_bits(width)};
  const std::array<std::int32_t, 10> thresholds = {INT32_MIN,
                                                   lowest(width),
                                                   lowest(width) + 1,
                                                   -1,
                                                   0,
                                                   1,
                                                   highest(width),
                                                   INT32_MAX,
                                                   random.between(lowest(width), highest(width)),
                                                   random.between(lowest(width), highest(width))};
  Gate gate{random.one_of(flips), random.one_of(thresholds)};
  if (width < 4 && random.between(0, 9) == 0) {
    gate.threshold = random.between(0, 1) == 0 ? lowest(width) - 1 : highest(width) + 1;
  }
  return gate;
}

/// Fills a buffer with elements, most of which are below the gate, so that `rarity` decides how often one passes: 0 none,
/// 1 all just at the threshold, n every n-th on average; or with random, smallest, largest elements or NaN of both signs.
class Filler {
public:
  Filler(Random &random, std::size_t width, Gate gate) : random_(random), width_(width), gate_(gate) {}

  void fill(std::uint8_t *to, std::size_t bytes, int kind) {
    for (std::size_t at = 0; at < bytes; at += width_) {
      put(to + at, std::min(width_, bytes - at), element(kind));
    }
  }
  static constexpr int kinds = 9;

private:
  std::uint32_t key_bits(std::int64_t key) const {
    const std::int64_t clamped = std::clamp<std::int64_t>(key, lowest(width_), highest(width_));
    return (static_cast<std::uint32_t>(clamped) ^ gate_.flip) & all_bits(width_);
  }
  std::uint32_t rare(int rarity) {
    const bool passes = rarity != 0 && random_.between(1, rarity) == 1;
    const std::int64_t distance = random_.between(0, 3) == 0 ? random_.between(0, 40) : random_.between(0, 3);
    return key_bits(passes ? gate_.threshold + distance : gate_.threshold - (1 + distance));
  }
  std::uint32_t element(int kind) {
    switch (kind) {
      case 0: return random_.bits() & all_bits(width_);
      case 1: return rare(0);
      case 2: return key_bits(gate_.threshold);
      case 3: return rare(4);
      case 4: return rare(100);
      case 5: return rare(3000);
      case 6: return key_bits(lowest(width_));
      case 7: return key_bits(highest(width_));
      default: {
        // NaN and infinities of both signs, zeros of both signs, subnormals: as bits of BF16 and FP32.
        constexpr std::array<std::uint32_t, 10> floats = {0x7FC00000U, 0xFFC00000U, 0x7F800001U, 0xFFFFFFFFU, 0x7F800000U,
                                                          0xFF800000U, 0x00000000U, 0x80000000U, 0x00010001U, 0x80010001U};
        return random_.one_of(floats) >> (32 - 8 * width_);
      }
    }
  }

  Random &random_;
  std::size_t width_;
  Gate gate_;
};

std::string text_of(Gate gate) { return "flip " + std::to_string(gate.flip) + ", threshold " + std::to_string(gate.threshold); }

/// Calls `run(kernels, hits)` for the scalar set and for the one under test and compares. Both lists end at a guarded page.
template <typename Run>
void expect_equal_hits(const Kernels &kernels, std::size_t room, const std::string &text, Run run) {
  std::vector<std::uint32_t> expected(room);
  expected.resize(run(detail::scalar_kernels, expected.data()));
  const GuardedBuffer hits(room * sizeof(std::uint32_t), GuardedEnd::Last);
  const std::size_t count = run(kernels, hits.as<std::uint32_t>());
  ASSERT_LE(count, room) << text;
  const std::vector<std::uint32_t> found(hits.as<std::uint32_t>(), hits.as<std::uint32_t>() + count);
  ASSERT_EQ(found, expected) << text;
}

constexpr std::array<std::size_t, 38> edge_lengths = {1,  2,  3,  4,  5,   6,   7,   8,   9,   12,  15,  16, 17,
                                                      20, 21, 24, 31, 32,  33,  47,  48,  49,  63,  64,  65, 79,
                                                      80, 81, 85, 91, 127, 128, 129, 160, 200, 255, 256, 257};
constexpr std::array<std::size_t, 22> edge_counts = {0,  1,  2,  3,  4,  5,  7,  8,  9,   15,  16,
                                                     17, 31, 32, 33, 63, 64, 65, 80, 255, 256, 257};

void compare_rows(const Kernels &kernels, Random &random, std::size_t width, std::size_t rows, std::size_t length,
                  std::size_t padding, int kind) {
  const Gate gate = random_gate(random, width);
  const std::size_t row_step = length * width + padding;
  const std::size_t bytes = rows == 0 ? 0 : (rows - 1) * row_step + length * width;
  std::vector<std::uint8_t> content(bytes);
  Filler(random, width, gate).fill(content.data(), bytes, kind);
  if (padding % width != 0) {
    for (std::size_t row = 0; row < rows; ++row) {
      Filler(random, width, gate).fill(content.data() + row * row_step, length * width, kind);
    }
  }
  for (const std::size_t offset : {std::size_t{0}, random.between<std::size_t>(1, 63), std::size_t{64}}) {
    // At the beginning of a page, at any place, at the end of a page.
    const GuardedBuffer buffer(bytes + offset % 64, offset < 64 ? GuardedEnd::First : GuardedEnd::Last);
    std::uint8_t *base = buffer.data() + offset % 64;
    std::copy(content.begin(), content.end(), base);
    const std::string text = "width " + std::to_string(width) + ", rows " + std::to_string(rows) + " of " +
                             std::to_string(length) + ", padding " + std::to_string(padding) + ", offset " +
                             std::to_string(offset) + ", content " + std::to_string(kind) + ", " + text_of(gate);
    expect_equal_hits(kernels, rows, text, [&](const Kernels &set, std::uint32_t *hits) {
      return gate_rows(set, width)(base, rows, row_step, length, gate, hits);
    });
    if (::testing::Test::HasFatalFailure()) {
      return;
    }
  }
}

TEST_P(Equality, GateRows) {
  Random random(seed);
  for (const std::size_t width : {1U, 2U, 4U}) {
    for (const std::size_t length : edge_lengths) {
      for (const std::size_t rows : edge_counts) {
        if (rows * length > 24000) {
          continue;
        }
        for (const std::size_t padding : {std::size_t{0}, random.between<std::size_t>(1, 7), 5 * width}) {
          compare_rows(kernels(), random, width, rows, length, padding, random.between(0, Filler::kinds - 1));
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

// Enough short rows for many blocks and for more than 64 of them, with every kind of content.
TEST_P(Equality, GateManyRows) {
  Random random(seed + 1);
  for (const std::size_t width : {1U, 2U, 4U}) {
    for (const std::size_t length : {1U, 2U, 3U, 5U, 7U, 11U, 13U, 17U, 19U, 23U, 29U, 31U, 80U, 81U}) {
      const std::size_t most = 40000 / (length * width);
      for (int kind = 0; kind < Filler::kinds; ++kind) {
        compare_rows(kernels(), random, width, random.between<std::size_t>(most / 2, most), length, 0, kind);
        if (HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

// One element that passes, at each place of a run of rows: nothing beside it may be flagged, and nothing may be lost.
TEST_P(Truth, GateRowsWithOneHitAnywhere) {
  for (const std::size_t width : {1U, 2U, 4U}) {
    for (const std::size_t length : {1U, 3U, 17U, 20U, 80U}) {
      const std::size_t elements = 1400 / width;
      const std::size_t rows = elements / length;
      const GuardedBuffer buffer(rows * length * width, GuardedEnd::Last);
      std::vector<std::uint32_t> hits(rows);
      for (std::size_t element = 0; element < rows * length; ++element) {
        put(buffer.data() + element * width, width, 7);
        const std::size_t count =
            gate_rows(kernels(), width)(buffer.data(), rows, length * width, length, Gate{0, 7}, hits.data());
        ASSERT_EQ(count, 1U) << width << ' ' << length << ' ' << element;
        ASSERT_EQ(hits[0], element / length) << width << ' ' << length << ' ' << element;
        put(buffer.data() + element * width, width, 6);
      }
    }
  }
}

TEST_P(Equality, GatePlanes) {
  Random random(seed + 2);
  for (const std::size_t width : {1U, 2U, 4U}) {
    for (const std::size_t cells : edge_counts) {
      for (const std::size_t planes : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 12U, 16U, 17U, 80U}) {
        for (const std::size_t padding : {std::size_t{0}, random.between<std::size_t>(1, 77)}) {
          const Gate gate = random_gate(random, width);
          const int kind = random.between(0, Filler::kinds - 1);
          const std::size_t plane_step = cells * width + padding;
          const std::size_t bytes = planes == 0 ? 0 : (planes - 1) * plane_step + cells * width;
          for (const GuardedEnd end : both_ends) {
            const GuardedBuffer buffer(bytes, end);
            for (std::size_t plane = 0; plane < planes; ++plane) {
              Filler(random, width, gate).fill(buffer.data() + plane * plane_step, cells * width, kind);
            }
            const GuardedBuffer marks(cells * width, end);
            const std::string text = "width " + std::to_string(width) + ", cells " + std::to_string(cells) + ", planes " +
                                     std::to_string(planes) + ", padding " + std::to_string(padding) + ", content " +
                                     std::to_string(kind) + ", " + text_of(gate);
            expect_equal_hits(kernels(), cells, text, [&](const Kernels &set, std::uint32_t *hits) {
              std::fill_n(marks.data(), marks.size(), std::uint8_t{0x7F});
              return gate_planes(set, width)(buffer.data(), cells, planes, plane_step, gate, marks.data(), hits);
            });
            if (HasFatalFailure()) {
              return;
            }
          }
        }
      }
    }
  }
}

TEST_P(Equality, GatePlanesOfAFullBlock) {
  Random random(seed + 3);
  for (const std::size_t width : {1U, 2U, 4U}) {
    for (const std::size_t cells : {4095U, 4096U}) {
      const Gate gate{0, 100};
      const GuardedBuffer buffer(cells * width * 6, GuardedEnd::Last);
      Filler(random, width, gate).fill(buffer.data(), buffer.size(), 4);
      const GuardedBuffer marks(cells * width, GuardedEnd::Last);
      expect_equal_hits(kernels(), cells, std::to_string(cells), [&](const Kernels &set, std::uint32_t *hits) {
        return gate_planes(set, width)(buffer.data(), cells, 6, cells * width, gate, marks.data(), hits);
      });
    }
  }
}

TEST_P(Equality, GateStripes) {
  Random random(seed + 4);
  constexpr std::array<std::uint16_t, 10> usual_masks = {0xFFFF, 0xFFFF, 0xFFFF, 0x0001, 0x8000,
                                                         0x00FF, 0xFF00, 0x0000, 0x7FFF, 0xFFFE};
  for (const std::size_t width : {1U, 2U}) {
    for (const std::size_t cells : edge_counts) {
      for (const std::size_t segments : {0U, 1U, 2U, 3U, 5U, 6U, 9U}) {
        for (int kind = 0; kind < Filler::kinds; ++kind) {
          const Gate gate = random_gate(random, width);
          std::vector<std::uint16_t> masks(segments);
          std::vector<std::size_t> offsets(segments);
          const std::size_t segment_bytes = 16 * width * cells + random.between<std::size_t>(0, 3) * 5;
          for (std::size_t segment = 0; segment < segments; ++segment) {
            masks[segment] = random.between(0, 3) == 0 ? static_cast<std::uint16_t>(random.bits()) : random.one_of(usual_masks);
            offsets[segment] = segment * segment_bytes;
          }
          std::reverse(offsets.begin(), offsets.begin() + static_cast<std::ptrdiff_t>(segments / 2));
          const std::size_t bytes = segments == 0 ? 0 : (segments - 1) * segment_bytes + 16 * width * cells;
          for (const GuardedEnd end : both_ends) {
            const GuardedBuffer buffer(bytes, end);
            Filler(random, width, gate).fill(buffer.data(), bytes, kind);
            if (width == 2) {
              // Sixteen low bytes, then sixteen high ones.
              for (std::size_t segment = 0; segment < segments; ++segment) {
                for (std::size_t cell = 0; cell < cells; ++cell) {
                  std::array<std::uint8_t, 32> joined;
                  Filler(random, width, gate).fill(joined.data(), joined.size(), kind);
                  for (std::size_t lane = 0; lane < 16; ++lane) {
                    std::uint8_t *stripe = buffer.data() + offsets[segment] + 32 * cell;
                    stripe[lane] = joined[2 * lane];
                    stripe[lane + 16] = joined[2 * lane + 1];
                  }
                }
              }
            }
            const std::string text = "width " + std::to_string(width) + ", cells " + std::to_string(cells) + ", segments " +
                                     std::to_string(segments) + ", content " + std::to_string(kind) + ", " + text_of(gate);
            expect_equal_hits(kernels(), cells, text, [&](const Kernels &set, std::uint32_t *hits) {
              return gate_stripes(set, width)(buffer.data(), cells, offsets.data(), masks.data(), segments, gate, hits);
            });
            if (HasFatalFailure()) {
              return;
            }
          }
        }
      }
    }
  }
}

// Every pair of low and high byte against thresholds around it: joined bytes are compared, not byte by byte.
TEST_P(Equality, GateStripes16OnEveryPattern) {
  const std::array<Gate, 8> gates = {Gate{0, 0x3E80}, Gate{0, 1},      Gate{0x7FFF, -0x4072}, Gate{0x7FFF, 0x0080},
                                     Gate{0, -32767}, Gate{0, -32513}, Gate{0x8000, 300},     Gate{0x7FFF, 32767}};
  constexpr std::size_t cells = 4096;
  const GuardedBuffer buffer(cells * 32, GuardedEnd::Last);
  for (std::size_t pattern = 0; pattern < 65536; ++pattern) {
    std::uint8_t *stripe = buffer.data() + 32 * (pattern / 16);
    stripe[pattern % 16] = static_cast<std::uint8_t>(pattern);
    stripe[pattern % 16 + 16] = static_cast<std::uint8_t>(pattern >> 8U);
  }
  const std::size_t offset = 0;
  for (const Gate gate : gates) {
    for (std::size_t lane = 0; lane < 16; ++lane) {
      const std::uint16_t mask = static_cast<std::uint16_t>(1U << lane);
      expect_equal_hits(kernels(), cells, text_of(gate), [&](const Kernels &set, std::uint32_t *hits) {
        return set.gate_stripes_16(buffer.data(), cells, &offset, &mask, 1, gate, hits);
      });
    }
  }
}

TEST_P(Truth, GatesFindTheRowsAndCellsThatPass) {
  const std::vector<std::int8_t> bytes = {-128, -2, 3, 127, -1, -1, 0, 0, 4};
  const auto *base = reinterpret_cast<const std::uint8_t *>(bytes.data());
  std::vector<std::uint32_t> hits(9);
  ASSERT_EQ(kernels().gate_rows_8(base, 3, 3, 3, Gate{0, 4}, hits.data()), 2U);
  EXPECT_EQ(hits[0], 1U);
  EXPECT_EQ(hits[1], 2U);
  // As unsigned bytes 0xFF and 0xFE are the largest: 252 = 0x80 + 124.
  ASSERT_EQ(kernels().gate_rows_8(base, 9, 1, 1, Gate{0x80, 124}, hits.data()), 3U);
  EXPECT_EQ(hits[0], 1U);
  EXPECT_EQ(hits[1], 4U);
  EXPECT_EQ(hits[2], 5U);
  std::array<std::uint32_t, 3> marks;
  ASSERT_EQ(kernels().gate_planes_8(base, 3, 3, 3, Gate{0, 4}, marks.data(), hits.data()), 2U);
  EXPECT_EQ(hits[0], 0U);
  EXPECT_EQ(hits[1], 2U);
  // Floats above −1.5 in FP32: all bits ≤ those of −1.5 as unsigned numbers.
  const std::vector<float> floats = {-1.5F, -1.25F, -2.0F, 0.0F, 7.0F, -1.75F, std::numeric_limits<float>::infinity(), -8.0F};
  std::uint32_t bits;
  const float cutoff = -1.5F;
  std::memcpy(&bits, &cutoff, sizeof(bits));
  const Gate gate{0x7FFFFFFFU, static_cast<std::int32_t>(bits ^ 0x7FFFFFFFU)};
  ASSERT_EQ(kernels().gate_rows_32(reinterpret_cast<const std::uint8_t *>(floats.data()), 8, 4, 1, gate, hits.data()), 5U);
  const std::vector<std::uint32_t> expected = {0, 1, 3, 4, 6};
  EXPECT_EQ(std::vector<std::uint32_t>(hits.begin(), hits.begin() + 5), expected);
}

// ---- first largest --------------------------------------------------------------------------------------------------

void expect_best(const Best &found, const Best &expected, const std::string &text) {
  ASSERT_EQ(found.key, expected.key) << text;
  ASSERT_EQ(found.index, expected.index) << text;
}

TEST_P(Equality, Best8) {
  Random random(seed + 5);
  for (std::size_t length = 1; length <= 300; ++length) {
    for (const std::uint32_t flip : {0U, 0x80U, 0x7FU, 0xA5U}) {
      for (const std::uint32_t spread : {0U, 1U, 7U, 255U}) {
        for (const GuardedEnd end : both_ends) {
          const GuardedBuffer buffer(length, end);
          const std::uint32_t start = random.bits();
          for (std::size_t lane = 0; lane < length; ++lane) {
            buffer.data()[lane] = static_cast<std::uint8_t>(start + (random.bits() & spread));
          }
          expect_best(kernels().best_8(buffer.data(), length, flip), detail::scalar_kernels.best_8(buffer.data(), length, flip),
                      std::to_string(length) + " lanes, flip " + std::to_string(flip));
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

// Blocks end at a page that may not be touched; lanes beyond the length hold the best key there is.
TEST_P(Equality, BestBlocks8) {
  Random random(seed + 15);
  for (std::size_t length = 1; length <= 300; ++length) {
    const std::size_t blocks = (length + 15) / 16;
    for (const std::uint32_t flip : {0U, 0x80U, 0x7FU, 0xA5U}) {
      for (const std::uint32_t spread : {0U, 1U, 7U, 255U}) {
        for (const std::size_t step : {std::size_t{16}, std::size_t{16 * 5}}) {
          for (const GuardedEnd end : both_ends) {
            const GuardedBuffer buffer((blocks - 1) * step + 16, end);
            std::memset(buffer.data(), static_cast<int>(flip ^ 0x7FU), (blocks - 1) * step + 16);
            const std::uint32_t start = random.bits();
            for (std::size_t lane = 0; lane < length; ++lane) {
              buffer.data()[lane / 16 * step + lane % 16] = static_cast<std::uint8_t>(start + (random.bits() & spread));
            }
            std::vector<std::uint8_t> dense(length);
            for (std::size_t lane = 0; lane < length; ++lane) {
              dense[lane] = buffer.data()[lane / 16 * step + lane % 16];
            }
            expect_best(kernels().best_blocks_8(buffer.data(), step, length, flip),
                        detail::scalar_kernels.best_8(dense.data(), length, flip),
                        std::to_string(length) + " lanes, flip " + std::to_string(flip));
            if (HasFatalFailure()) {
              return;
            }
          }
        }
      }
    }
  }
}

TEST_P(Truth, Best8OnEveryPattern) {
  std::array<std::uint8_t, 80> elements;
  for (const std::uint32_t flip : {0U, 0x80U}) {
    for (std::uint32_t pattern = 0; pattern < 256; ++pattern) {
      elements.fill(static_cast<std::uint8_t>(pattern));
      const Best found = kernels().best_8(elements.data(), elements.size(), flip);
      ASSERT_EQ(found.index, 0U);
      ASSERT_EQ(found.key, static_cast<std::int8_t>(pattern ^ flip));
    }
  }
}

TEST_P(Equality, Best16) {
  Random random(seed + 6);
  constexpr std::array<std::uint16_t, 12> special = {0x7F80, 0xFF80, 0x7FC0, 0xFFC0, 0x7F81, 0xFFFF,
                                                     0x0000, 0x8000, 0x0001, 0x8001, 0x7C00, 0x7C01};
  for (std::size_t length = 1; length <= 300; ++length) {
    for (const std::uint16_t infinity : {std::uint16_t{0x7F80}, std::uint16_t{0x7C00}, std::uint16_t{0xFFFF}}) {
      for (int kind = 0; kind < 4; ++kind) {
        for (const GuardedEnd end : both_ends) {
          const GuardedBuffer buffer(2 * length, end);
          auto *elements = buffer.as<std::uint16_t>();
          for (std::size_t lane = 0; lane < length; ++lane) {
            const std::uint32_t bits = random.bits();
            const bool odd = (bits & 0x30000U) == 0;
            elements[lane] = kind == 0   ? static_cast<std::uint16_t>(bits)
                             : kind == 1 ? random.one_of(special)
                             : kind == 2 ? static_cast<std::uint16_t>(odd ? 0x8000U : 0U)
                                         : static_cast<std::uint16_t>(0xBF00U | (bits & 0xFFU));
          }
          expect_best(kernels().best_16(elements, length, infinity), detail::scalar_kernels.best_16(elements, length, infinity),
                      std::to_string(length) + " lanes, content " + std::to_string(kind));
          if (HasFatalFailure()) {
            return;
          }
        }
      }
    }
  }
}

TEST_P(Equality, Best16OnEveryPattern) {
  std::array<std::uint16_t, 40> elements;
  for (const std::uint16_t infinity : {std::uint16_t{0x7F80}, std::uint16_t{0x7C00}}) {
    for (std::uint32_t pattern = 0; pattern < 65536; ++pattern) {
      elements.fill(static_cast<std::uint16_t>(pattern));
      // All lanes are tied, in vectors and in the scalar rest.
      for (const std::size_t length : {elements.size(), std::size_t{3}}) {
        const Best found = kernels().best_16(elements.data(), length, infinity);
        const Best expected = detail::scalar_kernels.best_16(elements.data(), 1, infinity);
        ASSERT_EQ(found.key, expected.key) << pattern;
        ASSERT_EQ(found.index, 0U) << pattern;
      }
    }
  }
}

TEST_P(Equality, Best32) {
  Random random(seed + 7);
  constexpr std::array<std::uint32_t, 10> special = {0x7F800000U, 0xFF800000U, 0x7FC00000U, 0xFFC00000U, 0x7F800001U,
                                                     0xFFFFFFFFU, 0x00000000U, 0x80000000U, 0x00000001U, 0x80000001U};
  for (std::size_t length = 1; length <= 300; ++length) {
    for (int kind = 0; kind < 4; ++kind) {
      for (const GuardedEnd end : both_ends) {
        const GuardedBuffer buffer(4 * length, end);
        auto *elements = buffer.as<std::uint32_t>();
        for (std::size_t lane = 0; lane < length; ++lane) {
          const std::uint32_t bits = random.bits();
          elements[lane] = kind == 0   ? bits
                           : kind == 1 ? random.one_of(special)
                           : kind == 2 ? bits & 0x80000000U
                                       : 0xBF800000U | (bits & 7U);
        }
        expect_best(kernels().best_32(elements, length), detail::scalar_kernels.best_32(elements, length),
                    std::to_string(length) + " lanes, content " + std::to_string(kind));
        if (HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

TEST_P(Truth, BestTakesTheFirstOfEqualsAndNaNOnTop) {
  std::vector<std::uint16_t> halves(100, 0x3C00);
  halves[40] = 0x4000;
  halves[41] = 0x4000;
  Best best = kernels().best_16(halves.data(), halves.size(), 0x7C00);
  EXPECT_EQ(best.index, 40U);
  EXPECT_EQ(best.key, 0x4000);
  halves[77] = 0xFE00;  // a negative NaN
  best = kernels().best_16(halves.data(), halves.size(), 0x7C00);
  EXPECT_EQ(best.index, 77U);
  EXPECT_EQ(best.key, 0x7FFF);
  // The same bits are a number in BF16.
  EXPECT_EQ(kernels().best_16(halves.data(), halves.size(), 0x7F80).index, 40U);

  std::vector<std::uint32_t> singles(100, 0xBF800000U);
  singles[63] = 0x80000000U;
  singles[64] = 0x00000000U;
  best = kernels().best_32(singles.data(), singles.size());
  EXPECT_EQ(best.index, 63U);
  EXPECT_EQ(best.key, 0);

  std::vector<std::uint8_t> bytes(100, 0x80);
  bytes[33] = 0x7F;
  bytes[99] = 0x7F;
  EXPECT_EQ(kernels().best_8(bytes.data(), bytes.size(), 0).index, 33U);
  EXPECT_EQ(kernels().best_8(bytes.data(), bytes.size(), 0x80).index, 0U);
}

// ---- suppression ----------------------------------------------------------------------------------------------------

SuppressionBlock empty_block() {
  SuppressionBlock block;
  std::fill_n(block.x1, SuppressionBlock::lanes, INT32_MAX);
  std::fill_n(block.y1, SuppressionBlock::lanes, INT32_MAX);
  std::fill_n(block.x2, SuppressionBlock::lanes, INT32_MIN);
  std::fill_n(block.y2, SuppressionBlock::lanes, INT32_MIN);
  std::fill_n(block.area, SuppressionBlock::lanes, 0U);
  block.next = SuppressionBlock::end;
  block.behind = 0;
  block.used = 0;
  return block;
}

void append(SuppressionBlock &block, const RoundedBox &box) {
  block.x1[block.used] = box.x1;
  block.y1[block.used] = box.y1;
  block.x2[block.used] = box.x2;
  block.y2[block.used] = box.y2;
  block.area[block.used] = box.area;
  ++block.used;
}

/// A pool of its own at a guarded page, and the answer of one set.
bool answer(const Kernels &kernels, const std::vector<SuppressionBlock> &blocks, std::uint32_t first,
            const RoundedBox &candidate, std::uint32_t limit) {
  const GuardedBuffer pool(blocks.size() * sizeof(SuppressionBlock), GuardedEnd::Last);
  if (!blocks.empty()) {
    std::memcpy(pool.data(), blocks.data(), pool.size());
  }
  return kernels.suppressed(pool.as<SuppressionBlock>(), first, candidate, limit);
}

RoundedBox random_box(Random &random, std::int32_t scale) {
  const std::int32_t x1 = random.between(-scale, scale);
  const std::int32_t y1 = random.between(-scale, scale);
  const std::int32_t width = random.between(0, std::min(scale, 46340));
  const std::int32_t height = random.between(0, std::min(scale, 46340));
  const std::int64_t around = static_cast<std::int64_t>(width) * height + random.between(-1, 1) * (width + height);
  const std::int64_t area = std::clamp<std::int64_t>(around, 0, INT32_MAX);
  return {x1, y1, x1 + width, y1 + height, static_cast<std::uint32_t>(area)};
}

TEST_P(Equality, SuppressedInChains) {
  Random random(seed + 8);
  std::array<int, 2> answers = {0, 0};
  for (int round = 0; round < 12000; ++round) {
    const std::int32_t scale = random.one_of(std::array<std::int32_t, 5>{2, 30, 640, 30000, 5000000});
    std::vector<SuppressionBlock> blocks(random.between<std::size_t>(0, 4), empty_block());
    std::vector<std::uint32_t> order(blocks.size());
    for (std::uint32_t index = 0; index < order.size(); ++index) {
      order[index] = index;
      const std::uint32_t boxes = random.between<std::uint32_t>(1, SuppressionBlock::lanes);
      for (std::uint32_t lane = 0; lane < boxes; ++lane) {
        append(blocks[index], random_box(random, scale));
      }
    }
    for (std::size_t index = 1; index < order.size(); ++index) {
      std::swap(order[index], order[random.between<std::size_t>(0, index)]);
    }
    for (std::size_t index = 0; index + 1 < order.size(); ++index) {
      blocks[order[index]].next = order[index + 1];
    }
    RoundedBox candidate = random_box(random, scale);
    if (!blocks.empty() && random.between(0, 2) == 0) {
      // Close to an accepted box.
      const SuppressionBlock &block = random.one_of(blocks);
      candidate = {block.x1[0] + random.between(-2, 2), block.y1[0], block.x2[0], block.y2[0] + random.between(-2, 2),
                   block.area[0]};
    }
    const std::uint32_t limit = random.between(1U, 256U);
    const std::uint32_t first = blocks.empty() ? SuppressionBlock::end : order[0];
    const bool expected = answer(detail::scalar_kernels, blocks, first, candidate, limit);
    ++answers[expected ? 1 : 0];
    ASSERT_EQ(answer(kernels(), blocks, first, candidate, limit), expected) << "round " << round << ", limit " << limit;
  }
  // Both answers are common, so both are tested.
  EXPECT_GT(answers[0], 1000);
  EXPECT_GT(answers[1], 1000);
}

// The last product that is too small and the first that is large enough, for each limit, in each lane.
TEST_P(Equality, SuppressedAtTheBoundary) {
  Random random(seed + 9);
  for (std::uint32_t limit = 1; limit <= 256; ++limit) {
    for (const std::int32_t side : {1, 2, 17, 300, 4097, 46340}) {
      const std::uint64_t inter = static_cast<std::uint64_t>(side) * static_cast<std::uint64_t>(side);
      const std::uint64_t most = inter * (256U + limit) / limit;  // largest sum of areas that suppresses
      for (std::int64_t areas = static_cast<std::int64_t>(most) - 1; areas <= static_cast<std::int64_t>(most) + 1; ++areas) {
        const std::uint64_t half = std::min<std::uint64_t>(static_cast<std::uint64_t>(areas) / 2, INT32_MAX);
        const std::uint64_t rest = static_cast<std::uint64_t>(areas) - half;
        if (rest > INT32_MAX) {
          continue;
        }
        SuppressionBlock block = empty_block();
        const std::uint32_t lane = random.between(0U, SuppressionBlock::lanes - 1U);
        for (std::uint32_t other = 0; other < lane; ++other) {
          append(block, {-9, -9, -5, -5, 16});
        }
        append(block, {0, 0, side, side, static_cast<std::uint32_t>(half)});
        const RoundedBox candidate{0, 0, side, side, static_cast<std::uint32_t>(rest)};
        const bool expected = static_cast<std::uint64_t>(areas) > inter && static_cast<std::uint64_t>(areas) <= most;
        ASSERT_EQ(answer(detail::scalar_kernels, {block}, 0, candidate, limit), expected);
        ASSERT_EQ(answer(kernels(), {block}, 0, candidate, limit), expected)
            << "limit " << limit << ", side " << side << ", areas " << areas << ", lane " << lane;
      }
    }
  }
}

TEST_P(Truth, SuppressedDecidesHugeEmptyAndDegenerateBoxes) {
  // Corners round outwards: the intersection is above 2^31, the areas are below.
  SuppressionBlock block = empty_block();
  append(block, {0, 0, 46342, 46342, 2147483647U});
  EXPECT_TRUE(answer(kernels(), {block}, 0, {0, 0, 46342, 46342, 2147483647U}, 256));
  EXPECT_TRUE(answer(kernels(), {block}, 0, {0, 0, 5000000, 428, 2140000000U}, 1));
  EXPECT_FALSE(answer(kernels(), {block}, 0, {0, 0, 10000000, 214, 2140000000U}, 1));
  EXPECT_FALSE(answer(kernels(), {block}, 0, {46342, 0, 92000, 46342, 2147483647U}, 1));
  // A union of zero or less suppresses nothing.
  SuppressionBlock tiny = empty_block();
  append(tiny, {0, 0, 2, 2, 2});
  EXPECT_FALSE(answer(kernels(), {tiny}, 0, {0, 0, 2, 2, 2}, 1));
  EXPECT_FALSE(answer(kernels(), {tiny}, 0, {0, 0, 2, 2, 0}, 1));
  EXPECT_TRUE(answer(kernels(), {tiny}, 0, {0, 0, 2, 2, 3}, 1));
  // No area in common, no end of the chain missed.
  EXPECT_FALSE(answer(kernels(), {tiny}, 0, {1, 1, 1, 5, 0}, 1));
  EXPECT_FALSE(answer(kernels(), {tiny}, SuppressionBlock::end, {0, 0, 2, 2, 3}, 1));
  SuppressionBlock newest = empty_block();
  append(newest, {100, 100, 110, 110, 100});
  newest.next = 1;
  EXPECT_TRUE(answer(kernels(), {newest, block}, 0, {0, 0, 46342, 46342, 2147483647U}, 128));
  EXPECT_FALSE(answer(kernels(), {newest, block}, 0, {200, 50000, 300, 50100, 10000}, 1));
  // IoU of one third: 85/256 < 1/3 < 86/256.
  SuppressionBlock square = empty_block();
  append(square, {0, 0, 10, 10, 100});
  EXPECT_TRUE(answer(kernels(), {square}, 0, {5, 0, 15, 10, 100}, 85));
  EXPECT_FALSE(answer(kernels(), {square}, 0, {5, 0, 15, 10, 100}, 86));
}

// ---- mask products --------------------------------------------------------------------------------------------------

MaskCoefficients coefficients_of(const std::vector<std::int8_t> &raw, std::int32_t zero_point, std::uint32_t prototype_flip,
                                 std::int32_t prototype_zero) {
  MaskCoefficients coefficients = {};
  coefficients.zero_point = zero_point;
  coefficients.length = static_cast<std::uint32_t>(raw.size());
  coefficients.prototype_flip = prototype_flip;
  coefficients.prototype_zero = prototype_zero;
  for (std::size_t j = 0; j < raw.size(); ++j) {
    coefficients.raw[j] = raw[j];
    coefficients.centred[j] = static_cast<std::int16_t>(raw[j] - zero_point);
    coefficients.sum_centred += coefficients.centred[j];
  }
  return coefficients;
}

TEST_P(Equality, MaskDots8) {
  Random random(seed + 10);
  constexpr std::array<std::int32_t, 6> zeros = {-128, -127, 0, 0, 19, 127};
  for (std::size_t length = 1; length <= MaskCoefficients::capacity; ++length) {
    for (const std::size_t pixels : {0U, 1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 11U, 12U, 15U, 16U, 17U, 31U, 33U}) {
      for (int kind = 0; kind < 7; ++kind) {
        const std::size_t pixel_step = length + (random.between(0, 1) == 0 ? 0 : random.between<std::size_t>(1, 40));
        std::vector<std::int8_t> raw(length);
        for (std::int8_t &value : raw) {
          value = static_cast<std::int8_t>(kind == 0   ? -128
                                           : kind == 1 ? 127
                                           : kind == 2 ? (random.between(0, 1) == 0 ? -128 : 127)
                                           : kind <= 4 ? random.between(-128, 127)
                                           : kind == 5 ? random.between(-40, 40)
                                                       : random.one_of(std::array<int, 3>{-64, 64, 65}));
        }
        const std::uint32_t flip = random.between(0, 1) == 0 ? 0U : 0x80U;
        const MaskCoefficients coefficients = coefficients_of(raw, random.one_of(zeros), flip, random.one_of(zeros));
        const std::size_t bytes = pixels == 0 ? 0 : (pixels - 1) * pixel_step + length;
        for (const GuardedEnd end : both_ends) {
          const GuardedBuffer prototypes(bytes, end);
          for (std::size_t at = 0; at < bytes; ++at) {
            const std::uint32_t value = kind <= 1   ? 0x80U
                                        : kind == 2 ? (random.between(0, 1) == 0 ? 0x80U : 0x7FU)
                                        : kind == 3 ? 0x7FU
                                        : kind == 6 ? (random.between(0, 9) == 0 ? 0x80U : 0x7FU)
                                                    : random.bits();
            prototypes.data()[at] = static_cast<std::uint8_t>(value ^ flip);
          }
          std::vector<std::int32_t> expected(pixels);
          detail::scalar_kernels.mask_dots_8(coefficients, prototypes.data(), pixels, pixel_step, expected.data());
          const GuardedBuffer dots(4 * pixels, GuardedEnd::Last);
          kernels().mask_dots_8(coefficients, prototypes.data(), pixels, pixel_step, dots.as<std::int32_t>());
          const std::vector<std::int32_t> found(dots.as<std::int32_t>(), dots.as<std::int32_t>() + pixels);
          ASSERT_EQ(found, expected) << "length " << length << ", pixels " << pixels << ", content " << kind << ", zero point "
                                     << coefficients.zero_point << ", prototype zero " << coefficients.prototype_zero;
        }
      }
    }
  }
}

TEST_P(Truth, MaskDots8AreExactAtTheExtremes) {
  for (std::uint32_t length = 1; length <= MaskCoefficients::capacity; ++length) {
    const std::vector<std::int8_t> smallest(length, -128);
    const std::vector<std::uint8_t> prototypes(10 * length, 0x80);
    std::array<std::int32_t, 10> dots = {};
    const std::int32_t count = static_cast<std::int32_t>(length);
    kernels().mask_dots_8(coefficients_of(smallest, 0, 0, 0), prototypes.data(), 10, length, dots.data());
    EXPECT_EQ(dots[0], count * 16384);
    EXPECT_EQ(dots[9], count * 16384);
    kernels().mask_dots_8(coefficients_of(smallest, 127, 0, 127), prototypes.data(), 10, length, dots.data());
    EXPECT_EQ(dots[0], count * 255 * 255);
    EXPECT_EQ(dots[9], count * 255 * 255);
    const std::vector<std::int8_t> largest(length, 127);
    kernels().mask_dots_8(coefficients_of(largest, -128, 0, 127), prototypes.data(), 10, length, dots.data());
    EXPECT_EQ(dots[0], count * 255 * -255);
    EXPECT_EQ(dots[9], count * 255 * -255);
    // As unsigned prototypes the same bytes are the middle of the range.
    kernels().mask_dots_8(coefficients_of(largest, -128, 0x80, -3), prototypes.data(), 10, length, dots.data());
    EXPECT_EQ(dots[0], count * 255 * 3);
    EXPECT_EQ(dots[9], count * 255 * 3);
  }
}

}  // namespace
}  // namespace simaai::kernels
