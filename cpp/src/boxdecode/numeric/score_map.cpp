#include "boxdecode/numeric/score_map.h"

#include <cmath>

#include "numeric/exp32.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

// First key in [low, high] for which the monotone predicate holds; high + 1 when there is none. Keys are 32-bit.
template <typename Predicate>
std::int64_t first_key(std::int64_t low, std::int64_t high, Predicate holds) {
  while (low <= high) {
    const std::int64_t middle = low + (high - low) / 2;
    if (holds(static_cast<std::int32_t>(middle))) {
      high = middle - 1;
    } else {
      low = middle + 1;
    }
  }
  return low;
}

// The gate of a float cutoff: for a positive one negative floats are negative integers; for a negative one the passing bits
// are those that are not above the cutoff's as unsigned numbers (positive floats and the small negative ones).
simaai::kernels::detail::Gate float_gate(std::int32_t cutoff, std::uint32_t sign_bit) {
  if (cutoff > 0) {
    return {0, cutoff};
  }
  const std::uint32_t flip = sign_bit - 1;
  const std::uint32_t flipped = (sign_bit | static_cast<std::uint32_t>(-cutoff)) ^ flip;
  // Sign-extended from the width of the element.
  const std::int64_t threshold = static_cast<std::int64_t>(flipped) - 2 * static_cast<std::int64_t>(sign_bit);
  return {flip, static_cast<std::int32_t>(threshold)};
}

simaai::kernels::detail::Gate make_gate(DType dtype, std::int32_t cutoff) {
  switch (dtype) {
    case DType::Int8: return {0, cutoff};
    case DType::UInt8: return {0x80U, cutoff};
    case DType::BFloat16:
    case DType::Float16: return float_gate(cutoff, 0x8000U);
    case DType::Float32:
    case DType::Int32: break;
  }
  return float_gate(cutoff, 0x80000000U);
}

}  // namespace

float sigmoid(float x) noexcept { return 1.0F / (1.0F + simaai::kernels::detail::exp32(-x)); }

float activate(ScoreActivation activation, float value) noexcept {
  return activation == ScoreActivation::Sigmoid ? sigmoid(value) : value;
}

ScoreMap make_score_map(const ElementType &type, ScoreActivation activation, const ScoreRule &rule) {
  ScoreMap map;
  map.type = type;
  map.activation = activation;
  const std::int32_t low = lowest_key(type.dtype);
  const std::int32_t high = highest_key(type.dtype);
  const auto score_of = [&](std::int32_t key) { return activate(activation, value_of_key(type, key)); };
  if (is_quantized(type.dtype)) {
    for (std::int32_t key = low; key <= high; ++key) {
      map.levels[static_cast<std::size_t>(key + 128)] = score_of(key);
    }
  }
  // Values rise with their keys, and activation, product and rounding keep the order, so both bounds are found by bisection.
  const std::int64_t cutoff = first_key(low, high, [&](std::int32_t key) {
    const float score = score_of(key);
    return score >= 0.0F && score * rule.largest_factor >= rule.threshold && (!rule.positive || score > 0.0F);
  });
  const std::int64_t not_finite = first_key(low, high, [&](std::int32_t key) {
    const float score = score_of(key);
    return score > 0.0F && !std::isfinite(score);
  });
  map.last = static_cast<std::int32_t>(not_finite - 1);
  if (cutoff > map.last) {
    map.cutoff = 0;
    map.last = -1;
    return map;
  }
  map.cutoff = static_cast<std::int32_t>(cutoff);
  map.gate = make_gate(type.dtype, map.cutoff);
  return map;
}

float largest_score(const ElementType &type, ScoreActivation activation) {
  for (std::int32_t key = highest_key(type.dtype); key >= lowest_key(type.dtype); --key) {
    const float score = activate(activation, value_of_key(type, key));
    if (std::isfinite(score)) {
      return score;
    }
  }
  return -INFINITY;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
