#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <pybind11/pybind11.h>

#include <simaai/kernels/ops/boxdecode.h>
#include <simaai/kernels/status.h>

/// What the files of the extension module share: errors on their way to Python, and plain numbers on their way to C++.
/// In: Python objects. Out: C++ values or one exception that says where, what was seen, what would do. Never: arithmetic.
namespace boxdecode_python {

namespace py = pybind11;
using simaai::kernels::Error;
using simaai::kernels::ErrorCode;

/// An error on its way to Python, where it becomes boxdecode.Error or the subclass for its code.
class RaisedError {
public:
  explicit RaisedError(Error error) : error_(std::move(error)) {}
  [[nodiscard]] const Error &error() const noexcept { return error_; }

private:
  Error error_;
};

/// The three resize policies without numbers: boxdecode.ResizePolicy in Python.
enum class ResizeName { CenteredLetterbox, TopLeftLetterbox, Stretch };

/// Throws a RaisedError.
[[noreturn]] inline void raise_error(ErrorCode code, std::string field, std::string message) {
  throw RaisedError(Error{code, std::move(field), std::move(message)});
}

/// The Python type's name, for messages.
[[nodiscard]] std::string type_name(py::handle value);

/// Any Python integer (through __index__). TypeError for other types, InvalidParameter at `field` beyond 64 bits.
[[nodiscard]] std::int64_t to_int64(py::handle value, const std::string &field);

/// An integer that is a port index. InvalidParameter at `field` when it is negative.
[[nodiscard]] std::size_t to_port(py::handle value, const std::string &field);

/// Any Python number. TypeError for other types, InvalidParameter at `field` beyond a double.
[[nodiscard]] double to_double(py::handle value, const std::string &field);

/// The same narrowed to FP32, where a number that is too large becomes an infinity.
[[nodiscard]] float to_float(py::handle value, const std::string &field);

/// (width, height).
[[nodiscard]] simaai::kernels::ops::boxdecode::ImageSize to_image_size(py::handle value, const std::string &field);

/// Affine or a tuple (scale_x, offset_x, scale_y, offset_y).
[[nodiscard]] simaai::kernels::ops::boxdecode::Affine to_affine(py::handle value, const std::string &field);

/// A member of ResizePolicy, or what to_affine takes.
[[nodiscard]] simaai::kernels::ops::boxdecode::ResizePolicy to_resize_policy(py::handle value, const std::string &field);

/// Adds the functions behind boxdecode.ops (ops.cpp).
void bind_ops(py::module_ &module);

}  // namespace boxdecode_python
