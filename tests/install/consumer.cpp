// What a user of the installed package writes: one frame with one object, checked against a box worked out by hand.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <utility>
#include <variant>

#include <simaai/kernels/ops/boxdecode.h>
#include <simaai/kernels/version.h>

namespace k = simaai::kernels;
namespace op = k::ops::boxdecode;

namespace {

constexpr int capacity = 16;
constexpr int rows = 3;
constexpr int columns = 5;
constexpr int classes = 17;

struct Results {
  std::array<std::int32_t, std::size_t{4} * capacity> boxes;
  std::array<float, capacity> scores;
  std::array<std::int32_t, capacity> class_ids;
  std::array<std::int32_t, 1> count;
};

k::Status decode(Results &results) {
  const std::array input_specs{k::TensorSpec{{1, 1, 1, rows, columns, 4}, k::DType::BFloat16},
                               k::TensorSpec{{1, 1, 1, rows, columns, classes}, k::DType::BFloat16}};
  const std::array output_specs{k::TensorSpec{{capacity, 4}, k::DType::Int32}, k::TensorSpec{{capacity}, k::DType::Float32},
                                k::TensorSpec{{capacity}, k::DType::Int32}, k::TensorSpec{{1}, k::DType::Int32}};
  op::Params params;
  params.profile = op::Profile::Yolo26V1;
  params.heads = {{0, 1}};
  params.model_input_size = {.width = 8 * columns, .height = 8 * rows};
  params.original_image_size = {.width = 8 * columns, .height = 8 * rows};
  params.num_classes = classes;
  params.max_detections = capacity;
  params.detection_threshold = 0.5f;
  params.nms_iou_threshold = 0.5f;
  params.score_activation = op::ScoreActivation::Sigmoid;
  auto checked = op::check_inference({input_specs, output_specs, params});
  if (const auto *error = std::get_if<k::Error>(&checked)) return *error;
  const auto plan = std::get<op::Plan>(std::move(checked));
  auto context = op::create_context(plan);

  // BF16 words: -8 is 0xC100, 4 is 0x4080, 1 is 0x3F80. The object sits in cell (2, 1), one cell to each side.
  constexpr std::size_t cell = std::size_t{1} * columns + 2;
  std::array<std::uint16_t, std::size_t{4} * rows * columns> box_words{};
  std::array<std::uint16_t, std::size_t{classes} * rows * columns> score_words{};
  score_words.fill(0xC100);
  score_words[cell * classes + 3] = 0x4080;
  for (std::size_t side = 0; side < 4; ++side)
    box_words[cell * 4 + side] = 0x3F80;

  const std::array input_views{k::ConstHostBuffer{box_words.data(), sizeof box_words},
                               k::ConstHostBuffer{score_words.data(), sizeof score_words}};
  const std::array output_views{k::HostBuffer{results.boxes.data(), sizeof results.boxes},
                                k::HostBuffer{results.scores.data(), sizeof results.scores},
                                k::HostBuffer{results.class_ids.data(), sizeof results.class_ids},
                                k::HostBuffer{results.count.data(), sizeof results.count}};
  return op::execute(plan, *context, input_views, output_views);
}

}  // namespace

int main() {
  Results results;
  results.count[0] = -1;
  const k::Status status = decode(results);
  if (!status.ok()) {
    std::fprintf(stderr, "%s: %s\n", status.error().field.c_str(), status.error().message.c_str());
    return 1;
  }
  const std::array<std::int32_t, 4> expected{12, 4, 16, 16};
  const bool box_right = std::equal(expected.begin(), expected.end(), results.boxes.begin());
  const bool score_right = results.scores[0] > 0.9820f && results.scores[0] < 0.9821f;
  if (results.count[0] != 1 || !box_right || !score_right || results.class_ids[0] != 3 || results.boxes[4] != 0) {
    std::fprintf(stderr, "%d detections, first (%d, %d, %d, %d), score %f, class %d: not the expected frame\n",
                 results.count[0], results.boxes[0], results.boxes[1], results.boxes[2], results.boxes[3],
                 static_cast<double>(results.scores[0]), results.class_ids[0]);
    return 1;
  }
  std::printf("SimaKernels %s: one object at (12, 4), 16 by 16\n", SIMAAI_KERNELS_VERSION);
  return 0;
}
