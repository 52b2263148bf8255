#pragma once

#include <cstddef>
#include <cstdint>

/// The contract of the kernels of the array operators. The scalar form is the truth; each other form returns the same bytes.
/// Files of one instruction set include only intrinsics, <cstddef>, <cstdint> and this header: hence no function body here.
namespace simaai::kernels::detail {

/// Boxes in blocks of eight lanes: eight x1, eight y1, eight x2, eight y2. A lane that counts no more, or never did, holds
/// x1 = +inf and anything finite else: it overlaps nothing. All other lanes are finite with x2 ≥ x1 and y2 ≥ y1.
/// A pointer to blocks is 32-byte aligned.
struct NmsBlocks {
  static constexpr std::uint32_t lanes = 8;
  static constexpr std::uint32_t floats = 4 * lanes;
};

/// The threshold of hard suppression, prepared: RN32(inter/union) > threshold ⇔ inter > middle·union (or ≥, where a quotient
/// that falls exactly between two floats rounds up), with inter > 0 and the product exact in double. low ≤ middle ≤ high are
/// its FP32 neighbours: inter < RN32(low·union) rules suppression out, inter > RN32(high·union) proves it.
struct NmsThreshold {
  double middle;
  float low;
  float high;
  std::uint32_t tie_suppresses;  ///< 0 or 1
  float share;       ///< low/(1 + low), a little less: boxes that share no more of the sum of their areas do not exceed
  float sure_share;  ///< high/(1 + high), a little more: boxes that share more of it do
};

/// A box that others are held against.
struct NmsBox {
  float x1, y1, x2, y2;
  float area;
};

/// What check_rows found in some rows.
struct NmsRowFacts {
  float least;  ///< smallest and largest copied score; +inf and −inf when there are no rows, anything with a NaN
  float largest;
  std::uint32_t valid;  ///< 1: every row is valid for the hard method
};

/// How boxes are sorted into a grid by size and centre (nms/grid.h says why). For a box with FP32 width, height and area:
///     size   = bits of max(width, height) >> 24
///     scale  = 2^(scale_exponent − 2·size), exact in double
///     x      = low 32 bits of RN64((x1 + x2)·scale + 0x1.8p52), y alike
///     row    = y·0x9E3779B1 + size·0x85EBCA77 mod 2^32
///     bucket = ((row ^ row >> 15) + x) & mask
/// An area outside [2^-100, 2^100] has another bucket: mask + 2 where it is 0, otherwise mask + 1.
struct NmsGridRule {
  std::uint32_t mask;  ///< power of two − 1
  std::int32_t scale_exponent;
};

/// The size classes of regular boxes that were met; least > largest when there was none.
struct NmsGridSizes {
  std::uint32_t least;
  std::uint32_t largest;
};

struct NmsKernels {
  const char *name;

  /// Whether every row has a score that is no NaN, finite corners, x2 ≥ x1 and y2 ≥ y1; and the scores' range. Copies the
  /// scores with +0 for −0: each is read once, so that nothing later depends on the caller leaving them alone.
  NmsRowFacts (*check_rows)(const float *boxes, const float *scores, std::size_t rows, float *copied);

  /// bucket[i] = ⌊RN32(RN32(largest − scores[i])·scale)⌋ for finite scores ≤ largest; the results are below 2^31.
  void (*bucket_scores)(const float *scores, std::size_t rows, float largest, float scale, std::uint32_t *buckets);

  /// Buckets of the boxes rows[0..count).
  NmsGridSizes (*grid_buckets)(const float *boxes, const std::uint32_t *rows, std::size_t count, NmsGridRule rule,
                               std::uint32_t *buckets);

  /// Takes out every lane of blocks first..last−1 that the box suppresses, by x1 = +inf. Returns how many.
  std::uint32_t (*suppress_run)(float *blocks, std::size_t first, std::size_t last, const NmsBox &box,
                                const NmsThreshold &threshold);
  /// The same for a list of blocks, in which one may stand twice.
  std::uint32_t (*suppress_list)(float *blocks, const std::uint32_t *list, std::size_t count, const NmsBox &box,
                                 const NmsThreshold &threshold);

  /// Takes out every lane that one of boxes[0..count) surely suppresses: RN32(max(width, 0)·height) of what they share is above
  /// RN32(RN32(sure_share·area of the lane) + RN32(sure_share·area of the box)), with areas in [2^-100, 2^100]; a lane with
  /// another area stays. `blocks` is even. Boxes whose IoU is within the slack of sure_share are left to the other kernels.
  void (*suppress_surely)(float *corners, std::size_t blocks, const NmsBox *boxes, std::size_t count, float sure_share);

  /// Holds a box against blocks first..last−1 in steps of two and leaves at the first step in which a lane suppresses it.
  /// Returns how many steps came before, (last − first)/2 when nothing suppresses it. first and last are even. shares[i] goes
  /// with lane i, `share` with the box: RN32(threshold.share·area), or −inf for an area outside [2^-100, 2^100]; +inf in a lane
  /// that does not count. A lane may suppress the box only if it shares more than the sum of both.
  std::size_t (*steps_to_suppressor)(const float *blocks, const float *shares, std::size_t first, std::size_t last,
                                     const NmsBox &box, float share, const NmsThreshold &threshold);

  /// Writes the positions of the lanes of blocks first..last−1 that overlap the box and their IoUs, ascending; an IoU that is
  /// not a number is left out. Room for all those lanes. Returns how many.
  std::size_t (*overlaps)(const float *blocks, std::size_t first, std::size_t last, const NmsBox &box, std::uint32_t *positions,
                          float *ious);

  /// Position of the first largest of 8·blocks scores without NaN, blocks ≥ 1; −0 equals +0.
  std::size_t (*first_largest)(const float *scores, std::size_t blocks);
};

extern const NmsKernels scalar_nms_kernels;
#if defined(SIMA_KERNELS_X86)
extern const NmsKernels avx2_nms_kernels;
#elif defined(SIMA_KERNELS_ARM)
extern const NmsKernels neon_nms_kernels;
#endif

}  // namespace simaai::kernels::detail
