#include <algorithm>
#include <cstdint>
#include <random>
#include <set>
#include <vector>

#include <gtest/gtest.h>

#include "boxdecode/layout/reader.h"

/// Addresses of blocked tensors against the formula of docs/layouts.md, element by element.
namespace simaai::kernels {
namespace {

using namespace ops::boxdecode::detail;

// Nothing is read: any address will do, and offsets are what is looked at.
const auto *const somewhere = reinterpret_cast<const std::byte *>(std::uintptr_t{1} << 40U);

struct Blocked {
  std::int64_t height, width, channels, tile_h, tile_w, tile_c, element;

  // Low byte of element (h, w, c).
  std::int64_t offset(std::int64_t h, std::int64_t w, std::int64_t c) const {
    const std::int64_t c0 = c / tile_c * tile_c;
    const std::int64_t h0 = h / tile_h * tile_h;
    const std::int64_t w0 = w / tile_w * tile_w;
    const std::int64_t padded = align16(std::min(tile_c, channels - c0));
    const std::int64_t eh = std::min(tile_h, height - h0);
    const std::int64_t ew = std::min(tile_w, width - w0);
    std::int64_t before = 0;
    for (std::int64_t slice = 0; slice < c0; slice += tile_c) {
      before += height * width * align16(std::min(tile_c, channels - slice));
    }
    const std::int64_t base = element * (before + h0 * width * padded + eh * w0 * padded);
    const std::int64_t stripe = (((c - c0) / 16 * eh + (h - h0)) * ew + (w - w0)) * 16 * element;
    return base + stripe + (c - c0) % 16;
  }

  TensorSpec spec() const {
    return {{1, height, width, channels}, element == 1 ? DType::Int8 : DType::BFloat16, MlaCBlocked{tile_h, tile_w, tile_c}};
  }
};

// Tiles of one cell, of a part of a row, of whole rows, and larger than the tensor.
std::vector<Blocked> shapes() {
  std::mt19937 random(20261130);
  const auto draw = [&](std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random);
  };
  std::vector<Blocked> all;
  for (int round = 0; round < 600; ++round) {
    Blocked one{draw(1, 9), draw(1, 9), draw(1, 70), draw(1, 10), draw(1, 10), draw(1, 5) * 16, draw(1, 2)};
    one.tile_w = round % 2 == 0 ? one.width + round % 4 : one.tile_w;
    one.tile_c = round % 3 == 0 ? draw(one.channels, 80) : one.tile_c;
    all.push_back(one);
  }
  return all;
}

TEST(Reader, BlocksOfACellLieWhereTheFormulaSays) {
  std::set<bool> runs;
  for (const Blocked &shape : shapes()) {
    const Reader reader = make_reader(shape.spec());
    if (reader.tile_c != reader.extent.channels) {
      continue;
    }
    runs.insert(reader.run_cells != 0);
    for (std::int64_t cell = 0; cell < shape.height * shape.width; ++cell) {
      for (std::int64_t channel = 0; channel < shape.channels; channel += 16) {
        const Blocks blocks =
            blocks_of_cell(reader, somewhere, static_cast<std::uint32_t>(cell), static_cast<std::uint32_t>(channel));
        for (std::int64_t c = channel; c < shape.channels; c += 16) {
          ASSERT_EQ(blocks.first - somewhere + (c - channel) / 16 * static_cast<std::int64_t>(blocks.step),
                    shape.offset(cell / shape.width, cell % shape.width, c));
        }
      }
    }
  }
  EXPECT_EQ(runs.size(), 2U);
}

TEST(Reader, StripesOfATileLieWhereTheFormulaSays) {
  for (const Blocked &shape : shapes()) {
    const Reader reader = make_reader(shape.spec());
    std::int64_t cells = 0;
    for (std::uint32_t number = 0; const std::optional<SpatialTile> tile = spatial_tile(reader, number); ++number) {
      const std::size_t bytes = std::size_t{tile->rows} * tile->columns * 16 * reader.element_size;
      cells += std::int64_t{tile->rows} * tile->columns;
      Stripe stripe;
      for (std::uint32_t channel = 0; channel < shape.channels; channel += stripe.channels) {
        const bool same_slice = channel < stripe.slice_end;
        stripe = same_slice ? next_stripe(stripe, bytes) : stripe_of(reader, *tile, channel);
        ASSERT_EQ(stripe.first_channel, channel);
        ASSERT_EQ(static_cast<std::int64_t>(stripe.offset), shape.offset(tile->row, tile->column, channel));
        ASSERT_EQ(stripe.channels, stripe_of(reader, *tile, channel).channels);
        ASSERT_EQ(stripe.slice_end, stripe_of(reader, *tile, channel).slice_end);
      }
    }
    ASSERT_EQ(cells, shape.height * shape.width);
  }
}

// A tile is found by a multiplication where others divide.
TEST(Reader, FindsTheTileOfEveryCellOfALargeTensor) {
  for (const std::int64_t width : {2, 3, 7, 1000, 1021, 2896}) {
    const Blocked shape{46337, width, 1, 1, width, 16, 1};
    const Reader reader = make_reader(shape.spec());
    ASSERT_EQ(reader.run_cells, width);
    for (std::int64_t row = 0; row < shape.height; row += row < 100 ? 1 : 977) {
      for (const std::int64_t column : {std::int64_t{0}, width / 2, width - 1}) {
        const Blocks blocks = blocks_of_cell(reader, somewhere, static_cast<std::uint32_t>(row * width + column), 0);
        ASSERT_EQ(blocks.first - somewhere, shape.offset(row, column, 0));
      }
    }
  }
}

}  // namespace
}  // namespace simaai::kernels
