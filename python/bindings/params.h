#pragma once

#include <vector>

#include <simaai/kernels/tensor.h>

#include "common.h"

/// Python arguments as the plain structs of the C++ API, and back.
/// In: the keyword arguments of Plan. Out: Params, or an error at the field's own name. Never: a rule that
/// check_inference knows, beyond what the C++ types can hold.
namespace boxdecode_python {

/// A list of TensorSpec.
[[nodiscard]] std::vector<simaai::kernels::TensorSpec> to_specs(py::handle value, const char *name);

/// The keyword arguments of Plan.
[[nodiscard]] simaai::kernels::ops::boxdecode::Params to_params(const py::kwargs &arguments);

/// An instance of a type of boxdecode._types.
[[nodiscard]] py::object make_tuple_type(const char *name, const py::tuple &values);

}  // namespace boxdecode_python
