#pragma once

#include <cstddef>
#include <span>

#include "boxdecode/select/collector.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// A candidate whose box has been decoded.
struct Decoded {
  const Candidate *candidate;
  const HeadPlan *head;
  Site site;
  Corners corners;
};

/// Decoded candidates in their order.
///
/// Boxes are decoded a few ahead of the decisions about them: decoding one does not wait for another, and a decision that the
/// CPU guessed wrong does not throw away the decoding of those behind it.
class DecodedBoxes {
public:
  DecodedBoxes(const Frame &frame, const Collector &collector) noexcept : frame_(frame), ordering_(frame, collector) {}

  /// The next few, until the next call; none behind the last.
  [[nodiscard]] std::span<const Decoded> next();

private:
  static constexpr std::size_t ahead = 16;

  const Frame &frame_;
  Ordering ordering_;
  Decoded decoded_[ahead];
};

}  // namespace simaai::kernels::ops::boxdecode::detail
