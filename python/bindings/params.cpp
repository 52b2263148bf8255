#include "params.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <pybind11/native_enum.h>

namespace boxdecode_python {
namespace {

using simaai::kernels::TensorSpec;
namespace op = simaai::kernels::ops::boxdecode;

/// The elements of a sequence, or a TypeError that says what belongs at `field`.
py::tuple to_tuple(py::handle value, const std::string &field, const char *wanted) {
  if (PyUnicode_Check(value.ptr()) == 0 && PyBytes_Check(value.ptr()) == 0) {
    if (auto items = py::reinterpret_steal<py::tuple>(PySequence_Tuple(value.ptr()))) {
      return items;
    }
    py::error_already_set raised;
    if (!raised.matches(PyExc_TypeError)) {
      throw raised;
    }
  }
  throw py::type_error(field + " must be " + wanted + ", not " + type_name(value));
}

op::Head to_head(py::handle value, const std::string &field) {
  const py::tuple ports = to_tuple(value, field, "a Head or a tuple (boxes, scores, objectness, extra, sizes) of ports");
  if (ports.size() < 2 || ports.size() > 5) {
    raise_error(ErrorCode::InvalidParameter, field,
                field + " has " + std::to_string(ports.size()) +
                    " entries; a head is (boxes, scores, objectness=None, extra=None, sizes=None)");
  }
  const auto optional_port = [&](std::size_t index, const char *role) -> std::optional<std::size_t> {
    if (index >= ports.size() || ports[index].is_none()) {
      return std::nullopt;
    }
    return to_port(ports[index], field + '.' + role);
  };
  return {to_port(ports[0], field + ".boxes"), to_port(ports[1], field + ".scores"), optional_port(2, "objectness"),
          optional_port(3, "extra"), optional_port(4, "sizes")};
}

op::Quantization to_quantization(py::handle value, const std::string &field) {
  const py::tuple entry = to_tuple(value, field, "a Quantization or a tuple (dequant_scale, zero_point)");
  if (entry.size() != 2) {
    raise_error(ErrorCode::InvalidParameter, field,
                field + " has " + std::to_string(entry.size()) + " entries; it is (dequant_scale, zero_point)");
  }
  return {to_float(entry[0], field + ".dequant_scale"), to_int64(entry[1], field + ".zero_point")};
}

void set_heads(op::Params &params, py::handle value, const std::string &field) {
  for (const py::handle head : to_tuple(value, field, "a list of heads")) {
    params.heads.push_back(to_head(head, field + '[' + std::to_string(params.heads.size()) + ']'));
  }
}

void set_quantization(op::Params &params, py::handle value, const std::string &field) {
  if (PyMapping_Check(value.ptr()) == 0 || !py::hasattr(value, "items")) {
    throw py::type_error(field + " must be a mapping of port to Quantization, not " + type_name(value));
  }
  for (const py::handle item : value.attr("items")()) {
    const py::tuple pair = to_tuple(item, field, "a mapping of port to Quantization, whose items are pairs");
    if (pair.size() != 2) {
      raise_error(ErrorCode::InvalidParameter, field,
                  field + " has an item of " + std::to_string(pair.size()) + " parts; it is (port, Quantization)");
    }
    const std::string place = field + '[' + py::str(pair[0]).cast<std::string>() + ']';
    params.quantization.insert_or_assign(to_port(pair[0], place), to_quantization(pair[1], place));
  }
}

void set_anchors(op::Params &params, py::handle value, const std::string &field) {
  for (const py::handle head : to_tuple(value, field, "a list with one list of (width, height) for each head")) {
    const std::string head_field = field + '[' + std::to_string(params.anchors.size()) + ']';
    std::vector<op::Anchor> anchors;
    for (const py::handle anchor : to_tuple(head, head_field, "a list of (width, height)")) {
      const std::string place = head_field + '[' + std::to_string(anchors.size()) + ']';
      const py::tuple sides = to_tuple(anchor, place, "an Anchor or a tuple (width, height)");
      if (sides.size() != 2) {
        raise_error(ErrorCode::InvalidParameter, place,
                    place + " has " + std::to_string(sides.size()) + " entries; an anchor is (width, height)");
      }
      anchors.push_back({to_float(sides[0], place + ".width"), to_float(sides[1], place + ".height")});
    }
    params.anchors.push_back(std::move(anchors));
  }
}

bool to_bool(py::handle value, const std::string &field) {
  if (value.ptr() == Py_True || value.ptr() == Py_False) {
    return value.ptr() == Py_True;
  }
  if (type_name(value).find("bool") != std::string::npos) {  // numpy.bool, which NumPy 1 calls bool_
    return py::bool_(py::reinterpret_borrow<py::object>(value));
  }
  throw py::type_error(field + " must be True or False, not " + type_name(value));
}

/// One keyword argument of Plan. `optional` ones may also be None, which leaves the default.
struct Argument {
  const char *name;
  bool required;
  bool optional;
  void (*set)(op::Params &params, py::handle value, const std::string &field);
};

constexpr Argument arguments_of_plan[] = {
    {"profile", true, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.profile = to_enum<op::Profile>(v, f, "Profile"); }},
    {"heads", true, false, set_heads},
    {"model_input_size", true, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.model_input_size = to_image_size(v, f); }},
    {"original_image_size", true, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.original_image_size = to_image_size(v, f); }},
    {"num_classes", true, false, [](op::Params &p, py::handle v, const std::string &f) { p.num_classes = to_int64(v, f); }},
    {"max_detections", true, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.max_detections = to_int64(v, f); }},
    {"detection_threshold", true, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.detection_threshold = to_float(v, f); }},
    {"nms_iou_threshold", true, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.nms_iou_threshold = to_float(v, f); }},
    {"task", false, false, [](op::Params &p, py::handle v, const std::string &f) { p.task = to_enum<op::Task>(v, f, "Task"); }},
    {"mask_prototype", false, true,
     [](op::Params &p, py::handle v, const std::string &f) { p.mask_prototype = to_port(v, f); }},
    {"score_activation", false, true,
     [](op::Params &p, py::handle v, const std::string &f) {
       p.score_activation = to_enum<op::ScoreActivation>(v, f, "ScoreActivation");
     }},
    {"quantization", false, true, set_quantization},
    {"num_keypoints", false, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.num_keypoints = to_int64(v, f); }},
    {"anchors", false, true, set_anchors},
    {"resize", false, true, [](op::Params &p, py::handle v, const std::string &f) { p.resize = to_resize_policy(v, f); }},
    {"mask_encoding", false, false,
     [](op::Params &p, py::handle v, const std::string &f) {
       p.mask_encoding = to_enum<op::MaskEncoding>(v, f, "MaskEncoding");
     }},
    {"class_agnostic", false, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.class_agnostic = to_bool(v, f); }},
    {"box_unit", false, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.box_unit = to_enum<op::BoxUnit>(v, f, "BoxUnit"); }},
    {"anchor_scale", false, false, [](op::Params &p, py::handle v, const std::string &f) { p.anchor_scale = to_float(v, f); }},
    {"box_activation", false, false,
     [](op::Params &p, py::handle v, const std::string &f) {
       p.box_activation = to_enum<op::ScoreActivation>(v, f, "ScoreActivation");
     }},
    {"peak_window", false, false, [](op::Params &p, py::handle v, const std::string &f) { p.peak_window = to_int64(v, f); }},
    {"suppression_corners", false, false,
     [](op::Params &p, py::handle v, const std::string &f) {
       p.suppression_corners = to_enum<op::SuppressionCorners>(v, f, "SuppressionCorners");
     }},
    {"one_class_uses_objectness", false, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.one_class_uses_objectness = to_bool(v, f); }},
    {"keypoint_unit", false, true,
     [](op::Params &p, py::handle v, const std::string &f) { p.keypoint_unit = to_enum<op::BoxUnit>(v, f, "BoxUnit"); }},
    {"keypoint_dims", false, false,
     [](op::Params &p, py::handle v, const std::string &f) { p.keypoint_dims = to_int64(v, f); }},
};

}  // namespace

std::string type_name(py::handle value) { return Py_TYPE(value.ptr())->tp_name; }

std::int64_t to_int64(py::handle value, const std::string &field) {
  const auto number = py::reinterpret_steal<py::object>(PyNumber_Index(value.ptr()));
  if (!number) {
    py::error_already_set raised;
    if (!raised.matches(PyExc_TypeError)) {
      throw raised;
    }
    throw py::type_error(field + " must be an integer, not " + type_name(value));
  }
  int overflow = 0;
  const long long result = PyLong_AsLongLongAndOverflow(number.ptr(), &overflow);
  if (overflow != 0) {
    raise_error(ErrorCode::InvalidParameter, field,
                field + (overflow > 0 ? " is larger than 2^63 - 1" : " is smaller than -2^63"));
  }
  return result;
}

std::size_t to_port(py::handle value, const std::string &field) {
  const std::int64_t port = to_int64(value, field);
  if (port < 0) {
    raise_error(ErrorCode::InvalidParameter, field,
                field + " is " + std::to_string(port) + "; ports are indexes into inputs, counted from 0");
  }
  return static_cast<std::size_t>(port);
}

double to_double(py::handle value, const std::string &field) {
  const double result = PyFloat_AsDouble(value.ptr());
  if (result == -1.0 && PyErr_Occurred() != nullptr) {
    py::error_already_set raised;
    if (raised.matches(PyExc_OverflowError)) {
      raise_error(ErrorCode::InvalidParameter, field, field + " is beyond every floating-point number");
    }
    if (raised.matches(PyExc_TypeError)) {
      throw py::type_error(field + " must be a number, not " + type_name(value));
    }
    throw raised;
  }
  return result;
}

float to_float(py::handle value, const std::string &field) {
  const double number = to_double(value, field);
  // A conversion out of range would be undefined; the largest double that rounds to a finite float is a little above FLT_MAX.
  constexpr double beyond = 0x1.ffffffp127;
  if (std::abs(number) >= beyond) {
    return std::copysign(std::numeric_limits<float>::infinity(), number < 0 ? -1.0F : 1.0F);
  }
  return static_cast<float>(number);
}

op::ImageSize to_image_size(py::handle value, const std::string &field) {
  const py::tuple sides = to_tuple(value, field, "a tuple (width, height)");
  if (sides.size() != 2) {
    raise_error(ErrorCode::InvalidParameter, field,
                field + " has " + std::to_string(sides.size()) + " entries; it is (width, height)");
  }
  return {to_int64(sides[0], field), to_int64(sides[1], field)};
}

op::Affine to_affine(py::handle value, const std::string &field) {
  const py::tuple numbers = to_tuple(value, field, "an Affine or a tuple (scale_x, offset_x, scale_y, offset_y)");
  if (numbers.size() != 4) {
    raise_error(ErrorCode::InvalidParameter, field,
                field + " has " + std::to_string(numbers.size()) + " entries; it is (scale_x, offset_x, scale_y, offset_y)");
  }
  return {to_float(numbers[0], field), to_float(numbers[1], field), to_float(numbers[2], field), to_float(numbers[3], field)};
}

op::ResizePolicy to_resize_policy(py::handle value, const std::string &field) {
  py::detail::make_caster<ResizeName> caster;
  if (caster.load(value, false)) {
    switch (py::detail::cast_op<ResizeName>(caster)) {
      case ResizeName::CenteredLetterbox: return op::CenteredLetterbox{};
      case ResizeName::TopLeftLetterbox: return op::TopLeftLetterbox{};
      case ResizeName::Stretch: return op::Stretch{};
    }
  }
  if (PySequence_Check(value.ptr()) == 0 || PyUnicode_Check(value.ptr()) != 0) {
    throw py::type_error(field + " must be a member of boxdecode.ResizePolicy or an Affine, not " + type_name(value));
  }
  return to_affine(value, field);
}

std::vector<TensorSpec> to_specs(py::handle value, const char *name) {
  std::vector<TensorSpec> specs;
  for (const py::handle spec : to_tuple(value, name, "a list of TensorSpec")) {
    if (!py::isinstance<TensorSpec>(spec)) {
      throw py::type_error(std::string(name) + '[' + std::to_string(specs.size()) + "] must be a TensorSpec, not " +
                           type_name(spec));
    }
    specs.push_back(spec.cast<TensorSpec>());
  }
  return specs;
}

op::Params to_params(const py::kwargs &arguments) {
  op::Params params;
  std::size_t used = 0;
  std::string missing;
  for (const Argument &argument : arguments_of_plan) {
    if (!arguments.contains(argument.name)) {
      if (argument.required) {
        missing += (missing.empty() ? "'" : ", '") + std::string(argument.name) + '\'';
      }
      continue;
    }
    ++used;
    const py::object value = arguments[argument.name];
    if (!(argument.optional && value.is_none())) {
      argument.set(params, value, "params." + std::string(argument.name));
    }
  }
  if (used != arguments.size()) {
    for (const auto &item : arguments) {
      const auto name = item.first.cast<std::string>();
      if (std::ranges::none_of(arguments_of_plan, [&](const Argument &known) { return name == known.name; })) {
        throw py::type_error("Plan() got an unexpected keyword argument '" + name + "'");
      }
    }
  }
  if (!missing.empty()) {
    throw py::type_error("Plan() is missing the keyword arguments " + missing);
  }
  return params;
}

py::object make_tuple_type(const char *name, const py::tuple &values) {
  return py::module_::import("boxdecode._types").attr(name)(*values);
}

}  // namespace boxdecode_python
