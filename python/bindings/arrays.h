#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include <simaai/kernels/tensor.h>

#include "common.h"

/// Python arrays as borrowed bytes.
/// In: the specs of a plan's ports, and the arrays of one call. Out: one buffer per port that points into the array's own
/// memory. Never: a copy, a cast, or a look at an element.
namespace boxdecode_python {

/// What one port takes, worked out once per plan so that a call only compares.
struct Port {
  simaai::kernels::TensorSpec spec;
  std::vector<py::ssize_t> sides;        ///< sides of an array for this port in memory order, those of 1 dropped
  std::vector<py::ssize_t> other_sides;  ///< inputs: the same in the other channel order, for the message
  bool flat_only = false;                ///< the bytes do not lie as an array of the logical shape does
  std::size_t required_bytes = 0;        ///< inputs: what one frame takes
};

/// Ports of the inputs or outputs of a plan.
[[nodiscard]] std::vector<Port> make_ports(std::span<const simaai::kernels::TensorSpec> specs, bool inputs);

/// Strong references that live as long as a call: another thread may change the caller's list while the GIL is released.
class References {
public:
  explicit References(std::size_t capacity) {
    if (capacity > inline_.size()) {
      more_ = std::make_unique<PyObject *[]>(capacity);
      objects_ = more_.get();
    }
  }
  ~References() {
    for (std::size_t i = 0; i < count_; ++i) {
      Py_DECREF(objects_[i]);
    }
  }
  References(const References &) = delete;
  References &operator=(const References &) = delete;

  /// Takes over one reference. At most `capacity` times.
  void keep(py::object object) noexcept { objects_[count_++] = object.release().ptr(); }

  [[nodiscard]] py::handle operator[](std::size_t index) const noexcept { return objects_[index]; }

private:
  std::array<PyObject *, 16> inline_;
  std::unique_ptr<PyObject *[]> more_;
  PyObject **objects_ = inline_.data();
  std::size_t count_ = 0;
};

/// The buffers of one call's inputs (ConstHostBuffer) or outputs (HostBuffer), in port order. Destroy it with the GIL held.
template <class Buffer>
class CallBuffers {
public:
  /// Raises InvalidBuffer at `inputs[p]` or `outputs[p]` for an array that does not fit its port.
  CallBuffers(const std::vector<Port> &ports, py::handle arrays);

  /// Raises InvalidBuffer at the port of an array that no longer lies where it did. Opening an array may run code of the caller
  /// (__iter__, __buffer__, __dlpack__), which may resize one that was opened before. Runs no such code itself.
  void confirm() const;

  [[nodiscard]] std::span<const Buffer> span() const noexcept { return {buffers_, count_}; }

private:
  References references_;
  std::array<Buffer, 16> inline_;
  std::unique_ptr<Buffer[]> more_;
  Buffer *buffers_ = inline_.data();
  std::size_t count_ = 0;
};

extern template class CallBuffers<simaai::kernels::ConstHostBuffer>;
extern template class CallBuffers<simaai::kernels::HostBuffer>;

/// The checks of type, shape and length for an input that is still in a file: `array` is a NumPy array of its type and shape
/// whose memory is not looked at. Raises InvalidBuffer at `inputs[p]`.
void check_stored(const std::vector<Port> &inputs, std::size_t port, py::handle array);

/// New NumPy arrays for the ports, contents undefined.
[[nodiscard]] py::list allocate_arrays(const std::vector<Port> &ports);

}  // namespace boxdecode_python
