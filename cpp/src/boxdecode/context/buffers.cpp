#include "boxdecode/context/buffers.h"

#include "boxdecode/check/text.h"
#include "operator/byte_range.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::byte_range;
using simaai::kernels::detail::ByteRange;
using simaai::kernels::detail::share_bytes;

std::optional<Error> check_one(const char *list, std::size_t port, const void *data, std::size_t size, std::size_t required,
                               std::size_t alignment) {
  const auto refuse = [&](const std::string &message) {
    return Error{ErrorCode::InvalidBuffer, path(list, port), path(list, port) + message};
  };
  if (data == nullptr) {
    return refuse(" is null; it must cover " + text(required) + " bytes");
  }
  if (size < required) {
    return refuse(" has " + text(size) + " bytes; it must cover " + text(required));
  }
  const ByteRange range = byte_range(data, size);
  if (!range.aligned(alignment)) {
    return refuse(" is not aligned to " + text(alignment) + " bytes, the size of its scalars");
  }
  if (!range.addressable()) {
    return refuse(" reaches beyond the address space: its size of " + text(size) + " bytes cannot be right");
  }
  return std::nullopt;
}

std::optional<Error> check_count(const char *list, std::size_t seen, std::size_t wanted) {
  if (seen == wanted) {
    return std::nullopt;
  }
  return Error{ErrorCode::InvalidBuffer, list,
               std::string("the call has ") + text(seen) + " " + list + "; the plan has " + text(wanted)};
}

}  // namespace

std::optional<Error> check_buffers(const PlanState &plan, std::span<const ConstHostBuffer> inputs,
                                   std::span<const HostBuffer> outputs) {
  std::optional<Error> error = check_count("inputs", inputs.size(), plan.ports.size());
  if (!error) {
    error = check_count("outputs", outputs.size(), plan.outputs.size());
  }
  for (std::size_t port = 0; !error && port < inputs.size(); ++port) {
    const Reader &reader = plan.ports[port].reader;
    error = check_one("inputs", port, inputs[port].data, inputs[port].size_bytes, reader.required_bytes, reader.alignment);
  }
  for (std::size_t port = 0; !error && port < outputs.size(); ++port) {
    const OutputPlan &output = plan.outputs[port];
    error = check_one("outputs", port, outputs[port].data, outputs[port].size_bytes, output.bytes, output.alignment);
  }
  for (std::size_t port = 0; !error && port < outputs.size(); ++port) {
    const ByteRange written = byte_range(outputs[port].data, plan.outputs[port].bytes);
    const auto refuse = [&](const std::string &other) {
      return Error{ErrorCode::BufferOverlap, path("outputs", port),
                   path("outputs", port) + " shares bytes with " + other +
                       "; outputs must lie apart from inputs and each other"};
    };
    for (std::size_t other = 0; !error && other < port; ++other) {
      if (share_bytes(written, byte_range(outputs[other].data, plan.outputs[other].bytes))) {
        error = refuse(path("outputs", other));
      }
    }
    for (std::size_t other = 0; !error && other < inputs.size(); ++other) {
      if (share_bytes(written, byte_range(inputs[other].data, plan.ports[other].reader.required_bytes))) {
        error = refuse(path("inputs", other));
      }
    }
  }
  return error;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
