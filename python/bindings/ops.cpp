// boxdecode._core: the functions behind boxdecode.ops. boxdecode/ops.py has made the arrays fit before they come here.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <simaai/kernels/ops/nms.h>

#include "common.h"
#include "nms/engine.h"

namespace boxdecode_python {
namespace {

namespace nms = simaai::kernels::ops::nms;
using simaai::kernels::Status;
using simaai::kernels::detail::NmsRows;
using simaai::kernels::detail::NmsScratch;
using simaai::kernels::detail::NmsSettings;

template <class T>
using Array = py::array_t<T, py::array::c_style>;

// The elements of a C-contiguous, aligned array of this very type, or null.
template <class T>
const T *elements_of(py::handle value) {
  if (!py::isinstance<Array<T>>(value)) {
    return nullptr;
  }
  const void *const data = py::reinterpret_borrow<py::array>(value).data();
  return reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0 ? static_cast<const T *>(data) : nullptr;
}

// Scratch of this thread, large enough. It grows with the largest call and lives as long as the thread.
NmsScratch &thread_scratch(std::size_t rows) {
  thread_local std::unique_ptr<NmsScratch> scratch;
  if (scratch == nullptr || scratch->capacity() < rows) {
    const std::size_t grown = scratch == nullptr ? 1024 : scratch->capacity() + scratch->capacity() / 2;
    scratch.reset();
    scratch = std::make_unique<NmsScratch>(std::max(rows, grown));
  }
  return *scratch;
}

nms::Method to_method(const std::string &name) {
  if (name == "linear") {
    return nms::Method::SoftLinear;
  }
  if (name == "gaussian") {
    return nms::Method::SoftGaussian;
  }
  if (name == "adaptive") {
    return nms::Method::SoftAdaptive;
  }
  raise_error(ErrorCode::InvalidParameter, "method", "method is '" + name + "'; it must be 'linear', 'gaussian' or 'adaptive'");
}

nms::InvalidRows to_invalid(const std::string &name) {
  if (name == "raise") {
    return nms::InvalidRows::Refuse;
  }
  if (name == "drop") {
    return nms::InvalidRows::Drop;
  }
  raise_error(ErrorCode::InvalidParameter, "invalid", "invalid is '" + name + "'; it must be 'raise' or 'drop'");
}

std::string to_text(py::handle value, const char *field) {
  if (PyUnicode_Check(value.ptr()) == 0) {
    raise_error(ErrorCode::InvalidParameter, field, std::string(field) + " must be a str, not " + type_name(value));
  }
  return value.cast<std::string>();
}

// Kept rows, and with a soft method their scores. NotImplemented when the arrays are not of the types that this reads, or
// their shapes do not belong together: then nothing was done.
py::object suppress(py::handle boxes, py::handle scores, py::handle class_ids, py::handle iou_threshold,
                    py::handle score_threshold, py::handle max_detections, py::handle invalid, py::handle method,
                    py::handle sigma) {
  NmsRows rows;
  rows.boxes = elements_of<float>(boxes);
  rows.scores = elements_of<float>(scores);
  if (rows.boxes == nullptr || rows.scores == nullptr) {
    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  }
  const auto box_array = py::reinterpret_borrow<py::array>(boxes);
  const auto score_array = py::reinterpret_borrow<py::array>(scores);
  bool fits =
      box_array.ndim() == 2 && box_array.shape(1) == 4 && score_array.ndim() == 1 && score_array.shape(0) == box_array.shape(0);
  if (!class_ids.is_none()) {
    rows.classes_64 = elements_of<std::int64_t>(class_ids);
    rows.classes_32 = rows.classes_64 != nullptr ? nullptr : elements_of<std::int32_t>(class_ids);
    const bool readable = rows.has_classes();
    const auto class_array = readable ? py::reinterpret_borrow<py::array>(class_ids) : py::array();
    fits = fits && readable && class_array.ndim() == 1 && class_array.shape(0) == box_array.shape(0);
  }
  if (!fits) {
    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  }
  rows.count = static_cast<std::size_t>(box_array.shape(0));
  if (rows.count > 0x7FFFFFFFU) {
    raise_error(ErrorCode::InvalidParameter, "boxes",
                "boxes has " + std::to_string(rows.count) + " rows; at most 2147483647 can be taken at once");
  }

  nms::Params params;
  params.method = method.is_none() ? nms::Method::Hard : to_method(to_text(method, "method"));
  params.iou_threshold = to_double(iou_threshold, "iou_threshold");
  if (!sigma.is_none()) {
    params.sigma = to_double(sigma, "sigma");
  }
  if (!score_threshold.is_none()) {
    params.score_threshold = to_double(score_threshold, "score_threshold");
  }
  if (!max_detections.is_none()) {
    params.max_detections = to_int64(max_detections, "max_detections");
  }
  params.invalid = to_invalid(to_text(invalid, "invalid"));
  std::variant<NmsSettings, Error> prepared = simaai::kernels::detail::prepare_nms(params, "");
  if (Error *const error = std::get_if<Error>(&prepared)) {
    throw RaisedError(std::move(*error));
  }
  const NmsSettings &settings = std::get<NmsSettings>(prepared);

  NmsScratch *scratch = nullptr;
  const auto run = [&]() -> std::variant<std::size_t, Error> {
    const py::gil_scoped_release released;
    scratch = &thread_scratch(rows.count);
    return simaai::kernels::detail::run_nms(settings, *scratch, rows);
  };
  std::variant<std::size_t, Error> result = run();
  if (Error *const error = std::get_if<Error>(&result)) {
    throw RaisedError(std::move(*error));
  }
  const std::size_t kept = std::get<std::size_t>(result);
  py::array_t<std::int64_t> indices(static_cast<py::ssize_t>(kept));
  std::copy_n(scratch->kept, kept, indices.mutable_data());
  if (method.is_none()) {
    return indices;
  }
  py::array_t<float> kept_scores(static_cast<py::ssize_t>(kept));
  float *const published = kept_scores.mutable_data();
  for (std::size_t i = 0; i < kept; ++i) {
    published[i] = scratch->kept_scores[i] + 0.0F;  // −0 is published as +0
  }
  return py::make_tuple(indices, kept_scores);
}

nms::BoxFormat to_format(const std::string &name) {
  // boxdecode/ops.py refuses every other name.
  return name == "xyxy"   ? nms::BoxFormat::Corners
         : name == "xywh" ? nms::BoxFormat::TopLeftAndSize
                          : nms::BoxFormat::CentreAndSize;
}

template <class T>
std::span<const T> numbers(const Array<T> &array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}

template <class T>
std::span<T> numbers(Array<T> &array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}

void raise_if_failed(const Status &status) {
  if (!status.ok()) {
    throw RaisedError(status.error());
  }
}

std::vector<py::ssize_t> shape_of(const py::array &array, py::ssize_t dimensions) {
  return {array.shape(), array.shape() + dimensions};
}

template <class T>
Array<T> convert_boxes(const Array<T> &boxes, const std::string &in_format, const std::string &out_format) {
  Array<T> converted(shape_of(boxes, boxes.ndim()));
  const std::span<const T> from = numbers(boxes);
  const std::span<T> to = numbers(converted);
  const auto call = [&] {
    const py::gil_scoped_release released;
    return nms::convert_boxes(from, to_format(in_format), to_format(out_format), to);
  };
  raise_if_failed(call());
  return converted;
}

template <class T>
Array<T> box_areas(const Array<T> &boxes) {
  Array<T> areas(shape_of(boxes, boxes.ndim() - 1));
  const std::span<const T> from = numbers(boxes);
  const std::span<T> to = numbers(areas);
  const auto call = [&] {
    const py::gil_scoped_release released;
    return nms::box_areas(from, to);
  };
  raise_if_failed(call());
  return areas;
}

template <class T>
Array<T> box_ious(const Array<T> &a, const Array<T> &b) {
  Array<T> ious(std::vector<py::ssize_t>{a.shape(0), b.shape(0)});
  const std::span<const T> rows = numbers(a);
  const std::span<const T> columns = numbers(b);
  const std::span<T> to = numbers(ious);
  const auto call = [&] {
    const py::gil_scoped_release released;
    return nms::box_ious(rows, columns, to);
  };
  raise_if_failed(call());
  return ious;
}

template <class T>
void bind_boxes(py::module_ &module) {
  module.def("_convert_boxes", &convert_boxes<T>, py::arg("boxes").noconvert(), py::arg("in_format"), py::arg("out_format"));
  module.def("_box_areas", &box_areas<T>, py::arg("boxes").noconvert());
  module.def("_box_ious", &box_ious<T>, py::arg("a").noconvert(), py::arg("b").noconvert());
}

}  // namespace

void bind_ops(py::module_ &module) {
  module.def("_nms", &suppress, py::arg("boxes"), py::arg("scores"), py::arg("class_ids"), py::arg("iou_threshold"),
             py::arg("score_threshold"), py::arg("max_detections"), py::arg("invalid"), py::arg("method"), py::arg("sigma"));
  bind_boxes<float>(module);
  bind_boxes<double>(module);
}

}  // namespace boxdecode_python
