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
using simaai::kernels::detail::NmsPoll;
using simaai::kernels::detail::NmsRows;
using simaai::kernels::detail::NmsScratch;
using simaai::kernels::detail::NmsSettings;

template <class T>
using Array = py::array_t<T, py::array::c_style>;

// A subclass may mean more than its elements: a masked array has rows that do not count.
const PyTypeObject *plain_array_type() { return py::detail::npy_api::get().PyArray_Type_; }

// The elements of a C-contiguous, aligned, plain array of this very type, or null. Runs no code of the caller.
template <class T>
const T *elements_of(py::handle value) {
  if (!py::isinstance<Array<T>>(value) || Py_TYPE(value.ptr()) != plain_array_type()) {
    return nullptr;
  }
  const void *const data = py::reinterpret_borrow<py::array>(value).data();
  return reinterpret_cast<std::uintptr_t>(data) % alignof(T) == 0 ? static_cast<const T *>(data) : nullptr;
}

// Scratch of this thread, large enough. It grows with the largest call and lives as long as the thread. A call has it to
// itself: a signal handler or a destructor that runs meanwhile may call the same function, which then makes another one.
class ThreadScratch {
public:
  explicit ThreadScratch(std::size_t rows) : scratch_(std::move(resting())) {
    if (scratch_ == nullptr || scratch_->capacity() < rows) {
      const std::size_t grown = scratch_ == nullptr ? 1024 : scratch_->capacity() + scratch_->capacity() / 2;
      scratch_.reset();
      scratch_ = std::make_unique<NmsScratch>(std::max(rows, grown));
    }
  }
  ~ThreadScratch() {
    scratch_->poll = {};
    if (resting() == nullptr || resting()->capacity() < scratch_->capacity()) {
      resting() = std::move(scratch_);
    }
  }
  ThreadScratch(const ThreadScratch &) = delete;
  ThreadScratch &operator=(const ThreadScratch &) = delete;

  [[nodiscard]] NmsScratch &operator*() const noexcept { return *scratch_; }
  [[nodiscard]] NmsScratch *operator->() const noexcept { return scratch_.get(); }

private:
  static std::unique_ptr<NmsScratch> &resting() {
    thread_local std::unique_ptr<NmsScratch> scratch;
    return scratch;
  }
  std::unique_ptr<NmsScratch> scratch_;
};

// The arrays of one call.
struct Arguments {
  py::handle boxes;
  py::handle scores;
  py::handle class_ids;
};

// Their rows where they are now, or nothing when this does not read such arrays, or their shapes do not belong together. Runs
// no code of the caller.
std::optional<NmsRows> rows_of(const Arguments &arguments) {
  NmsRows rows;
  rows.boxes = elements_of<float>(arguments.boxes);
  rows.scores = elements_of<float>(arguments.scores);
  if (rows.boxes == nullptr || rows.scores == nullptr) {
    return std::nullopt;
  }
  const auto box_array = py::reinterpret_borrow<py::array>(arguments.boxes);
  const auto is_column = [&box_array](py::handle value) {
    const auto array = py::reinterpret_borrow<py::array>(value);
    return array.ndim() == 1 && array.shape(0) == box_array.shape(0);
  };
  if (box_array.ndim() != 2 || box_array.shape(1) != 4 || !is_column(arguments.scores)) {
    return std::nullopt;
  }
  if (!arguments.class_ids.is_none()) {
    rows.classes_64 = elements_of<std::int64_t>(arguments.class_ids);
    rows.classes_32 = rows.classes_64 != nullptr ? nullptr : elements_of<std::int32_t>(arguments.class_ids);
    if (!rows.has_classes() || !is_column(arguments.class_ids)) {
      return std::nullopt;
    }
  }
  rows.count = static_cast<std::size_t>(box_array.shape(0));
  return rows;
}

bool same_rows(const NmsRows &left, const NmsRows &right) {
  return left.boxes == right.boxes && left.scores == right.scores && left.count == right.count &&
         left.classes_32 == right.classes_32 && left.classes_64 == right.classes_64;
}

[[noreturn]] void raise_changed(const std::string &name) {
  raise_error(ErrorCode::InvalidParameter, name, name + " changed during the call; leave them alone until it returns");
}

// A run without the GIL, which looks now and then whether a signal (Ctrl-C) has come: its handler runs then, and may raise.
struct Run {
  Arguments arguments;
  NmsRows rows;
  bool raised = false;

  static bool shall_end(void *context) {
    Run &run = *static_cast<Run *>(context);
    const py::gil_scoped_acquire held;
    run.raised = PyErr_CheckSignals() != 0;
    if (run.raised) {
      return true;
    }
    const std::optional<NmsRows> now = rows_of(run.arguments);
    return !now.has_value() || !same_rows(*now, run.rows);
  }
};

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

// The numbers and names of a call, checked.
NmsSettings settings_of(py::handle iou_threshold, py::handle score_threshold, py::handle max_detections, py::handle invalid,
                        py::handle method, py::handle sigma) {
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
  return std::get<NmsSettings>(prepared);
}

// Kept rows, and with a soft method their scores. NotImplemented when rows_of takes no such arrays: then nothing was done.
// Reading a number may run code of the caller, which may change an array: numbers come first, and then the arrays.
py::object suppress(py::handle boxes, py::handle scores, py::handle class_ids, py::handle iou_threshold,
                    py::handle score_threshold, py::handle max_detections, py::handle invalid, py::handle method,
                    py::handle sigma) {
  const Arguments arguments{boxes, scores, class_ids};
  std::optional<NmsSettings> read;
  try {
    read = settings_of(iou_threshold, score_threshold, max_detections, invalid, method, sigma);
  } catch (const RaisedError &) {
    // Of several mistakes that of an array is told first.
    if (rows_of(arguments).has_value()) {
      throw;
    }
  } catch (const py::type_error &) {
    if (rows_of(arguments).has_value()) {
      throw;
    }
  }
  if (!read.has_value()) {
    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  }
  const NmsSettings &settings = *read;
  const std::optional<NmsRows> rows = rows_of(arguments);
  if (!rows.has_value()) {
    return py::reinterpret_borrow<py::object>(Py_NotImplemented);
  }
  if (rows->count > 0x7FFFFFFFU) {
    raise_error(ErrorCode::InvalidParameter, "boxes",
                "boxes has " + std::to_string(rows->count) + " rows; at most 2147483647 can be taken at once");
  }
  const ThreadScratch scratch(rows->count);
  Run run{arguments, *rows};
  scratch->poll = NmsPoll(&Run::shall_end, &run);
  const auto call = [&]() -> std::variant<std::size_t, Error> {
    const py::gil_scoped_release released;
    return simaai::kernels::detail::run_nms(settings, *scratch, *rows);
  };
  std::variant<std::size_t, Error> result = call();
  if (run.raised) {
    throw py::error_already_set();
  }
  if (scratch->poll.ended()) {
    raise_changed("boxes");
  }
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
bool same_memory(std::span<const T> left, std::span<const T> right) {
  return left.data() == right.data() && left.size() == right.size();
}

template <class T>
Array<T> box_ious(const Array<T> &a, const Array<T> &b) {
  const py::ssize_t count = a.shape(0);
  const py::ssize_t width = b.shape(0);
  Array<T> ious(std::vector<py::ssize_t>{count, width});
  const std::span<const T> rows = numbers(a);
  const std::span<const T> columns = numbers(b);
  const std::span<T> to = numbers(ious);
  const auto call = [](std::span<const T> some_rows, std::span<const T> all_columns, std::span<T> some_ious) {
    const py::gil_scoped_release released;
    return nms::box_ious(some_rows, all_columns, some_ious);
  };
  // Some rows at a time, and between them a look whether a signal (Ctrl-C) has come: its handler runs then, and may raise.
  constexpr std::size_t pairs_between = std::size_t{1} << 24U;
  const auto row_width = static_cast<std::size_t>(width);
  const std::size_t band = std::max<std::size_t>(1, pairs_between / std::max<std::size_t>(1, row_width));
  const auto total = static_cast<std::size_t>(count);
  if (total <= band || rows.size() != 4 * total) {
    raise_if_failed(call(rows, columns, to));
    return ious;
  }
  for (std::size_t first = 0; first < total; first += band) {
    const std::size_t size = std::min(band, total - first);
    raise_if_failed(call(rows.subspan(4 * first, 4 * size), columns, to.subspan(first * row_width, size * row_width)));
    if (PyErr_CheckSignals() != 0) {
      throw py::error_already_set();
    }
    if (!same_memory(rows, numbers(a)) || !same_memory(columns, numbers(b))) {
      raise_changed(same_memory(rows, numbers(a)) ? "b" : "a");
    }
  }
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
