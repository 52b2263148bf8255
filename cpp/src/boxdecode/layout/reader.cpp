#include "boxdecode/layout/reader.h"

#include <algorithm>
#include <cstring>

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

Extent extent_of(const TensorSpec &spec) {
  const std::size_t rank = spec.shape.size();
  return {spec.shape[rank - 3], spec.shape[rank - 2], spec.shape[rank - 1]};
}

template <typename Element>
const void *fetch_dense(const Reader &reader, const std::byte *base, std::uint32_t cell, std::uint32_t first,
                        std::uint32_t step, std::uint32_t count, void *scratch) {
  const std::byte *from = address_of(reader, base, cell, first);
  const std::size_t stride = step * reader.channel_step;
  if (stride == sizeof(Element) || count == 1) {
    return from;
  }
  // Four at a time: the loop for one is so short that its speed hangs on the address to which it is linked.
  constexpr std::uint32_t together = 4;
  auto *to = static_cast<std::byte *>(scratch);
  std::uint32_t left = count;
  for (; left >= together; left -= together) {
    Element elements[together];
    for (Element &element : elements) {
      std::memcpy(&element, from, sizeof(Element));
      from += stride;
    }
    std::memcpy(to, elements, sizeof elements);
    to += sizeof elements;
  }
  for (; left > 0; --left) {
    std::memcpy(to, from, sizeof(Element));
    from += stride;
    to += sizeof(Element);
  }
  return scratch;
}

// Of the product of 96 bits, of which 64 are behind the point.
std::uint32_t upper_half(std::uint64_t reciprocal, std::uint32_t number) {
  const std::uint64_t low = (reciprocal & 0xFFFFFFFFU) * number;
  return static_cast<std::uint32_t>(((reciprocal >> 32U) * number + (low >> 32U)) >> 32U);
}

// The tile that holds a cell, and the cell's place in it.
SpatialTile tile_of_cell(const Reader &reader, std::uint32_t cell, std::uint32_t &place) {
  const auto width = static_cast<std::uint32_t>(reader.extent.width);
  const auto height = static_cast<std::uint32_t>(reader.extent.height);
  const auto tile_h = static_cast<std::uint32_t>(reader.tile_h);
  const auto tile_w = static_cast<std::uint32_t>(reader.tile_w);
  SpatialTile tile;
  if (tile_w == width) {
    // Tiles of whole rows, the usual case, need one division instead of three.
    const std::uint32_t number = cell / (width * tile_h);
    tile.row = number * tile_h;
    tile.rows = std::min(tile_h, height - tile.row);
    tile.columns = width;
    place = cell - tile.row * width;
    return tile;
  }
  const std::uint32_t row = cell / width;
  const std::uint32_t column = cell % width;
  tile.row = row / tile_h * tile_h;
  tile.column = column / tile_w * tile_w;
  tile.rows = std::min(tile_h, height - tile.row);
  tile.columns = std::min(tile_w, width - tile.column);
  place = (row - tile.row) * tile.columns + (column - tile.column);
  return tile;
}

// Lanes [from, to) of a stripe, `step` apart, to consecutive elements.
template <bool split16>
void copy_lanes(const std::uint8_t *stripe, std::uint32_t from, std::uint32_t to, std::uint32_t step, std::uint8_t *out) {
  for (std::uint32_t lane = from; lane < to; lane += step) {
    *out++ = stripe[lane];
    if constexpr (split16) {
      *out++ = stripe[lane + 16];
    }
  }
}

// All sixteen lanes of a stripe.
template <bool split16>
void copy_block(const std::uint8_t *stripe, std::uint8_t *out) {
  if constexpr (split16) {
    // Copies of its own tell the compiler that nothing overlaps, so that it joins the bytes in vectors.
    std::uint8_t halves[32];
    std::uint8_t joined[32];
    std::memcpy(halves, stripe, sizeof halves);
    for (std::size_t lane = 0; lane < 16; ++lane) {
      joined[2 * lane] = halves[lane];
      joined[2 * lane + 1] = halves[lane + 16];
    }
    std::memcpy(out, joined, sizeof joined);
  } else {
    std::memcpy(out, stripe, 16);
  }
}

template <bool split16>
const void *fetch_stripes(const Reader &reader, const std::byte *base, std::uint32_t cell, std::uint32_t first,
                          std::uint32_t step, std::uint32_t count, void *scratch) {
  constexpr std::size_t element = split16 ? 2 : 1;
  auto *to = static_cast<std::uint8_t *>(scratch);
  if (are_blocks(reader, first, step)) {
    // The last one may bring lanes beyond the count, for which scratch has room.
    const Blocks blocks = blocks_of_cell(reader, base, cell, first);
    const auto *lanes = reinterpret_cast<const std::uint8_t *>(blocks.first);
    for (std::uint32_t i = 0; i < count; i += 16, lanes += blocks.step) {
      copy_block<split16>(lanes, to + i * element);
    }
    return scratch;
  }
  std::uint32_t place = 0;
  const SpatialTile tile = tile_of_cell(reader, cell, place);
  const std::size_t block_bytes = static_cast<std::size_t>(tile.rows) * tile.columns * 16 * element;
  const std::uint8_t *place_base = reinterpret_cast<const std::uint8_t *>(base) + place * 16 * element;
  std::uint32_t channel = first;
  for (std::uint32_t i = 0; i < count;) {
    // One channel slice: its blocks of 16 follow each other, a block of the tile's cells apart.
    const Stripe stripe = stripe_of(reader, tile, channel);
    const std::uint8_t *lanes = place_base + stripe.offset;
    std::uint32_t lane = channel - stripe.first_channel;
    for (; i < count && stripe.first_channel + lane < stripe.slice_end; lanes += block_bytes) {
      const std::uint32_t block_start = stripe.first_channel + (lane & ~15U);
      const std::uint32_t block_lanes = std::min(16U, stripe.slice_end - block_start);
      const std::uint32_t from = lane & 15U;
      if (from == 0 && step == 1 && block_lanes == 16 && count - i >= 16) {
        copy_block<split16>(lanes, to + i * element);
        i += 16;
        lane += 16;
        continue;
      }
      std::uint32_t wanted = from < block_lanes ? (block_lanes - from + step - 1) / step : 0;
      wanted = std::min(wanted, count - i);
      copy_lanes<split16>(lanes, from, from + wanted * step, step, to + i * element);
      i += wanted;
      lane += wanted * step;
      // A step beyond a block skips whole blocks as well.
      for (std::uint32_t skipped = block_start + 16; skipped + 16 <= stripe.first_channel + lane; skipped += 16) {
        lanes += block_bytes;
      }
    }
    channel = stripe.first_channel + lane;
  }
  return scratch;
}

}  // namespace

Blocks blocks_of_cell(const Reader &reader, const std::byte *base, std::uint32_t cell, std::uint32_t channel) noexcept {
  const std::size_t stripe_bytes = 16 * reader.element_size;
  if (reader.run_cells != 0) {
    const std::uint32_t first_cell = upper_half(reader.run_reciprocal, cell) * reader.run_cells;
    const auto cells = static_cast<std::uint32_t>(reader.extent.height * reader.extent.width);
    const std::size_t step = std::min(reader.run_cells, cells - first_cell) * stripe_bytes;
    return {base + first_cell * reader.cell_step + channel / 16 * step + (cell - first_cell) * stripe_bytes, step};
  }
  std::uint32_t place = 0;
  const SpatialTile tile = tile_of_cell(reader, cell, place);
  return {base + stripe_of(reader, tile, channel).offset + place * stripe_bytes,
          static_cast<std::size_t>(tile.rows) * tile.columns * stripe_bytes};
}

void touch(const Reader &reader, const std::byte *base, std::uint32_t cell, std::uint32_t first, std::uint32_t count) noexcept {
  constexpr std::size_t line_bytes = 64;
  if (reader.memory == Memory::Rows) {
    const volatile std::byte *row = address_of(reader, base, cell, first);
    const std::size_t last = (count - 1) * reader.channel_step;
    for (std::size_t at = 0; at < last; at += line_bytes) {
      static_cast<void>(row[at]);
    }
    static_cast<void>(row[last]);
  } else if (reader.run_cells != 0) {
    const Blocks blocks = blocks_of_cell(reader, base, cell, first);
    const volatile std::byte *block = blocks.first;
    for (std::uint32_t lanes = 0; lanes < count; lanes += 16, block += blocks.step) {
      static_cast<void>(*block);
    }
  }
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
  return 0;
}

std::int64_t physical_channels(const TensorSpec &spec) {
  const Extent extent = extent_of(spec);
  if (const auto *strided = std::get_if<Strided>(&spec.layout)) {
    return strided->strides[strided->strides.size() - 2];
  }
  if (const auto *blocked = std::get_if<MlaCBlocked>(&spec.layout)) {
    const std::int64_t whole = extent.channels / blocked->tile_c;
    const std::int64_t rest = extent.channels % blocked->tile_c;
    return whole * align16(blocked->tile_c) + align16(rest);
  }
  return extent.channels;
}

std::int64_t required_bytes(const TensorSpec &spec) {
  const Extent extent = extent_of(spec);
  return static_cast<std::int64_t>(element_bytes(spec.dtype)) * extent.height * extent.width * physical_channels(spec);
}

Reader make_reader(const TensorSpec &spec) {
  Reader reader;
  reader.extent = extent_of(spec);
  reader.element_size = element_bytes(spec.dtype);
  reader.alignment = reader.element_size;
  reader.required_bytes = static_cast<std::size_t>(required_bytes(spec));
  reader.cell_step = static_cast<std::size_t>(physical_channels(spec)) * reader.element_size;
  reader.channel_step = reader.element_size;
  reader.fetch = reader.element_size == 1   ? fetch_dense<std::uint8_t>
                 : reader.element_size == 2 ? fetch_dense<std::uint16_t>
                                            : fetch_dense<std::uint32_t>;
  if (std::holds_alternative<Planar>(spec.layout)) {
    reader.memory = reader.extent.channels > 1 ? Memory::Planes : Memory::Rows;
    reader.cell_step = reader.element_size;
    reader.channel_step = static_cast<std::size_t>(reader.extent.height * reader.extent.width) * reader.element_size;
  } else if (const auto *blocked = std::get_if<MlaCBlocked>(&spec.layout)) {
    reader.memory = Memory::Stripes;
    reader.alignment = 1;
    reader.tile_h = std::min(blocked->tile_h, reader.extent.height);
    reader.tile_w = std::min(blocked->tile_w, reader.extent.width);
    reader.tile_c = std::min(blocked->tile_c, reader.extent.channels);
    const auto tile_cells = static_cast<std::uint32_t>(reader.tile_h * reader.tile_w);
    if (reader.tile_w == reader.extent.width && reader.tile_c == reader.extent.channels && tile_cells > 1) {
      reader.run_cells = tile_cells;
      reader.run_reciprocal = UINT64_MAX / tile_cells + 1;
    }
    reader.fetch = reader.element_size == 2 ? fetch_stripes<true> : fetch_stripes<false>;
  }
  return reader;
}

std::optional<SpatialTile> spatial_tile(const Reader &reader, std::uint32_t number) noexcept {
  const auto width = static_cast<std::uint32_t>(reader.extent.width);
  const auto height = static_cast<std::uint32_t>(reader.extent.height);
  const auto tile_h = static_cast<std::uint32_t>(reader.tile_h);
  const auto tile_w = static_cast<std::uint32_t>(reader.tile_w);
  const std::uint32_t tiles_across = (width + tile_w - 1) / tile_w;
  SpatialTile tile;
  tile.row = number / tiles_across * tile_h;
  if (tile.row >= height) {
    return std::nullopt;
  }
  tile.column = number % tiles_across * tile_w;
  tile.rows = std::min(tile_h, height - tile.row);
  tile.columns = std::min(tile_w, width - tile.column);
  return tile;
}

Stripe stripe_of(const Reader &reader, const SpatialTile &tile, std::uint32_t channel) noexcept {
  // base = e·(Σ_{slices before} H·W·align16(slice) + h0·W·P + eh·w0·P), then ⌊(c − c0)/16⌋·eh·ew stripes of 16·e bytes.
  const auto element = static_cast<std::int64_t>(reader.element_size);
  // Most tensors are one slice; a division is what such an address would cost most.
  const std::int64_t slice = channel < reader.tile_c ? 0 : channel / reader.tile_c;
  const std::int64_t slice_start = slice * reader.tile_c;
  const std::int64_t slice_channels = std::min(reader.tile_c, reader.extent.channels - slice_start);
  const std::int64_t padded = align16(slice_channels);
  const std::int64_t plane = reader.extent.height * reader.extent.width;
  const std::int64_t block = (channel - slice_start) / 16;
  const std::int64_t base =
      slice * plane * align16(reader.tile_c) +
      (static_cast<std::int64_t>(tile.row) * reader.extent.width + static_cast<std::int64_t>(tile.rows) * tile.column) * padded;
  Stripe stripe;
  stripe.offset = static_cast<std::size_t>(element * (base + block * static_cast<std::int64_t>(tile.rows) * tile.columns * 16));
  stripe.first_channel = static_cast<std::uint32_t>(slice_start + block * 16);
  stripe.channels = static_cast<std::uint32_t>(std::min<std::int64_t>(16, slice_channels - block * 16));
  stripe.slice_end = static_cast<std::uint32_t>(slice_start + slice_channels);
  return stripe;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
