#include <algorithm>
#include <functional>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "boxdecode/access.h"
#include "boxdecode/bind.h"
#include "boxdecode/check/check.h"
#include "boxdecode/plan/prepare.h"
#include "boxdecode/recipes/yolo6.h"
#include "support/request.h"

/// Candidates of recipes that give every class of a cell, with suppression: no profile of today does both.
namespace simaai::kernels {
namespace {

namespace boxdecode = ops::boxdecode;

constexpr std::int64_t side = 8;
constexpr std::int64_t classes = 5;
constexpr std::int64_t every = side * side * classes;

constexpr boxdecode::detail::Recipe every_class_recipe() {
  boxdecode::detail::Recipe recipe = boxdecode::detail::yolo6_recipe;
  recipe.score = boxdecode::detail::ScoreForm::EveryClass;
  return recipe;
}
constexpr boxdecode::detail::Recipe recipe = every_class_recipe();

boxdecode::Plan planned(std::int64_t capacity, bool class_agnostic) {
  test_support::OwnedRequest request{"every class", {}, {}, {}};
  request.inputs = {{{1, side, side, 4}, DType::Float32}, {{1, side, side, classes}, DType::Float32}};
  request.outputs = {
      {{capacity, 4}, DType::Int32}, {{capacity}, DType::Float32}, {{capacity}, DType::Int32}, {{1}, DType::Int32}};
  request.params.profile = boxdecode::Profile::Yolo6V1;
  request.params.heads = {{0, 1}};
  request.params.model_input_size = {.width = 8 * side, .height = 8 * side};
  request.params.original_image_size = request.params.model_input_size;
  request.params.num_classes = classes;
  request.params.max_detections = capacity;
  request.params.detection_threshold = 0.25F;
  request.params.nms_iou_threshold = 0.5F;
  request.params.score_activation = boxdecode::ScoreActivation::Identity;
  request.params.class_agnostic = class_agnostic;
  auto checked = boxdecode::detail::check(request.view());
  auto &facts = std::get<boxdecode::detail::Facts>(checked);
  facts.recipe = &recipe;
  auto prepared = boxdecode::detail::prepare(request.view(), facts);
  auto &state = std::get<std::shared_ptr<boxdecode::detail::PlanState>>(prepared);
  boxdecode::detail::bind_words(*state);
  return boxdecode::detail::Access::make_plan(std::move(state));
}

struct Result {
  std::size_t count;
  std::vector<std::int32_t> boxes;
  std::vector<float> scores;
  std::vector<std::int32_t> ids;
};

// Boxes of one cell each, side by side; every class of every cell has a score of its own.
Result decode(std::int64_t capacity, bool class_agnostic) {
  const boxdecode::Plan plan = planned(capacity, class_agnostic);
  EXPECT_EQ(boxdecode::detail::Access::state(plan).scratch.candidates, static_cast<std::uint32_t>(every));
  const std::vector<float> distances(side * side * 4, 0.5F);
  std::vector<float> scores(every);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = 0.3F + static_cast<float>(i * 101 % every) / 1024.0F;
  }
  const auto rows = static_cast<std::size_t>(capacity);
  Result result{0, std::vector<std::int32_t>(4 * rows), std::vector<float>(rows), std::vector<std::int32_t>(rows)};
  std::int32_t count = 0;
  const std::vector<ConstHostBuffer> inputs = {{distances.data(), distances.size() * sizeof(float)},
                                               {scores.data(), scores.size() * sizeof(float)}};
  const std::vector<HostBuffer> outputs = {{result.boxes.data(), 16 * rows},
                                           {result.scores.data(), 4 * rows},
                                           {result.ids.data(), 4 * rows},
                                           {&count, sizeof count}};
  const auto context = boxdecode::create_context(plan);
  EXPECT_TRUE(boxdecode::execute(plan, *context, inputs, outputs).ok());
  result.count = static_cast<std::size_t>(count);
  return result;
}

TEST(Candidates, EveryClassOfEveryCellHasRoom) {
  const Result result = decode(every + 3, false);
  ASSERT_EQ(result.count, static_cast<std::size_t>(every));
  EXPECT_TRUE(std::is_sorted(result.scores.begin(), result.scores.begin() + every, std::greater<>()));
  std::set<std::pair<std::int32_t, std::int32_t>> found;  // place and class
  for (std::size_t i = 0; i < result.count; ++i) {
    found.emplace(result.boxes[4 * i + 1] * 64 + result.boxes[4 * i], result.ids[i]);
  }
  EXPECT_EQ(found.size(), static_cast<std::size_t>(every));
}

TEST(Candidates, OneClassOfACellSuppressesTheOthersAcrossClasses) {
  const Result result = decode(every, true);
  ASSERT_EQ(result.count, static_cast<std::size_t>(side * side));
  for (std::size_t i = 0; i < result.count; ++i) {
    const std::size_t cell =
        static_cast<std::size_t>(result.boxes[4 * i + 1] / 8 * side) + static_cast<std::size_t>(result.boxes[4 * i] / 8);
    std::size_t best = 0;
    for (std::size_t id = 1; id < classes; ++id) {
      best = (cell * classes + id) * 101 % every > (cell * classes + best) * 101 % every ? id : best;
    }
    EXPECT_EQ(result.ids[i], static_cast<std::int32_t>(best));
  }
}

TEST(Candidates, NoMoreAreWrittenThanThereIsRoomFor) {
  const Result result = decode(7, false);
  EXPECT_EQ(result.count, 7U);
  EXPECT_EQ(result.scores.front(), 0.3F + static_cast<float>(every - 1) / 1024.0F);
}

}  // namespace
}  // namespace simaai::kernels
