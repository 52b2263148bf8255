#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include <pybind11/native_enum.h>
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

/// A member of the enumeration that Python calls boxdecode.TYPE.
template <class Enum>
Enum to_enum(py::handle value, const std::string &field, const char *type) {
  py::detail::make_caster<Enum> caster;
  if (!caster.load(value, false)) {
    throw py::type_error(field + " must be a member of boxdecode." + type + ", not " + type_name(value));
  }
  return py::detail::cast_op<Enum>(caster);
}

/// Adds the functions behind boxdecode.ops (ops.cpp).
void bind_ops(py::module_ &module);

/// Refuses an object whose __init__ never ran (Class.__new__(Class)): pybind11 would hand out memory that nothing filled.
template <class T>
class InitialisedCaster : public py::detail::type_caster_base<T> {
public:
  bool load(py::handle source, bool convert) {
    if (source && this->typeinfo != nullptr && PyObject_TypeCheck(source.ptr(), this->typeinfo->type) != 0) {
      auto *const instance = reinterpret_cast<py::detail::instance *>(source.ptr());
      if (instance->get_value_and_holder(this->typeinfo, false).value_ptr() == nullptr) {
        throw py::type_error("this " + type_name(source) + " is not initialised: its __init__ has not run");
      }
    }
    return py::detail::type_caster_base<T>::load(source, convert);
  }
};

}  // namespace boxdecode_python

namespace pybind11::detail {

template <>
class type_caster<simaai::kernels::Contiguous> : public boxdecode_python::InitialisedCaster<simaai::kernels::Contiguous> {};
template <>
class type_caster<simaai::kernels::Planar> : public boxdecode_python::InitialisedCaster<simaai::kernels::Planar> {};
template <>
class type_caster<simaai::kernels::Strided> : public boxdecode_python::InitialisedCaster<simaai::kernels::Strided> {};
template <>
class type_caster<simaai::kernels::MlaCBlocked> : public boxdecode_python::InitialisedCaster<simaai::kernels::MlaCBlocked> {};
template <>
class type_caster<simaai::kernels::MlaTiled> : public boxdecode_python::InitialisedCaster<simaai::kernels::MlaTiled> {};
template <>
class type_caster<simaai::kernels::TensorSpec> : public boxdecode_python::InitialisedCaster<simaai::kernels::TensorSpec> {};
template <>
class type_caster<simaai::kernels::ops::boxdecode::Params>
    : public boxdecode_python::InitialisedCaster<simaai::kernels::ops::boxdecode::Params> {};

}  // namespace pybind11::detail
