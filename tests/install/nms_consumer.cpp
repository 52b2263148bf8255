// Three boxes in a chain: each overlaps its neighbour by 0.43, the ends by 0.11. At a threshold of 0.4 the ends stay.
#include <array>
#include <cstdint>
#include <cstdio>
#include <variant>

#include <simaai/kernels/ops/nms.h>

namespace k = simaai::kernels;
namespace op = k::ops::nms;

int main() {
  const std::array<float, 12> boxes{0, 0, 10, 10, 4, 0, 14, 10, 8, 0, 18, 10};
  const std::array<float, 3> scores{0.9F, 0.8F, 0.7F};
  op::Params params;
  params.capacity = 3;
  params.iou_threshold = 0.4;
  const auto checked = op::check_inference({params});
  const auto *plan = std::get_if<op::Plan>(&checked);
  if (plan == nullptr) {
    std::fprintf(stderr, "%s\n", std::get<k::Error>(checked).message.c_str());
    return 1;
  }
  const auto context = op::create_context(*plan);
  std::array<std::int64_t, 3> kept{-1, -1, -1};
  std::int64_t count = -1;
  const k::Status status = op::execute(*plan, *context, {.boxes = boxes, .scores = scores}, {.indices = kept, .count = &count});
  if (!status.ok() || count != 2 || kept[0] != 0 || kept[1] != 2) {
    std::fprintf(stderr, "kept %d boxes, not the ends of the chain\n", static_cast<int>(count));
    return 1;
  }
  std::printf("NMS keeps boxes 0 and 2\n");
  return 0;
}
