// boxdecode._core: the C++ API under Python names. The only file that says what Python sees.
#include <memory>
#include <sstream>

#include <pybind11/native_enum.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <simaai/kernels/version.h>

#include "arrays.h"
#include "boxdecode/execute.h"
#include "boxdecode/recipes/catalogue.h"
#include "common.h"
#include "kernels/dispatch.h"
#include "params.h"

namespace boxdecode_python {
namespace {

using simaai::kernels::ConstHostBuffer;
using simaai::kernels::DType;
using simaai::kernels::HostBuffer;
using simaai::kernels::Status;
using simaai::kernels::TensorSpec;
namespace kernels = simaai::kernels;
namespace op = simaai::kernels::ops::boxdecode;

// ---- errors ----------------------------------------------------------------------------------------------------------

void set_python_error(const Error &error) {
  const py::module_ errors = py::module_::import("boxdecode._errors");
  const py::object type = errors.attr(error.code == ErrorCode::ContextBusy        ? "ContextBusy"
                                      : error.code == ErrorCode::FloatEnvironment ? "FloatEnvironment"
                                                                                  : "Error");
  const py::object instance = type(error.code, error.field, error.message);
  PyErr_SetObject(type.ptr(), instance.ptr());
}

void raise_if_failed(const Status &status) {
  if (!status.ok()) {
    throw RaisedError(status.error());
  }
}

template <class Value>
Value value_or_raise(std::variant<Value, Error> result) {
  if (const auto *error = std::get_if<Error>(&result)) {
    throw RaisedError(*error);
  }
  return std::get<Value>(std::move(result));
}

// ---- plan, context, geometry -----------------------------------------------------------------------------------------

/// A plan with what its ports take from Python.
struct PythonPlan {
  op::Plan plan;
  std::vector<Port> inputs;
  std::vector<Port> outputs;
};

struct PythonContext {
  std::unique_ptr<op::ExecutionContext> context;
};

struct PythonGeometry {
  std::shared_ptr<const PythonPlan> plan;
  op::ImageGeometry geometry;
};

}  // namespace
}  // namespace boxdecode_python

namespace pybind11::detail {

template <>
class type_caster<boxdecode_python::PythonPlan> : public boxdecode_python::InitialisedCaster<boxdecode_python::PythonPlan> {};
template <>
class type_caster<boxdecode_python::PythonContext>
    : public boxdecode_python::InitialisedCaster<boxdecode_python::PythonContext> {};
template <>
class type_caster<boxdecode_python::PythonGeometry>
    : public boxdecode_python::InitialisedCaster<boxdecode_python::PythonGeometry> {};

}  // namespace pybind11::detail

namespace boxdecode_python {
namespace {

std::shared_ptr<PythonPlan> make_plan(py::handle inputs, py::handle outputs, const py::kwargs &arguments) {
  const std::vector<TensorSpec> input_specs = to_specs(inputs, "inputs");
  const op::Params params = to_params(arguments);
  std::optional<std::vector<TensorSpec>> output_specs;
  if (!outputs.is_none()) {
    output_specs = to_specs(outputs, "outputs");
  }
  const auto check = [&] {
    const py::gil_scoped_release released;
    return op::check_inference({input_specs, output_specs, params});
  };
  op::Plan plan = value_or_raise(check());
  auto input_ports = make_ports(plan.input_specs(), true);
  for (std::size_t port = 0; port < input_ports.size(); ++port) {
    input_ports[port].required_bytes = plan.required_bytes(port);
  }
  auto output_ports = make_ports(plan.output_specs(), false);
  return std::make_shared<PythonPlan>(PythonPlan{std::move(plan), std::move(input_ports), std::move(output_ports)});
}

/// The one hot path: arrays to buffers, one call without the GIL, an exception only on failure. `rows_only`: rows of the
/// outputs beyond the count may stay as they are.
void execute(const PythonPlan &plan, const op::ImageGeometry *geometry, PythonContext &context, py::handle inputs,
             py::handle outputs, bool rows_only = false) {
  const auto call = [&](std::span<const ConstHostBuffer> input_buffers, std::span<const HostBuffer> output_buffers) {
    const py::gil_scoped_release released;
    if (rows_only) {
      return op::detail::execute_rows(plan.plan, geometry, *context.context, input_buffers, output_buffers);
    }
    return geometry != nullptr ? op::execute(plan.plan, *geometry, *context.context, input_buffers, output_buffers)
                               : op::execute(plan.plan, *context.context, input_buffers, output_buffers);
  };
  try {
    const CallBuffers<ConstHostBuffer> input_buffers(plan.inputs, inputs);
    const CallBuffers<HostBuffer> output_buffers(plan.outputs, outputs);
    input_buffers.confirm();
    output_buffers.confirm();
    raise_if_failed(call(input_buffers.span(), output_buffers.span()));
  } catch (const RaisedError &raised) {
    if (raised.error().code != ErrorCode::InvalidBuffer) {
      throw;
    }
    // Context, lock and floating-point environment come before the arrays; without arrays the call stops after them.
    const Status earlier = call({}, {});
    const ErrorCode code = earlier.ok() ? ErrorCode::InvalidBuffer : earlier.error().code;
    if (code == ErrorCode::ContextMismatch || code == ErrorCode::ContextBusy || code == ErrorCode::FloatEnvironment) {
      throw RaisedError(earlier.error());
    }
    throw;
  }
}

// ---- values back to Python -------------------------------------------------------------------------------------------

template <class Range>
py::tuple integers(const Range &range) {
  py::tuple values(range.size());
  for (std::size_t i = 0; i < range.size(); ++i) {
    values[i] = range[i];
  }
  return values;
}

py::tuple specs_tuple(std::span<const TensorSpec> specs) {
  py::tuple result(specs.size());
  for (std::size_t i = 0; i < specs.size(); ++i) {
    result[i] = py::cast(specs[i]);
  }
  return result;
}

py::object layout_object(const kernels::Layout &layout) {
  return std::visit([](const auto &alternative) { return py::cast(alternative); }, layout);
}

kernels::Layout to_layout(py::handle value) {
  if (py::isinstance<kernels::Contiguous>(value)) {
    return kernels::Contiguous{};
  }
  if (py::isinstance<kernels::Planar>(value)) {
    return kernels::Planar{};
  }
  if (py::isinstance<kernels::Strided>(value)) {
    return value.cast<kernels::Strided>();
  }
  if (py::isinstance<kernels::MlaCBlocked>(value)) {
    return value.cast<kernels::MlaCBlocked>();
  }
  if (py::isinstance<kernels::MlaTiled>(value)) {
    return value.cast<kernels::MlaTiled>();
  }
  throw py::type_error("layout must be Contiguous(), Strided(...), MlaCBlocked(...), MlaTiled(...) or Planar(), not " +
                       type_name(value));
}

std::vector<std::int64_t> to_sides(py::handle value, const std::string &field) {
  std::vector<std::int64_t> sides;
  if (PySequence_Check(value.ptr()) == 0 || PyUnicode_Check(value.ptr()) != 0) {
    throw py::type_error(field + " must be a sequence of integers, not " + type_name(value));
  }
  for (const py::handle side : value) {
    sides.push_back(to_int64(side, field + '[' + std::to_string(sides.size()) + ']'));
  }
  return sides;
}

py::tuple size_tuple(op::ImageSize size) { return py::make_tuple(size.width, size.height); }

py::object affine_object(const op::Affine &affine) {
  return make_tuple_type("Affine", py::make_tuple(affine.scale_x, affine.offset_x, affine.scale_y, affine.offset_y));
}

py::object resize_object(const std::optional<op::ResizePolicy> &policy) {
  if (!policy.has_value()) {
    return py::none();
  }
  if (const auto *affine = std::get_if<op::Affine>(&*policy)) {
    return affine_object(*affine);
  }
  return py::cast(std::holds_alternative<op::CenteredLetterbox>(*policy)  ? ResizeName::CenteredLetterbox
                  : std::holds_alternative<op::TopLeftLetterbox>(*policy) ? ResizeName::TopLeftLetterbox
                                                                          : ResizeName::Stretch);
}

template <class Value>
py::object optional_object(const std::optional<Value> &value) {
  return value.has_value() ? py::cast(*value) : py::none();
}

py::tuple heads_tuple(const op::Params &params) {
  py::tuple heads(params.heads.size());
  for (std::size_t i = 0; i < params.heads.size(); ++i) {
    const op::Head &head = params.heads[i];
    heads[i] = make_tuple_type("Head", py::make_tuple(head.boxes, head.scores, optional_object(head.objectness),
                                                      optional_object(head.extra), optional_object(head.sizes)));
  }
  return heads;
}

py::dict quantization_dict(const op::Params &params) {
  py::dict quantization;
  for (const auto &[port, entry] : params.quantization) {
    quantization[py::int_(port)] = make_tuple_type("Quantization", py::make_tuple(entry.dequant_scale, entry.zero_point));
  }
  return quantization;
}

py::tuple anchors_tuple(const op::Params &params) {
  py::tuple heads(params.anchors.size());
  for (std::size_t i = 0; i < params.anchors.size(); ++i) {
    py::tuple anchors(params.anchors[i].size());
    for (std::size_t a = 0; a < params.anchors[i].size(); ++a) {
      const op::Anchor &anchor = params.anchors[i][a];
      anchors[a] = make_tuple_type("Anchor", py::make_tuple(anchor.width, anchor.height));
    }
    heads[i] = anchors;
  }
  return heads;
}

/// Pickles and copies an object as a call of its type. A type that has none of this would end the process in protocols 0, 1.
template <class Value, class Arguments>
auto reduce_to(Arguments arguments) {
  return
      [arguments](const py::object &self) { return py::make_tuple(py::type::of(self), arguments(self.cast<const Value &>())); };
}

py::tuple refuse_reduce(const py::object &self) {
  throw py::type_error("cannot pickle or copy a " + type_name(self) + ": make a new one from its arguments");
}

std::string text_of(py::handle value) { return py::repr(value).cast<std::string>(); }

// ---- bindings --------------------------------------------------------------------------------------------------------

void bind_enums(py::module_ &module) {
  py::native_enum<ErrorCode>(module, "ErrorCode", "enum.Enum", "What kind of thing is wrong; Error.field says where.")
      .value("InvalidParameter", ErrorCode::InvalidParameter)
      .value("InvalidTensor", ErrorCode::InvalidTensor)
      .value("UnsupportedLayout", ErrorCode::UnsupportedLayout)
      .value("UnsupportedRecipe", ErrorCode::UnsupportedRecipe)
      .value("InvalidQuantization", ErrorCode::InvalidQuantization)
      .value("InvalidBuffer", ErrorCode::InvalidBuffer)
      .value("BufferOverlap", ErrorCode::BufferOverlap)
      .value("ContextMismatch", ErrorCode::ContextMismatch)
      .value("ContextBusy", ErrorCode::ContextBusy)
      .value("FloatEnvironment", ErrorCode::FloatEnvironment)
      .value("ResourceLimit", ErrorCode::ResourceLimit)
      .finalize();
  py::native_enum<DType>(module, "DType", "enum.Enum", "Element types. Int32 appears in outputs only.")
      .value("Int8", DType::Int8)
      .value("BFloat16", DType::BFloat16)
      .value("Int32", DType::Int32)
      .value("Float32", DType::Float32)
      .value("UInt8", DType::UInt8)
      .value("Float16", DType::Float16)
      .finalize();
  py::native_enum<op::Profile> profiles(module, "Profile", "enum.Enum", "Which detector wrote the heads.");
  for (const op::detail::Recipe *recipe : op::detail::all_recipes) {
    profiles.value(recipe->name, recipe->profile);
  }
  profiles.finalize();
  py::native_enum<op::Task>(module, "Task", "enum.Enum", "What is wanted besides boxes, scores and classes.")
      .value("Detection", op::Task::Detection)
      .value("Pose", op::Task::Pose)
      .value("Segmentation", op::Task::Segmentation)
      .finalize();
  py::native_enum<op::ScoreActivation>(module, "ScoreActivation", "enum.Enum", "How a raw score becomes a score.")
      .value("Identity", op::ScoreActivation::Identity)
      .value("Sigmoid", op::ScoreActivation::Sigmoid)
      .value("Softmax", op::ScoreActivation::Softmax)
      .finalize();
  py::native_enum<op::MaskEncoding>(module, "MaskEncoding", "enum.Enum",
                                    "Bytes of a mask: 255 times the probability, or 0 and 255.")
      .value("Probability", op::MaskEncoding::Probability)
      .value("Binary", op::MaskEncoding::Binary)
      .finalize();
  py::native_enum<op::BoxUnit>(module, "BoxUnit", "enum.Enum", "Unit of boxes in heads that are already decoded.")
      .value("Pixels", op::BoxUnit::Pixels)
      .value("Normalised", op::BoxUnit::Normalised)
      .finalize();
  py::native_enum<op::SuppressionCorners>(module, "SuppressionCorners", "enum.Enum",
                                          "By which corners suppression measures overlap: rounded ones in steps of 1/256, or "
                                          "the FP32 ones by the rule of ops.nms.")
      .value("Integer", op::SuppressionCorners::Integer)
      .value("Exact", op::SuppressionCorners::Exact)
      .finalize();
  py::native_enum<ResizeName>(module, "ResizePolicy", "enum.Enum",
                              "How the image was brought to the model's input size; Affine is the fourth way.")
      .value("CenteredLetterbox", ResizeName::CenteredLetterbox)
      .value("TopLeftLetterbox", ResizeName::TopLeftLetterbox)
      .value("Stretch", ResizeName::Stretch)
      .finalize();
}

template <class Tile>
void bind_tile(py::module_ &module, const char *name, const char *doc) {
  py::class_<Tile>(module, name, doc)
      .def(py::init([](const py::object &tile_h, const py::object &tile_w, const py::object &tile_c) {
             return Tile{to_int64(tile_h, "tile_h"), to_int64(tile_w, "tile_w"), to_int64(tile_c, "tile_c")};
           }),
           py::arg("tile_h"), py::arg("tile_w"), py::arg("tile_c"))
      .def("__reduce__",
           reduce_to<Tile>([](const Tile &tile) { return py::make_tuple(tile.tile_h, tile.tile_w, tile.tile_c); }))
      .def_property_readonly("tile_h", [](const Tile &tile) { return tile.tile_h; })
      .def_property_readonly("tile_w", [](const Tile &tile) { return tile.tile_w; })
      .def_property_readonly("tile_c", [](const Tile &tile) { return tile.tile_c; })
      .def(
          "__eq__", [](const Tile &left, const Tile &right) { return left == right; }, py::is_operator())
      .def("__hash__", [](const Tile &tile) { return py::hash(py::make_tuple(tile.tile_h, tile.tile_w, tile.tile_c)); })
      .def("__repr__", [name](const Tile &tile) {
        std::ostringstream text;
        text << name << "(tile_h=" << tile.tile_h << ", tile_w=" << tile.tile_w << ", tile_c=" << tile.tile_c << ')';
        return text.str();
      });
}

template <class Plain>
void bind_plain_layout(py::module_ &module, const char *name, const char *doc) {
  py::class_<Plain>(module, name, doc)
      .def(py::init<>())
      .def("__reduce__", reduce_to<Plain>([](const Plain &) { return py::tuple(); }))
      .def(
          "__eq__", [](const Plain &, const Plain &) { return true; }, py::is_operator())
      .def("__hash__", [name](const Plain &) { return py::hash(py::str(name)); })
      .def("__repr__", [name](const Plain &) { return std::string(name) + "()"; });
}

void bind_tensors(py::module_ &module) {
  bind_plain_layout<kernels::Contiguous>(module, "Contiguous", "Compact H, W, C.");
  bind_plain_layout<kernels::Planar>(module, "Planar",
                                     "Compact C, H, W, as ONNX Runtime and PyTorch give. The shape is still H, W, C.");
  py::class_<kernels::Strided>(module, "Strided", "H, W, C with channel padding: one stride per dimension, in elements.")
      .def(py::init([](const py::object &strides) { return kernels::Strided{to_sides(strides, "strides")}; }),
           py::arg("strides"))
      .def("__reduce__",
           reduce_to<kernels::Strided>([](const kernels::Strided &layout) { return py::make_tuple(integers(layout.strides)); }))
      .def_property_readonly("strides", [](const kernels::Strided &layout) { return integers(layout.strides); })
      .def(
          "__eq__", [](const kernels::Strided &left, const kernels::Strided &right) { return left == right; },
          py::is_operator())
      .def("__hash__", [](const kernels::Strided &layout) { return py::hash(integers(layout.strides)); })
      .def("__repr__", [](const kernels::Strided &layout) { return "Strided(" + text_of(integers(layout.strides)) + ")"; });
  bind_tile<kernels::MlaCBlocked>(module, "MlaCBlocked", "MLA transport in blocks of 16 channels inside tiles.");
  bind_tile<kernels::MlaTiled>(module, "MlaTiled", "Pixel-major MLA tiles: can be named, is always refused.");
  py::class_<TensorSpec>(module, "TensorSpec", "Shape (up to 6 sides, the last three H, W, C), dtype and layout.")
      .def(py::init([](const py::object &shape, const py::object &dtype, const py::object &layout) {
             return TensorSpec{to_sides(shape, "shape"), to_enum<DType>(dtype, "dtype", "DType"),
                               layout.is_none() ? kernels::Layout{kernels::Contiguous{}} : to_layout(layout)};
           }),
           py::arg("shape"), py::arg("dtype"), py::arg("layout") = py::none())
      .def("__reduce__", reduce_to<TensorSpec>([](const TensorSpec &spec) {
             return py::make_tuple(integers(spec.shape), spec.dtype, layout_object(spec.layout));
           }))
      .def_property_readonly("shape", [](const TensorSpec &spec) { return integers(spec.shape); })
      .def_property_readonly("dtype", [](const TensorSpec &spec) { return spec.dtype; })
      .def_property_readonly("layout", [](const TensorSpec &spec) { return layout_object(spec.layout); })
      .def(
          "__eq__", [](const TensorSpec &left, const TensorSpec &right) { return left == right; }, py::is_operator())
      .def("__hash__",
           [](const TensorSpec &spec) {
             return py::hash(py::make_tuple(integers(spec.shape), spec.dtype, layout_object(spec.layout)));
           })
      .def("__repr__", [](const TensorSpec &spec) {
        return "TensorSpec(" + text_of(integers(spec.shape)) + ", DType." +
               py::cast(spec.dtype).attr("name").cast<std::string>() + ", " + text_of(layout_object(spec.layout)) + ")";
      });
}

void bind_params(py::module_ &module) {
  py::class_<op::Params>(module, "Params", "The parameters of a plan, with activation and resize policy resolved.")
      .def("__reduce__", &refuse_reduce)
      .def_property_readonly("profile", [](const op::Params &p) { return p.profile; })
      .def_property_readonly("task", [](const op::Params &p) { return p.task; })
      .def_property_readonly("heads", &heads_tuple)
      .def_property_readonly("mask_prototype", [](const op::Params &p) { return optional_object(p.mask_prototype); })
      .def_property_readonly("model_input_size", [](const op::Params &p) { return size_tuple(p.model_input_size); })
      .def_property_readonly("original_image_size", [](const op::Params &p) { return size_tuple(p.original_image_size); })
      .def_property_readonly("num_classes", [](const op::Params &p) { return p.num_classes; })
      .def_property_readonly("max_detections", [](const op::Params &p) { return p.max_detections; })
      .def_property_readonly("detection_threshold", [](const op::Params &p) { return p.detection_threshold; })
      .def_property_readonly("nms_iou_threshold", [](const op::Params &p) { return p.nms_iou_threshold; })
      .def_property_readonly("score_activation", [](const op::Params &p) { return optional_object(p.score_activation); })
      .def_property_readonly("quantization", &quantization_dict)
      .def_property_readonly("num_keypoints", [](const op::Params &p) { return p.num_keypoints; })
      .def_property_readonly("anchors", &anchors_tuple)
      .def_property_readonly("resize", [](const op::Params &p) { return resize_object(p.resize); })
      .def_property_readonly("mask_encoding", [](const op::Params &p) { return p.mask_encoding; })
      .def_property_readonly("class_agnostic", [](const op::Params &p) { return p.class_agnostic; })
      .def_property_readonly("box_unit", [](const op::Params &p) { return p.box_unit; })
      .def_property_readonly("anchor_scale", [](const op::Params &p) { return p.anchor_scale; })
      .def_property_readonly("box_activation", [](const op::Params &p) { return p.box_activation; })
      .def_property_readonly("peak_window", [](const op::Params &p) { return p.peak_window; })
      .def_property_readonly("suppression_corners", [](const op::Params &p) { return p.suppression_corners; })
      .def_property_readonly("one_class_uses_objectness", [](const op::Params &p) { return p.one_class_uses_objectness; })
      .def_property_readonly("keypoint_unit", [](const op::Params &p) { return optional_object(p.keypoint_unit); })
      .def_property_readonly("keypoint_dims", [](const op::Params &p) { return p.keypoint_dims; });
}

void bind_plan(py::module_ &module) {
  py::class_<PythonContext>(module, "Context", "Reusable scratch of one call in flight; made by Plan.create_context().")
      .def("__reduce__", &refuse_reduce);

  py::class_<PythonGeometry, std::shared_ptr<PythonGeometry>>(
      module, "ImageGeometry", "A plan's mapping to another original image size; made by Plan.with_image_size().")
      .def("__reduce__", &refuse_reduce)
      .def(
          "execute",
          [](const PythonGeometry &self, PythonContext &context, const py::object &inputs, const py::object &outputs) {
            execute(*self.plan, &self.geometry, context, inputs, outputs);
          },
          py::arg("context"), py::arg("inputs"), py::arg("outputs"),
          "Decodes one frame of this image size into the outputs; see Plan.execute.")
      .def_property_readonly("image_size", [](const PythonGeometry &self) { return size_tuple(self.geometry.image_size()); })
      .def_property_readonly("mapping",
                             [](const PythonGeometry &self) {
                               const op::ImageMapping &mapping = self.geometry.mapping();
                               return make_tuple_type("ImageMapping",
                                                      py::make_tuple(mapping.scale_x, mapping.shift_x, mapping.scale_y,
                                                                     mapping.shift_y, mapping.shift_first));
                             })
      .def("__repr__", [](const PythonGeometry &self) {
        return "<boxdecode.ImageGeometry " + text_of(size_tuple(self.geometry.image_size())) + ">";
      });

  py::class_<PythonPlan, std::shared_ptr<PythonPlan>>(
      module, "Plan", "The immutable result of validation and preparation. Raises boxdecode.Error for a wrong request.")
      .def(py::init([](const py::object &inputs, const py::object &outputs, const py::kwargs &arguments) {
             return make_plan(inputs, outputs, arguments);
           }),
           py::arg("inputs"), py::arg("outputs") = py::none())
      .def("__reduce__", &refuse_reduce)
      .def_property_readonly(
          "params", [](const PythonPlan &self) -> const op::Params & { return self.plan.params(); },
          py::return_value_policy::reference_internal)
      .def_property_readonly("input_specs", [](const PythonPlan &self) { return specs_tuple(self.plan.input_specs()); })
      .def_property_readonly("output_specs", [](const PythonPlan &self) { return specs_tuple(self.plan.output_specs()); })
      .def(
          "required_bytes",
          [](const PythonPlan &self, const py::object &port) {
            const std::size_t index = to_port(port, "port");
            if (index >= self.inputs.size()) {
              raise_error(ErrorCode::InvalidParameter, "port",
                          "port is " + std::to_string(index) + "; the plan has " + std::to_string(self.inputs.size()) +
                              " inputs");
            }
            return self.plan.required_bytes(index);
          },
          py::arg("port"), "Bytes that an array for this input port must cover.")
      .def_property_readonly("context_bytes", [](const PythonPlan &self) { return self.plan.context_bytes(); })
      .def(
          "describe", [](const PythonPlan &self) { return self.plan.describe(); },
          "Plain facts for a person who doubts a configuration.")
      .def(
          "create_context", [](const PythonPlan &self) { return PythonContext{op::create_context(self.plan)}; },
          "New scratch; one context serves one call at a time.")
      .def(
          "allocate_outputs", [](const PythonPlan &self) { return allocate_arrays(self.outputs); },
          "New output arrays in port order; their contents are undefined until a call has succeeded.")
      .def(
          "execute",
          [](const PythonPlan &self, PythonContext &context, const py::object &inputs, const py::object &outputs) {
            execute(self, nullptr, context, inputs, outputs);
          },
          py::arg("context"), py::arg("inputs"), py::arg("outputs"),
          "Decodes one frame: reads the inputs and fills every output, in place and without the GIL.")
      .def(
          "_execute_rows",
          [](const PythonPlan &self, PythonContext &context, const py::object &geometry, const py::object &inputs,
             const py::object &outputs) {
            const auto *other = geometry.is_none() ? nullptr : &geometry.cast<const PythonGeometry &>().geometry;
            execute(self, other, context, inputs, outputs, true);
          },
          py::arg("context"), py::arg("geometry"), py::arg("inputs"), py::arg("outputs"),
          "execute, but rows of the outputs beyond the count stay as they were. For Decoder, which copies the others.")
      .def(
          "_check_stored",
          [](const PythonPlan &self, const py::object &port, const py::array &array) {
            const std::size_t index = to_port(port, "port");
            if (index >= self.inputs.size()) {
              throw py::index_error("port");
            }
            check_stored(self.inputs, index, array);
          },
          py::arg("port"), py::arg("array"), "Refuses what a file holds for a port by type and shape alone.")
      .def(
          "with_image_size",
          [](const PythonPlan &self, const py::object &image_size, const py::object &affine) {
            std::optional<op::Affine> new_affine;
            if (!affine.is_none()) {
              new_affine = to_affine(affine, "affine");
            }
            auto geometry = value_or_raise(
                op::check_image_geometry(self.plan, to_image_size(image_size, "original_image_size"), new_affine));
            // The cast finds the Python object that owns the plan, and with it the shared pointer.
            auto plan = py::cast(&self).cast<std::shared_ptr<PythonPlan>>();
            return std::make_shared<PythonGeometry>(PythonGeometry{std::move(plan), geometry});
          },
          py::arg("image_size"), py::arg("affine") = py::none(),
          "The same plan for another original image; affine is required exactly when the plan's policy is Affine.")
      .def("__repr__", [](const PythonPlan &self) {
        const op::Params &params = self.plan.params();
        return "<boxdecode.Plan " + py::cast(params.profile).attr("name").cast<std::string>() + ' ' +
               py::cast(params.task).attr("name").cast<std::string>() + ", " + std::to_string(self.inputs.size()) +
               " inputs, up to " + std::to_string(params.max_detections) + " detections>";
      });
}

void bind_test_hooks(py::module_ &module) {
  module.def(
      "_available_kernels",
      [] {
        py::list names;
        for (const char *name : kernels::detail::available_kernels()) {
          names.append(name);
        }
        return names;
      },
      "Names of the kernels that this CPU can run, best first.");
  module.def(
      "_force_kernels",
      [](const py::object &name) {
        const std::string text = name.is_none() ? std::string() : name.cast<std::string>();
        if (!kernels::detail::force_kernels(name.is_none() ? nullptr : text.c_str())) {
          throw py::value_error("this CPU has no kernels named '" + text + "'");
        }
      },
      py::arg("name"), "Plans prepared afterwards use the named kernels; None chooses again.");
}

}  // namespace
}  // namespace boxdecode_python

PYBIND11_MODULE(_core, module, pybind11::mod_gil_not_used()) {
  namespace bp = boxdecode_python;
  module.doc() = "The C++ core of boxdecode under Python names.";
  module.attr("__version__") = SIMAAI_KERNELS_VERSION;
  pybind11::register_local_exception_translator([](std::exception_ptr raised) {
    try {
      if (raised) {
        std::rethrow_exception(raised);
      }
    } catch (const bp::RaisedError &error) {
      bp::set_python_error(error.error());
    }
  });
  bp::bind_enums(module);
  bp::bind_tensors(module);
  bp::bind_params(module);
  bp::bind_plan(module);
  bp::bind_test_hooks(module);
  bp::bind_ops(module);
}
