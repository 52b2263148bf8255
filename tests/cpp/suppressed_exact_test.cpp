// Suppression by exact corners: every kernel set and the index against a division for each accepted box.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "boxdecode/suppress/accepted.h"
#include "kernels/dispatch.h"
#include "kernels/iou_rule.h"
#include "support/guarded_buffer.h"

namespace simaai::kernels {
namespace {

using detail::ExactBlock;
using detail::Kernels;
using detail::NmsBox;
using ops::boxdecode::detail::Corners;
using ops::boxdecode::detail::ExactRule;
using ops::boxdecode::detail::Frame;
using ops::boxdecode::detail::PlanState;
using test_support::GuardedBuffer;
using test_support::GuardedEnd;

constexpr std::array<float, 9> thresholds = {0.0F, 0.003F, 0.1F, 1.0F / 3.0F, 0.45F, 0.5F, 0.7F, 0.9F, 0.999F};

class Random {
public:
  explicit Random(std::uint32_t start) : engine_(start) {}
  std::uint32_t below(std::uint32_t end) { return std::uniform_int_distribution<std::uint32_t>(0, end - 1)(engine_); }
  float real(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  float log(float low, float high) { return std::exp(real(std::log(low), std::log(high))); }

private:
  std::mt19937 engine_;
};

NmsBox box_of(float x1, float y1, float x2, float y2) { return {x1, y1, x2, y2, (x2 - x1) * (y2 - y1)}; }

// The rule as it is written down, with its division.
bool divided(const NmsBox &a, const NmsBox &b, float threshold) {
  const float width = std::max(0.0F, std::min(a.x2, b.x2) - std::max(a.x1, b.x1));
  const float height = std::max(0.0F, std::min(a.y2, b.y2) - std::max(a.y1, b.y1));
  const float inter = width * height;
  return static_cast<double>(inter / ((a.area + b.area) - inter)) > static_cast<double>(threshold);
}

std::vector<const Kernels *> every_set() {
  std::vector<const Kernels *> sets;
  for (const char *name : detail::available_kernels()) {
    EXPECT_TRUE(detail::force_kernels(name));
    sets.push_back(&detail::select_kernels());
  }
  detail::force_kernels(nullptr);
  return sets;
}

// A chain of blocks in any order, all but the newest full, at a page that may not be touched.
bool answer(const Kernels &kernels, const std::vector<NmsBox> &boxes, const NmsBox &candidate, float threshold) {
  const std::size_t count = (boxes.size() + ExactBlock::lanes - 1) / ExactBlock::lanes;
  std::vector<ExactBlock> blocks(count);
  for (std::size_t index = 0; index < count; ++index) {
    ExactBlock &block = blocks[index];
    ExactRule::clear(block);
    block.next = index == 0 ? ExactBlock::end : static_cast<std::uint32_t>(index - 1);
    for (std::size_t lane = 0; lane < ExactBlock::lanes && index * ExactBlock::lanes + lane < boxes.size(); ++lane) {
      const NmsBox &box = boxes[index * ExactBlock::lanes + lane];
      block.x1[lane] = box.x1;
      block.y1[lane] = box.y1;
      block.x2[lane] = box.x2;
      block.y2[lane] = box.y2;
      block.area[lane] = box.area;
    }
  }
  const GuardedBuffer pool(count * sizeof(ExactBlock), GuardedEnd::Last);
  if (count > 0) {
    std::memcpy(pool.data(), blocks.data(), pool.size());
  }
  const std::uint32_t first = count == 0 ? ExactBlock::end : static_cast<std::uint32_t>(count - 1);
  return kernels.suppressed_exact(pool.as<ExactBlock>(), first, candidate,
                                  detail::prepare_threshold(static_cast<double>(threshold)));
}

TEST(SuppressedExact, EveryKernelDecidesAsTheDivisionDoes) {
  Random random(20261207);
  const std::vector<const Kernels *> sets = every_set();
  std::array<int, 2> answers = {0, 0};
  for (int round = 0; round < 20000; ++round) {
    const float scale = std::array{3.0F, 40.0F, 640.0F, 9e6F}[random.below(4)];
    const auto draw = [&] {
      const float x = random.real(-scale, scale);
      const float y = random.real(-scale, scale);
      return box_of(x, y, x + random.log(0.8F, std::min(scale, 40000.0F)), y + random.log(0.8F, std::min(scale, 40000.0F)));
    };
    std::vector<NmsBox> boxes(random.below(20));
    std::generate(boxes.begin(), boxes.end(), draw);
    NmsBox candidate = draw();
    if (!boxes.empty() && round % 3 == 0) {
      const NmsBox &near = boxes[random.below(static_cast<std::uint32_t>(boxes.size()))];
      candidate = box_of(near.x1, near.y1, near.x2 + random.real(0, near.x2 - near.x1), near.y2);
    }
    const float threshold = thresholds[random.below(static_cast<std::uint32_t>(thresholds.size()))];
    const bool expected =
        std::any_of(boxes.begin(), boxes.end(), [&](const NmsBox &box) { return divided(box, candidate, threshold); });
    ++answers[expected ? 1 : 0];
    for (const Kernels *kernels : sets) {
      ASSERT_EQ(answer(*kernels, boxes, candidate, threshold), expected)
          << kernels->name << ", round " << round << ", threshold " << threshold;
    }
  }
  EXPECT_GT(answers[0], 5000);
  EXPECT_GT(answers[1], 3000);
}

TEST(SuppressedExact, EveryKernelDecidesAtTheBoundary) {
  // Nested boxes whose quotient is the threshold, or some steps of the width beside it; in every lane.
  Random random(20261208);
  const std::vector<const Kernels *> sets = every_set();
  std::array<int, 2> answers = {0, 0};
  for (int round = 0; round < 30000; ++round) {
    const float threshold = thresholds[1 + random.below(8)];
    const float side = random.log(1.0F, 2000.0F);
    float part = side * threshold;
    for (std::uint32_t step = random.below(4); step > 0; --step) {
      part = std::nextafterf(part, round % 2 == 0 ? side : 0.0F);
    }
    const float height = random.log(1.0F, 2000.0F);
    if (part * height < 0.5F) {
      continue;
    }
    std::vector<NmsBox> boxes(random.below(8), box_of(-9000, -9000, -8000, -8000));
    boxes.push_back(box_of(0, 0, side, height));
    const NmsBox candidate = box_of(0, 0, part, height);
    const bool expected = divided(boxes.back(), candidate, threshold);
    ++answers[expected ? 1 : 0];
    for (const Kernels *kernels : sets) {
      ASSERT_EQ(answer(*kernels, boxes, candidate, threshold), expected)
          << kernels->name << ", side " << side << ", part " << part << ", threshold " << threshold;
    }
  }
  EXPECT_GT(answers[0], 8000);
  EXPECT_GT(answers[1], 8000);
}

TEST(SuppressedExact, NothingInCommonAndNoChain) {
  for (const Kernels *kernels : every_set()) {
    EXPECT_FALSE(answer(*kernels, {}, box_of(0, 0, 2, 2), 0.0F));
    EXPECT_FALSE(answer(*kernels, {box_of(0, 0, 2, 2)}, box_of(2, 0, 4, 2), 0.0F));
    EXPECT_FALSE(answer(*kernels, {box_of(0, 0, 2, 2)}, box_of(-4, 2, 4, 9), 0.0F));
    EXPECT_TRUE(answer(*kernels, {box_of(0, 0, 2, 2)}, box_of(1.9375F, 0, 4, 2), 0.0F));
    EXPECT_TRUE(answer(*kernels, {box_of(0, 0, 2, 2)}, box_of(0, 0, 2, 2), 0.999F));
    // An intersection that underflows is none.
    EXPECT_FALSE(answer(*kernels, {box_of(-1, -1, 1e-30F, 1e-30F)}, box_of(0, 0, 1, 1), 0.0F));
  }
}

// ---- the index ------------------------------------------------------------------------------------------------------

/// Scratch for one frame of some thousand boxes.
class Room {
public:
  Room(std::uint32_t boxes, std::uint32_t chains) {
    namespace boxdecode = ops::boxdecode::detail;
    plan_.scratch.chains = chains;
    plan_.scratch.suppression_blocks = static_cast<std::uint32_t>(boxdecode::suppression_blocks_for(boxes, chains));
    plan_.scratch.indexed_boxes = boxes;
    plan_.scratch.index_buckets = static_cast<std::uint32_t>(boxdecode::index_buckets_for(boxes));
    boxdecode::measure(plan_.scratch);
    block_.resize(plan_.scratch.bytes / sizeof(Line) + 1);
    std::memset(block_.data(), 0xAB, block_.size() * sizeof(Line));
    scratch_ = ops::boxdecode::detail::share_out(plan_.scratch, reinterpret_cast<std::byte *>(block_.data()));
  }

  Frame frame(float threshold, const Kernels &kernels) {
    plan_.exact_threshold = detail::prepare_threshold(static_cast<double>(threshold));
    plan_.suppression_limit = ops::boxdecode::detail::exact_outline_limit(static_cast<double>(threshold));
    plan_.kernels = &kernels;
    return {plan_, kernels, {}, {}, plan_.mapping, 1.0F, 1.0F, scratch_};
  }

private:
  struct alignas(64) Line {
    std::byte bytes[64];
  };
  PlanState plan_;
  std::vector<Line> block_;
  ops::boxdecode::detail::Scratch scratch_;
};

TEST(SuppressedExact, TheIndexDecidesAsEveryBoxInTurn) {
  constexpr std::uint32_t boxes = 2200;
  Random random(20261209);
  Room scratch(boxes, 2);
  std::array<std::size_t, 2> answers = {0, 0};
  std::size_t long_chains = 0;
  for (std::size_t round = 0; round < 48; ++round) {
    // Nearly a whole number of 256ths is where a limit is closest to its threshold.
    const float threshold = std::array{0.004F, 0.1F, 0.3F, 0.50001F, 0.7F, 0.9F, 0.97F, 0.999F}[round % 8];
    const float least = std::array{0.75F, 3.0F, 20.0F}[round % 3];
    const float extent = std::array{60.0F, 900.0F, 9e6F}[round / 16];
    const Kernels &kernels = round % 2 == 0 ? detail::scalar_kernels : detail::select_kernels();
    const Frame frame = scratch.frame(threshold, kernels);
    ops::boxdecode::detail::IndexedBoxes<ExactRule> indexed(frame);
    std::array<std::vector<NmsBox>, 2> accepted;
    for (std::uint32_t number = 0; number < boxes; ++number) {
      const std::uint32_t chain = number % 8 == 0 ? 1 : 0;
      float x = random.real(-extent, extent);
      float y = random.real(-extent, extent);
      float width = random.log(least, 20 * least);
      float height = random.log(least, 20 * least);
      if (number % 3 == 0 && !accepted[chain].empty()) {
        // A box of about the threshold with an accepted one.
        const NmsBox &near = accepted[chain][random.below(static_cast<std::uint32_t>(accepted[chain].size()))];
        x = near.x1;
        y = near.y1;
        width = (near.x2 - near.x1) * (number % 2 == 0 ? threshold : 1.0F / threshold) * random.real(0.999F, 1.001F);
        height = near.y2 - near.y1;
      }
      const Corners corners{x, y, x + width, y + height};
      const NmsBox box = box_of(corners.x1, corners.y1, corners.x2, corners.y2);
      if (!(box.area >= 0.5F && box.area < 2147483648.0F && std::abs(box.x2) <= 1e7F)) {
        continue;
      }
      const bool expected = std::none_of(accepted[chain].begin(), accepted[chain].end(),
                                         [&](const NmsBox &other) { return divided(other, box, threshold); });
      ++answers[expected ? 1 : 0];
      ASSERT_EQ(indexed.admit(corners, chain), expected) << "round " << round << ", box " << number;
      if (expected) {
        accepted[chain].push_back(box);
      }
    }
    long_chains += accepted[0].size() > 2 * ops::boxdecode::detail::long_chain ? 1 : 0;
  }
  EXPECT_GT(answers[0], 5000U);
  EXPECT_GT(answers[1], 20000U);
  EXPECT_GT(long_chains, 20U);
}

}  // namespace
}  // namespace simaai::kernels
