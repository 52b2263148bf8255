// Decodes one frame of the made-up family. The numbers are those that CONTRIBUTING.md works out by hand.

#include <array>
#include <cstdint>
#include <cstdio>
#include <string>

#include <simaai/kernels/ops/boxdecode.h>

namespace k = simaai::kernels;
namespace op = k::ops::boxdecode;

namespace {

constexpr std::size_t side = 8;
constexpr std::size_t capacity = 4;

int fail(const std::string &message) {
  std::fprintf(stderr, "family_example: %s\n", message.c_str());
  return 1;
}

}  // namespace

int main() {
  std::array<float, side * side * 4> boxes{};
  std::array<float, side * side> scores{};
  scores.fill(-1.0F);
  constexpr std::size_t cell = 2 * side + 3;
  const std::array distances{-1.0F, 0.5F, 2.0F, 3.0F};
  for (std::size_t i = 0; i < distances.size(); ++i) {
    boxes[4 * cell + i] = distances[i];
  }
  scores[cell] = 0.5F;

  const std::array inputs{k::TensorSpec{{1, 8, 8, 4}, k::DType::Float32}, k::TensorSpec{{1, 8, 8, 1}, k::DType::Float32}};
  const std::array outputs{k::TensorSpec{{4, 4}, k::DType::Int32}, k::TensorSpec{{4}, k::DType::Float32},
                           k::TensorSpec{{4}, k::DType::Int32}, k::TensorSpec{{1}, k::DType::Int32}};
  op::Params params;
  params.profile = op::Profile::WrenV1;
  params.heads = {{0, 1}};
  params.model_input_size = {64, 64};
  params.original_image_size = {64, 64};
  params.num_classes = 1;
  params.max_detections = 4;
  params.detection_threshold = 0.25F;
  params.nms_iou_threshold = 0.5F;
  params.score_activation = op::ScoreActivation::Identity;
  const auto checked = op::check_inference({inputs, outputs, params});
  if (const auto *error = std::get_if<k::Error>(&checked)) {
    return fail(error->field + ": " + error->message);
  }
  const auto &plan = std::get<op::Plan>(checked);
  if (plan.describe().find("recipe: WrenV1") == std::string::npos) {
    return fail("the plan does not name its recipe:\n" + plan.describe());
  }

  std::array<std::int32_t, 4 * capacity> found{};
  std::array<float, capacity> found_scores{};
  std::array<std::int32_t, capacity> classes{};
  std::int32_t count = -1;
  const std::array views{k::ConstHostBuffer{boxes.data(), sizeof boxes}, k::ConstHostBuffer{scores.data(), sizeof scores}};
  const std::array results{k::HostBuffer{found.data(), sizeof found}, k::HostBuffer{found_scores.data(), sizeof found_scores},
                           k::HostBuffer{classes.data(), sizeof classes}, k::HostBuffer{&count, sizeof count}};
  const auto context = op::create_context(plan);
  if (const auto status = op::execute(plan, *context, views, results); !status.ok()) {
    return fail(status.error().message);
  }
  const std::array<std::int32_t, 4 * capacity> expected{24, 12, 16, 28};
  if (count != 1 || found != expected || found_scores[0] != 0.5F || classes[0] != 0) {
    return fail("1 detection of 24 12 16 28 expected, " + std::to_string(count) + " seen, the first at " +
                std::to_string(found[0]) + " " + std::to_string(found[1]) + " " + std::to_string(found[2]) + " " +
                std::to_string(found[3]));
  }
  return 0;
}
