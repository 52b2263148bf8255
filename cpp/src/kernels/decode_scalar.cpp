#include "kernels/kernels.h"

// The truth: what every other form of these kernels must return, written as plainly as it can be.
namespace simaai::kernels::detail {
namespace {

// An element of `Unsigned` at any address, as the signed integer that the gate compares.
template <typename Unsigned>
std::uint32_t load(const std::uint8_t *from) {
  std::uint32_t value = 0;
  for (std::size_t byte = 0; byte < sizeof(Unsigned); ++byte) {
    value |= static_cast<std::uint32_t>(from[byte]) << (8U * byte);
  }
  return value;
}

template <typename Unsigned>
std::int32_t as_signed(std::uint32_t value) {
  constexpr std::uint32_t shift = 32U - 8U * sizeof(Unsigned);
  return static_cast<std::int32_t>(value << shift) >> shift;
}

template <typename Unsigned>
bool passes(std::uint32_t element, Gate gate) {
  return as_signed<Unsigned>(element ^ gate.flip) >= gate.threshold;
}

template <typename Unsigned>
std::size_t gate_rows(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                      std::uint32_t *hits) {
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t *elements = base + row * row_step;
    bool hit = false;
    for (std::size_t lane = 0; lane < length; ++lane) {
      hit |= passes<Unsigned>(load<Unsigned>(elements + lane * sizeof(Unsigned)), gate);
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(row);
    }
  }
  return count;
}

template <typename Unsigned>
std::size_t gate_planes(const std::uint8_t *base, std::size_t cells, std::size_t planes, std::size_t plane_step, Gate gate,
                        void *marks, std::uint32_t *hits) {
  (void)marks;
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool hit = false;
    for (std::size_t plane = 0; plane < planes && !hit; ++plane) {
      hit = passes<Unsigned>(load<Unsigned>(base + plane * plane_step + cell * sizeof(Unsigned)), gate);
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(cell);
    }
  }
  return count;
}

std::size_t gate_stripes_8(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets, const std::uint16_t *masks,
                           std::size_t segments, Gate gate, std::uint32_t *hits) {
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool hit = false;
    for (std::size_t segment = 0; segment < segments && !hit; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + 16 * cell;
      for (std::size_t lane = 0; lane < 16; ++lane) {
        hit |= ((masks[segment] >> lane) & 1U) != 0 && passes<std::uint8_t>(stripe[lane], gate);
      }
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(cell);
    }
  }
  return count;
}

std::size_t gate_stripes_16(const std::uint8_t *base, std::size_t cells, const std::size_t *offsets, const std::uint16_t *masks,
                            std::size_t segments, Gate gate, std::uint32_t *hits) {
  std::size_t count = 0;
  for (std::size_t cell = 0; cell < cells; ++cell) {
    bool hit = false;
    for (std::size_t segment = 0; segment < segments && !hit; ++segment) {
      const std::uint8_t *stripe = base + offsets[segment] + 32 * cell;
      for (std::size_t lane = 0; lane < 16; ++lane) {
        const std::uint32_t bits = static_cast<std::uint32_t>(stripe[lane]) | static_cast<std::uint32_t>(stripe[lane + 16])
                                                                                  << 8U;
        hit |= ((masks[segment] >> lane) & 1U) != 0 && passes<std::uint16_t>(bits, gate);
      }
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(cell);
    }
  }
  return count;
}

Best best_8(const std::uint8_t *elements, std::size_t length, std::uint32_t flip) {
  Best best{as_signed<std::uint8_t>(elements[0] ^ flip), 0};
  for (std::size_t lane = 1; lane < length; ++lane) {
    const std::int32_t key = as_signed<std::uint8_t>(elements[lane] ^ flip);
    if (key > best.key) {
      best = {key, static_cast<std::uint32_t>(lane)};
    }
  }
  return best;
}

Best best_blocks_8(const std::uint8_t *block, std::size_t block_step, std::size_t length, std::uint32_t flip) {
  Best best = best_8(block, length < 16 ? length : 16, flip);
  for (std::size_t lane = 16; lane < length; lane += 16) {
    block += block_step;
    const Best next = best_8(block, length - lane < 16 ? length - lane : 16, flip);
    if (next.key > best.key) {
      best = {next.key, static_cast<std::uint32_t>(lane) + next.index};
    }
  }
  return best;
}

std::int32_t float_key(std::uint32_t bits, std::uint32_t infinity, std::uint32_t magnitude_mask) {
  const std::uint32_t magnitude = bits & magnitude_mask;
  if (magnitude > infinity) {
    return static_cast<std::int32_t>(magnitude_mask);
  }
  const std::int32_t value = static_cast<std::int32_t>(magnitude);
  return (bits & ~magnitude_mask) != 0 ? -value : value;
}

Best best_16(const std::uint16_t *elements, std::size_t length, std::uint16_t infinity) {
  Best best{float_key(elements[0], infinity, 0x7FFFU), 0};
  for (std::size_t lane = 1; lane < length; ++lane) {
    const std::int32_t key = float_key(elements[lane], infinity, 0x7FFFU);
    if (key > best.key) {
      best = {key, static_cast<std::uint32_t>(lane)};
    }
  }
  return best;
}

Best best_32(const std::uint32_t *elements, std::size_t length) {
  Best best{float_key(elements[0], 0x7F800000U, 0x7FFFFFFFU), 0};
  for (std::size_t lane = 1; lane < length; ++lane) {
    const std::int32_t key = float_key(elements[lane], 0x7F800000U, 0x7FFFFFFFU);
    if (key > best.key) {
      best = {key, static_cast<std::uint32_t>(lane)};
    }
  }
  return best;
}

bool suppressed(const SuppressionBlock *pool, std::uint32_t first, const RoundedBox &candidate, std::uint32_t limit) {
  for (std::uint32_t index = first; index != SuppressionBlock::end; index = pool[index].next) {
    const SuppressionBlock &block = pool[index];
    for (std::uint32_t lane = 0; lane < block.used; ++lane) {
      const std::int32_t left = block.x1[lane] > candidate.x1 ? block.x1[lane] : candidate.x1;
      const std::int32_t top = block.y1[lane] > candidate.y1 ? block.y1[lane] : candidate.y1;
      const std::int32_t right = block.x2[lane] < candidate.x2 ? block.x2[lane] : candidate.x2;
      const std::int32_t bottom = block.y2[lane] < candidate.y2 ? block.y2[lane] : candidate.y2;
      if (right <= left || bottom <= top) {
        continue;
      }
      // Sides are below 2^25 and the product below 2^32 (the smaller box has area < 2^31 before rounding), so 64 bits hold all.
      const std::uint64_t inter =
          static_cast<std::uint64_t>(static_cast<std::uint32_t>(right - left)) * static_cast<std::uint32_t>(bottom - top);
      const std::uint64_t areas = static_cast<std::uint64_t>(block.area[lane]) + candidate.area;
      if (areas > inter && inter * (256U + limit) >= limit * areas) {
        return true;
      }
    }
  }
  return false;
}

void mask_dots_8(const MaskCoefficients &coefficients, const std::uint8_t *prototypes, std::size_t pixels,
                 std::size_t pixel_step, std::int32_t *dots) {
  for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
    const std::uint8_t *prototype = prototypes + pixel * pixel_step;
    std::int32_t sum = 0;
    for (std::uint32_t j = 0; j < coefficients.length; ++j) {
      const std::int32_t value = as_signed<std::uint8_t>(prototype[j] ^ coefficients.prototype_flip);
      sum += coefficients.centred[j] * (value - coefficients.prototype_zero);
    }
    dots[pixel] = sum;
  }
}

}  // namespace

const Kernels scalar_kernels = {
    "scalar",
    gate_rows<std::uint8_t>,
    gate_rows<std::uint16_t>,
    gate_rows<std::uint32_t>,
    gate_planes<std::uint8_t>,
    gate_planes<std::uint16_t>,
    gate_planes<std::uint32_t>,
    gate_stripes_8,
    gate_stripes_16,
    best_8,
    best_16,
    best_32,
    best_blocks_8,
    suppressed,
    mask_dots_8,
    mask_bytes_scalar,
    exponentials_scalar,
    bin_distances_8_scalar,
    bin_distances_32_scalar,
    suppressed_exact_scalar,
};

}  // namespace simaai::kernels::detail
