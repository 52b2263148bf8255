#include <cmath>
#include <cstring>

#include "boxdecode/numeric/mask_table.h"
#include "boxdecode/outputs/outputs.h"
#include "numeric/four_sums.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::FourSums;
using simaai::kernels::detail::MaskCoefficients;

// Whole pixels c with low ≤ c < high, within 0..size.
struct Span {
  std::uint32_t first;
  std::uint32_t last;
};

std::uint32_t first_pixel_from(float edge, std::uint32_t size) {
  if (!(edge > 0.0F)) {
    return 0;
  }
  return edge >= static_cast<float>(size) ? size : static_cast<std::uint32_t>(std::ceil(edge));
}

Span live_pixels(float low, float high, std::uint32_t size) {
  return {first_pixel_from(low, size), first_pixel_from(high, size)};
}

// Raw prototypes of pixels side by side: pixel p starts at data + p·step.
struct PixelRun {
  const std::uint8_t *data;
  std::size_t step;
};

PixelRun prototype_run(const Frame &frame, std::uint32_t first_cell, std::uint32_t pixels) {
  const Lane &lane = frame.plan.prototype;
  const Reader &reader = frame.port(lane).reader;
  const std::byte *base = frame.input(lane.port);
  if (reader.memory == Memory::Rows) {
    return {reinterpret_cast<const std::uint8_t *>(address_of(reader, base, first_cell, 0)), reader.cell_step};
  }
  auto *to = frame.scratch.mask_raw;
  const std::size_t element = reader.element_size;
  const std::size_t step = lane.count * element;
  if (reader.memory == Memory::Planes) {
    for (std::uint32_t j = 0; j < lane.count; ++j) {
      const std::byte *plane = address_of(reader, base, first_cell, j);
      for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
        std::memcpy(to + pixel * step + j * element, plane + pixel * element, element);
      }
    }
  } else {
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      const void *raw = reader.fetch(reader, base, first_cell + pixel, 0, 1, lane.count, to + pixel * step);
      if (raw != to + pixel * step) {
        std::memcpy(to + pixel * step, raw, step);
      }
    }
  }
  return {to, step};
}

MaskCoefficients integer_coefficients(const Frame &frame, const HeadPlan &head, const Site &site) {
  MaskCoefficients coefficients{};
  const ElementType &type = frame.port(head.coefficients).type;
  const ElementType &prototype = frame.port(frame.plan.prototype).type;
  const std::int32_t bias = type.dtype == DType::UInt8 ? 128 : 0;
  const auto *raw = static_cast<const std::uint8_t *>(raw_lane(frame, head.coefficients, site.cell, site.anchor));
  coefficients.length = head.coefficients.count;
  coefficients.zero_point = type.zero_point - bias;
  for (std::uint32_t j = 0; j < coefficients.length; ++j) {
    const auto value = static_cast<std::int8_t>(raw[j] ^ (bias != 0 ? 0x80U : 0U));
    coefficients.raw[j] = value;
    coefficients.centred[j] = static_cast<std::int16_t>(value - coefficients.zero_point);
    coefficients.sum_centred += coefficients.centred[j];
  }
  const bool shifted = prototype.dtype == DType::UInt8;
  coefficients.prototype_flip = shifted ? 0x80U : 0U;
  coefficients.prototype_zero = prototype.zero_point - (shifted ? 128 : 0);
  return coefficients;
}

void integer_row(const Frame &frame, const MaskTable &table, const MaskCoefficients &coefficients, const PixelRun &run,
                 std::uint32_t pixels, std::uint8_t *bytes) {
  auto *sums = frame.scratch.mask_dots;
  frame.kernels.mask_dots_8(coefficients, run.data, pixels, run.step, sums);
  if (frame.plan.params.mask_encoding == MaskEncoding::Binary) {
    for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
      bytes[pixel] = sums[pixel] >= table.binary_from ? 255 : 0;
    }
  } else {
    frame.kernels.mask_bytes(sums, pixels, table.steps, bytes);
  }
}

void float_row(const Frame &frame, const float *coefficients, const PixelRun &run, std::uint32_t pixels, std::uint8_t *bytes) {
  const Lane &lane = frame.plan.prototype;
  const ElementType &type = frame.port(lane).type;
  const MaskEncoding encoding = frame.plan.params.mask_encoding;
  auto *values = frame.scratch.values;
  for (std::uint32_t pixel = 0; pixel < pixels; ++pixel) {
    to_values(type, run.data + pixel * run.step, lane.count, values);
    FourSums logit;
    for (std::uint32_t j = 0; j < lane.count; ++j) {
      logit.add(j, coefficients[j] * values[j]);
    }
    bytes[pixel] = mask_byte(logit.total(), encoding);
  }
}

}  // namespace

void write_mask(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners, std::size_t slot) {
  const PlanState &plan = frame.plan;
  const Extent &extent = frame.port(plan.prototype).reader.extent;
  const auto width = static_cast<std::uint32_t>(extent.width);
  const auto height = static_cast<std::uint32_t>(extent.height);
  auto *mask = static_cast<std::uint8_t *>(frame.outputs[4].data) + slot * plan.outputs[4].row_bytes;
  std::memset(mask, 0, plan.outputs[4].row_bytes);
  const Span columns = live_pixels(corners.x1 * plan.prototype_scale_x, corners.x2 * plan.prototype_scale_x, width);
  const Span rows = live_pixels(corners.y1 * plan.prototype_scale_y, corners.y2 * plan.prototype_scale_y, height);
  if (columns.first >= columns.last) {
    return;
  }
  const std::uint32_t pixels = columns.last - columns.first;
  MaskCoefficients integers{};
  auto *values = frame.scratch.mask_values;
  if (head.mask->integer) {
    integers = integer_coefficients(frame, head, site);
  } else {
    lane_values(frame, head.coefficients, site.cell, site.anchor, values);
  }
  for (std::uint32_t row = rows.first; row < rows.last; ++row) {
    const PixelRun run = prototype_run(frame, row * width + columns.first, pixels);
    std::uint8_t *bytes = mask + static_cast<std::size_t>(row) * width + columns.first;
    if (head.mask->integer) {
      integer_row(frame, *head.mask, integers, run, pixels, bytes);
    } else {
      float_row(frame, values, run, pixels, bytes);
    }
  }
}

}  // namespace simaai::kernels::ops::boxdecode::detail
