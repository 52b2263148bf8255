#pragma once

#include <array>
#include <cassert>
#include <cstdint>

#include "boxdecode/numeric/elements.h"
#include "kernels/kernels.h"

/// What a raw score is worth, and from which raw value on it may pass. In: element type, activation, threshold. Out: a
/// prepared map from ordered keys to scores. Never: whose score it is.
namespace simaai::kernels::ops::boxdecode::detail {

/// 1 / (1 + exp32(−x)) in FP32.
[[nodiscard]] float sigmoid(float x) noexcept;

/// Identity or Sigmoid. Softmax needs its neighbours and is not a function of one value.
[[nodiscard]] float activate(ScoreActivation activation, float value) noexcept;

/// The activated scores of one port and its gate.
struct ScoreMap {
  ElementType type = {};
  ScoreActivation activation = ScoreActivation::Identity;
  /// A key passes ⇔ cutoff ≤ key ≤ last. cutoff > last: none does.
  std::int32_t cutoff = 0;
  std::int32_t last = -1;
  /// The same lower bound for whole blocks of raw elements; NaN may pass it.
  simaai::kernels::detail::Gate gate = {};
  /// 8-bit types: the score of key k at [k + 128].
  std::array<float, 256> levels = {};

  [[nodiscard]] bool reachable() const noexcept { return cutoff <= last; }
  [[nodiscard]] bool passes(std::int32_t key) const noexcept { return cutoff <= key && key <= last; }
  [[nodiscard]] float score(std::int32_t key) const noexcept {
    if (is_quantized(type.dtype)) {
      assert(key >= -128 && key <= 127);
      return levels[static_cast<std::size_t>(key + 128)];
    }
    return activate(activation, value_of_key(type, key));
  }
};

/// When a score is eligible, given an upper bound of what it is multiplied with (1 where there is no objectness).
struct ScoreRule {
  float threshold = 0.0F;
  float largest_factor = 1.0F;
  bool positive = false;  ///< zero is not eligible
};

[[nodiscard]] ScoreMap make_score_map(const ElementType &type, ScoreActivation activation, const ScoreRule &rule);

/// The largest finite score of any key; for floats with Identity the largest finite value of the type.
[[nodiscard]] float largest_score(const ElementType &type, ScoreActivation activation);

}  // namespace simaai::kernels::ops::boxdecode::detail
