#include "kernels/kernels.h"

// Which form each set takes. The tables are alike on purpose: each line is a choice, and a missing one is a null pointer that
// every test meets.
namespace simaai::kernels::detail {

const Kernels scalar_kernels = {
    .name = "scalar",
    .set = KernelSet::Scalar,
    .gate_rows_8 = gate_rows_8_scalar,
    .gate_rows_16 = gate_rows_16_scalar,
    .gate_rows_32 = gate_rows_32_scalar,
    .gate_planes_8 = gate_planes_8_scalar,
    .gate_planes_16 = gate_planes_16_scalar,
    .gate_planes_32 = gate_planes_32_scalar,
    .gate_stripes_8 = gate_stripes_8_scalar,
    .gate_stripes_16 = gate_stripes_16_scalar,
    .best_8 = best_8_scalar,
    .best_16 = best_16_scalar,
    .best_32 = best_32_scalar,
    .best_blocks_8 = best_blocks_8_scalar,
    .suppressed = suppressed_scalar,
    .mask_dots_8 = mask_dots_8_scalar,
    .mask_bytes = mask_bytes_scalar,
    .exponentials = exponentials_scalar,
    .bin_distances_8 = bin_distances_8_scalar,
    .bin_distances_32 = bin_distances_32_scalar,
    .suppressed_exact = suppressed_exact_scalar,
};

#if defined(SIMA_KERNELS_X86)
const Kernels avx2_kernels = {
    .name = "avx2",
    .set = KernelSet::Avx2,
    .gate_rows_8 = gate_rows_8_avx2,
    .gate_rows_16 = gate_rows_16_avx2,
    .gate_rows_32 = gate_rows_32_avx2,
    .gate_planes_8 = gate_planes_8_avx2,
    .gate_planes_16 = gate_planes_16_avx2,
    .gate_planes_32 = gate_planes_32_avx2,
    .gate_stripes_8 = gate_stripes_8_avx2,
    .gate_stripes_16 = gate_stripes_16_avx2,
    .best_8 = best_8_avx2,
    .best_16 = best_16_avx2,
    .best_32 = best_32_avx2,
    .best_blocks_8 = best_blocks_8_avx2,
    .suppressed = suppressed_avx2,
    .mask_dots_8 = mask_dots_8_avx2,
    .mask_bytes = mask_bytes_avx2,
    .exponentials = exponentials_avx2,
    .bin_distances_8 = bin_distances_8_avx2,
    .bin_distances_32 = bin_distances_32_avx2,
    .suppressed_exact = suppressed_exact_avx2,
};

#elif defined(SIMA_KERNELS_ARM)
const Kernels neon_kernels = {
    .name = "neon",
    .set = KernelSet::Neon,
    .gate_rows_8 = gate_rows_8_neon,
    .gate_rows_16 = gate_rows_16_neon,
    .gate_rows_32 = gate_rows_32_neon,
    .gate_planes_8 = gate_planes_8_neon,
    .gate_planes_16 = gate_planes_16_neon,
    .gate_planes_32 = gate_planes_32_neon,
    .gate_stripes_8 = gate_stripes_8_neon,
    .gate_stripes_16 = gate_stripes_16_neon,
    .best_8 = best_8_neon,
    .best_16 = best_16_neon,
    .best_32 = best_32_neon,
    .best_blocks_8 = best_blocks_8_neon,
    .suppressed = suppressed_neon,
    .mask_dots_8 = mask_dots_8_neon,
    .mask_bytes = mask_bytes_neon,
    .exponentials = exponentials_neon,
    .bin_distances_8 = bin_distances_8_neon,
    .bin_distances_32 = bin_distances_32_neon,
    .suppressed_exact = suppressed_exact_neon,
};

const Kernels neon_dotprod_kernels = {
    .name = "neon_dotprod",
    .set = KernelSet::NeonDotprod,
    .gate_rows_8 = gate_rows_8_neon,
    .gate_rows_16 = gate_rows_16_neon,
    .gate_rows_32 = gate_rows_32_neon,
    .gate_planes_8 = gate_planes_8_neon,
    .gate_planes_16 = gate_planes_16_neon,
    .gate_planes_32 = gate_planes_32_neon,
    .gate_stripes_8 = gate_stripes_8_neon,
    .gate_stripes_16 = gate_stripes_16_neon,
    .best_8 = best_8_neon,
    .best_16 = best_16_neon,
    .best_32 = best_32_neon,
    .best_blocks_8 = best_blocks_8_neon,
    .suppressed = suppressed_neon,
    .mask_dots_8 = mask_dots_8_neon_dotprod,
    .mask_bytes = mask_bytes_neon,
    .exponentials = exponentials_neon,
    .bin_distances_8 = bin_distances_8_neon,
    .bin_distances_32 = bin_distances_32_neon,
    .suppressed_exact = suppressed_exact_neon,
};
#endif

}  // namespace simaai::kernels::detail
