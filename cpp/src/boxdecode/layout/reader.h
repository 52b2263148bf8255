#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

#include <simaai/kernels/tensor.h>

/// Where an element lives. In: a checked tensor specification. Out: addresses of lanes and stripes. Never: what a channel
/// means or what a value is worth.
namespace simaai::kernels::ops::boxdecode::detail {

[[nodiscard]] std::size_t element_bytes(DType dtype) noexcept;

/// The smallest multiple of 16 that is not below `channels`.
[[nodiscard]] constexpr std::int64_t align16(std::int64_t channels) noexcept { return (channels + 15) / 16 * 16; }

/// H, W and C of a tensor, the last three sides of its shape.
struct Extent {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
};

/// How the channels of one cell follow each other in memory; it decides which scan fits.
enum class Memory : std::uint8_t {
  Rows,     ///< contiguous
  Planes,   ///< cells are contiguous, channels are planes apart
  Stripes,  ///< blocks of 16 channels, cells of a tile one behind the other
};

/// A tile's part of the plane: cells [row, row + rows) × [column, column + columns).
struct SpatialTile {
  std::uint32_t row = 0;
  std::uint32_t column = 0;
  std::uint32_t rows = 0;
  std::uint32_t columns = 0;
};

/// The prepared layout of one port. Offsets are in bytes.
struct Reader {
  /// `count` raw elements of one cell, channels first, first + step, …: a pointer into the tensor where they are contiguous
  /// already, else into `scratch`, which holds `count` elements rounded up to a multiple of 16.
  const void *(*fetch)(const Reader &reader, const std::byte *base, std::uint32_t cell, std::uint32_t first, std::uint32_t step,
                       std::uint32_t count, void *scratch) = nullptr;

  Extent extent = {};
  Memory memory = Memory::Rows;
  std::size_t element_size = 0;
  std::size_t alignment = 1;
  std::size_t required_bytes = 0;
  // Rows and Planes: offset = cell·cell_step + channel·channel_step.
  std::size_t cell_step = 0;
  std::size_t channel_step = 0;
  // Stripes: edges of a whole tile, already no larger than the tensor.
  std::int64_t tile_h = 0;
  std::int64_t tile_w = 0;
  std::int64_t tile_c = 0;
  std::uint32_t run_cells = 0;       ///< of a whole tile, where tiles are whole rows of the only slice
  std::uint64_t run_reciprocal = 0;  ///< ⌊2^64 / run_cells⌋ + 1: the upper half of its product with a cell is the tile
};

inline constexpr std::uint32_t block_lanes = 16;

/// Blocks of 16 lanes of one cell, `step` bytes apart.
struct Blocks {
  const std::byte *first = nullptr;
  std::size_t step = 0;
};

/// Rows and Planes: where a channel of a cell is.
[[nodiscard]] inline const std::byte *address_of(const Reader &reader, const std::byte *base, std::uint32_t cell,
                                                 std::uint32_t channel) noexcept {
  return base + cell * reader.cell_step + channel * reader.channel_step;
}

/// Whether channels first, first + step, … are whole blocks of the only channel slice, which blocks_of_cell finds.
[[nodiscard]] constexpr bool are_blocks(const Reader &reader, std::uint32_t first, std::uint32_t step) noexcept {
  return reader.memory == Memory::Stripes && reader.tile_c == reader.extent.channels && first % 16 == 0 && step == 1;
}

/// Reads a byte of each cache line of `count` channels of a cell, in rows and in tiles of whole rows, to have them near when
/// they are wanted. Reads, because prefetch instructions had no effect on a virtual machine. With it a crowded frame in cold
/// caches (YOLOv8-640, INT8, 20 % above the threshold) takes 10.3 reads of its scores, without it 15.5.
void touch(const Reader &reader, const std::byte *base, std::uint32_t cell, std::uint32_t first, std::uint32_t count) noexcept;

/// Stripes of a tensor that is one channel slice: the blocks of a cell from `channel` on, a multiple of 16.
[[nodiscard]] Blocks blocks_of_cell(const Reader &reader, const std::byte *base, std::uint32_t cell,
                                    std::uint32_t channel) noexcept;

/// Prepares a reader. The specification must be admitted: sides in range, layout one that check/ lets through.
[[nodiscard]] Reader make_reader(const TensorSpec &spec);

/// Channels that the memory of a layout has room for: C, the padded C of Strided, or the sum of aligned slices.
[[nodiscard]] std::int64_t physical_channels(const TensorSpec &spec);

/// Bytes that a view must cover: element size · H · W · physical channels.
[[nodiscard]] std::int64_t required_bytes(const TensorSpec &spec);

/// Stripes: the tiles of the plane in memory order, numbered from 0; nothing when there is no tile of that number.
[[nodiscard]] std::optional<SpatialTile> spatial_tile(const Reader &reader, std::uint32_t number) noexcept;

/// Sixteen channels that lie side by side, for every cell of a spatial tile: those of cell r start at offset + r·16·element.
struct Stripe {
  std::size_t offset = 0;
  std::uint32_t first_channel = 0;  ///< of lane 0
  std::uint32_t channels = 0;       ///< lanes that are channels, the rest is padding
  std::uint32_t slice_end = 0;      ///< channel behind the last of the slice that the stripe belongs to
};

/// The stripe behind another one of the same slice, in a tile whose stripes have `bytes` bytes.
[[nodiscard]] constexpr Stripe next_stripe(const Stripe &stripe, std::size_t bytes) noexcept {
  const std::uint32_t first = stripe.first_channel + 16;
  return {stripe.offset + bytes, first, stripe.slice_end - first < 16 ? stripe.slice_end - first : 16, stripe.slice_end};
}

/// Stripes: the stripe of a spatial tile that holds a channel.
[[nodiscard]] Stripe stripe_of(const Reader &reader, const SpatialTile &tile, std::uint32_t channel) noexcept;

}  // namespace simaai::kernels::ops::boxdecode::detail
