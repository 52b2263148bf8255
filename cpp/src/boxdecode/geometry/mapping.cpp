#include "boxdecode/geometry/mapping.h"

#include <algorithm>
#include <cmath>

#include "numeric/rounding.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::round_half_away;

struct Axis {
  float scale;
  float shift;
};

// x_image = (x − pad)·(original / content).
Axis axis_of(std::int64_t original, std::int64_t content, std::int64_t pad) {
  return {static_cast<float>(static_cast<double>(original) / static_cast<double>(content)), static_cast<float>(pad)};
}

std::int64_t floor_half(std::int64_t spare) { return spare >= 0 ? spare / 2 : -((1 - spare) / 2); }

}  // namespace

ImageMapping make_mapping(const ResizePolicy &policy, ImageSize model, ImageSize original) noexcept {
  if (const auto *affine = std::get_if<Affine>(&policy)) {
    return {affine->scale_x, affine->offset_x, affine->scale_y, affine->offset_y, false};
  }
  Axis x{};
  Axis y{};
  if (std::holds_alternative<Stretch>(policy)) {
    x = axis_of(original.width, model.width, 0);
    y = axis_of(original.height, model.height, 0);
  } else {
    const auto original_width = static_cast<double>(original.width);
    const auto original_height = static_cast<double>(original.height);
    const double scale =
        std::min(static_cast<double>(model.width) / original_width, static_cast<double>(model.height) / original_height);
    if (std::holds_alternative<TopLeftLetterbox>(policy)) {
      // YOLOX truncates: yolox/data/data_augment.py, int(img.shape[1] * r).
      x = axis_of(original.width, std::max<std::int64_t>(1, static_cast<std::int64_t>(original_width * scale)), 0);
      y = axis_of(original.height, std::max<std::int64_t>(1, static_cast<std::int64_t>(original_height * scale)), 0);
    } else {
      const std::int64_t width = std::max<std::int64_t>(1, round_half_away(original_width * scale));
      const std::int64_t height = std::max<std::int64_t>(1, round_half_away(original_height * scale));
      x = axis_of(original.width, width, floor_half(model.width - width));
      y = axis_of(original.height, height, floor_half(model.height - height));
    }
  }
  return {x.scale, x.shift, y.scale, y.shift, true};
}

}  // namespace simaai::kernels::ops::boxdecode::detail
