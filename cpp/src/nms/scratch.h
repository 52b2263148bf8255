#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "kernels/nms_kernels.h"
#include "nms/poll.h"

namespace simaai::kernels::detail {

/// Working memory of one run of the array operators: one allocation, proportional to the capacity.
class NmsScratch {
public:
  /// Room for `capacity` rows, capacity < 2^31. Throws std::bad_alloc.
  explicit NmsScratch(std::size_t capacity);

  /// Bytes that such a scratch allocates, or SIZE_MAX where an address space cannot hold them.
  [[nodiscard]] static std::size_t bytes(std::size_t capacity) noexcept;

  [[nodiscard]] std::size_t capacity() const noexcept { return capacity_; }

  // Admitted rows, in ascending order.
  float *scores = nullptr;        ///< without −0
  std::uint32_t *rows = nullptr;  ///< their indexes, unless every row was admitted

  // Order: (descending key, row) pairs and what sorting them needs; lane_count(capacity) of each.
  std::uint64_t *entries = nullptr;
  std::uint64_t *spare = nullptr;
  std::uint32_t *buckets = nullptr;
  std::uint32_t *starts = nullptr;  ///< starts_size(capacity) of them
  std::uint32_t *order = nullptr;   ///< rows by descending score

  // Groups of one class.
  std::uint32_t *ranks = nullptr;    ///< place in `order` of each element of a group
  std::uint32_t *grouped = nullptr;  ///< its row

  // Suppression. Boxes in blocks of eight lanes.
  float *corners = nullptr;           ///< 4 · lane_count(capacity)
  std::uint32_t *lane_ids = nullptr;  ///< which element a lane holds; in a grid: where an element's x1 is
  float *lane_scores = nullptr;       ///< soft: what each lane's score has decayed to; hard: shares; lane_count(capacity)
  std::uint32_t *kept = nullptr;
  float *kept_scores = nullptr;

  /// Whether the run shall go on. A run that was ended leaves any result.
  NmsPoll poll;

  /// Whole blocks for `rows` rows, and a block to spare.
  [[nodiscard]] static std::size_t lane_count(std::size_t rows) noexcept;
  /// Counters for the largest power-of-two number of buckets that `rows` rows use, and three more.
  [[nodiscard]] static std::size_t starts_size(std::size_t rows) noexcept;

private:
  std::size_t capacity_ = 0;
  struct Release {
    void operator()(std::byte *memory) const noexcept;
  };
  std::unique_ptr<std::byte, Release> memory_;
};

}  // namespace simaai::kernels::detail
