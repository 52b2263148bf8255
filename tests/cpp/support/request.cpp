#include "support/request.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <random>
#include <stdexcept>

namespace simaai::kernels::test_support {
namespace {

namespace boxdecode = ops::boxdecode;

constexpr std::int64_t most = 20;

std::vector<TensorSpec> common_outputs() {
  return {{{most, 4}, DType::Int32}, {{most}, DType::Float32}, {{most}, DType::Int32}, {{1}, DType::Int32}};
}

boxdecode::Params common(boxdecode::Profile profile, std::int64_t side, std::int64_t classes) {
  boxdecode::Params params;
  params.profile = profile;
  params.model_input_size = {.width = side, .height = side};
  params.original_image_size = {.width = 1280, .height = 720};
  params.num_classes = classes;
  params.max_detections = most;
  params.detection_threshold = 0.25F;
  params.nms_iou_threshold = 0.45F;
  return params;
}

// Two heads of box and score tensors in one dtype and layout.
OwnedRequest split_heads(std::string name, boxdecode::Profile profile, std::int64_t box_channels, DType dtype, Layout layout) {
  OwnedRequest request{std::move(name), {}, common_outputs(), common(profile, 64, 19)};
  request.params.score_activation = boxdecode::ScoreActivation::Sigmoid;
  for (const std::int64_t grid : {8, 4}) {
    request.inputs.push_back({{1, grid, grid, box_channels}, dtype, layout});
    request.inputs.push_back({{1, grid, grid, 19}, dtype, layout});
  }
  request.params.heads = {{0, 1}, {2, 3}};
  if (dtype == DType::Int8 || dtype == DType::UInt8) {
    for (std::size_t port = 0; port < 4; ++port) {
      request.params.quantization[port] = {.dequant_scale = 0.0625F, .zero_point = dtype == DType::Int8 ? 3 : 128};
    }
  }
  return request;
}

OwnedRequest with_masks() {
  OwnedRequest request = split_heads("Yolo8Segmentation", boxdecode::Profile::Yolo8V1, 64, DType::Int8, Contiguous{});
  request.params.task = boxdecode::Task::Segmentation;
  for (const std::int64_t grid : {8, 4}) {
    request.inputs.push_back({{1, grid, grid, 32}, DType::Int8});
  }
  request.inputs.push_back({{1, 16, 16, 32}, DType::Int8});
  request.params.heads[0].extra = 4;
  request.params.heads[1].extra = 5;
  request.params.mask_prototype = 6;
  for (std::size_t port = 4; port < 7; ++port) {
    request.params.quantization[port] = {.dequant_scale = 0.03125F, .zero_point = -5};
  }
  request.outputs.push_back({{most, 16, 16}, DType::UInt8});
  return request;
}

OwnedRequest with_keypoints() {
  OwnedRequest request = split_heads("Yolo26Pose", boxdecode::Profile::Yolo26V1, 4, DType::BFloat16, Contiguous{});
  request.params.task = boxdecode::Task::Pose;
  for (const std::int64_t grid : {8, 4}) {
    request.inputs.push_back({{1, grid, grid, 51}, DType::BFloat16});
  }
  request.params.heads[0].extra = 4;
  request.params.heads[1].extra = 5;
  request.outputs.push_back({{most, 17, 3}, DType::Float32});
  return request;
}

OwnedRequest anchored() {
  OwnedRequest request{"Yolo5", {}, common_outputs(), common(boxdecode::Profile::Yolo5V1, 64, 7)};
  for (const std::int64_t grid : {8, 4, 2}) {
    request.params.heads.push_back({request.inputs.size(), request.inputs.size()});
    request.params.quantization[request.inputs.size()] = {.dequant_scale = 0.0625F, .zero_point = 0};
    request.inputs.push_back({{1, grid, grid, 36}, DType::Int8});
  }
  return request;
}

OwnedRequest queries() {
  OwnedRequest request{"Detr", {}, common_outputs(), common(boxdecode::Profile::DetrV1, 64, 12)};
  request.inputs = {{{1, 1, 50, 4}, DType::Float32}, {{1, 1, 50, 13}, DType::Float32}};
  request.params.heads = {{0, 1}};
  return request;
}

OwnedRequest heatmap() {
  OwnedRequest request{"CenterNet", {}, common_outputs(), common(boxdecode::Profile::CenterNetV1, 64, 5)};
  request.inputs = {{{1, 16, 16, 2}, DType::Float32}, {{1, 16, 16, 5}, DType::Float32}, {{1, 16, 16, 2}, DType::Float32}};
  request.params.heads = {{0, 1, std::nullopt, 2}};
  request.params.score_activation = boxdecode::ScoreActivation::Sigmoid;
  return request;
}

std::uint16_t bfloat16_of(float value) { return static_cast<std::uint16_t>(std::bit_cast<std::uint32_t>(value) >> 16U); }

// A half of small magnitude, truncated; enough for test data.
std::uint16_t float16_of(float value) {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::int32_t exponent = static_cast<std::int32_t>(bits >> 23U & 0xFFU) - 112;
  if (exponent <= 0) {
    return 0;
  }
  return static_cast<std::uint16_t>((bits >> 16U & 0x8000U) | static_cast<std::uint32_t>(exponent) << 10U |
                                    (bits >> 13U & 0x3FFU));
}

}  // namespace

std::vector<OwnedRequest> sample_requests() {
  using boxdecode::Profile;
  return {
      split_heads("Yolo26Int8", Profile::Yolo26V1, 4, DType::Int8, Contiguous{}),
      split_heads("Yolo6UInt8Planar", Profile::Yolo6V1, 4, DType::UInt8, Planar{}),
      split_heads("Yolo26Int8Blocked", Profile::Yolo26V1, 4, DType::Int8, MlaCBlocked{3, 5, 16}),
      split_heads("Yolo8BFloat16Blocked", Profile::Yolo8V1, 64, DType::BFloat16, MlaCBlocked{4, 4, 32}),
      split_heads("Yolo8BFloat16", Profile::Yolo8V1, 64, DType::BFloat16, Contiguous{}),
      split_heads("Yolo8Float16Planar", Profile::Yolo8V1, 64, DType::Float16, Planar{}),
      split_heads("Yolo26Float32", Profile::Yolo26V1, 4, DType::Float32, Contiguous{}),
      anchored(),
      with_masks(),
      with_keypoints(),
      queries(),
      heatmap(),
  };
}

Frame::Frame(const OwnedRequest &request, const boxdecode::Plan &plan, Fill fill, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> wide(-4.0F, 4.0F);
  for (std::size_t port = 0; port < request.inputs.size(); ++port) {
    auto buffer = std::make_unique<GuardedBuffer>(plan.required_bytes(port));
    const auto &heads = request.params.heads;
    const bool scores =
        std::any_of(heads.begin(), heads.end(), [port](const boxdecode::Head &head) { return head.scores == port; });
    const auto next = [&] {
      const bool high = !scores || fill == Fill::Crowded || (fill == Fill::Some && random() % 100 == 0);
      return high ? wide(random) : -10.0F;  // all alike: a softmax over them stays below the threshold
    };
    std::uint8_t *bytes = buffer->data();
    const DType dtype = request.inputs[port].dtype;
    const bool blocked = std::holds_alternative<MlaCBlocked>(request.inputs[port].layout);
    for (std::size_t at = 0; at < buffer->size();) {
      const float value = next();
      if (dtype == DType::Float32) {
        std::memcpy(bytes + at, &value, 4);
        at += 4;
      } else if (dtype == DType::Int8 || dtype == DType::UInt8) {
        const auto raw = static_cast<std::int32_t>(value * 8.0F);
        bytes[at] = static_cast<std::uint8_t>(dtype == DType::Int8 ? raw : raw + 128);
        at += 1;
      } else {
        const std::uint16_t word = dtype == DType::BFloat16 ? bfloat16_of(value) : float16_of(value);
        // A blocked stripe is 16 low bytes and then 16 high bytes.
        const std::size_t stripe = at / 32 * 32;
        const std::size_t lane = at % 32 / 2;
        const std::size_t low_at = blocked ? stripe + lane : at;
        bytes[low_at] = static_cast<std::uint8_t>(word);
        bytes[blocked ? low_at + 16 : low_at + 1] = static_cast<std::uint8_t>(word >> 8U);
        at += 2;
      }
    }
    inputs_.push_back(std::move(buffer));
  }
  for (const TensorSpec &output : request.outputs) {
    std::size_t bytes = output.dtype == DType::UInt8 ? 1 : 4;
    for (const std::int64_t side : output.shape) {
      bytes *= static_cast<std::size_t>(side);
    }
    outputs_.push_back(std::make_unique<GuardedBuffer>(bytes));
  }
}

std::vector<ConstHostBuffer> Frame::inputs() const {
  std::vector<ConstHostBuffer> views;
  for (const auto &buffer : inputs_) {
    views.push_back({buffer->data(), buffer->size()});
  }
  return views;
}

std::vector<HostBuffer> Frame::outputs() const {
  std::vector<HostBuffer> views;
  for (const auto &buffer : outputs_) {
    views.push_back({buffer->data(), buffer->size()});
  }
  return views;
}

void Frame::poison(std::uint8_t byte) const {
  for (const auto &buffer : outputs_) {
    std::memset(buffer->data(), byte, buffer->size());
  }
}

std::vector<std::uint8_t> Frame::output_bytes() const {
  std::vector<std::uint8_t> bytes;
  for (const auto &buffer : outputs_) {
    bytes.insert(bytes.end(), buffer->data(), buffer->data() + buffer->size());
  }
  return bytes;
}

std::int32_t Frame::count() const {
  std::int32_t value = 0;
  std::memcpy(&value, outputs_[3]->data(), sizeof value);
  return value;
}

boxdecode::Plan prepared(const OwnedRequest &request) {
  auto checked = boxdecode::check_inference(request.view());
  if (const auto *error = std::get_if<Error>(&checked)) {
    throw std::runtime_error(request.name + ": " + error->field + ": " + error->message);
  }
  return std::get<boxdecode::Plan>(std::move(checked));
}

}  // namespace simaai::kernels::test_support
