#pragma once

#include <cstddef>
#include <cstdint>

/// The contract of every kernel that has more than one form. The scalar form is the truth; each other form returns the same
/// bytes for every input. Forms are chosen once, when a plan is prepared.
///
/// A kernel has a file for each instruction set, NAME_SUFFIX.cpp. Such files include intrinsics, <cstddef>, <cstdint>, this
/// header and headers of this folder whose functions are all in unnamed namespaces: an inline function with a name outside
/// could be the copy that the linker gives to everybody, and crash older CPUs. Hence no function body here.
namespace simaai::kernels::detail {

/// A lane passes ⇔ signed(element XOR flip) ≥ threshold, in the width of the element. With it one signed comparison serves
/// signed bytes (flip 0), unsigned bytes (flip 0x80), positive float cutoffs (flip 0: negative floats are negative integers)
/// and negative float cutoffs (flip 0x7FFF…: bits ≤ cutoff bits as unsigned). NaN may pass: the gate is a bound.
struct Gate {
  std::uint32_t flip;
  std::int32_t threshold;
};

/// The best of some lanes: the first index that has the largest key, and that key.
struct Best {
  std::int32_t key;
  std::uint32_t index;
};

/// Accepted boxes of one class, eight to a block, chained from the newest block to the oldest. Corners are rounded, area is
/// the rounded area of the unrounded box. Unused lanes hold x1 = y1 = INT32_MAX, x2 = y2 = INT32_MIN: they overlap nothing.
struct SuppressionBlock {
  static constexpr std::uint32_t lanes = 8;
  static constexpr std::uint32_t end = 0xFFFFFFFFU;
  std::int32_t x1[lanes];
  std::int32_t y1[lanes];
  std::int32_t x2[lanes];
  std::int32_t y2[lanes];
  std::uint32_t area[lanes];
  std::uint32_t next;
  std::uint32_t used;
  std::uint32_t behind;  ///< blocks behind this one in the pool that are kept for the chain
};

/// A box to be held against accepted boxes, |corner| ≤ 10,000,000, area < 2^31.
struct RoundedBox {
  std::int32_t x1, y1, x2, y2;
  std::uint32_t area;
};

/// The same with FP32 corners and areas, for the exact rule. Unused lanes hold x1 = +inf and zeros else: they overlap nothing.
struct ExactBlock {
  static constexpr std::uint32_t lanes = 8;
  static constexpr std::uint32_t end = 0xFFFFFFFFU;
  float x1[lanes];
  float y1[lanes];
  float x2[lanes];
  float y2[lanes];
  float area[lanes];
  std::uint32_t next;
  std::uint32_t used;
  std::uint32_t behind;
};

// Of the exact rule, which the array operators share: kernels/nms_kernels.h.
struct NmsBox;
struct NmsThreshold;

/// One row of mask coefficients, prepared for integer dot products with prototypes. Zero beyond `length`.
struct MaskCoefficients {
  static constexpr std::uint32_t capacity = 64;
  std::int16_t centred[capacity];  ///< raw − zero point, −255..255
  std::int8_t raw[capacity];       ///< signed raw; centred = raw − zero_point
  std::int32_t zero_point;         ///< −128..127
  std::int32_t sum_centred;
  std::uint32_t length;          ///< 1..64
  std::uint32_t prototype_flip;  ///< 0 for signed prototypes, 0x80 for unsigned ones
  std::int32_t prototype_zero;   ///< of the signed prototype, −128..127
};

/// The byte of each integer sum of a mask: a step function. Buckets of 2^shift sums from `low` on; entry = byte at the start of
/// the bucket | distance of the step inside it << 8 (a distance of 2^shift or more: no step). Sums beyond the ends belong to
/// the first or last bucket, which are flat.
struct MaskSteps {
  const std::uint32_t *entries;
  std::uint32_t buckets;
  std::uint32_t shift;
  std::int32_t low;
};

/// Rows of `length` contiguous elements, `row_step` bytes apart: writes the ascending indexes of the rows in which an element
/// passes to `hits` (room for `rows`) and returns how many there are. Reads only the elements. length ≥ 1.
using GateRows = std::size_t(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                             std::uint32_t *hits);

/// Planes of `cells` contiguous elements, `plane_step` bytes apart: a cell hits when any plane passes there. `marks` is
/// scratch for `cells` elements of the width. cells ≤ 4096.
using GatePlanes = std::size_t(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step,
                               Gate gate, void *marks, std::uint32_t *hits);

/// Stripes of 16 elements: cell r has its elements of segment s at base + offsets[s] + 16·r; element j counts when bit j of
/// used[s] is set. The 16-bit form has low bytes at base + offsets[s] + 32·r and high bytes 16 bytes further. All 16 elements
/// of a stripe may be read.
using GateStripes = std::size_t(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets,
                                const std::uint16_t *used, std::size_t segments, Gate gate, std::uint32_t *hits);

/// First largest of `length` ≥ 1 contiguous elements, key = signed(element XOR flip).
using BestOfBytes = Best(const std::uint8_t *elements, std::size_t length, std::uint32_t flip);

/// First largest of `length` ≥ 1 contiguous floats, in the order in which −0 equals +0 and NaN of either sign is on top
/// (0x7FFF, 0x7FFFFFFF); `infinity` is the magnitude of the 16-bit format.
using BestOfHalves = Best(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity);
using BestOfFloats = Best(const std::uint32_t *elements, std::size_t length);

/// BestOfBytes over `length` elements in blocks of 16, `block_step` bytes apart. All 16 elements of a block may be read.
using BestOfBlocks = Best(const std::uint8_t *block, std::size_t block_step, std::size_t length, std::uint32_t flip);

/// Whether a box in the chain that starts at pool[first] suppresses the candidate: overlap and
/// inter·(256 + least_iou) ≥ least_iou·(area + area'), in exact integers. least_iou is in 1/256, 1..256.
using Suppressed = bool(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate,
                        std::uint32_t least_iou);

/// dots[p] = Σ_j centred[j] · (signed(prototype[p·pixel_step + j] XOR flip) − prototype_zero), j < length, exact. Reads
/// `length` bytes of each pixel and no other.
using MaskDots = void(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                      std::size_t pixel_step, std::int32_t *dots);

/// bytes[p] = byte at the start of the bucket of sums[p], plus 1 from the step on. |sums[p] − low| < 2^31.
using MaskBytes = void(const std::int32_t *sums, std::size_t pixels, const MaskSteps &steps, std::uint8_t *bytes);

/// terms[k] = exp32(x[k] − largest), correctly rounded like exp32; NaN of any payload for NaN. May overwrite x.
using Exponentials = void(const float *x, std::size_t length, float largest, float *terms);

/// Four sides of `bins` raw bytes each, `side_step` bytes apart: sides[i] = (Σ k·e_k) / (Σ e_k) with e_k = table[max − x_k],
/// x = raw XOR flip as an unsigned number, each sum in four partial sums (term k to sum k mod 4, then (s0 + s1) + (s2 + s3)).
/// 2 ≤ bins ≤ 64.
using BinDistancesOfBytes = void(const std::uint8_t *raw, std::size_t side_step, std::uint32_t bins, std::uint8_t flip,
                                 const float *table, float *sides);

/// The same with e_k = exp32(x_k − max). A side with NaN or +inf, or without a finite bin, is NaN.
using BinDistancesOfFloats = void(const float *x, std::uint32_t bins, float *sides);

/// Whether a box in the chain that starts at pool[first] suppresses the candidate by the rule of the array operators:
/// RN32(inter/union) > threshold. Boxes are finite with x2 ≥ x1 and y2 ≥ y1.
using SuppressedExact = bool(const ExactBlock *pool, std::uint32_t first, const NmsBox &candidate,
                             const NmsThreshold &threshold);

/// What a set of kernels needs of a CPU. Each operator has a table of kernels for each.
enum class KernelSet : std::uint8_t { Scalar, Avx2, Neon, NeonDotprod };

/// One form of each kernel; the number is the width of an element in bits.
struct Kernels {
  const char *name;
  KernelSet set;
  GateRows *gate_rows_8;
  GateRows *gate_rows_16;
  GateRows *gate_rows_32;
  GatePlanes *gate_planes_8;
  GatePlanes *gate_planes_16;
  GatePlanes *gate_planes_32;
  GateStripes *gate_stripes_8;
  GateStripes *gate_stripes_16;
  BestOfBytes *best_8;
  BestOfHalves *best_16;
  BestOfFloats *best_32;
  BestOfBlocks *best_blocks_8;
  Suppressed *suppressed;
  MaskDots *mask_dots_8;
  MaskBytes *mask_bytes;
  Exponentials *exponentials;
  BinDistancesOfBytes *bin_distances_8;
  BinDistancesOfFloats *bin_distances_32;
  SuppressedExact *suppressed_exact;
};

// The forms of one instruction set.
#define SIMA_KERNELS_DECLARE(isa)                                                                                              \
  GateRows gate_rows_8_##isa, gate_rows_16_##isa, gate_rows_32_##isa;                                                          \
  GatePlanes gate_planes_8_##isa, gate_planes_16_##isa, gate_planes_32_##isa;                                                  \
  GateStripes gate_stripes_8_##isa, gate_stripes_16_##isa;                                                                     \
  BestOfBytes best_8_##isa;                                                                                                    \
  BestOfHalves best_16_##isa;                                                                                                  \
  BestOfFloats best_32_##isa;                                                                                                  \
  BestOfBlocks best_blocks_8_##isa;                                                                                            \
  Suppressed suppressed_##isa;                                                                                                 \
  MaskDots mask_dots_8_##isa;                                                                                                  \
  MaskBytes mask_bytes_##isa;                                                                                                  \
  Exponentials exponentials_##isa;                                                                                             \
  BinDistancesOfBytes bin_distances_8_##isa;                                                                                   \
  BinDistancesOfFloats bin_distances_32_##isa;                                                                                 \
  SuppressedExact suppressed_exact_##isa;
SIMA_KERNELS_DECLARE(scalar)
SIMA_KERNELS_DECLARE(avx2)
SIMA_KERNELS_DECLARE(neon)
#undef SIMA_KERNELS_DECLARE
MaskDots mask_dots_8_neon_dotprod;

extern const Kernels scalar_kernels;
#if defined(SIMA_KERNELS_X86)
extern const Kernels avx2_kernels;
#elif defined(SIMA_KERNELS_ARM)
extern const Kernels neon_kernels;
/// As neon_kernels, with SDOT for the mask products.
extern const Kernels neon_dotprod_kernels;
#endif

}  // namespace simaai::kernels::detail
