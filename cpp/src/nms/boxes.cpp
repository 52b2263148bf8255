#include <algorithm>
#include <cstdint>
#include <limits>
#include <string>

#include <simaai/kernels/ops/nms.h>

#include "operator/text.h"

/// Formats, areas and IoUs of plain boxes.
/// In: borrowed [N, 4] numbers. Out: borrowed numbers of the same type, arithmetic in that type in the written order.
namespace simaai::kernels::ops::nms {
namespace {

using kernels::detail::text;

Status refuse(const char *name, const std::string &message) {
  return Error{ErrorCode::InvalidBuffer, name, std::string(name) + " " + message};
}

template <class T>
Status check_memory(const char *name, std::span<const T> numbers) {
  if (numbers.data() == nullptr && !numbers.empty()) {
    return refuse(name, "is null");
  }
  return {};
}

template <class T>
Status check_boxes(const char *name, std::span<const T> boxes) {
  if (boxes.size() % 4 != 0) {
    return refuse(name, "has " + text(boxes.size()) + " elements; boxes need a multiple of four");
  }
  return check_memory(name, boxes);
}

Status check_format(const char *name, BoxFormat format) {
  switch (format) {
    case BoxFormat::Corners:
    case BoxFormat::TopLeftAndSize:
    case BoxFormat::CentreAndSize: return {};
  }
  return Error{ErrorCode::InvalidParameter, name,
               std::string(name) + " is " + text(static_cast<int>(format)) + ", which is no BoxFormat"};
}

template <class T>
bool share_bytes(std::span<const T> a, std::span<const T> b) {
  if (a.empty() || b.empty()) {
    return false;
  }
  const auto a_begin = reinterpret_cast<std::uintptr_t>(a.data());
  const auto b_begin = reinterpret_cast<std::uintptr_t>(b.data());
  return a_begin < b_begin + b.size_bytes() && b_begin < a_begin + a.size_bytes();
}

Status overlapping(const char *output, const char *input) {
  return Error{ErrorCode::BufferOverlap, output,
               std::string(output) + " shares bytes with " + input + "; give it memory of its own"};
}

template <class T>
Status convert(std::span<const T> boxes, BoxFormat from, BoxFormat to, std::span<T> converted) {
  if (Status status = check_format("from", from); !status.ok()) {
    return status;
  }
  if (Status status = check_format("to", to); !status.ok()) {
    return status;
  }
  if (Status status = check_boxes("boxes", boxes); !status.ok()) {
    return status;
  }
  if (converted.size() != boxes.size()) {
    return refuse("converted", "has " + text(converted.size()) + " elements; boxes has " + text(boxes.size()));
  }
  if (Status status = check_memory<T>("converted", converted); !status.ok()) {
    return status;
  }
  if (converted.data() != boxes.data() && share_bytes<T>(boxes, converted)) {
    return overlapping("converted", "boxes");
  }
  constexpr T half = static_cast<T>(0.5);
  for (std::size_t i = 0; i < boxes.size(); i += 4) {
    T x1 = boxes[i];
    T y1 = boxes[i + 1];
    T x2 = boxes[i + 2];
    T y2 = boxes[i + 3];
    if (from != to) {
      if (from == BoxFormat::TopLeftAndSize) {
        x2 = x1 + x2;
        y2 = y1 + y2;
      } else if (from == BoxFormat::CentreAndSize) {
        const T half_width = half * x2;
        const T half_height = half * y2;
        x2 = x1 + half_width;
        y2 = y1 + half_height;
        x1 = x1 - half_width;
        y1 = y1 - half_height;
      }
      const T width = x2 - x1;
      const T height = y2 - y1;
      if (to == BoxFormat::TopLeftAndSize) {
        x2 = width;
        y2 = height;
      } else if (to == BoxFormat::CentreAndSize) {
        x1 = (x1 + x2) * half;
        y1 = (y1 + y2) * half;
        x2 = width;
        y2 = height;
      }
    }
    converted[i] = x1;
    converted[i + 1] = y1;
    converted[i + 2] = x2;
    converted[i + 3] = y2;
  }
  return {};
}

template <class T>
T area_of(const T *box) {
  return (box[2] - box[0]) * (box[3] - box[1]);
}

template <class T>
Status areas_of(std::span<const T> boxes, std::span<T> areas) {
  if (Status status = check_boxes("boxes", boxes); !status.ok()) {
    return status;
  }
  if (areas.size() != boxes.size() / 4) {
    return refuse("areas", "has " + text(areas.size()) + " elements; there are " + text(boxes.size() / 4) + " boxes");
  }
  if (Status status = check_memory<T>("areas", areas); !status.ok()) {
    return status;
  }
  if (share_bytes<T>(boxes, areas)) {
    return overlapping("areas", "boxes");
  }
  for (std::size_t i = 0; i < areas.size(); ++i) {
    areas[i] = area_of(boxes.data() + 4 * i);
  }
  return {};
}

// NaN for NaN, whichever side it is on.
template <class T>
T smaller(T a, T b) {
  return a != a || a < b ? a : b;
}
template <class T>
T larger(T a, T b) {
  return a != a || a > b ? a : b;
}

template <class T>
Status ious_of(std::span<const T> a, std::span<const T> b, std::span<T> ious) {
  if (Status status = check_boxes("a", a); !status.ok()) {
    return status;
  }
  if (Status status = check_boxes("b", b); !status.ok()) {
    return status;
  }
  const std::size_t rows = a.size() / 4;
  const std::size_t columns = b.size() / 4;
  const bool fits = rows == 0 || columns <= std::numeric_limits<std::size_t>::max() / sizeof(T) / rows;
  if (!fits || ious.size() != rows * columns) {
    return refuse("ious", "has " + text(ious.size()) + " elements; it needs " + text(rows) + " x " + text(columns));
  }
  if (Status status = check_memory<T>("ious", ious); !status.ok()) {
    return status;
  }
  if (share_bytes<T>(a, ious)) {
    return overlapping("ious", "a");
  }
  if (share_bytes<T>(b, ious)) {
    return overlapping("ious", "b");
  }
  for (std::size_t row = 0; row < rows; ++row) {
    const T *const first = a.data() + 4 * row;
    const T area = area_of(first);
    T *const out = ious.data() + row * columns;
    for (std::size_t column = 0; column < columns; ++column) {
      const T *const second = b.data() + 4 * column;
      const T width = smaller(first[2], second[2]) - larger(first[0], second[0]);
      const T height = smaller(first[3], second[3]) - larger(first[1], second[1]);
      // Comparisons that a NaN fails, so that it stays one.
      const T inter = (width < T{0} ? T{0} : width) * (height < T{0} ? T{0} : height);
      const T both = (area + area_of(second)) - inter;
      out[column] = inter == T{0} && both == T{0} ? T{0} : inter / both;
    }
  }
  return {};
}

}  // namespace

Status convert_boxes(std::span<const float> boxes, BoxFormat from, BoxFormat to, std::span<float> converted) {
  return convert<float>(boxes, from, to, converted);
}
Status convert_boxes(std::span<const double> boxes, BoxFormat from, BoxFormat to, std::span<double> converted) {
  return convert<double>(boxes, from, to, converted);
}
Status box_areas(std::span<const float> boxes, std::span<float> areas) { return areas_of<float>(boxes, areas); }
Status box_areas(std::span<const double> boxes, std::span<double> areas) { return areas_of<double>(boxes, areas); }
Status box_ious(std::span<const float> a, std::span<const float> b, std::span<float> ious) {
  return ious_of<float>(a, b, ious);
}
Status box_ious(std::span<const double> a, std::span<const double> b, std::span<double> ious) {
  return ious_of<double>(a, b, ious);
}

}  // namespace simaai::kernels::ops::nms
