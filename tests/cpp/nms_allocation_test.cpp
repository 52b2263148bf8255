// No successful call of ops/nms.h allocates: not the first one, not from empty to crowded and back.
#include <cstdint>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <simaai/kernels/ops/nms.h>

#include "support/allocation_count.h"

namespace simaai::kernels {
namespace {

namespace nms = ops::nms;
using test_support::AllocationCount;

struct Scene {
  std::vector<float> boxes;
  std::vector<float> scores;
  std::vector<std::int64_t> class_ids;
};

// Side and jitter decide whether boxes stand alone or crowd; the power of the score, whether the scores do.
Scene make_scene(std::size_t count, float side, int score_power, std::int64_t class_step) {
  std::mt19937 engine(static_cast<std::uint32_t>(count));
  const auto uniform = [&engine] { return static_cast<float>(engine() >> 8U) * 0x1p-24F; };
  Scene scene;
  for (std::size_t i = 0; i < count; ++i) {
    const float x = side * uniform();
    const float y = side * uniform();
    scene.boxes.insert(scene.boxes.end(), {x, y, x + 10 + 20 * uniform(), y + 10 + 20 * uniform()});
    float score = 1;
    for (int power = 0; power < score_power; ++power) {
      score *= uniform();
    }
    scene.scores.push_back(score);
    scene.class_ids.push_back(static_cast<std::int64_t>(engine() % 9U) * class_step);
  }
  return scene;
}

struct Case {
  const char *name;
  nms::Method method;
  nms::ClassIds class_ids;
  nms::InvalidRows invalid;
};

class NmsAllocation : public ::testing::TestWithParam<Case> {};

TEST_P(NmsAllocation, ExecuteAllocatesNothing) {
  nms::Params params;
  params.capacity = 6000;
  params.method = GetParam().method;
  params.class_ids = GetParam().class_ids;
  params.invalid = GetParam().invalid;
  params.score_threshold = 0.01;
  auto checked = nms::check_inference({params});
  ASSERT_TRUE(std::holds_alternative<nms::Plan>(checked));
  const nms::Plan plan = std::get<nms::Plan>(checked);
  const auto context = nms::create_context(plan);

  const std::vector<Scene> scenes = {make_scene(6000, 3000, 1, 1),        make_scene(0, 1, 1, 1),
                                     make_scene(6000, 100, 8, 1LL << 40), make_scene(20, 50, 1, 1),
                                     make_scene(900, 700, 1, 1),          make_scene(6000, 3000, 1, 1)};
  std::vector<std::int64_t> indices(6000);
  std::vector<float> scores(6000);
  std::int64_t most = 0;
  for (const Scene &scene : scenes) {
    nms::Inputs inputs{scene.boxes, scene.scores};
    if (params.class_ids == nms::ClassIds::Int64) {
      inputs.class_ids = std::span<const std::int64_t>(scene.class_ids);
    }
    std::int64_t count = -1;
    std::size_t allocated = 0;
    bool ok = false;
    {
      const AllocationCount allocations;
      ok = nms::execute(plan, *context, inputs, {indices, scores, &count}).ok();
      allocated = allocations.value();
    }
    EXPECT_TRUE(ok);
    EXPECT_EQ(allocated, 0U);
    most = std::max(most, count);
  }
  EXPECT_GT(most, 1000);
}

INSTANTIATE_TEST_SUITE_P(
    Every, NmsAllocation,
    ::testing::Values(Case{"Hard", nms::Method::Hard, nms::ClassIds::None, nms::InvalidRows::Refuse},
                      Case{"HardByClass", nms::Method::Hard, nms::ClassIds::Int64, nms::InvalidRows::Refuse},
                      Case{"HardDropping", nms::Method::Hard, nms::ClassIds::None, nms::InvalidRows::Drop},
                      Case{"Linear", nms::Method::SoftLinear, nms::ClassIds::None, nms::InvalidRows::Refuse},
                      Case{"GaussianByClass", nms::Method::SoftGaussian, nms::ClassIds::Int64, nms::InvalidRows::Refuse},
                      Case{"Adaptive", nms::Method::SoftAdaptive, nms::ClassIds::None, nms::InvalidRows::Drop}),
    [](const auto &each) { return std::string(each.param.name); });

TEST(NmsAllocation, BoxFunctionsAllocateNothing) {
  const Scene scene = make_scene(100, 300, 1, 1);
  std::vector<float> converted(400);
  std::vector<float> areas(100);
  std::vector<float> ious(10000);
  const std::span<const float> boxes(scene.boxes);
  bool ok = true;
  const AllocationCount allocations;
  ok = ok && nms::convert_boxes(boxes, nms::BoxFormat::Corners, nms::BoxFormat::CentreAndSize, converted).ok();
  ok = ok && nms::box_areas(boxes, areas).ok();
  ok = ok && nms::box_ious(boxes, boxes, ious).ok();
  const std::size_t allocated = allocations.value();
  EXPECT_TRUE(ok);
  EXPECT_EQ(allocated, 0U);
}

}  // namespace
}  // namespace simaai::kernels
