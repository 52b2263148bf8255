#pragma once

#include <cstddef>
#include <cstdint>
#include <variant>
#include <vector>

namespace simaai::kernels {

/// Element types. Int32 appears in outputs only; the other five may be inputs.
enum class DType { Int8, BFloat16, Int32, Float32, UInt8, Float16 };

/// Compact rows: H×W×C without padding, scalars little-endian.
struct Contiguous {
  bool operator==(const Contiguous &) const = default;
};

/// H×W×C with channel padding. One stride per dimension of the shape, in elements: the channel stride is 1, the W stride is
/// the physical channel count (at least C), the H stride is W times that, and every outer stride is the span of a frame.
/// The buffer covers H·W·physical C elements.
struct Strided {
  std::vector<std::int64_t> strides;
  bool operator==(const Strided &) const = default;
};

/// Compiler transport of an MLA in blocks of 16 channels. The tensor is cut into tiles of tile_h × tile_w × tile_c, stored in
/// the order C, H, W; tiles at an edge are shortened. Inside a tile the order is channel block, H, W, 16 lanes, and each
/// channel slice is padded to a multiple of 16 on its own. A BFloat16 stripe is 16 low bytes and then 16 high bytes.
struct MlaCBlocked {
  std::int64_t tile_h = 0;
  std::int64_t tile_w = 0;
  std::int64_t tile_c = 0;
  bool operator==(const MlaCBlocked &) const = default;
};

/// Pixel-major tiles of an MLA. It can be written down so that a tool can name it, and every request with it is refused.
struct MlaTiled {
  std::int64_t tile_h = 0;
  std::int64_t tile_w = 0;
  std::int64_t tile_c = 0;
  bool operator==(const MlaTiled &) const = default;
};

/// Compact C×H×W planes, as ONNX Runtime and PyTorch give them. The shape is still written H, W, C.
struct Planar {
  bool operator==(const Planar &) const = default;
};

/// How a logical H×W×C tensor lies in memory.
using Layout = std::variant<Contiguous, Strided, MlaCBlocked, MlaTiled, Planar>;

/// Sides of a tensor. Inputs: up to 6, the last three are H, W, C and all earlier ones are 1.
using Shape = std::vector<std::int64_t>;

/// What a tensor is: sides, element type, place of each element.
struct TensorSpec {
  Shape shape;
  DType dtype = DType::Float32;
  Layout layout = Contiguous{};
  bool operator==(const TensorSpec &) const = default;
};

/// Borrowed bytes to read. The caller keeps them alive until execute has returned.
struct ConstHostBuffer {
  const void *data = nullptr;
  std::size_t size_bytes = 0;
};

/// Borrowed bytes to write. The caller keeps them alive until execute has returned.
struct HostBuffer {
  void *data = nullptr;
  std::size_t size_bytes = 0;
};

}  // namespace simaai::kernels
