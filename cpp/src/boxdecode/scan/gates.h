#pragma once

#include <algorithm>

#include "boxdecode/context/context.h"

namespace simaai::kernels::ops::boxdecode::detail {

// Calls visit(cell, anchor) for each site of the head in which an element of the lane reaches the map's gate. The gate is a
// bound: what it lets through is decided by whoever reads the elements. A chunk of sites is gated with one kernel call.

template <typename Visit>
void gate_memory_rows(const Frame &frame, const HeadPlan &head, const Lane &lane, const ScoreMap &map, Visit visit) {
  const Reader &reader = frame.port(lane).reader;
  const std::byte *base = frame.input(lane.port);
  auto *hits = frame.scratch.hits;
  const auto gate_rows = reader.element_size == 1   ? frame.kernels.gate_rows_8
                         : reader.element_size == 2 ? frame.kernels.gate_rows_16
                                                    : frame.kernels.gate_rows_32;
  // Anchors that tile a cell's channels without a gap are rows of one run; otherwise each anchor is a run of its own.
  const std::size_t anchor_bytes = lane.anchor_step * reader.channel_step;
  const bool one_run = head.anchors == 1 || anchor_bytes * head.anchors == reader.cell_step;
  const std::uint32_t runs = one_run ? 1 : head.anchors;
  const std::uint32_t rows = one_run ? head.cells * head.anchors : head.cells;
  const std::size_t row_step = one_run && head.anchors > 1 ? anchor_bytes : reader.cell_step;
  for (std::uint32_t run = 0; run < runs; ++run) {
    const auto *first = reinterpret_cast<const std::uint8_t *>(address_of(reader, base, 0, lane.first(run)));
    for (std::uint32_t begin = 0; begin < rows; begin += gate_chunk) {
      const std::uint32_t count = std::min(gate_chunk, rows - begin);
      const std::size_t hit = gate_rows(first + begin * row_step, count, row_step, lane.count, map.gate, hits);
      for (std::size_t i = 0; i < hit; ++i) {
        const std::uint32_t row = begin + hits[i];
        if (one_run && head.anchors > 1) {
          visit(row / head.anchors, row % head.anchors);
        } else {
          visit(row, run);
        }
      }
    }
  }
}

template <typename Visit>
void gate_memory_planes(const Frame &frame, const HeadPlan &head, const Lane &lane, const ScoreMap &map, Visit visit) {
  const Reader &reader = frame.port(lane).reader;
  const std::byte *base = frame.input(lane.port);
  auto *hits = frame.scratch.hits;
  auto *marks = frame.scratch.marks;
  const auto gate_planes = reader.element_size == 1   ? frame.kernels.gate_planes_8
                           : reader.element_size == 2 ? frame.kernels.gate_planes_16
                                                      : frame.kernels.gate_planes_32;
  const std::size_t plane_step = lane.step * reader.channel_step;
  for (std::uint32_t begin = 0; begin < head.cells; begin += gate_chunk) {
    const std::uint32_t count = std::min(gate_chunk, head.cells - begin);
    for (std::uint32_t anchor = 0; anchor < head.anchors; ++anchor) {
      const auto *first = reinterpret_cast<const std::uint8_t *>(address_of(reader, base, begin, lane.first(anchor)));
      const std::size_t hit = gate_planes(first, count, lane.count, plane_step, map.gate, marks, hits);
      for (std::size_t i = 0; i < hit; ++i) {
        visit(begin + hits[i], anchor);
      }
    }
  }
}

template <typename Visit>
void gate_memory_stripes(const Frame &frame, const HeadPlan &head, const Lane &lane, const ScoreMap &map, Visit visit) {
  const Reader &reader = frame.port(lane).reader;
  const auto *base = reinterpret_cast<const std::uint8_t *>(frame.input(lane.port));
  auto *hits = frame.scratch.hits;
  const auto gate_stripes = reader.element_size == 1 ? frame.kernels.gate_stripes_8 : frame.kernels.gate_stripes_16;
  auto *offsets = frame.scratch.segment_offsets;
  auto *masks = frame.scratch.segment_masks;
  const std::size_t stripe_bytes = 16 * reader.element_size;
  for (std::uint32_t number = 0;; ++number) {
    const std::optional<SpatialTile> tile = spatial_tile(reader, number);
    if (!tile) {
      return;
    }
    const std::uint32_t cells = tile->rows * tile->columns;
    for (std::uint32_t anchor = 0; anchor < head.anchors; ++anchor) {
      const std::uint32_t end = lane.first(anchor) + lane.count;
      for (std::uint32_t begin = 0; begin < cells; begin += gate_chunk) {
        const std::uint32_t count = std::min(gate_chunk, cells - begin);
        std::size_t segments = 0;
        Stripe stripe;
        for (std::uint32_t channel = lane.first(anchor); channel < end; ++segments) {
          // Stripes of one slice follow each other; their addresses cost more than a short tile does.
          stripe = channel < stripe.slice_end ? next_stripe(stripe, cells * stripe_bytes) : stripe_of(reader, *tile, channel);
          const std::uint32_t from = channel - stripe.first_channel;
          const std::uint32_t to = std::min(stripe.channels, end - stripe.first_channel);
          offsets[segments] = stripe.offset + begin * stripe_bytes;
          masks[segments] = static_cast<std::uint16_t>(((1U << to) - 1U) & ~((1U << from) - 1U));
          channel = stripe.first_channel + to;
        }
        const std::size_t total = gate_stripes(base, count, offsets, masks, segments, map.gate, hits);
        for (std::size_t i = 0; i < total; ++i) {
          const std::uint32_t place = begin + hits[i];
          if (tile->columns == head.width) {
            visit(tile->row * head.width + place, anchor);
            continue;
          }
          const std::uint32_t row = tile->row + place / tile->columns;
          visit(row * head.width + tile->column + place % tile->columns, anchor);
        }
      }
    }
  }
}

template <typename Visit>
void gate_sites(const Frame &frame, const HeadPlan &head, const Lane &lane, const ScoreMap &map, Visit visit) {
  if (!map.reachable()) {
    return;
  }
  switch (frame.port(lane).reader.memory) {
    case Memory::Rows: gate_memory_rows(frame, head, lane, map, visit); return;
    case Memory::Planes: gate_memory_planes(frame, head, lane, map, visit); return;
    case Memory::Stripes: gate_memory_stripes(frame, head, lane, map, visit); return;
  }
}

}  // namespace simaai::kernels::ops::boxdecode::detail
