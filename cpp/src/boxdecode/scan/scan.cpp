#include "boxdecode/scan/scan.h"

#include <cmath>
#include <cstring>

#include "boxdecode/scan/gates.h"
#include "numeric/four_sums.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::Best;
using simaai::kernels::detail::FourSums;
using simaai::kernels::detail::Kernels;

// First largest of `count` contiguous raw elements, in the key order of their type.
Best best_of(const Kernels &kernels, DType dtype, const void *raw, std::uint32_t count) {
  switch (dtype) {
    case DType::Int8: return kernels.best_8(static_cast<const std::uint8_t *>(raw), count, 0);
    case DType::UInt8: return kernels.best_8(static_cast<const std::uint8_t *>(raw), count, 0x80U);
    case DType::BFloat16:
    case DType::Float16: return kernels.best_16(static_cast<const std::uint16_t *>(raw), count, infinity_bits(dtype));
    case DType::Float32:
    case DType::Int32: break;
  }
  return kernels.best_32(static_cast<const std::uint32_t *>(raw), count);
}

// A zero that is the best may be −0 with a +0 behind it, which ranks higher in the raw order of BF16.
std::uint32_t first_positive_zero(const std::uint16_t *raw, std::uint32_t index, std::uint32_t count) {
  for (std::uint32_t i = index; i < count; ++i) {
    if (raw[i] == 0) {
      return i;
    }
  }
  return index;
}

Best best_of_lane(const Frame &frame, const HeadPlan &head, std::uint32_t cell, std::uint32_t anchor) {
  const void *raw = raw_lane(frame, head.classes, cell, anchor);
  return best_of(frame.kernels, frame.port(head.classes).type.dtype, raw, head.classes.count);
}

Best best_of_lane_positive_zero_first(const Frame &frame, const HeadPlan &head, std::uint32_t cell, std::uint32_t anchor) {
  const void *raw = raw_lane(frame, head.classes, cell, anchor);
  Best best = best_of(frame.kernels, frame.port(head.classes).type.dtype, raw, head.classes.count);
  if (best.key == 0) {
    best.index = first_positive_zero(static_cast<const std::uint16_t *>(raw), best.index, head.classes.count);
  }
  return best;
}

// Whole blocks of 8-bit stripes, where they lie.
Best best_of_blocks(const Frame &frame, const HeadPlan &head, std::uint32_t cell, std::uint32_t anchor) {
  const Lane &lane = head.classes;
  const PortPlan &port = frame.port(lane);
  const Blocks blocks = blocks_of_cell(port.reader, frame.input(lane.port), cell, lane.first(anchor));
  const std::uint32_t flip = port.type.dtype == DType::Int8 ? 0U : 0x80U;
  return frame.kernels.best_blocks_8(reinterpret_cast<const std::uint8_t *>(blocks.first), blocks.step, lane.count, flip);
}

std::int32_t key_at(const Frame &frame, const Lane &lane, std::uint32_t cell, std::uint32_t channel) {
  const PortPlan &port = frame.port(lane);
  const void *raw = port.reader.fetch(port.reader, frame.input(lane.port), cell, channel, 1, 1, frame.scratch.raw);
  return key_of(port.type, raw);
}

void scan_best_class(const Frame &frame, const HeadPlan &head, Collector &collector) {
  gate_sites(frame, head, head.classes, head.scores, [&](std::uint32_t cell, std::uint32_t anchor) {
    const Best best = head.best_class(frame, head, cell, anchor);
    if (head.scores.passes(best.key)) {
      collector.admit(frame, head, cell, anchor, head.class_offset + best.index, head.scores.score(best.key));
    }
  });
}

// Objectness first: an anchor that it rules out costs no class. Both gates are bounds and the product decides.
void scan_objectness(const Frame &frame, const HeadPlan &head, Collector &collector) {
  gate_sites(frame, head, head.objectness, head.objectness_scores, [&](std::uint32_t cell, std::uint32_t anchor) {
    const std::int32_t key = key_at(frame, head.objectness, cell, head.objectness.first(anchor));
    if (!head.objectness_scores.passes(key)) {
      return;
    }
    const Best best = head.best_class(frame, head, cell, anchor);
    if (!head.scores.passes(best.key)) {
      return;
    }
    const float score = head.objectness_scores.score(key) * head.scores.score(best.key);
    collector.admit(frame, head, cell, anchor, head.class_offset + best.index, score);
  });
}

float softmax_of_values(const Frame &frame, const Lane &logits, const void *raw, float largest, std::uint32_t index,
                        bool &all_finite) {
  auto *values = frame.scratch.values;
  to_values(frame.port(logits).type, raw, logits.count, values);
  for (std::uint32_t k = 0; k < logits.count; ++k) {
    all_finite = all_finite && std::isfinite(values[k]);
  }
  frame.kernels.exponentials(values, logits.count, largest, values);
  FourSums sum;
  for (std::uint32_t k = 0; k < logits.count; ++k) {
    sum.add(k, values[k]);
  }
  return values[index] / sum.total();
}

float softmax_from_table(const HeadPlan &head, const ElementType &type, const void *raw, std::int32_t largest,
                         std::int32_t best) {
  const std::uint8_t flip = type.dtype == DType::Int8 ? 0x80U : 0U;
  const auto *bytes = static_cast<const std::uint8_t *>(raw);
  const ExpTable &exponentials = *head.score_exponentials;
  const auto top = static_cast<std::uint32_t>(largest + 128);
  FourSums sum;
  for (std::uint32_t k = 0; k < head.logits.count; ++k) {
    sum.add(k, exponentials[top - static_cast<std::uint32_t>(bytes[k] ^ flip)]);
  }
  return exponentials[static_cast<std::size_t>(largest - best)] / sum.total();
}

void scan_softmax(const Frame &frame, const HeadPlan &head, Collector &collector) {
  const PortPlan &port = frame.port(head.logits);
  const ElementType &type = port.type;
  const bool quantized = is_quantized(type.dtype);
  const bool every_logit_finite = frame.plan.every_logit_finite;
  const std::uint32_t first = (head.classes.origin - head.logits.origin) / head.logits.step;
  const std::int32_t infinity = highest_key(type.dtype);
  for (std::uint32_t cell = 0; cell < head.cells; ++cell) {
    for (std::uint32_t anchor = 0; anchor < head.anchors; ++anchor) {
      const void *raw = raw_lane(frame, head.logits, cell, anchor);
      const void *foreground = static_cast<const std::byte *>(raw) + first * port.reader.element_size;
      const Best best = best_of(frame.kernels, type.dtype, foreground, head.classes.count);
      const Best all = best_of(frame.kernels, type.dtype, raw, head.logits.count);
      if (!quantized && all.key >= infinity) {
        continue;
      }
      const float largest = value_of_key(type, all.key);
      // Two terms bound the denominator from below: with d = best − largest < 0 the score is at most e^d / (1 + e^d).
      const float below =
          quantized ? static_cast<float>(best.key - all.key) * type.scale : value_of_key(type, best.key) - largest;
      if (best.key < all.key && below < frame.plan.softmax_early_out) {
        continue;
      }
      bool all_finite = true;
      const float score = quantized ? softmax_from_table(head, type, raw, all.key, best.key)
                                    : softmax_of_values(frame, head.logits, raw, largest, first + best.index, all_finite);
      if (all_finite || !every_logit_finite) {
        collector.admit(frame, head, cell, anchor, head.class_offset + best.index, score);
      }
    }
  }
}

// Whether no neighbour within one cell has a larger key of the same class. Cells outside the map are ignored.
bool is_peak(const Frame &frame, const HeadPlan &head, std::uint32_t cell, std::uint32_t channel, std::int32_t key) {
  const std::uint32_t x = cell % head.width;
  const std::uint32_t y = cell / head.width;
  const std::uint32_t left = x > 0 ? x - 1 : 0;
  const std::uint32_t top = y > 0 ? y - 1 : 0;
  const std::uint32_t right = std::min(x + 1, head.width - 1);
  const std::uint32_t bottom = std::min(y + 1, head.height - 1);
  for (std::uint32_t row = top; row <= bottom; ++row) {
    for (std::uint32_t column = left; column <= right; ++column) {
      if (key_at(frame, head.classes, row * head.width + column, channel) > key) {
        return false;
      }
    }
  }
  return true;
}

void scan_every_class(const Frame &frame, const HeadPlan &head, Collector &collector) {
  const bool peaks_only = frame.plan.params.peak_window == 3;
  const ElementType &type = frame.port(head.classes).type;
  const std::size_t element = frame.port(head.classes).reader.element_size;
  gate_sites(frame, head, head.classes, head.scores, [&](std::uint32_t cell, std::uint32_t anchor) {
    const auto *raw = static_cast<const std::byte *>(raw_lane(frame, head.classes, cell, anchor));
    // What a candidate costs may use the scratch in which the lane stands.
    auto *kept = frame.scratch.every_class;
    std::memcpy(kept, raw, head.classes.count * element);
    for (std::uint32_t index = 0; index < head.classes.count; ++index) {
      const std::int32_t key = key_of(type, kept + index * element);
      if (!head.scores.passes(key)) {
        continue;
      }
      const std::uint32_t channel = head.classes.first(anchor) + index * head.classes.step;
      if (!peaks_only || is_peak(frame, head, cell, channel, key)) {
        collector.admit(frame, head, cell, anchor, head.class_offset + index, head.scores.score(key));
      }
    }
  });
}

}  // namespace

BestClass best_class_for(const PlanState &plan, const HeadPlan &head) noexcept {
  if (in_blocks(plan, head.classes)) {
    return best_of_blocks;
  }
  return head.positive_zero_first ? best_of_lane_positive_zero_first : best_of_lane;
}

Scan scan_for(const Recipe &recipe, const HeadPlan &head) noexcept {
  switch (recipe.score) {
    case ScoreForm::BestClass: return head.objectness.empty() ? scan_best_class : scan_objectness;
    case ScoreForm::SoftmaxBest: return scan_softmax;
    case ScoreForm::EveryClass: return scan_every_class;
  }
  return nullptr;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
