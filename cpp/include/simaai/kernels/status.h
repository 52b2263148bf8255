#pragma once

#include <optional>
#include <string>
#include <utility>

namespace simaai::kernels {

/// What kind of thing is wrong. The field of an Error says where.
enum class ErrorCode {
  InvalidParameter,     ///< a parameter's value, a port that nobody uses or that two roles share
  InvalidTensor,        ///< rank, sides, dtype, grid, channels, or an output's shape
  UnsupportedLayout,    ///< strides, tiles, channel padding, or a dtype that the layout does not take
  UnsupportedRecipe,    ///< a profile without the task, or heads that are no supported signature
  InvalidQuantization,  ///< an entry that is missing, superfluous or out of range
  InvalidBuffer,        ///< count, null, size, alignment or address range of a buffer in execute
  BufferOverlap,        ///< an output shares bytes with an input or another output
  ContextMismatch,      ///< the context or the image geometry was made from another plan
  ContextBusy,          ///< another call is using the context
  FloatEnvironment,     ///< rounding, flush-to-zero or traps are not the IEEE default
  ResourceLimit,        ///< more bytes than a tensor or a context may have
};

/// An error that was found, with the place where it was found.
struct Error {
  ErrorCode code = ErrorCode::InvalidParameter;
  std::string field;    ///< path such as "params.quantization[3].dequant_scale"; empty for FloatEnvironment
  std::string message;  ///< where it is, what was seen, what would do
};

/// Success, or the Error that was found. An Error converts to a Status.
class [[nodiscard]] Status {
public:
  Status() noexcept = default;
  Status(Error error) : error_(std::move(error)) {}

  /// True on success.
  [[nodiscard]] bool ok() const noexcept { return !error_.has_value(); }
  [[nodiscard]] explicit operator bool() const noexcept { return ok(); }
  /// The error. Only valid when ok() is false.
  [[nodiscard]] const Error &error() const noexcept { return *error_; }

private:
  std::optional<Error> error_;
};

}  // namespace simaai::kernels
