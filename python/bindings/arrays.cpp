#include "arrays.h"

#include <algorithm>
#include <atomic>
#include <type_traits>

#include <pybind11/numpy.h>

namespace boxdecode_python {
namespace {

using simaai::kernels::ConstHostBuffer;
using simaai::kernels::DType;
using simaai::kernels::HostBuffer;
using simaai::kernels::TensorSpec;
namespace kernels = simaai::kernels;

/// Element types that some port takes, as Python sees them.
enum class Element { Int8, UInt8, UInt16, Int32, BFloat16, Float16, Float32, Other };

struct DLTensor;

/// An array of any provider, described without touching its elements.
struct ArrayFacts {
  void *data = nullptr;
  std::size_t size_bytes = 0;
  Element element = Element::Other;
  std::span<const py::ssize_t> shape;
  bool c_contiguous = false;
  bool read_only = false;
  const DLTensor *dlpack = nullptr;
};

// The memory of a DLPack capsule: https://dmlc.github.io/dlpack/latest/c_api.html
struct DLTensor {
  void *data;
  std::int32_t device_type;
  std::int32_t device_id;
  std::int32_t ndim;
  std::uint8_t code;
  std::uint8_t bits;
  std::uint16_t lanes;
  std::int64_t *shape;
  std::int64_t *strides;
  std::uint64_t byte_offset;
};
struct DLVersionedTensor {
  std::uint32_t major;
  std::uint32_t minor;
  void *manager;
  void (*deleter)(DLVersionedTensor *);
  std::uint64_t flags;
  DLTensor tensor;
};
constexpr std::uint32_t dlpack_major = 1;
constexpr long dlpack_cpu = 1;
constexpr long dlpack_cuda_host = 3;
constexpr std::size_t most_sides = 64;

const char *numpy_name(DType dtype) {
  switch (dtype) {
    case DType::Int8: return "int8";
    case DType::BFloat16: return "uint16 (raw bits) or ml_dtypes.bfloat16";
    case DType::Int32: return "int32";
    case DType::Float32: return "float32";
    case DType::UInt8: return "uint8";
    case DType::Float16: return "float16";
  }
  return "";
}

const char *dtype_name(DType dtype) {
  switch (dtype) {
    case DType::Int8: return "Int8";
    case DType::BFloat16: return "BFloat16";
    case DType::Int32: return "Int32";
    case DType::Float32: return "Float32";
    case DType::UInt8: return "UInt8";
    case DType::Float16: return "Float16";
  }
  return "";
}

std::size_t element_bytes(DType dtype) noexcept {
  switch (dtype) {
    case DType::Int8:
    case DType::UInt8: return 1;
    case DType::BFloat16:
    case DType::Float16: return 2;
    case DType::Int32:
    case DType::Float32: return 4;
  }
  return 1;
}

bool element_fits(Element element, DType dtype) noexcept {
  switch (dtype) {
    case DType::Int8: return element == Element::Int8;
    case DType::BFloat16: return element == Element::BFloat16 || element == Element::UInt16;
    case DType::Int32: return element == Element::Int32;
    case DType::Float32: return element == Element::Float32;
    case DType::UInt8: return element == Element::UInt8;
    case DType::Float16: return element == Element::Float16;
  }
  return false;
}

std::string shape_text(std::span<const py::ssize_t> shape) {
  std::string text = "(";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text.append(i == 0 ? "" : ", ").append(std::to_string(shape[i]));
  }
  return text.append(shape.size() == 1 ? ",)" : ")");
}

/// Text of the Python exception that is set, which is cleared. Exceptions that no argument causes keep travelling.
std::string take_exception_text() {
  py::error_already_set raised;
  if (raised.matches(PyExc_MemoryError) || !raised.matches(PyExc_Exception)) {
    throw raised;
  }
  return py::str(raised.value()).cast<std::string>();
}

Element element_of(char kind, py::ssize_t item_bytes) noexcept {
  switch (kind) {
    case 'i': return item_bytes == 1 ? Element::Int8 : item_bytes == 4 ? Element::Int32 : Element::Other;
    case 'u': return item_bytes == 1 ? Element::UInt8 : item_bytes == 2 ? Element::UInt16 : Element::Other;
    case 'f': return item_bytes == 2 ? Element::Float16 : item_bytes == 4 ? Element::Float32 : Element::Other;
    default: return Element::Other;
  }
}

/// ml_dtypes.bfloat16 is a type that a package registers with NumPy while the process runs, so only its name tells it.
bool is_bfloat16(const py::dtype &dtype) {
  static std::atomic<int> known_number{-1};
  if (dtype.itemsize() != 2) {
    return false;
  }
  const int number = dtype.num();
  if (number == known_number.load(std::memory_order_relaxed)) {
    return true;
  }
  constexpr int first_registered_number = 256;
  if (number < first_registered_number || py::str(dtype.attr("name")).cast<std::string_view>() != "bfloat16") {
    return false;
  }
  known_number.store(number, std::memory_order_relaxed);
  return true;
}

ArrayFacts facts_of_numpy(const py::array &array) {
  const py::dtype dtype = array.dtype();
  ArrayFacts facts;
  facts.data = const_cast<void *>(array.data());
  facts.size_bytes = static_cast<std::size_t>(array.nbytes());
  const char order = dtype.byteorder();
  if (order == '=' || order == '|') {
    facts.element = element_of(dtype.kind(), dtype.itemsize());
  }
  if (facts.element == Element::Other && is_bfloat16(dtype)) {
    facts.element = Element::BFloat16;
  }
  facts.shape = {array.shape(), static_cast<std::size_t>(array.ndim())};
  facts.c_contiguous = (array.flags() & py::array::c_style) != 0;
  facts.read_only = !array.writeable();
  return facts;
}

Element element_of_format(const char *format, py::ssize_t item_bytes) noexcept {
  if (format == nullptr) {
    return element_of('u', item_bytes);
  }
  if (*format == '@' || *format == '=' || *format == '<') {
    ++format;
  }
  if (format[0] == '\0' || format[1] != '\0') {
    return Element::Other;
  }
  switch (format[0]) {
    case 'c': return element_of('u', item_bytes);
    case 'b':
    case 'h':
    case 'i':
    case 'l':
    case 'q': return element_of('i', item_bytes);
    case 'B':
    case 'H':
    case 'I':
    case 'L':
    case 'Q': return element_of('u', item_bytes);
    case 'e':
    case 'f':
    case 'd': return element_of('f', item_bytes);
    default: return Element::Other;
  }
}

ArrayFacts facts_of_buffer(const Py_buffer &view) {
  ArrayFacts facts;
  facts.data = view.buf;
  facts.size_bytes = static_cast<std::size_t>(view.len);
  facts.element = element_of_format(view.format, view.itemsize);
  facts.shape = {view.shape, static_cast<std::size_t>(view.ndim)};
  facts.c_contiguous = PyBuffer_IsContiguous(&view, 'C') != 0;
  facts.read_only = view.readonly != 0;
  return facts;
}

/// Opens a DLPack capsule; `shape` is the memory for the sides.
ArrayFacts facts_of_dlpack(const DLTensor &tensor, std::array<py::ssize_t, most_sides> &shape) {
  ArrayFacts facts;
  facts.dlpack = &tensor;
  const auto sides = static_cast<std::size_t>(std::clamp<std::int32_t>(tensor.ndim, 0, most_sides));
  std::int64_t elements = 1;
  facts.c_contiguous = true;
  for (std::size_t i = sides; i-- > 0;) {
    shape[i] = static_cast<py::ssize_t>(tensor.shape[i]);
    if (tensor.strides != nullptr && tensor.shape[i] != 1 && tensor.strides[i] != elements) {
      facts.c_contiguous = false;
    }
    elements *= tensor.shape[i];
  }
  const std::size_t item_bytes = std::size_t{tensor.bits} * tensor.lanes / 8;
  facts.shape = {shape.data(), sides};
  facts.data = static_cast<char *>(tensor.data) + tensor.byte_offset;
  facts.size_bytes = static_cast<std::size_t>(elements) * item_bytes;
  if (tensor.lanes == 1) {
    const std::array<char, 3> kinds{'i', 'u', 'f'};
    constexpr std::uint8_t bfloat = 4;
    if (tensor.code < kinds.size()) {
      facts.element = element_of(kinds[tensor.code], static_cast<py::ssize_t>(item_bytes));
    } else if (tensor.code == bfloat && item_bytes == 2) {
      facts.element = Element::BFloat16;
    }
  }
  return facts;
}

/// `inputs[p]` or `outputs[p]`, made only when something is wrong.
struct Place {
  const char *list;
  std::size_t port;
  [[nodiscard]] std::string text() const { return std::string(list) + '[' + std::to_string(port) + ']'; }
  [[noreturn]] void refuse(const std::string &rest) const { raise_error(ErrorCode::InvalidBuffer, text(), text() + rest); }
};

std::string dlpack_element_text(const DLTensor &tensor) {
  constexpr std::array<const char *, 7> kinds{"int", "uint", "float", "opaque", "bfloat", "complex", "bool"};
  std::string text = tensor.code < kinds.size() ? kinds[tensor.code] : "DLPack type " + std::to_string(tensor.code) + " of ";
  text += std::to_string(tensor.bits);
  return tensor.lanes == 1 ? text : text + 'x' + std::to_string(tensor.lanes);
}

/// What the array's own library calls its type.
std::string element_text(py::handle array, const ArrayFacts &facts) {
  try {
    return py::str(array.attr("dtype")).cast<std::string>();
  } catch (py::error_already_set &) {
  }
  if (facts.dlpack != nullptr) {
    return dlpack_element_text(*facts.dlpack);
  }
  try {
    return py::str(py::memoryview(py::reinterpret_borrow<py::object>(array)).attr("format")).cast<std::string>();
  } catch (py::error_already_set &) {
    return "unknown";
  }
}

bool sides_fit(std::span<const py::ssize_t> shape, const std::vector<py::ssize_t> &sides) noexcept {
  std::size_t matched = 0;
  for (const py::ssize_t side : shape) {
    if (side == 1) {
      continue;
    }
    if (matched == sides.size() || sides[matched] != side) {
      return false;
    }
    ++matched;
  }
  return matched == sides.size();
}

[[noreturn]] void refuse_element(const Place &place, const Port &port, py::handle array, const ArrayFacts &facts) {
  const DType dtype = port.spec.dtype;
  std::string text = " is an array of " + element_text(array, facts) + ", but the port is " + dtype_name(dtype) + ": pass " +
                     numpy_name(dtype) + " or a flat uint8 byte buffer; nothing is cast";
  if (dtype == DType::BFloat16) {
    text += " (16-bit words can be reinterpreted with array.view(numpy.uint16))";
  }
  place.refuse(text);
}

[[noreturn]] void refuse_shape(const Place &place, const Port &port, std::span<const py::ssize_t> shape) {
  std::string text = " has the shape " + shape_text(shape);
  if (port.flat_only) {
    place.refuse(text + ", but the port's layout (" +
                 (std::holds_alternative<kernels::Strided>(port.spec.layout) ? "Strided" : "MlaCBlocked") +
                 ") is not that of an array of the logical shape: pass a flat (1-D) array or byte buffer that covers "
                 "the padding too, for example the raw buffer or array.reshape(-1)");
  }
  const bool planar = std::holds_alternative<kernels::Planar>(port.spec.layout);
  text += ", but the port takes " + shape_text(port.sides) +
          (port.other_sides.empty() ? ""
           : planar                 ? " (Planar: C, H, W)"
                                    : " (H, W, C)") +
          ", dimensions of 1 aside";
  if (!port.other_sides.empty() && sides_fit(shape, port.other_sides)) {
    text += planar ? "; it looks like H, W, C (NHWC): declare the port with layout Contiguous(), or transpose and copy"
                   : "; it looks like C, H, W (NCHW): declare the port with layout Planar(), or transpose and copy";
  }
  place.refuse(text);
}

/// A flat array may be longer than its port, but a whole number of frames is a batch, of which only the first would be read.
/// Ports smaller than a cache line in buffers of whole cache lines are excepted: padding and shared blocks look like that.
void refuse_several_frames(const Place &place, const Port &port, const ArrayFacts &facts, bool byte_buffer) {
  constexpr std::size_t line_bytes = 64;
  const std::size_t required = port.required_bytes;
  if (required == 0 || facts.size_bytes == required || facts.size_bytes == 0 || facts.size_bytes % required != 0 ||
      (required < line_bytes && facts.size_bytes % line_bytes == 0)) {
    return;
  }
  const std::size_t item_bytes = byte_buffer ? 1 : element_bytes(port.spec.dtype);
  place.refuse(" holds exactly " + std::to_string(facts.size_bytes / required) + " times the " + std::to_string(required) +
               " bytes of its port, and only the first part would be read: pass one frame at a time, "
               "array[i * n : (i + 1) * n] with n = " +
               std::to_string(required / item_bytes) + ", or array[:n] where something else follows the frame");
}

void check_fits(const Place &place, const Port &port, py::handle array, const ArrayFacts &facts, bool writable) {
  const bool byte_buffer = facts.element == Element::UInt8 && facts.shape.size() == 1;
  if (!byte_buffer) {
    if (!element_fits(facts.element, port.spec.dtype)) {
      refuse_element(place, port, array, facts);
    }
    if (facts.shape.size() != 1 && (port.flat_only || !sides_fit(facts.shape, port.sides))) {
      refuse_shape(place, port, facts.shape);
    }
  }
  if (!facts.c_contiguous) {
    place.refuse(writable ? " is not C-contiguous: pass a whole array, such as allocate_outputs() gives"
                          : " is not C-contiguous, and nothing is copied here: pass numpy.ascontiguousarray(array), or "
                            "describe the memory with the port's layout (Planar, Strided)");
  }
  if (writable && facts.read_only) {
    place.refuse(" is read-only: pass a writable array, such as allocate_outputs() gives");
  }
  if (facts.shape.size() == 1) {
    refuse_several_frames(place, port, facts, byte_buffer);
  }
}

/// numpy.ma.MaskedArray is a NumPy array whose mask lies beside its memory. It exists once numpy.ma is imported.
bool is_masked(const py::array &array) {
  if (Py_TYPE(array.ptr()) == py::detail::npy_api::get().PyArray_Type_) {
    return false;
  }
  const auto module = py::reinterpret_steal<py::object>(PyImport_GetModule(py::str("numpy.ma").ptr()));
  return module && py::isinstance(array, module.attr("MaskedArray"));
}

/// The capsule of `array`. Only exporters that are asked for DLPack 1 can say that their memory is read-only; older ones do
/// not know the question.
py::object dlpack_capsule(py::handle array) {
  try {
    return array.attr("__dlpack__")(py::arg("max_version") = py::make_tuple(dlpack_major, 0));
  } catch (py::error_already_set &raised) {
    if (!raised.matches(PyExc_TypeError)) {
      throw;
    }
  }
  return array.attr("__dlpack__")();
}

/// Describes the array, checks it, and keeps what must stay alive.
ArrayFacts open_array(const Place &place, const Port &port, py::object array, bool writable, References &references) {
  if (py::isinstance<py::array>(array)) {
    if (is_masked(py::reinterpret_borrow<py::array>(array))) {
      place.refuse(std::string(" is a numpy.ma.MaskedArray") +
                   (writable ? ", whose mask would stay: pass array.data"
                             : ", whose mask would be ignored: pass array.filled(value), or array.data for all elements"));
    }
    const ArrayFacts facts = facts_of_numpy(py::reinterpret_borrow<py::array>(array));
    check_fits(place, port, array, facts, writable);
    references.keep(std::move(array));
    return facts;
  }
  std::string reason;
  if (PyObject_CheckBuffer(array.ptr()) != 0) {
    if (auto view = py::reinterpret_steal<py::object>(PyMemoryView_FromObject(array.ptr()))) {
      const ArrayFacts facts = facts_of_buffer(*PyMemoryView_GET_BUFFER(view.ptr()));
      check_fits(place, port, array, facts, writable);
      references.keep(std::move(view));
      return facts;
    }
    reason = take_exception_text();
  }
  if (writable) {
    place.refuse(" is a " + type_name(array) + (reason.empty() ? "" : " (" + reason + ")") +
                 ": pass a NumPy array or another writable buffer, such as allocate_outputs() gives");
  }
  if (!py::hasattr(array, "__dlpack__")) {
    place.refuse(" is a " + type_name(array) + (reason.empty() ? "" : " (" + reason + ")") +
                 ": pass a NumPy array or another object with the buffer protocol or __dlpack__");
  }
  py::object capsule;
  try {
    const py::tuple device = array.attr("__dlpack_device__")();
    const long device_type = py::int_(device[0]).cast<long>();
    if (device_type != dlpack_cpu && device_type != dlpack_cuda_host) {
      place.refuse(" is a " + type_name(array) + " on another device: copy it to the CPU first");
    }
    capsule = dlpack_capsule(array);
  } catch (py::error_already_set &raised) {
    if (raised.matches(PyExc_MemoryError) || !raised.matches(PyExc_Exception)) {
      throw;
    }
    place.refuse(" is a " + type_name(array) + " that cannot be exported: " + py::str(raised.value()).cast<std::string>());
  }
  const DLTensor *tensor = nullptr;
  if (PyCapsule_IsValid(capsule.ptr(), "dltensor_versioned") != 0) {
    const auto *versioned = static_cast<DLVersionedTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor_versioned"));
    if (versioned->major != dlpack_major) {
      place.refuse(" is a " + type_name(array) + " in version " + std::to_string(versioned->major) +
                   " of DLPack: pass a NumPy array");
    }
    tensor = &versioned->tensor;
  } else {
    tensor = static_cast<DLTensor *>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  }
  if (tensor == nullptr) {
    place.refuse(" is a " + type_name(array) + " that cannot be exported: " + take_exception_text());
  }
  std::array<py::ssize_t, most_sides> shape;
  ArrayFacts facts = facts_of_dlpack(*tensor, shape);
  check_fits(place, port, array, facts, writable);
  facts.shape = {};
  references.keep(std::move(capsule));
  return facts;
}

bool is_array_like(py::handle object) {
  return py::isinstance<py::array>(object) || PyObject_CheckBuffer(object.ptr()) != 0 || py::hasattr(object, "__dlpack__");
}

}  // namespace

std::vector<Port> make_ports(std::span<const TensorSpec> specs, bool inputs) {
  std::vector<Port> ports;
  ports.reserve(specs.size());
  for (const TensorSpec &spec : specs) {
    Port port{spec, {}, {}, false};
    const auto append = [&spec](std::vector<py::ssize_t> &sides, std::size_t axis) {
      if (spec.shape[axis] != 1) {
        sides.push_back(static_cast<py::ssize_t>(spec.shape[axis]));
      }
    };
    const std::size_t rank = spec.shape.size();
    std::vector<py::ssize_t> row_major;
    for (std::size_t axis = 0; axis < rank; ++axis) {
      append(row_major, axis);
    }
    if (inputs && rank >= 3) {
      std::vector<py::ssize_t> planes;
      append(planes, rank - 1);
      append(planes, rank - 3);
      append(planes, rank - 2);
      const bool planar = std::holds_alternative<kernels::Planar>(spec.layout);
      port.sides = planar ? planes : row_major;
      port.other_sides = planar ? row_major : planes;
      port.flat_only = !planar && !std::holds_alternative<kernels::Contiguous>(spec.layout);
    } else {
      port.sides = row_major;
    }
    ports.push_back(std::move(port));
  }
  return ports;
}

template <class Buffer>
CallBuffers<Buffer>::CallBuffers(const std::vector<Port> &ports, py::handle arrays) : references_(ports.size()) {
  constexpr bool writable = std::is_same_v<Buffer, HostBuffer>;
  constexpr const char *list = writable ? "outputs" : "inputs";
  if (ports.size() > inline_.size()) {
    more_ = std::make_unique<Buffer[]>(ports.size());
    buffers_ = more_.get();
  }
  const auto open = [&](std::size_t port, py::object array) {
    const ArrayFacts facts = open_array({list, port}, ports[port], std::move(array), writable, references_);
    buffers_[port] = Buffer{facts.data, facts.size_bytes};
  };

  py::object sequence = py::reinterpret_borrow<py::object>(arrays);
  if (!PyList_Check(arrays.ptr()) && !PyTuple_Check(arrays.ptr())) {
    if (is_array_like(arrays)) {
      if (ports.size() != 1) {
        raise_error(ErrorCode::InvalidBuffer, list,
                    std::string(list) + " is one " + type_name(arrays) + ", but the plan has " + std::to_string(ports.size()) +
                        " ports: pass a list with one array for each");
      }
      open(0, std::move(sequence));
      count_ = 1;
      return;
    }
    sequence = py::reinterpret_steal<py::object>(PySequence_Tuple(arrays.ptr()));
    if (!sequence) {
      const std::string reason = take_exception_text();
      raise_error(ErrorCode::InvalidBuffer, list,
                  std::string(list) + " is a " + type_name(arrays) + ": pass a list of arrays in port order");
    }
  }
  const auto count = static_cast<std::size_t>(PySequence_Size(sequence.ptr()));
  if (count != ports.size()) {
    raise_error(ErrorCode::InvalidBuffer, list,
                std::string(list) + " has " + std::to_string(count) + " arrays; the plan takes " +
                    std::to_string(ports.size()) + ", in port order");
  }
  for (std::size_t port = 0; port < count; ++port) {
    auto array = py::reinterpret_steal<py::object>(PySequence_GetItem(sequence.ptr(), static_cast<py::ssize_t>(port)));
    if (!array) {
      throw py::error_already_set();
    }
    open(port, std::move(array));
  }
  count_ = count;
}

template <class Buffer>
void CallBuffers<Buffer>::confirm() const {
  for (std::size_t port = 0; port < count_; ++port) {
    const py::handle array = references_[port];
    if (!py::isinstance<py::array>(array)) {
      continue;  // an export, which holds its memory
    }
    const auto now = py::reinterpret_borrow<py::array>(array);
    if (now.data() != buffers_[port].data || static_cast<std::size_t>(now.nbytes()) != buffers_[port].size_bytes) {
      constexpr const char *list = std::is_same_v<Buffer, HostBuffer> ? "outputs" : "inputs";
      Place{list, port}.refuse(" was resized while the arguments were read: leave it alone until the call returns");
    }
  }
}

template class CallBuffers<ConstHostBuffer>;
template class CallBuffers<HostBuffer>;

void check_stored(const std::vector<Port> &inputs, std::size_t port, py::handle array) {
  ArrayFacts facts = facts_of_numpy(py::reinterpret_borrow<py::array>(array));
  facts.c_contiguous = true;
  check_fits({"inputs", port}, inputs[port], array, facts, false);
}

py::list allocate_arrays(const std::vector<Port> &ports) {
  py::list arrays(ports.size());
  for (std::size_t i = 0; i < ports.size(); ++i) {
    const TensorSpec &spec = ports[i].spec;
    const std::vector<py::ssize_t> shape(spec.shape.begin(), spec.shape.end());
    switch (spec.dtype) {
      case DType::Int8: arrays[i] = py::array_t<std::int8_t>(shape); break;
      case DType::Int32: arrays[i] = py::array_t<std::int32_t>(shape); break;
      case DType::Float32: arrays[i] = py::array_t<float>(shape); break;
      case DType::UInt8: arrays[i] = py::array_t<std::uint8_t>(shape); break;
      case DType::BFloat16:
      case DType::Float16: arrays[i] = py::array_t<std::uint16_t>(shape); break;
    }
  }
  return arrays;
}

}  // namespace boxdecode_python
