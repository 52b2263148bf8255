#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <simaai/kernels/ops/boxdecode.h>

#include "support/guarded_buffer.h"

/// Requests and frames for tests that look at the lifecycle, not at values: those are compared with the NumPy reference.
namespace simaai::kernels::test_support {

/// A request that owns what it names.
struct OwnedRequest {
  std::string name;
  std::vector<TensorSpec> inputs;
  std::vector<TensorSpec> outputs;
  ops::boxdecode::Params params;

  [[nodiscard]] ops::boxdecode::Request view() const { return {inputs, outputs, params}; }
};

/// One request for each way through the stages: byte and float scores, every layout, combined heads, anchors, masks,
/// keypoints, softmax, no suppression.
[[nodiscard]] std::vector<OwnedRequest> sample_requests();

/// How many cells of a frame have a score above the threshold.
enum class Fill { Empty, Some, Crowded };

/// Buffers for one call. Each ends at a page that may not be touched.
class Frame {
public:
  Frame(const OwnedRequest &request, const ops::boxdecode::Plan &plan, Fill fill, std::uint32_t seed);

  [[nodiscard]] std::vector<ConstHostBuffer> inputs() const;
  [[nodiscard]] std::vector<HostBuffer> outputs() const;
  /// Sets every output byte.
  void poison(std::uint8_t byte) const;
  [[nodiscard]] std::vector<std::uint8_t> output_bytes() const;
  /// Output 3.
  [[nodiscard]] std::int32_t count() const;

private:
  std::vector<std::unique_ptr<GuardedBuffer>> inputs_;
  std::vector<std::unique_ptr<GuardedBuffer>> outputs_;
};

/// The plan of a request that is right; throws std::runtime_error with the error's text otherwise.
[[nodiscard]] ops::boxdecode::Plan prepared(const OwnedRequest &request);

}  // namespace simaai::kernels::test_support
