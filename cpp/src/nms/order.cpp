#include "nms/order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace simaai::kernels::detail {
namespace {

// Ascending keys are descending scores. The score is no NaN and no −0.
std::uint32_t descending_key(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  return (bits >> 31U) != 0 ? bits : ~(bits | 0x80000000U);
}

std::uint64_t entry(float score, std::uint32_t row) { return std::uint64_t{descending_key(score)} << 32U | row; }

// The row is part of an entry and no two are equal, so any order of work gives the stable result.
void insertion_sort(std::uint64_t *entries, std::size_t count) {
  for (std::size_t i = 1; i < count; ++i) {
    const std::uint64_t moving = entries[i];
    std::size_t place = i;
    while (place > 0 && entries[place - 1] > moving) {
      entries[place] = entries[place - 1];
      --place;
    }
    entries[place] = moving;
  }
}

// Least significant digit first on the 32 key bits; `entries` holds the result.
void radix_sort(std::uint64_t *&entries, std::uint64_t *&spare, std::size_t count, std::uint32_t *counters) {
  constexpr std::array<unsigned, 3> shifts = {32, 43, 54};
  constexpr std::uint32_t digit_mask = 0x7FFU;
  constexpr std::size_t digits = digit_mask + 1;
  for (const unsigned shift : shifts) {
    std::fill_n(counters, digits, 0U);
    for (std::size_t i = 0; i < count; ++i) {
      ++counters[(entries[i] >> shift) & digit_mask];
    }
    if (counters[(entries[0] >> shift) & digit_mask] == count) {
      continue;
    }
    std::uint32_t sum = 0;
    for (std::size_t digit = 0; digit < digits; ++digit) {
      const std::uint32_t size = counters[digit];
      counters[digit] = sum;
      sum += size;
    }
    for (std::size_t i = 0; i < count; ++i) {
      spare[counters[(entries[i] >> shift) & digit_mask]++] = entries[i];
    }
    std::swap(entries, spare);
  }
}

// One counting pass on a linear map of the score brings almost every entry to its place. False when the scores crowd in few
// buckets: then nothing was written but counters.
bool bucket_sort(const NmsSettings &settings, NmsScratch &scratch, const Admitted &admitted) {
  const std::size_t count = admitted.count;
  const float range = admitted.largest - admitted.least;
  if (!(range > 0x1p-60F && range < 0x1p100F)) {
    return false;
  }
  const std::size_t buckets = std::bit_ceil(count);
  // A little less than buckets / range, so that no rounding reaches the bucket behind the last.
  const float scale = static_cast<float>(buckets) / range * 0x1.ffffep-1F;
  settings.kernels->bucket_scores(scratch.scores, count, admitted.largest, scale, scratch.buckets);
  std::uint32_t *const starts = scratch.starts;
  std::fill_n(starts, buckets, 0U);
  for (std::size_t i = 0; i < count; ++i) {
    ++starts[scratch.buckets[i]];
  }
  // Insertion costs about half the pairs that share a bucket.
  std::uint64_t pairs = 0;
  std::uint32_t sum = 0;
  for (std::size_t bucket = 0; bucket < buckets; ++bucket) {
    const std::uint32_t size = starts[bucket];
    starts[bucket] = sum;
    sum += size;
    pairs += std::uint64_t{size} * size;
  }
  if (pairs > 16 * std::uint64_t{count}) {
    return false;
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t row = admitted.all ? static_cast<std::uint32_t>(i) : scratch.rows[i];
    scratch.entries[starts[scratch.buckets[i]]++] = entry(scratch.scores[i], row);
  }
  insertion_sort(scratch.entries, count);
  return true;
}

}  // namespace

void order_by_score(const NmsSettings &settings, NmsScratch &scratch, const Admitted &admitted) {
  const std::size_t count = admitted.count;
  if (count == 0) {
    return;
  }
  constexpr std::size_t few = 24;
  if (count <= few || !bucket_sort(settings, scratch, admitted)) {
    for (std::size_t i = 0; i < count; ++i) {
      scratch.entries[i] = entry(scratch.scores[i], admitted.all ? static_cast<std::uint32_t>(i) : scratch.rows[i]);
    }
    if (count <= few) {
      insertion_sort(scratch.entries, count);
    } else {
      std::array<std::uint32_t, 2048> counters;
      radix_sort(scratch.entries, scratch.spare, count, counters.data());
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    scratch.order[i] = static_cast<std::uint32_t>(scratch.entries[i]);
  }
}

namespace {

// A class id as it is found in the caller's memory.
std::int64_t class_of(const NmsRows &rows, std::uint32_t row) {
  return rows.classes_32 != nullptr ? rows.classes_32[row] : rows.classes_64[row];
}

// Few different ids in a small range, which is nearly always so: one counting sort.
std::size_t group_by_counting(NmsScratch &scratch, const NmsRows &rows, std::size_t count, std::int64_t least,
                              std::uint64_t range) {
  auto *const ids = reinterpret_cast<std::uint32_t *>(scratch.spare);
  std::uint32_t *const starts = scratch.starts;
  std::fill_n(starts, range, 0U);
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint64_t id = static_cast<std::uint64_t>(class_of(rows, scratch.order[i])) - static_cast<std::uint64_t>(least);
    // A caller that changes the ids meanwhile gets a wrong result, but no write outside of the scratch.
    ids[i] = static_cast<std::uint32_t>(std::min<std::uint64_t>(id, range - 1));
    ++starts[ids[i]];
  }
  std::size_t groups = 0;
  std::uint32_t sum = 0;
  for (std::size_t id = 0; id < range; ++id) {
    const std::uint32_t size = starts[id];
    starts[id] = sum;
    sum += size;
    if (size != 0) {
      scratch.buckets[groups++] = sum;
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t place = starts[ids[i]]++;
    scratch.ranks[place] = static_cast<std::uint32_t>(i);
    scratch.grouped[place] = scratch.order[i];
  }
  return groups;
}

// Ids anywhere in 64 bits: radix sort of the places by the bytes in which the ids differ.
std::size_t group_by_radix(NmsScratch &scratch, const NmsRows &rows, std::size_t count, std::int64_t least,
                           std::uint64_t largest_offset) {
  std::uint64_t *const ids = scratch.spare;
  for (std::size_t i = 0; i < count; ++i) {
    ids[i] = static_cast<std::uint64_t>(class_of(rows, scratch.order[i])) - static_cast<std::uint64_t>(least);
    scratch.ranks[i] = static_cast<std::uint32_t>(i);
  }
  std::uint32_t *from = scratch.ranks;
  std::uint32_t *to = scratch.grouped;
  for (unsigned shift = 0; shift < 64 && (largest_offset >> shift) != 0; shift += 8) {
    std::array<std::uint32_t, 256> counters = {};
    for (std::size_t i = 0; i < count; ++i) {
      ++counters[(ids[from[i]] >> shift) & 0xFFU];
    }
    std::uint32_t sum = 0;
    for (std::uint32_t &counter : counters) {
      const std::uint32_t size = counter;
      counter = sum;
      sum += size;
    }
    for (std::size_t i = 0; i < count; ++i) {
      to[counters[(ids[from[i]] >> shift) & 0xFFU]++] = from[i];
    }
    std::swap(from, to);
  }
  std::size_t groups = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i + 1 == count || ids[from[i]] != ids[from[i + 1]]) {
      scratch.buckets[groups++] = static_cast<std::uint32_t>(i + 1);
    }
  }
  if (from != scratch.ranks) {
    std::copy_n(from, count, scratch.ranks);
  }
  for (std::size_t i = 0; i < count; ++i) {
    scratch.grouped[i] = scratch.order[scratch.ranks[i]];
  }
  return groups;
}

// Smallest and largest id of scratch.order[0..count), count ≥ 1.
std::pair<std::int64_t, std::int64_t> class_range(const NmsScratch &scratch, const NmsRows &rows, std::size_t count) {
  std::int64_t least = class_of(rows, scratch.order[0]);
  std::int64_t largest = least;
  for (std::size_t i = 1; i < count; ++i) {
    const std::int64_t id = class_of(rows, scratch.order[i]);
    least = std::min(least, id);
    largest = std::max(largest, id);
  }
  return {least, largest};
}

}  // namespace

std::size_t group_by_class(NmsScratch &scratch, const NmsRows &rows, std::size_t count) {
  if (count == 0) {
    return 0;
  }
  const auto [least, largest] = class_range(scratch, rows, count);
  const std::uint64_t largest_offset = static_cast<std::uint64_t>(largest) - static_cast<std::uint64_t>(least);
  const std::size_t counters = std::min(NmsScratch::starts_size(scratch.capacity()), std::max<std::size_t>(1024, 4 * count));
  if (largest_offset < counters) {
    return group_by_counting(scratch, rows, count, least, largest_offset + 1);
  }
  return group_by_radix(scratch, rows, count, least, largest_offset);
}

}  // namespace simaai::kernels::detail
