// ops/nms.h: the rule of hard and soft suppression, the life of plan and context, what is refused; and each form of the
// kernels against the scalar one.
#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <simaai/kernels/ops/nms.h>

#include "kernels/dispatch.h"
#include "kernels/iou_rule.h"
#include "kernels/nms_kernels.h"
#include "nms/engine.h"
#include "support/guarded_buffer.h"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace simaai::kernels {
namespace {

namespace nms = ops::nms;
using detail::NmsBlocks;
using detail::NmsBox;
using detail::NmsGridRule;
using detail::NmsGridSizes;
using detail::NmsKernels;
using detail::NmsRowFacts;
using detail::NmsThreshold;
using test_support::GuardedBuffer;

constexpr float infinity = std::numeric_limits<float>::infinity();
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

struct Scene {
  std::vector<float> boxes;
  std::vector<float> scores;
  std::vector<std::int64_t> class_ids;

  [[nodiscard]] std::size_t size() const { return scores.size(); }
  void add(std::array<float, 4> box, float score, std::int64_t class_id = 0) {
    boxes.insert(boxes.end(), box.begin(), box.end());
    scores.push_back(score);
    class_ids.push_back(class_id);
  }
};

class Random {
public:
  explicit Random(std::uint32_t seed) : engine_(seed) {}
  float between(float low, float high) { return low + (high - low) * static_cast<float>(engine_() >> 8U) * 0x1p-24F; }
  std::int64_t below(std::uint32_t end) { return static_cast<std::int64_t>(engine_() % end); }

private:
  std::mt19937 engine_;
};

Scene clustered(std::uint32_t seed, std::size_t count, std::size_t objects) {
  Random random(seed);
  std::vector<std::array<float, 4>> centres;
  const float side = 120.0F * std::sqrt(static_cast<float>(objects));
  for (std::size_t i = 0; i < objects; ++i) {
    centres.push_back({random.between(-side, side), random.between(-side, side), random.between(4, 90), random.between(4, 90)});
  }
  Scene scene;
  for (std::size_t i = 0; i < count; ++i) {
    const auto &[x, y, w, h] = centres[static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(objects)))];
    const float left = x + w * random.between(-0.2F, 0.2F);
    const float top = y + h * random.between(-0.2F, 0.2F);
    scene.add({left, top, left + w * random.between(0.7F, 1.4F), top + h * random.between(0.7F, 1.4F)}, random.between(-1, 1),
              random.below(3) * 5'000'000'000LL - 7);
  }
  return scene;
}

// Sizes over four octaves in a small space: most boxes overlap many others.
Scene crowded(std::uint32_t seed, std::size_t count) {
  Random random(seed);
  Scene scene;
  for (std::size_t i = 0; i < count; ++i) {
    const float width = std::exp2(random.between(4, 8));
    const float height = width * random.between(0.5F, 2);
    const float x = random.between(-300, 300);
    const float y = random.between(-300, 300);
    scene.add({x, y, x + width, y + height}, random.between(0, 1), random.below(4));
  }
  return scene;
}

// Areas from underflow to overflow, beside ordinary boxes.
Scene wild(std::uint32_t seed, std::size_t count) {
  Random random(seed);
  Scene scene;
  for (std::size_t i = 0; i < count; ++i) {
    const float scale = std::exp2(random.below(3) == 0 ? random.between(-80, 80) : random.between(-4, 4));
    const float x = random.between(-3, 3) * scale;
    const float y = random.between(-3, 3) * scale;
    scene.add({x, y, x + random.between(0, 2) * scale, y + random.between(0, 2) * scale}, random.between(-5, 5),
              random.below(3));
  }
  return scene;
}

// Pairs that overlap just enough, and are as unequal or as far apart as that allows: one inside the other at its edge, or the
// same box moved. All magnitudes of size, so that each end of each size class of a grid is met.
Scene pairs_at_the_limit(std::uint32_t seed, std::size_t pairs, float threshold) {
  Random random(seed);
  Scene scene;
  for (std::size_t i = 0; i < pairs; ++i) {
    const float width = std::exp2(random.between(2, 10));
    const float height = width * std::exp2(random.between(-2, 2));
    const float x = random.between(-2e4F, 2e4F);
    const float y = random.between(-2e4F, 2e4F);
    const std::array<float, 4> box = {x, y, x + width, y + height};
    std::array<float, 4> other = box;
    const float more = threshold * 1.002F;
    const float moved = (1 - more) / (1 + more);
    switch (random.below(6)) {
      case 0: other[2] = x + more * width; break;
      case 1: other[1] = y + height - more * height; break;
      case 2:
        other[0] += moved * width;
        other[2] += moved * width;
        break;
      case 3:
        other[1] -= moved * height;
        other[3] -= moved * height;
        break;
      default:
        other[0] = x + width - std::sqrt(more) * width;
        other[1] = y + height - std::sqrt(more) * height;
        break;
    }
    const bool first = random.below(2) == 0;
    scene.add(first ? box : other, random.between(0, 1));
    scene.add(first ? other : box, random.between(0, 1));
  }
  return scene;
}

// Every box covers the point (0, 0). Corners on a lattice give equal IoUs and IoUs at the threshold, scores in eighths ties; a
// few boxes have no area or one that FP32 rounds coarsely.
Scene around_a_point(std::uint32_t seed, std::size_t count, bool lattice) {
  Random random(seed);
  Scene scene;
  for (std::size_t i = 0; i < count; ++i) {
    const auto side = [&] { return lattice ? static_cast<float>(random.below(17)) : random.between(0, 320); };
    const auto odd = random.below(64);
    const float scale = odd == 0 ? 0x1p-60F : odd == 1 ? 0x1p58F : 1.0F;
    const float score = lattice ? static_cast<float>(random.below(9)) / 8 : random.between(0, 1);
    scene.add({-side() * scale, -side() * scale, side() * scale, side() * scale}, score);
  }
  return scene;
}

float iou_of(const float *a, const float *b) {
  const float area_a = (a[2] - a[0]) * (a[3] - a[1]);
  const float area_b = (b[2] - b[0]) * (b[3] - b[1]);
  const float width = std::max(0.0F, std::min(a[2], b[2]) - std::max(a[0], b[0]));
  const float height = std::max(0.0F, std::min(a[3], b[3]) - std::max(a[1], b[1]));
  const float inter = width * height;
  return inter / ((area_a + area_b) - inter);
}

// The rule as it is written, with the division.
std::vector<std::int64_t> greedy(const Scene &scene, double threshold, bool by_class) {
  std::vector<std::size_t> order(scene.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&scene](std::size_t a, std::size_t b) { return scene.scores[a] > scene.scores[b]; });
  std::vector<bool> suppressed(scene.size());
  std::vector<std::int64_t> kept;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (suppressed[i]) {
      continue;
    }
    kept.push_back(static_cast<std::int64_t>(order[i]));
    for (std::size_t j = i + 1; j < order.size(); ++j) {
      const bool meet = !by_class || scene.class_ids[order[i]] == scene.class_ids[order[j]];
      if (meet && static_cast<double>(iou_of(&scene.boxes[4 * order[i]], &scene.boxes[4 * order[j]])) > threshold) {
        suppressed[j] = true;
      }
    }
  }
  return kept;
}

nms::Plan prepared(const nms::Params &params) {
  auto checked = nms::check_inference({params});
  if (const auto *error = std::get_if<Error>(&checked)) {
    ADD_FAILURE() << error->field << ": " << error->message;
  }
  return std::get<nms::Plan>(std::move(checked));
}

struct Result {
  std::vector<std::int64_t> indices;
  std::vector<float> scores;
};

Result run(const Scene &scene, nms::Params params) {
  if (params.capacity < 0) {
    params.capacity = static_cast<std::int64_t>(scene.size());
  }
  const nms::Plan plan = prepared(params);
  const auto context = nms::create_context(plan);
  Result result{std::vector<std::int64_t>(scene.size()), std::vector<float>(scene.size())};
  std::int64_t count = -1;
  nms::Inputs inputs{scene.boxes, scene.scores};
  std::vector<std::int32_t> narrow;
  if (params.class_ids == nms::ClassIds::Int64) {
    inputs.class_ids = std::span<const std::int64_t>(scene.class_ids);
  } else if (params.class_ids == nms::ClassIds::Int32) {
    narrow.assign(scene.class_ids.begin(), scene.class_ids.end());
    inputs.class_ids = std::span<const std::int32_t>(narrow);
  }
  const Status status = nms::execute(plan, *context, inputs, {result.indices, result.scores, &count});
  EXPECT_TRUE(status.ok()) << status.error().message;
  result.indices.resize(static_cast<std::size_t>(count));
  result.scores.resize(static_cast<std::size_t>(count));
  return result;
}

// ---- results ---------------------------------------------------------------------------------------------------------

class EveryKernels : public ::testing::TestWithParam<const char *> {
protected:
  void SetUp() override { ASSERT_TRUE(detail::force_kernels(GetParam())); }
  void TearDown() override { ASSERT_TRUE(detail::force_kernels(nullptr)); }
};

INSTANTIATE_TEST_SUITE_P(Nms, EveryKernels, ::testing::ValuesIn(detail::available_kernels()),
                         [](const auto &each) { return std::string(each.param); });

TEST_P(EveryKernels, KeepsWhatTheRuleKeeps) {
  std::uint32_t seed = 0;
  for (const std::size_t count : {0U, 1U, 2U, 7U, 8U, 9U, 24U, 25U, 127U, 128U, 129U, 500U, 2000U}) {
    for (const std::size_t objects : {1U, 9U, 300U}) {
      const Scene scene = clustered(++seed, count, objects);
      for (const double threshold : {0.0, 0.05, 0.3, 0.5, 0.65, 0.95, 1.0}) {
        nms::Params params;
        params.iou_threshold = threshold;
        EXPECT_EQ(run(scene, params).indices, greedy(scene, threshold, false)) << count << ' ' << objects << ' ' << threshold;
        params.class_ids = nms::ClassIds::Int64;
        EXPECT_EQ(run(scene, params).indices, greedy(scene, threshold, true)) << count << ' ' << objects << ' ' << threshold;
      }
    }
  }
}

TEST_P(EveryKernels, KeepsWhatTheRuleKeepsOfCrowdedAndWildScenes) {
  for (const double threshold : {0.0, 0.1, 0.3, 0.5, 0.8, 0.99}) {
    for (std::uint32_t seed = 0; seed < 3; ++seed) {
      for (const Scene &scene : {crowded(seed, 1500), wild(seed, 1500)}) {
        nms::Params params;
        params.iou_threshold = threshold;
        EXPECT_EQ(run(scene, params).indices, greedy(scene, threshold, false)) << threshold;
        params.class_ids = nms::ClassIds::Int64;
        EXPECT_EQ(run(scene, params).indices, greedy(scene, threshold, true)) << threshold;
      }
    }
  }
}

TEST_P(EveryKernels, KeepsWhatTheRuleKeepsAroundAPoint) {
  for (const double threshold : {0.0, 0.05, 0.25, 0.45, 0.5, 0.75, 0.95}) {
    for (const bool lattice : {false, true}) {
      for (const std::size_t count : {65U, 129U, 700U, 2600U}) {
        const Scene scene = around_a_point(static_cast<std::uint32_t>(count), count, lattice);
        nms::Params params;
        params.iou_threshold = threshold;
        const std::vector<std::int64_t> expected = greedy(scene, threshold, false);
        EXPECT_EQ(run(scene, params).indices, expected) << count << ' ' << lattice << ' ' << threshold;
        params.max_detections = static_cast<std::int64_t>(expected.size() * 3 / 4);
        const std::vector<std::int64_t> first(expected.begin(), expected.begin() + *params.max_detections);
        EXPECT_EQ(run(scene, params).indices, first) << count << ' ' << lattice << ' ' << threshold;
      }
    }
  }
}

TEST_P(EveryKernels, FindsPartnersAtTheLimitOfReachAndSize) {
  for (const float threshold : {0.1F, 0.3F, 0.45F, 0.5F, 0.7F, 0.9F}) {
    const Scene scene = pairs_at_the_limit(21, 3000, threshold);
    nms::Params params;
    params.iou_threshold = static_cast<double>(threshold);
    const Result result = run(scene, params);
    EXPECT_EQ(result.indices, greedy(scene, static_cast<double>(threshold), false)) << threshold;
    EXPECT_LT(result.indices.size(), scene.size() / 2 + 100);
  }
}

TEST_P(EveryKernels, BoxesAtTheEndsOfTheRegularAreasMeet) {
  // A grid holds areas beyond 2^-100 and 2^100 against everything: partners on the other side of these ends must meet too.
  Random random(31);
  Scene scene = crowded(31, 1000);
  for (const float middle : {0x1p50F, 0x1p-50F}) {
    for (int i = 0; i < 200; ++i) {
      const float x = random.between(-100, 100) * middle;
      const float y = random.between(-100, 100) * middle;
      const float width = middle * random.between(0.95F, 1.05F);
      const float height = middle * random.between(0.95F, 1.05F);
      scene.add({x, y, x + width, y + height}, random.between(0, 1));
      scene.add({x, y, x + middle * middle / width * 1.01F, y + middle * middle / height}, random.between(0, 1));
    }
  }
  const std::vector<std::int64_t> expected = greedy(scene, 0.6, false);
  nms::Params params;
  params.iou_threshold = 0.6;
  EXPECT_EQ(run(scene, params).indices, expected);
  EXPECT_LT(expected.size(), scene.size() - 300);
}

TEST_P(EveryKernels, PublishesScoresOfKeptRows) {
  Scene scene = clustered(5, 300, 40);
  scene.scores[17] = -0.0F;
  const Result result = run(scene, {});
  for (std::size_t i = 0; i < result.indices.size(); ++i) {
    EXPECT_EQ(result.scores[i], scene.scores[static_cast<std::size_t>(result.indices[i])]);
    EXPECT_FALSE(std::signbit(result.scores[i]) && result.scores[i] == 0.0F);
  }
}

TEST_P(EveryKernels, ClassIdsOf32And64BitsMeanTheSame) {
  Scene scene = clustered(6, 700, 30);
  for (std::int64_t &id : scene.class_ids) {
    id = id % 3 - 1;
  }
  nms::Params params;
  params.class_ids = nms::ClassIds::Int64;
  const Result wide = run(scene, params);
  params.class_ids = nms::ClassIds::Int32;
  EXPECT_EQ(run(scene, params).indices, wide.indices);
  EXPECT_EQ(wide.indices, greedy(scene, 0.5, true));
}

TEST_P(EveryKernels, GaussianExample) {
  Scene scene;
  scene.add({0, 0, 10, 10}, 0.9F);
  scene.add({0, 0, 10, 9}, 0.8F);
  nms::Params params;
  params.method = nms::Method::SoftGaussian;
  const Result result = run(scene, params);
  ASSERT_EQ(result.indices, (std::vector<std::int64_t>{0, 1}));
  EXPECT_EQ(result.scores[0], 0.9F);
  EXPECT_NEAR(result.scores[1], 0.1583F, 5e-5F);
}

TEST_P(EveryKernels, AdaptiveTurnsLinearAboveTwiceTheArea) {
  nms::Params params;
  params.method = nms::Method::SoftAdaptive;
  for (const auto &[height, factor] :
       {std::pair{5.0F, std::exp(-0.5)}, std::pair{4.0F, 0.6}, std::pair{10.0F, std::exp(-2.0)}}) {
    Scene scene;
    scene.add({0, 0, 10, 10}, 0.9F);
    scene.add({0, 0, 10, height}, 0.8F);
    EXPECT_NEAR(run(scene, params).scores[1], 0.8 * factor, 1e-6);
  }
}

TEST_P(EveryKernels, SoftPicksTheBestOfAllClasses) {
  Scene scene;
  for (int i = 0; i < 40; ++i) {
    const auto x = static_cast<float>(20 * i);
    scene.add({x, 0, x + 10, 10}, i % 2 == 0 ? 0.5F : 0.25F, i % 5);
  }
  nms::Params params;
  params.method = nms::Method::SoftLinear;
  params.class_ids = nms::ClassIds::Int64;
  std::vector<std::int64_t> expected;
  for (int parity = 0; parity < 2; ++parity) {
    for (int i = parity; i < 40; i += 2) {
      expected.push_back(i);
    }
  }
  EXPECT_EQ(run(scene, params).indices, expected);
}

TEST_P(EveryKernels, DropsInvalidRows) {
  for (const std::size_t count : {5U, 70U}) {
    Scene scene;
    for (std::size_t i = 0; i < count; ++i) {
      const auto x = static_cast<float>(20 * i);
      scene.add({x, 0, x + 10, 10}, 1.0F - static_cast<float>(i) / 100);
    }
    scene.boxes[4 * 1 + 2] = infinity;
    scene.boxes[4 * 2 + 1] = 11;
    scene.scores[3] = not_a_number;
    nms::Params params;
    params.invalid = nms::InvalidRows::Drop;
    const std::vector<std::int64_t> kept = run(scene, params).indices;
    ASSERT_EQ(kept.size(), count - 3);
    EXPECT_EQ(kept[0], 0);
    EXPECT_EQ(kept[1], 4);
  }
}

TEST(NmsThresholds, DecideAsTheDivisionDoes) {
  // Areas 2^20·p and 2^20·q around each threshold, in every rounding that a quotient can have.
  for (const double threshold : {0.0, 1e-40, 0.1, 0.3, 0.45, 0.5, 0.6, 0.65, 0.7, 1.0 / 3.0, 0.999999, 1.0}) {
    const NmsThreshold prepared_threshold = detail::prepare_threshold(threshold);
    EXPECT_LE(static_cast<double>(prepared_threshold.low), threshold);
    EXPECT_GT(static_cast<double>(prepared_threshold.high), threshold);
    Random random(11);
    for (int i = 0; i < 200000; ++i) {
      const auto both = random.between(4e6F, 16e6F);
      auto inter = static_cast<float>(static_cast<double>(both) * threshold);
      for (std::int64_t step = random.below(4); step > 0; --step) {
        inter = std::nextafterf(inter, i % 2 == 0 ? infinity : 0.0F);
      }
      const bool expected = static_cast<double>(inter / both) > threshold;
      const double bound = prepared_threshold.middle * static_cast<double>(both);
      const auto exact = static_cast<double>(inter);
      const bool decided = inter > 0 && (exact > bound || (exact == bound && prepared_threshold.tie_suppresses != 0));
      ASSERT_EQ(decided, expected) << threshold << ": " << inter << " / " << both;
      if (inter < both * prepared_threshold.low) {
        ASSERT_FALSE(expected);
      }
      if (inter > both * prepared_threshold.high) {
        ASSERT_TRUE(expected);
      }
    }
  }
}

TEST(NmsThresholds, DecideTiesOfSubnormalQuotients) {
  // Between normal floats no quotient of two floats lies exactly in the middle; between subnormal ones it can.
  for (const double threshold : {0.0, 0x1p-149, 0x1p-148, 0x1.8p-148, 0x1p-147, 0x1.4p-147}) {
    const NmsThreshold prepared_threshold = detail::prepare_threshold(threshold);
    const float both = 0x1p100F;
    for (int quarters = 1; quarters < 40; ++quarters) {
      const float inter = static_cast<float>(quarters) * 0x1p-51F;
      const bool expected = static_cast<double>(inter / both) > threshold;
      const double bound = prepared_threshold.middle * static_cast<double>(both);
      const auto exact = static_cast<double>(inter);
      EXPECT_EQ(exact > bound || (exact == bound && prepared_threshold.tie_suppresses != 0), expected)
          << threshold << ' ' << quarters;
    }
  }
}

TEST_P(EveryKernels, DecideTiesOfSubnormalQuotients) {
  // The part that both boxes share is 2^-49 by 1 or 1.5; all of the other one is about 2^100.
  for (const float height : {1.0F, 1.5F, 2.0F}) {
    Scene scene;
    scene.add({0, 0, 0x1p50F, 0x1p50F}, 1);
    scene.add({-1, 0, 0x1p-49F, height}, 0.5F);
    for (const double threshold : {0.0, 0x1p-149, 0x1p-148}) {
      nms::Params params;
      params.iou_threshold = threshold;
      EXPECT_EQ(run(scene, params).indices, greedy(scene, threshold, false)) << height << ' ' << threshold;
    }
  }
}

// ---- life ------------------------------------------------------------------------------------------------------------

TEST(NmsLife, ContextsAreSharedByCopiesOfAPlanOnly) {
  nms::Params params;
  params.capacity = 10;
  const nms::Plan plan = prepared(params);
  const nms::Plan copy = plan;
  const nms::Plan other = prepared(params);
  const auto context = nms::create_context(plan);
  const Scene scene = clustered(1, 10, 2);
  std::array<std::int64_t, 10> indices{};
  std::int64_t count = 0;
  EXPECT_TRUE(nms::execute(copy, *context, {scene.boxes, scene.scores, {}}, {indices, {}, &count}).ok());
  const Status status = nms::execute(other, *context, {scene.boxes, scene.scores, {}}, {indices, {}, &count});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::ContextMismatch);
}

TEST(NmsLife, OneContextServesManySizesUpToItsCapacity) {
  nms::Params params;
  params.capacity = 1000;
  const nms::Plan plan = prepared(params);
  EXPECT_EQ(plan.params().capacity, 1000);
  EXPECT_GT(plan.context_bytes(), 1000U * 16U);
  EXPECT_LT(plan.context_bytes(), 1000U * 200U);
  const auto context = nms::create_context(plan);
  for (const std::size_t size : {1000U, 0U, 13U, 999U, 1U}) {
    const Scene scene = clustered(3, size, 20);
    std::vector<std::int64_t> indices(size);
    std::int64_t count = -1;
    ASSERT_TRUE(nms::execute(plan, *context, {scene.boxes, scene.scores, {}}, {indices, {}, &count}).ok());
    indices.resize(static_cast<std::size_t>(count));
    EXPECT_EQ(indices, greedy(scene, 0.5, false));
  }
}

TEST(NmsLife, AContextInUseIsBusy) {
  // A long call on one thread; the other one knocks until it meets it.
  const Scene scene = clustered(9, 3000, 3000);
  nms::Params params;
  params.capacity = static_cast<std::int64_t>(scene.size());
  params.method = nms::Method::SoftLinear;
  params.score_threshold = -2.0;
  const nms::Plan plan = prepared(params);
  const auto context = nms::create_context(plan);
  std::atomic<bool> finished = false;
  std::atomic<bool> long_call_ok = true;
  std::thread worker([&] {
    std::vector<std::int64_t> indices(scene.size());
    std::int64_t count = 0;
    while (!finished) {
      const Status status = nms::execute(plan, *context, {scene.boxes, scene.scores, {}}, {indices, {}, &count});
      if (!status.ok() && status.error().code != ErrorCode::ContextBusy) {
        long_call_ok = false;
      }
    }
  });
  bool met = false;
  while (!met) {  // however long the worker waits for its turn
    std::int64_t count = 0;
    const Status status = nms::execute(plan, *context, {}, {{}, {}, &count});
    met = !status.ok() && status.error().code == ErrorCode::ContextBusy;
  }
  finished = true;
  worker.join();
  EXPECT_TRUE(met);
  EXPECT_TRUE(long_call_ok);
}

#if defined(__x86_64__)
TEST(NmsLife, AnotherFloatEnvironmentIsRefused) {
  nms::Params params;
  params.capacity = 1;
  const nms::Plan plan = prepared(params);
  const auto context = nms::create_context(plan);
  std::int64_t count = 0;
  const unsigned before = _mm_getcsr();
  _mm_setcsr(before | 0x8000U);  // flush to zero
  const auto refused_plan = nms::check_inference({params});
  const Status status = nms::execute(plan, *context, {}, {{}, {}, &count});
  _mm_setcsr(before);
  ASSERT_TRUE(std::holds_alternative<Error>(refused_plan));
  EXPECT_EQ(std::get<Error>(refused_plan).code, ErrorCode::FloatEnvironment);
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::FloatEnvironment);
}
#endif

// ---- refusals --------------------------------------------------------------------------------------------------------

TEST(NmsRefusals, ParametersNameThemselves) {
  const auto field_of = [](auto change) {
    nms::Params params;
    params.capacity = 4;
    change(params);
    const auto checked = nms::check_inference({params});
    const auto *error = std::get_if<Error>(&checked);
    if (error == nullptr) {
      return std::string("accepted");
    }
    EXPECT_EQ(error->code, ErrorCode::InvalidParameter);
    EXPECT_NE(error->message.find(error->field), std::string::npos);
    return error->field;
  };
  static constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(field_of([](nms::Params &) {}), "accepted");
  EXPECT_EQ(field_of([](nms::Params &p) { p.capacity = -1; }), "params.capacity");
  EXPECT_EQ(field_of([](nms::Params &p) { p.capacity = 2147483648LL; }), "params.capacity");
  EXPECT_EQ(field_of([](nms::Params &p) { p.method = static_cast<nms::Method>(9); }), "params.method");
  EXPECT_EQ(field_of([](nms::Params &p) { p.iou_threshold = 1.0001; }), "params.iou_threshold");
  EXPECT_EQ(field_of([](nms::Params &p) { p.iou_threshold = -1e-9; }), "params.iou_threshold");
  EXPECT_EQ(field_of([](nms::Params &p) { p.iou_threshold = nan; }), "params.iou_threshold");
  EXPECT_EQ(field_of([](nms::Params &p) { p.sigma = 0; }), "params.sigma");
  EXPECT_EQ(field_of([](nms::Params &p) { p.sigma = 1e39; }), "params.sigma");
  EXPECT_EQ(field_of([](nms::Params &p) { p.sigma = 1e-50; }), "params.sigma");
  EXPECT_EQ(field_of([](nms::Params &p) { p.score_threshold = nan; }), "params.score_threshold");
  EXPECT_EQ(field_of([](nms::Params &p) { p.score_threshold = 1e300; }), "accepted");
  EXPECT_EQ(field_of([](nms::Params &p) { p.max_detections = -1; }), "params.max_detections");
  EXPECT_EQ(field_of([](nms::Params &p) { p.max_detections = 0; }), "accepted");
  EXPECT_EQ(field_of([](nms::Params &p) { p.class_ids = static_cast<nms::ClassIds>(7); }), "params.class_ids");
  EXPECT_EQ(field_of([](nms::Params &p) { p.invalid = static_cast<nms::InvalidRows>(7); }), "params.invalid");
}

TEST(NmsRefusals, BuffersNameThemselvesAndOutputsStayUntouched) {
  Scene scene = clustered(2, 8, 2);
  nms::Params params;
  params.capacity = 8;
  params.class_ids = nms::ClassIds::Int64;
  const nms::Plan plan = prepared(params);
  const auto context = nms::create_context(plan);
  std::array<std::int64_t, 12> indices;
  std::array<float, 12> scores;
  std::int64_t count = 0;
  const auto refusal = [&](const nms::Inputs &inputs, const nms::Outputs &outputs) {
    indices.fill(-77);
    scores.fill(-77);
    count = -77;
    const Status status = nms::execute(plan, *context, inputs, outputs);
    EXPECT_TRUE(std::all_of(indices.begin(), indices.end(), [](std::int64_t value) { return value == -77; }));
    EXPECT_TRUE(std::all_of(scores.begin(), scores.end(), [](float value) { return value == -77; }));
    EXPECT_EQ(count, -77);
    return status.ok() ? Error{} : status.error();
  };
  const auto expect = [](const Error &error, ErrorCode code, const char *field) {
    EXPECT_EQ(error.code, code) << error.message;
    EXPECT_EQ(error.field, field) << error.message;
  };
  const std::span<const float> boxes(scene.boxes);
  const std::span<const float> in_scores(scene.scores);
  const std::span<const std::int64_t> ids(scene.class_ids);
  const std::vector<std::int32_t> ids_32(8);
  const nms::Inputs good{boxes, in_scores, ids};
  const nms::Outputs all{indices, scores, &count};
  const std::vector<float> nine(9);
  const std::vector<float> nine_boxes(36);
  expect(refusal({nine_boxes, nine, ids}, all), ErrorCode::InvalidBuffer, "scores");
  expect(refusal({boxes.first(31), in_scores, ids}, all), ErrorCode::InvalidBuffer, "boxes");
  expect(refusal({boxes, in_scores, ids.first(7)}, all), ErrorCode::InvalidBuffer, "class_ids");
  expect(refusal({boxes, in_scores, {}}, all), ErrorCode::InvalidBuffer, "class_ids");
  expect(refusal({boxes, in_scores, std::span<const std::int32_t>(ids_32)}, all), ErrorCode::InvalidBuffer, "class_ids");
  expect(refusal({{static_cast<const float *>(nullptr), 32}, in_scores, ids}, all), ErrorCode::InvalidBuffer, "boxes");
  const auto *const odd = reinterpret_cast<const float *>(reinterpret_cast<const char *>(scene.boxes.data()) + 1);
  expect(refusal({{odd, 28}, in_scores.first(7), ids.first(7)}, all), ErrorCode::InvalidBuffer, "boxes");
  expect(refusal(good, {std::span(indices).first(7), scores, &count}), ErrorCode::InvalidBuffer, "outputs.indices");
  expect(refusal(good, {indices, std::span(scores).first(7), &count}), ErrorCode::InvalidBuffer, "outputs.scores");
  expect(refusal(good, {indices, scores, nullptr}), ErrorCode::InvalidBuffer, "outputs.count");
  expect(refusal(good, {indices, scene.scores, &count}), ErrorCode::BufferOverlap, "outputs.scores");
  expect(refusal(good, {scene.class_ids, scores, &count}), ErrorCode::BufferOverlap, "outputs.indices");
  expect(refusal(good, {indices, scores, &indices[3]}), ErrorCode::BufferOverlap, "outputs.count");

  scene.boxes[4 * 5 + 3] = infinity;
  scene.scores[6] = not_a_number;
  expect(refusal(good, all), ErrorCode::InvalidParameter, "boxes[5]");
  scene.scores[4] = not_a_number;
  expect(refusal(good, all), ErrorCode::InvalidParameter, "scores[4]");
  scene.boxes[4 * 2] = scene.boxes[4 * 2 + 2] + 1;
  const Error inverted = refusal(good, all);
  expect(inverted, ErrorCode::InvalidParameter, "boxes[2]");
  EXPECT_NE(inverted.message.find("cxcywh"), std::string::npos);
}

TEST(NmsRefusals, ALimitNeedsNoMoreRoomThanItself) {
  const Scene scene = clustered(2, 50, 50);
  nms::Params params;
  params.capacity = 50;
  params.max_detections = 3;
  const nms::Plan plan = prepared(params);
  const auto context = nms::create_context(plan);
  std::array<std::int64_t, 4> indices{-1, -1, -1, -1};
  std::int64_t count = 0;
  ASSERT_TRUE(nms::execute(plan, *context, {scene.boxes, scene.scores, {}}, {std::span(indices).first(3), {}, &count}).ok());
  EXPECT_EQ(count, 3);
  EXPECT_EQ(indices[3], -1);
}

// ---- boxes -----------------------------------------------------------------------------------------------------------

TEST(NmsBoxes, ConvertInPlaceAndApart) {
  using nms::BoxFormat;
  const std::array<std::array<float, 4>, 3> forms = {{{2, 3, 8, 13}, {2, 3, 6, 10}, {5, 8, 6, 10}}};
  constexpr std::array<BoxFormat, 3> formats = {BoxFormat::Corners, BoxFormat::TopLeftAndSize, BoxFormat::CentreAndSize};
  for (std::size_t from = 0; from < 3; ++from) {
    for (std::size_t to = 0; to < 3; ++to) {
      std::array<float, 4> converted{};
      ASSERT_TRUE(nms::convert_boxes(forms[from], formats[from], formats[to], converted).ok());
      EXPECT_EQ(converted, forms[to]);
      converted = forms[from];
      ASSERT_TRUE(nms::convert_boxes(converted, formats[from], formats[to], converted).ok());
      EXPECT_EQ(converted, forms[to]);
      const std::array<double, 4> wide = {forms[from][0], forms[from][1], forms[from][2], forms[from][3]};
      std::array<double, 4> wide_converted{};
      ASSERT_TRUE(nms::convert_boxes(wide, formats[from], formats[to], wide_converted).ok());
      EXPECT_EQ(wide_converted[2], static_cast<double>(forms[to][2]));
    }
  }
}

TEST(NmsBoxes, AreasAndIous) {
  const std::array<float, 16> boxes = {0, 0, 10, 10, 5, 0, 15, 10, 10, 0, 20, 10, 3, 3, 3, 3};
  std::array<float, 4> areas{};
  ASSERT_TRUE(nms::box_areas(std::span<const float>(boxes), areas).ok());
  EXPECT_EQ(areas, (std::array<float, 4>{100, 100, 100, 0}));
  std::array<float, 16> ious{};
  ASSERT_TRUE(nms::box_ious(std::span<const float>(boxes), std::span<const float>(boxes), ious).ok());
  EXPECT_EQ(ious[0], 1.0F);
  EXPECT_EQ(ious[1], 50.0F / 150.0F);
  EXPECT_EQ(ious[2], 0.0F);
  EXPECT_EQ(ious[15], 0.0F);  // 0/0
}

TEST(NmsBoxes, RefusalsNameTheBuffer) {
  std::array<float, 8> boxes{};
  const std::span<const float> in(boxes);
  std::array<float, 8> out{};
  const auto expect = [](const Status &status, ErrorCode code, const char *field) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code, code);
    EXPECT_EQ(status.error().field, field);
  };
  using nms::BoxFormat;
  expect(nms::convert_boxes(in.first(7), BoxFormat::Corners, BoxFormat::Corners, std::span(out).first(7)),
         ErrorCode::InvalidBuffer, "boxes");
  expect(nms::convert_boxes(in, BoxFormat::Corners, BoxFormat::Corners, std::span(out).first(4)), ErrorCode::InvalidBuffer,
         "converted");
  expect(nms::convert_boxes(in.first(4), BoxFormat::Corners, BoxFormat::Corners, std::span(boxes).subspan(1, 4)),
         ErrorCode::BufferOverlap, "converted");
  expect(nms::box_areas(in, std::span(out)), ErrorCode::InvalidBuffer, "areas");
  const std::span<float> null(static_cast<float *>(nullptr), 4);
  expect(nms::convert_boxes(null, BoxFormat::Corners, BoxFormat::Corners, std::span(out).first(4)), ErrorCode::InvalidBuffer,
         "boxes");
  expect(nms::convert_boxes(in.first(4), BoxFormat::Corners, BoxFormat::Corners, null), ErrorCode::InvalidBuffer, "converted");
  expect(nms::box_areas(null, std::span(out).first(1)), ErrorCode::InvalidBuffer, "boxes");
  expect(nms::box_areas(in.first(4), null.first(1)), ErrorCode::InvalidBuffer, "areas");
  expect(nms::box_ious(null, in.first(4), std::span(out).first(1)), ErrorCode::InvalidBuffer, "a");
  expect(nms::box_ious(in.first(4), null, std::span(out).first(1)), ErrorCode::InvalidBuffer, "b");
  expect(nms::box_ious(in.first(4), in.first(4), null.first(1)), ErrorCode::InvalidBuffer, "ious");
  constexpr auto unknown = static_cast<BoxFormat>(9);
  expect(nms::convert_boxes(in.first(4), unknown, BoxFormat::Corners, std::span(out).first(4)), ErrorCode::InvalidParameter,
         "from");
  expect(nms::convert_boxes(in.first(4), BoxFormat::Corners, unknown, std::span(out).first(4)), ErrorCode::InvalidParameter,
         "to");
  expect(nms::box_areas(in, std::span(boxes).first(2)), ErrorCode::BufferOverlap, "areas");
  expect(nms::box_ious(in, in.first(3), std::span(out)), ErrorCode::InvalidBuffer, "b");
  expect(nms::box_ious(in, in, std::span(out)), ErrorCode::InvalidBuffer, "ious");
  expect(nms::box_ious(in.first(4), in, std::span(boxes).last(2)), ErrorCode::BufferOverlap, "ious");
}

// ---- kernels ---------------------------------------------------------------------------------------------------------

std::vector<const NmsKernels *> vector_kernels() {
  std::vector<const NmsKernels *> found;
  for (const char *name : detail::available_kernels()) {
    detail::force_kernels(name);
    const NmsKernels *const kernels = &detail::select_nms_kernels();
    if (kernels != &detail::scalar_nms_kernels && std::find(found.begin(), found.end(), kernels) == found.end()) {
      found.push_back(kernels);
    }
  }
  detail::force_kernels(nullptr);
  return found;
}

TEST(NmsKernelForms, EverySetHasItsOwn) {
  for (const char *const name : detail::available_kernels()) {
    ASSERT_TRUE(detail::force_kernels(name));
    const NmsKernels *const kernels = &detail::select_nms_kernels();
    EXPECT_EQ(kernels, &detail::nms_kernels_of(detail::select_kernels().set)) << name;
    EXPECT_EQ(kernels == &detail::scalar_nms_kernels, std::string_view(name) == "scalar") << name;
    // neon_dotprod has no product that NMS could use.
    EXPECT_TRUE(std::string_view(name).starts_with(kernels->name)) << name;
  }
  detail::force_kernels(nullptr);
}

// Floats that end at a page that may not be read.
class GuardedFloats {
public:
  explicit GuardedFloats(const std::vector<float> &values) : buffer_(std::max<std::size_t>(values.size(), 1) * sizeof(float)) {
    if (!values.empty()) {
      std::memcpy(buffer_.data(), values.data(), values.size() * sizeof(float));
    }
    skip_ = values.empty() ? 1 : 0;
  }
  [[nodiscard]] const float *data() const { return reinterpret_cast<const float *>(buffer_.data()) + skip_; }

private:
  GuardedBuffer buffer_;
  std::size_t skip_ = 0;
};

constexpr std::array<float, 14> extremes = {0.0F,   -0.0F,   1.0F,    -1.0F,    infinity, -infinity, not_a_number,
                                            1e-45F, -1e-45F, 3.4e38F, -3.4e38F, 0x1p-50F, 0x1p50F,   0.3F};

TEST(NmsKernelForms, CheckRowsAgreesAndReadsNothingBeyond) {
  const std::vector<const NmsKernels *> forms = vector_kernels();
  if (forms.empty()) {
    GTEST_SKIP() << "this CPU runs the scalar kernels only";
  }
  Random random(3);
  for (std::size_t rows = 0; rows < 70; ++rows) {
    for (int wildness = 0; wildness < 30; ++wildness) {
      Scene scene = clustered(static_cast<std::uint32_t>(rows), rows, 7);
      if (rows > 0 && wildness > 3) {
        const auto row = static_cast<std::size_t>(random.below(static_cast<std::uint32_t>(rows)));
        const float value = extremes[static_cast<std::size_t>(random.below(extremes.size()))];
        const std::int64_t corner = random.below(5);
        (corner == 4 ? scene.scores[row] : scene.boxes[4 * row + static_cast<std::size_t>(corner)]) = value;
      }
      const GuardedFloats boxes(scene.boxes);
      const GuardedFloats scores(scene.scores);
      std::vector<float> expected_copy(rows + 1, 7.0F);
      const NmsRowFacts expected =
          detail::scalar_nms_kernels.check_rows(boxes.data(), scores.data(), rows, expected_copy.data());
      for (const NmsKernels *const form : forms) {
        std::vector<float> copy(rows + 1, 7.0F);
        const NmsRowFacts facts = form->check_rows(boxes.data(), scores.data(), rows, copy.data());
        EXPECT_EQ(facts.valid, expected.valid);
        EXPECT_EQ(std::memcmp(copy.data(), expected_copy.data(), copy.size() * sizeof(float)), 0);
        if (expected.valid != 0) {
          EXPECT_EQ(std::bit_cast<std::uint32_t>(facts.least), std::bit_cast<std::uint32_t>(expected.least));
          EXPECT_EQ(std::bit_cast<std::uint32_t>(facts.largest), std::bit_cast<std::uint32_t>(expected.largest));
        }
      }
    }
  }
}

TEST(NmsKernelForms, BucketsAgree) {
  Random random(4);
  for (const NmsKernels *const form : vector_kernels()) {
    for (std::size_t rows = 0; rows < 40; ++rows) {
      std::vector<float> values(rows);
      std::generate(values.begin(), values.end(), [&random] { return random.between(-3, 5); });
      const GuardedFloats scores(values);
      std::vector<std::uint32_t> expected(rows + 1, 9);
      std::vector<std::uint32_t> buckets(rows + 1, 9);
      detail::scalar_nms_kernels.bucket_scores(scores.data(), rows, 5.0F, 123.4F, expected.data());
      form->bucket_scores(scores.data(), rows, 5.0F, 123.4F, buckets.data());
      EXPECT_EQ(buckets, expected);
    }
  }
}

TEST(NmsKernelForms, GridBucketsAgreeForEverySize) {
  Random random(5);
  for (const NmsKernels *const form : vector_kernels()) {
    for (std::size_t count = 0; count < 50; ++count) {
      std::vector<float> boxes;
      for (std::size_t i = 0; i < count; ++i) {
        const float scale = std::exp2(random.between(-70, 70));
        const float x = random.between(-3, 3) * (i % 3 == 0 ? 1e7F : scale);
        const float y = random.between(-3, 3) * scale;
        const float width = i % 7 == 0 ? 0.0F : random.between(0, 2) * scale;
        boxes.insert(boxes.end(), {x, y, x + width, y + random.between(0, 2) * (i % 11 == 0 ? 1e30F : scale)});
      }
      std::vector<std::uint32_t> rows(count);
      std::iota(rows.rbegin(), rows.rend(), 0U);
      const GuardedFloats guarded(boxes);
      for (const int exponent : {124, 127, 130}) {
        const NmsGridRule rule{1023, exponent};
        std::vector<std::uint32_t> expected(count + 1, 9);
        std::vector<std::uint32_t> buckets(count + 1, 9);
        const NmsGridSizes expected_sizes =
            detail::scalar_nms_kernels.grid_buckets(guarded.data(), rows.data(), count, rule, expected.data());
        const NmsGridSizes sizes = form->grid_buckets(guarded.data(), rows.data(), count, rule, buckets.data());
        EXPECT_EQ(buckets, expected);
        EXPECT_EQ(sizes.least, expected_sizes.least);
        EXPECT_EQ(sizes.largest, expected_sizes.largest);
      }
    }
  }
}

struct alignas(64) Blocks {
  static constexpr std::size_t count = 6;
  std::array<float, count * NmsBlocks::floats> floats;
};

// Boxes of small integers and of every magnitude, some lanes gone.
Blocks random_blocks(Random &random) {
  Blocks blocks{};
  for (std::size_t lane = 0; lane < Blocks::count * NmsBlocks::lanes; ++lane) {
    float *const corners = blocks.floats.data() + lane / NmsBlocks::lanes * NmsBlocks::floats + lane % NmsBlocks::lanes;
    const bool wild = random.below(4) == 0;
    const float scale = wild ? std::exp2(random.between(-80, 64)) : 1.0F;
    const auto whole = [&](std::uint32_t end) { return static_cast<float>(random.below(end)) * scale; };
    corners[0] = whole(8);
    corners[NmsBlocks::lanes] = whole(8);
    corners[2 * NmsBlocks::lanes] = corners[0] + whole(8);
    corners[3 * NmsBlocks::lanes] = corners[NmsBlocks::lanes] + whole(8);
    if (random.below(6) == 0) {
      corners[0] = infinity;
    }
  }
  return blocks;
}

NmsBox random_box(Random &random) {
  Blocks blocks = random_blocks(random);
  const float *const corners = blocks.floats.data();
  const float x1 = corners[0] == infinity ? 0.0F : corners[0];
  NmsBox box{x1, corners[8], std::max(x1, corners[16]), corners[24], 0};
  box.area = (box.x2 - box.x1) * (box.y2 - box.y1);
  return box;
}

TEST(NmsKernelForms, SuppressionAgrees) {
  Random random(6);
  for (const NmsKernels *const form : vector_kernels()) {
    std::uint32_t total = 0;
    for (int i = 0; i < 20000; ++i) {
      const double t =
          std::array{0.0, 0.1, 0.25, 0.3, 1.0 / 3.0, 0.5, 0.6, 0.75, 0.9}[static_cast<std::size_t>(random.below(9))];
      const NmsThreshold threshold = detail::prepare_threshold(t);
      const Blocks start = random_blocks(random);
      const NmsBox box = random_box(random);
      Blocks expected = start;
      const std::uint32_t count =
          detail::scalar_nms_kernels.suppress_run(expected.floats.data(), 1, Blocks::count, box, threshold);
      Blocks got = start;
      EXPECT_EQ(form->suppress_run(got.floats.data(), 1, Blocks::count, box, threshold), count);
      EXPECT_EQ(got.floats, expected.floats);
      const std::array<std::uint32_t, 6> list = {5, 1, 3, 3, 2, 4};
      for (const NmsKernels *const each : {form, &detail::scalar_nms_kernels}) {
        got = start;
        EXPECT_EQ(each->suppress_list(got.floats.data(), list.data(), list.size(), box, threshold), count);
        EXPECT_EQ(got.floats, expected.floats);
      }
      total += count;
    }
    EXPECT_GT(total, 10000U);
  }
}

bool is_regular(float area) { return area >= 0x1p-100F && area <= 0x1p100F; }

// What goes with each lane of a list.
std::array<float, Blocks::count * NmsBlocks::lanes> shares_of(const Blocks &blocks, const NmsThreshold &threshold) {
  std::array<float, Blocks::count * NmsBlocks::lanes> shares{};
  for (std::size_t lane = 0; lane < shares.size(); ++lane) {
    const float *const corners = blocks.floats.data() + lane / NmsBlocks::lanes * NmsBlocks::floats + lane % NmsBlocks::lanes;
    const float area = (corners[16] - corners[0]) * (corners[24] - corners[8]);
    shares[lane] = corners[0] == infinity ? infinity : is_regular(area) ? threshold.share * area : -infinity;
  }
  return shares;
}

TEST(NmsKernelForms, StepsToTheSuppressorAgree) {
  Random random(16);
  for (const NmsKernels *const form : vector_kernels()) {
    std::array<std::size_t, 3> seen = {};
    for (int i = 0; i < 40000; ++i) {
      const double t =
          std::array{0.0, 1e-7, 0.1, 0.25, 0.3, 1.0 / 3.0, 0.5, 0.75, 0.9}[static_cast<std::size_t>(random.below(9))];
      const NmsThreshold threshold = detail::prepare_threshold(t);
      const Blocks blocks = random_blocks(random);
      const NmsBox box = random_box(random);
      alignas(32) const auto shares = shares_of(blocks, threshold);
      const float share = is_regular(box.area) ? threshold.share * box.area : -infinity;
      const std::size_t expected = detail::scalar_nms_kernels.steps_to_suppressor(blocks.floats.data(), shares.data(), 2,
                                                                                  Blocks::count, box, share, threshold);
      EXPECT_EQ(form->steps_to_suppressor(blocks.floats.data(), shares.data(), 2, Blocks::count, box, share, threshold),
                expected);
      ++seen.at(expected);
    }
    EXPECT_GT(*std::min_element(seen.begin(), seen.end()), 1000U);
  }
}

TEST(NmsKernelForms, SureSuppressionAgreesAndIsSure) {
  Random random(17);
  std::size_t total = 0;
  for (const char *const name : detail::available_kernels()) {
    detail::force_kernels(name);
    const NmsKernels &form = detail::select_nms_kernels();
    for (int i = 0; i < 20000; ++i) {
      const double t = std::array{0.0, 1e-7, 0.1, 0.25, 1.0 / 3.0, 0.5, 0.75, 0.9}[static_cast<std::size_t>(random.below(8))];
      const NmsThreshold threshold = detail::prepare_threshold(t);
      const Blocks start = random_blocks(random);
      std::array<NmsBox, 3> boxes{};
      std::size_t count = 0;
      for (std::size_t k = 0; k < boxes.size(); ++k) {
        boxes.at(count) = random_box(random);
        count += static_cast<std::size_t>(is_regular(boxes.at(count).area));
      }
      Blocks expected = start;
      detail::scalar_nms_kernels.suppress_surely(expected.floats.data(), Blocks::count, boxes.data(), count,
                                                 threshold.sure_share);
      Blocks got = start;
      form.suppress_surely(got.floats.data(), Blocks::count, boxes.data(), count, threshold.sure_share);
      EXPECT_EQ(got.floats, expected.floats);
      Blocks exact = start;
      for (std::size_t k = 0; k < count; ++k) {
        detail::scalar_nms_kernels.suppress_run(exact.floats.data(), 0, Blocks::count, boxes.at(k), threshold);
      }
      for (std::size_t lane = 0; lane < exact.floats.size(); ++lane) {
        EXPECT_TRUE(got.floats.at(lane) == start.floats.at(lane) || exact.floats.at(lane) == infinity);
        total += static_cast<std::size_t>(got.floats.at(lane) != start.floats.at(lane));
      }
    }
  }
  detail::force_kernels(nullptr);
  EXPECT_GT(total, 10000U);
}

TEST(NmsKernelForms, OverlapsAgree) {
  Random random(7);
  for (const NmsKernels *const form : vector_kernels()) {
    std::size_t total = 0;
    for (int i = 0; i < 20000; ++i) {
      const Blocks blocks = random_blocks(random);
      const NmsBox box = random_box(random);
      std::array<std::uint32_t, Blocks::count * 8> expected_positions{};
      std::array<std::uint32_t, Blocks::count * 8> positions{};
      std::array<float, Blocks::count * 8> expected_ious{};
      std::array<float, Blocks::count * 8> ious{};
      const std::size_t count = detail::scalar_nms_kernels.overlaps(blocks.floats.data(), 2, Blocks::count, box,
                                                                    expected_positions.data(), expected_ious.data());
      EXPECT_EQ(form->overlaps(blocks.floats.data(), 2, Blocks::count, box, positions.data(), ious.data()), count);
      EXPECT_EQ(positions, expected_positions);
      EXPECT_EQ(ious, expected_ious);
      total += count;
    }
    EXPECT_GT(total, 10000U);
  }
}

TEST(NmsKernelForms, FirstLargestAgrees) {
  Random random(8);
  constexpr std::array<float, 6> values = {0.0F, -0.0F, 1.0F, -1.0F, -infinity, 0.5F};
  for (const NmsKernels *const form : vector_kernels()) {
    for (int i = 0; i < 20000; ++i) {
      const auto blocks = static_cast<std::size_t>(1 + random.below(5));
      std::vector<float> scores(8 * blocks);
      const auto few = static_cast<std::uint32_t>(1 + random.below(values.size()));
      std::generate(scores.begin(), scores.end(), [&] { return values[static_cast<std::size_t>(random.below(few))]; });
      const GuardedFloats guarded(scores);
      const std::size_t expected = detail::scalar_nms_kernels.first_largest(guarded.data(), blocks);
      EXPECT_EQ(form->first_largest(guarded.data(), blocks), expected);
      EXPECT_EQ(expected, static_cast<std::size_t>(std::max_element(scores.begin(), scores.end()) - scores.begin()));
    }
  }
}

}  // namespace
}  // namespace simaai::kernels
