// A long run asks whether to go on after each so much work, ends where the answer says so, and a short run does not ask.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "kernels/dispatch.h"
#include "nms/engine.h"
#include "nms/poll.h"
#include "nms/scratch.h"

namespace simaai::kernels::detail {
namespace {

struct Scene {
  std::vector<float> boxes;
  std::vector<float> scores;
  std::vector<std::int64_t> class_ids;
};

// Boxes of side `scale`, side by side, or with a step of 0 one upon the other.
Scene make_scene(std::size_t count, float step, float scale) {
  Scene scene;
  for (std::size_t i = 0; i < count; ++i) {
    const float x = static_cast<float>(i) * step * scale;
    scene.boxes.insert(scene.boxes.end(), {x, 0, x + scale, scale});
    scene.scores.push_back(1.0F - static_cast<float>(i) * 0x1p-20F);
    scene.class_ids.push_back(static_cast<std::int64_t>(i % 3U));
  }
  return scene;
}

struct Answer {
  int asked = 0;
  int end_at = 0;  ///< ends at the n-th question; 0: never
  static bool answer(void *context) {
    auto &self = *static_cast<Answer *>(context);
    return ++self.asked == self.end_at;
  }
};

struct Case {
  const char *name;
  ops::nms::Method method;
  double threshold;
  float step;
  float scale;
  bool classes;
  std::size_t count;
};

class NmsPollOf : public ::testing::TestWithParam<Case> {};

TEST_P(NmsPollOf, AsksAndEnds) {
  const Case &given = GetParam();
  const Scene scene = make_scene(given.count, given.step, given.scale);
  ops::nms::Params params;
  params.method = given.method;
  params.iou_threshold = given.threshold;
  params.sigma = 1e4;
  const NmsSettings settings = std::get<NmsSettings>(prepare_nms(params, ""));
  NmsRows rows{scene.boxes.data(), scene.scores.data(), scene.scores.size(), nullptr, nullptr};
  rows.classes_64 = given.classes ? scene.class_ids.data() : nullptr;

  NmsScratch scratch(given.count);
  Answer go_on;
  scratch.poll = NmsPoll(&Answer::answer, &go_on);
  const std::size_t whole = std::get<std::size_t>(run_nms(settings, scratch, rows));
  EXPECT_EQ(whole, given.count);
  EXPECT_GE(go_on.asked, 1);
  EXPECT_FALSE(scratch.poll.ended());
  const std::vector<std::uint32_t> kept(scratch.kept, scratch.kept + whole);

  Answer end{0, 1};
  scratch.poll = NmsPoll(&Answer::answer, &end);
  EXPECT_LT(std::get<std::size_t>(run_nms(settings, scratch, rows)), given.count);
  EXPECT_TRUE(scratch.poll.ended());
  EXPECT_EQ(end.asked, 1) << "asked again after it was to end";

  scratch.poll = {};
  ASSERT_EQ(std::get<std::size_t>(run_nms(settings, scratch, rows)), given.count);
  EXPECT_EQ(std::vector<std::uint32_t>(scratch.kept, scratch.kept + whole), kept);
}

INSTANTIATE_TEST_SUITE_P(
    Nms, NmsPollOf,
    ::testing::Values(Case{"RowByRow", ops::nms::Method::Hard, 0.0, 2.0F, 1.0F, false, 17000},
                      Case{"RowByRowInClasses", ops::nms::Method::Hard, 0.0, 2.0F, 1.0F, true, 29000},
                      Case{"OnTheGridAgainstEverything", ops::nms::Method::Hard, 0.5, 2.0F, 0x1p60F, false, 17000},
                      Case{"Gaussian", ops::nms::Method::SoftGaussian, 0.5, 0.0F, 1.0F, false, 3000},
                      Case{"GaussianInClasses", ops::nms::Method::SoftGaussian, 0.5, 0.0F, 1.0F, true, 5200},
                      Case{"LinearApart", ops::nms::Method::SoftLinear, 0.5, 2.0F, 1.0F, false, 12000}),
    [](const auto &entry) { return std::string(entry.param.name); });

TEST(NmsPoll, AShortRunDoesNotAsk) {
  const Scene scene = make_scene(1000, 2.0F, 1.0F);
  const NmsSettings settings = std::get<NmsSettings>(prepare_nms({}, ""));
  NmsScratch scratch(1000);
  Answer never;
  scratch.poll = NmsPoll(&Answer::answer, &never);
  EXPECT_EQ(
      std::get<std::size_t>(run_nms(settings, scratch, {scene.boxes.data(), scene.scores.data(), 1000, nullptr, nullptr})),
      1000U);
  EXPECT_EQ(never.asked, 0);
}

TEST(NmsPoll, CountsWork) {
  Answer answer{0, 2};
  NmsPoll poll(&Answer::answer, &answer);
  EXPECT_FALSE(poll.spend(NmsPoll::interval - 1));
  EXPECT_EQ(answer.asked, 0);
  EXPECT_FALSE(poll.spend(1));
  EXPECT_EQ(answer.asked, 1);
  poll.add(~std::uint64_t{0});
  EXPECT_EQ(answer.asked, 1);
  EXPECT_TRUE(poll.spend(0));
  EXPECT_TRUE(poll.spend(0));
  EXPECT_EQ(answer.asked, 2);
  EXPECT_TRUE(poll.ended());
  NmsPoll unasked;
  EXPECT_FALSE(unasked.spend(~std::uint64_t{0}));
}

}  // namespace
}  // namespace simaai::kernels::detail
