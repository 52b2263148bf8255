#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "boxdecode/access.h"
#include "boxdecode/suppress/accepted.h"
#include "kernels/dispatch.h"
#include "support/request.h"

/// The index of accepted boxes against every accepted box in turn, in plain 64-bit integers.
namespace simaai::kernels {
namespace {

using detail::RoundedBox;
using ops::boxdecode::detail::Corners;
using ops::boxdecode::detail::ExactRule;
using ops::boxdecode::detail::Frame;
using ops::boxdecode::detail::index_buckets_for;
using ops::boxdecode::detail::IntegerRule;
using ops::boxdecode::detail::long_chain;
using ops::boxdecode::detail::PlanState;
using ops::boxdecode::detail::suppression_blocks_for;
using BoxIndex = ops::boxdecode::detail::BoxIndex<IntegerRule>;
using AcceptedBoxes = ops::boxdecode::detail::AcceptedBoxes<IntegerRule>;
using IndexedBoxes = ops::boxdecode::detail::IndexedBoxes<IntegerRule>;
using Answer = BoxIndex::Answer;

constexpr std::uint32_t seed = 20261130;
constexpr std::uint64_t much_work = 20'000;
constexpr std::int32_t farthest = 10'000'000;

class Random {
public:
  explicit Random(std::uint32_t start) : engine_(start) {}
  std::int32_t whole(std::int32_t low, std::int32_t high) {
    return std::uniform_int_distribution<std::int32_t>(low, high)(engine_);
  }
  float real(float low, float high) { return std::uniform_real_distribution<float>(low, high)(engine_); }
  /// Each octave alike.
  float log(float low, float high) { return std::exp(real(std::log(low), std::log(high))); }
  std::uint32_t limit() {
    constexpr std::array<std::uint32_t, 8> usual = {1, 2, 26, 78, 129, 180, 231, 256};
    const auto pick = static_cast<std::size_t>(whole(0, 11));
    return pick < usual.size() ? usual[pick] : static_cast<std::uint32_t>(whole(1, 256));
  }

private:
  std::mt19937 engine_;
};

/// Scratch for one frame of some thousand boxes, as garbage; a frame leaves its own behind for the next one.
class Room {
public:
  Room(std::uint32_t boxes, std::uint32_t chains, bool indexed) {
    plan_.scratch.chains = chains;
    plan_.scratch.suppression_blocks = static_cast<std::uint32_t>(suppression_blocks_for(boxes, chains));
    plan_.scratch.indexed_boxes = indexed ? boxes : 0;
    plan_.scratch.index_buckets = indexed ? static_cast<std::uint32_t>(index_buckets_for(boxes)) : 0;
    ops::boxdecode::detail::measure(plan_.scratch);
    block_.resize(plan_.scratch.bytes / sizeof(Line) + 1);
    std::memset(block_.data(), 0xAB, block_.size() * sizeof(Line));
    scratch_ = ops::boxdecode::detail::share_out(plan_.scratch, reinterpret_cast<std::byte *>(block_.data()));
  }

  Frame frame(std::uint32_t limit, const detail::Kernels &kernels) {
    plan_.suppression_limit = limit;
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

bool suppresses(const RoundedBox &a, const RoundedBox &b, std::uint32_t limit) {
  const std::int64_t width = std::int64_t{std::min(a.x2, b.x2)} - std::max(a.x1, b.x1);
  const std::int64_t height = std::int64_t{std::min(a.y2, b.y2)} - std::max(a.y1, b.y1);
  const std::int64_t inter = std::max<std::int64_t>(width, 0) * std::max<std::int64_t>(height, 0);
  const std::int64_t both = std::int64_t{a.area} + b.area - inter;
  return both > 0 && 256 * inter >= std::int64_t{limit} * both;
}

// Areas as rounding leaves them, and areas that have nothing to do with the corners: the bounds assume nothing about them.
std::uint32_t area_of(Random &random, std::int32_t width, std::int32_t height) {
  const auto exact = static_cast<double>(width) * height;
  const auto most = static_cast<double>(std::numeric_limits<std::int32_t>::max());
  double area = exact;
  switch (random.whole(0, 5)) {
    case 0: area += static_cast<double>(random.real(-1.0F, 1.0F)) * (width + height + 1.0); break;
    case 1: area *= static_cast<double>(random.real(0.0F, 2.0F)); break;
    case 2: area *= static_cast<double>(random.whole(0, 8)) / 8.0; break;
    default: break;
  }
  return static_cast<std::uint32_t>(std::clamp(std::round(area), 0.0, most));
}

RoundedBox box_at(Random &random, std::int32_t x, std::int32_t y, std::int32_t width, std::int32_t height) {
  const std::int32_t x1 = std::clamp(x, -farthest, farthest - width);
  const std::int32_t y1 = std::clamp(y, -farthest, farthest - height);
  return {x1, y1, x1 + width, y1 + height, area_of(random, width, height)};
}

// How far a candidate may be moved along x (or y) so that the box still suppresses it, or −1.
std::int32_t farthest_suppressing(const RoundedBox &box, const RoundedBox &candidate, std::uint32_t limit, bool along_x,
                                  std::int32_t sign) {
  const auto moved = [&](std::int32_t distance) {
    RoundedBox there = candidate;
    (along_x ? there.x1 : there.y1) += sign * distance;
    (along_x ? there.x2 : there.y2) += sign * distance;
    return suppresses(box, there, limit);
  };
  if (!moved(0)) {
    return -1;
  }
  std::int32_t near = 0;
  std::int32_t far = 2 * farthest;
  while (far - near > 1) {
    const std::int32_t middle = near + (far - near) / 2;
    (moved(middle) ? near : far) = middle;
  }
  return near;
}

// Makes a box that suppresses the candidate, aligned with it, as long as it may be for an area of so many eighths.
void stretch(RoundedBox &box, const RoundedBox &candidate, std::uint32_t limit, bool along_x, std::int64_t eighths) {
  const auto stretched = [&](std::int32_t side) {
    RoundedBox longer = box;
    (along_x ? longer.x2 : longer.y2) = (along_x ? box.x1 : box.y1) + side;
    const std::int64_t rounded = std::int64_t{longer.x2 - longer.x1} * (longer.y2 - longer.y1);
    longer.area = static_cast<std::uint32_t>(std::min<std::int64_t>((eighths * rounded + 7) / 8, INT32_MAX));
    return longer;
  };
  std::int32_t near = along_x ? candidate.x2 - candidate.x1 : candidate.y2 - candidate.y1;
  std::int32_t far = farthest;
  while (far - near > 1) {
    const std::int32_t middle = near + (far - near) / 2;
    (suppresses(stretched(middle), candidate, limit) ? near : far) = middle;
  }
  box = stretched(near);
}

// ---- the table alone ------------------------------------------------------------------------------------------------

TEST(BoxIndex, FindsWhatEveryBoxInTurnFinds) {
  Random random(seed);
  constexpr std::uint32_t chains = 3;
  std::array<std::size_t, 2> answers = {0, 0};
  std::size_t given_up = 0;  // large candidates among small boxes
  Room scratch(1500, chains, true);
  for (int scene = 0; scene < 120; ++scene) {
    const std::uint32_t limit = random.limit();
    const auto extent = static_cast<std::int32_t>(random.log(20.0F, 1e7F));
    const float most = std::min(static_cast<float>(extent), 46340.0F);
    const float least = random.log(1.0F, most);
    const bool thin = scene % 4 == 0;
    const auto draw = [&] {
      auto width = static_cast<std::int32_t>(random.log(least, most + 1.0F)) - random.whole(0, 1);
      auto height = thin ? random.whole(0, 12) : static_cast<std::int32_t>(random.log(least, most + 1.0F));
      if (random.whole(0, 1) == 0) {
        std::swap(width, height);
      }
      return box_at(random, random.whole(-extent, extent), random.whole(-extent, extent), width, height);
    };
    BoxIndex index(scratch.frame(limit, detail::scalar_kernels));
    std::array<std::vector<RoundedBox>, chains> added;
    const std::int32_t count = random.whole(1, 1500);
    for (std::int32_t i = 0; i < count; ++i) {
      const auto chain = static_cast<std::uint32_t>(random.whole(0, chains - 1));
      added[chain].push_back(draw());
      index.add(added[chain].back(), chain);
    }
    for (int i = 0; i < 2500; ++i) {
      const auto chain = static_cast<std::uint32_t>(random.whole(0, chains - 1));
      RoundedBox candidate = draw();
      if (i % 2 == 0 && !added[chain].empty()) {  // near an added one, but the extent keeps it in reach
        const RoundedBox &near = added[chain][static_cast<std::size_t>(i) % added[chain].size()];
        const std::int32_t width = near.x2 - near.x1;
        const std::int32_t height = near.y2 - near.y1;
        candidate = box_at(random, near.x1 + random.whole(-width, width) / 3, near.y1 + random.whole(-height, height) / 3,
                           std::max(0, width + random.whole(-width, width) / 3),
                           std::max(0, height + random.whole(-height, height) / 3));
      }
      const bool expected = std::any_of(added[chain].begin(), added[chain].end(),
                                        [&](const RoundedBox &box) { return suppresses(box, candidate, limit); });
      const Answer answer = index.search(candidate, chain, much_work);
      if (answer == Answer::TooFarToLook) {
        ++given_up;
        continue;
      }
      ++answers[expected ? 1 : 0];
      ASSERT_EQ(answer, expected ? Answer::Suppressed : Answer::Free)
          << "scene " << scene << ", limit " << limit << ", box " << candidate.x1 << ' ' << candidate.y1 << ' ' << candidate.x2
          << ' ' << candidate.y2 << " of area " << candidate.area;
    }
  }
  EXPECT_GT(answers[0], 50000U);
  EXPECT_GT(answers[1], 50000U);
  EXPECT_LT(given_up, 60000U);
}

// Boxes made as long as they may be, sides at and around the largest ratio that suppresses, and then pairs moved apart until
// one more pixel would part them: where each of the bounds is met.
TEST(BoxIndex, FindsPairsAtTheBounds) {
  Random random(seed + 1);
  std::size_t met = 0;
  std::size_t given_up = 0;
  Room scratch(1, 1, true);
  for (int round = 0; round < 300000; ++round) {
    const std::uint32_t limit = random.limit();
    const bool along_x = random.whole(0, 1) == 0;
    const auto across = static_cast<std::int32_t>(random.log(1.0F, 46340.0F));
    const auto side = static_cast<std::int32_t>(random.log(1.0F, std::min(2e6F, 2.14e9F / static_cast<float>(across))));
    // IoU of nested boxes of the same height is the ratio of their widths.
    const double ratio =
        random.whole(0, 1) == 0 ? static_cast<double>(limit) / 256.0 : static_cast<double>(random.real(0.0F, 1.0F));
    const std::int32_t other = std::max(1, static_cast<std::int32_t>(side * ratio) + random.whole(-2, 2));
    const std::int32_t x = random.whole(-7'000'000, 7'000'000);
    const std::int32_t y = random.whole(-7'000'000, 7'000'000);
    RoundedBox box = along_x ? box_at(random, x, y, side, across) : box_at(random, x, y, across, side);
    RoundedBox candidate = along_x ? box_at(random, x, y, other, across) : box_at(random, x, y, across, other);
    if (random.whole(0, 1) == 0) {
      std::swap(box, candidate);
    }
    if (random.whole(0, 1) == 0) {
      stretch(box, candidate, limit, along_x, random.whole(0, 8));
    }
    const std::int32_t sign = random.whole(0, 1) == 0 ? 1 : -1;
    const std::int32_t distance = farthest_suppressing(box, candidate, limit, along_x, sign);
    if (distance < 0) {
      continue;
    }
    (along_x ? candidate.x1 : candidate.y1) += sign * distance;
    (along_x ? candidate.x2 : candidate.y2) += sign * distance;
    BoxIndex index(scratch.frame(limit, detail::scalar_kernels));
    index.add(box, 0);
    const Answer answer = index.search(candidate, 0, much_work);
    given_up += answer == Answer::TooFarToLook ? 1 : 0;
    met += answer == Answer::Suppressed ? 1 : 0;
    ASSERT_NE(answer, Answer::Free) << "limit " << limit << ", side " << side << " and " << other << " across " << across
                                    << ", areas " << box.area << " and " << candidate.area << ", distance " << distance;
  }
  EXPECT_GT(met, 100000U);
  EXPECT_LT(given_up, 20000U);
}

TEST(BoxIndex, GivesUpWhenThereIsMoreToLookAt) {
  Room scratch(600, 1, true);
  BoxIndex index(scratch.frame(129, detail::scalar_kernels));
  for (std::int32_t i = 0; i < 600; ++i) {
    index.add({0, 0, 20, 20, 400}, 0);  // all in one cell
  }
  EXPECT_EQ(index.search({0, 0, 20, 20, 400}, 0, 600), Answer::Suppressed);
  EXPECT_EQ(index.search({10, 0, 30, 20, 400}, 0, 100), Answer::TooFarToLook);
  EXPECT_EQ(index.search({10, 0, 30, 20, 400}, 0, much_work), Answer::Free);
  EXPECT_EQ(index.search({0, 0, 20, 20, 400}, 0, 0), Answer::TooFarToLook);
}

// ---- accepted boxes, with and without it ------------------------------------------------------------------------------

using Draw = std::function<Corners(Random &random, std::size_t number)>;

struct Scene {
  const char *name;
  Draw draw;
};

Corners centred(float x, float y, float width, float height) {
  return {x - width / 2, y - height / 2, x + width / 2, y + height / 2};
}

std::vector<Scene> scenes() {
  return {
      {"spread", [](Random &r, std::size_t) { return centred(r.real(0, 900), r.real(0, 900), r.real(8, 24), r.real(8, 24)); }},
      {"negative",
       [](Random &r, std::size_t) { return centred(r.real(-900, 0), r.real(-500, 500), r.log(4, 60), r.log(4, 60)); }},
      {"every size",
       [](Random &r, std::size_t) { return centred(r.real(0, 640), r.real(0, 640), r.log(2, 400), r.log(2, 400)); }},
      {"clustered",
       [](Random &r, std::size_t number) {
         const auto object = static_cast<float>(number % 700);
         return centred(30 * std::fmod(object, 27.0F) + r.real(-3, 3), 30 * std::floor(object / 27.0F) + r.real(-3, 3),
                        r.real(18, 26), r.real(18, 26));
       }},
      {"all equal",
       [](Random &, std::size_t) {
         return Corners{3.25F, 4.5F, 40.5F, 31.75F};
       }},
      {"thin",
       [](Random &r, std::size_t) { return centred(r.real(0, 3000), r.real(0, 3000), r.log(50, 900), r.real(0.3F, 6)); }},
      {"tiny, some of no rounded side",
       [](Random &r, std::size_t) { return centred(r.real(0, 150), r.real(0, 150), r.real(0.8F, 4), r.real(0.8F, 4)); }},
      {"huge",
       [](Random &r, std::size_t) {
         return centred(r.real(-9e6F, 9e6F), r.real(-9e6F, 9e6F), r.log(100, 40000), r.log(100, 40000));
       }},
      {"as wide as can be",
       [](Random &r, std::size_t) {
         const float y = r.real(-40000, 40000);
         return Corners{-r.real(9e6F, 1e7F), y, r.real(9e6F, 1e7F), y + r.real(1, 105)};
       }},
      {"areas at both ends",
       [](Random &r, std::size_t number) {
         const bool large = number % 2 == 0;
         const float x = large ? r.real(-2e6F, 2e6F) : r.real(-40, 40);
         const float y = large ? r.real(-2e6F, 2e6F) : r.real(-40, 40);
         const float width = large ? r.log(20000, 100000) : r.real(0.5F, 2);
         return Corners{x, y, x + width, y + (large ? 2.1474e9F : 0.55F) / width};
       }},
  };
}

TEST(AcceptedBoxes, DecidesAsEveryBoxInTurnWithAndWithoutAnIndex) {
  constexpr std::uint32_t boxes = 2200;
  constexpr std::uint32_t most_chains = 40;
  Random random(seed + 2);
  Room with(boxes, most_chains, true);
  Room without(boxes, most_chains, false);
  std::size_t long_chains = 0;
  std::array<std::size_t, 2> answers = {0, 0};
  const std::vector<Scene> all = scenes();
  for (std::size_t round = 0; round < 9 * all.size(); ++round) {
    const Scene &scene = all[round % all.size()];
    const auto chains = std::array<std::int32_t, 3>{1, 4, most_chains}[round / all.size() % 3];
    const std::uint32_t limit = random.limit();
    const detail::Kernels &kernels = round % 2 == 0 ? detail::scalar_kernels : detail::select_kernels();
    const Frame indexed_frame = with.frame(limit, kernels);
    const Frame walked_frame = without.frame(limit, kernels);
    IndexedBoxes indexed(indexed_frame);
    AcceptedBoxes walked(walked_frame);
    std::vector<std::vector<RoundedBox>> accepted(static_cast<std::size_t>(chains));
    for (std::size_t number = 0; number < boxes; ++number) {
      const Corners box = scene.draw(random, number);
      const float area = (box.x2 - box.x1) * (box.y2 - box.y1);
      if (!(area >= 0.5F && area < 2147483648.0F && std::abs(box.x1) <= 1e7F && std::abs(box.x2) <= 1e7F)) {
        continue;  // is not admitted
      }
      // Most in chain 0, so that one chain is long whatever their number.
      const auto chain = static_cast<std::uint32_t>(number % 4 == 0 ? random.whole(0, chains - 1) : 0);
      const RoundedBox rounded{static_cast<std::int32_t>(std::lround(box.x1)), static_cast<std::int32_t>(std::lround(box.y1)),
                               static_cast<std::int32_t>(std::lround(box.x2)), static_cast<std::int32_t>(std::lround(box.y2)),
                               static_cast<std::uint32_t>(std::lround(area))};
      const bool expected = std::none_of(accepted[chain].begin(), accepted[chain].end(),
                                         [&](const RoundedBox &other) { return suppresses(other, rounded, limit); });
      ++answers[expected ? 1 : 0];
      ASSERT_EQ(indexed.admit(box, chain), expected) << scene.name << ", limit " << limit << ", box " << number;
      ASSERT_EQ(walked.admit(box, chain), expected) << scene.name << ", limit " << limit << ", box " << number;
      if (expected) {
        accepted[chain].push_back(rounded);
      }
    }
    long_chains += accepted[0].size() > 2 * long_chain ? 1 : 0;
  }
  EXPECT_GT(answers[0], 30000U);
  EXPECT_GT(answers[1], 30000U);
  EXPECT_GT(long_chains, 40U);
}

// Boxes dealt to chains nine at a time (where a run begins), one run more at a time, in turn, and at random.
TEST(AcceptedBoxes, NeverNeedMoreBlocksThanPlanned) {
  Random random(seed + 3);
  for (std::uint32_t chains = 1; chains <= 24; ++chains) {
    for (std::uint32_t boxes = 1; boxes <= 400; boxes += boxes < 100 ? 1 : 7) {
      for (std::uint32_t deal : {9U, 41U, 1U, 0U}) {
        Room scratch(2 * boxes, 2 * chains, false);  // with room to spare
        const Frame frame = scratch.frame(1, detail::scalar_kernels);
        AcceptedBoxes accepted(frame);
        for (std::uint32_t box = 0; box < boxes; ++box) {
          const auto any = static_cast<std::uint32_t>(random.whole(0, static_cast<std::int32_t>(chains) - 1));
          accepted.append({0, 0, 1, 1, 1}, deal == 0 ? any : box / deal % chains);
        }
        ASSERT_LE(accepted.blocks_used(), suppression_blocks_for(boxes, chains))
            << boxes << " boxes, " << chains << " chains, " << deal << " at a time";
      }
    }
  }
}

// ---- what is planned --------------------------------------------------------------------------------------------------

test_support::OwnedRequest one_class(std::int64_t capacity) {
  namespace boxdecode = ops::boxdecode;
  test_support::OwnedRequest request{"one class", {}, {}, {}};
  request.inputs = {{{1, 64, 64, 4}, DType::Float32}, {{1, 64, 64, 1}, DType::Float32}};
  request.outputs = {
      {{capacity, 4}, DType::Int32}, {{capacity}, DType::Float32}, {{capacity}, DType::Int32}, {{1}, DType::Int32}};
  request.params.profile = boxdecode::Profile::Yolo6V1;
  request.params.model_input_size = {.width = 512, .height = 512};
  request.params.original_image_size = {.width = 512, .height = 512};
  request.params.num_classes = 1;
  request.params.max_detections = capacity;
  request.params.detection_threshold = 0.25F;
  request.params.nms_iou_threshold = 0.5F;
  request.params.score_activation = boxdecode::ScoreActivation::Sigmoid;
  request.params.heads = {{0, 1}};
  return request;
}

TEST(BoxIndex, IsPlannedWhereAChainMayGrowLong) {
  const auto sizes_of = [](std::int64_t capacity) {
    return ops::boxdecode::detail::Access::state(test_support::prepared(one_class(capacity))).scratch;
  };
  EXPECT_EQ(sizes_of(300).indexed_boxes, 0U);
  EXPECT_EQ(sizes_of(300).index_buckets, 0U);
  EXPECT_EQ(sizes_of(2 * long_chain).indexed_boxes, 0U);
  EXPECT_EQ(sizes_of(2 * long_chain + 1).indexed_boxes, 2 * long_chain + 1);
  // Never more boxes than there are cells.
  EXPECT_EQ(sizes_of(65536).indexed_boxes, 4096U);
  EXPECT_EQ(sizes_of(65536).index_buckets, 4096U);
  EXPECT_EQ(sizes_of(65536).bytes, sizes_of(4096).bytes);
}

}  // namespace
}  // namespace simaai::kernels
