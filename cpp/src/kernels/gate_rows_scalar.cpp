#include "kernels/elements_scalar.h"

namespace simaai::kernels::detail {
namespace {

template <typename Unsigned>
std::size_t gate_rows(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                      std::uint32_t *hits) {
  std::size_t count = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint8_t *elements = base + row * row_step;
    bool hit = false;
    for (std::size_t index = 0; index < length; ++index) {
      hit |= passes<Unsigned>(load<Unsigned>(elements + index * sizeof(Unsigned)), gate);
    }
    if (hit) {
      hits[count++] = static_cast<std::uint32_t>(row);
    }
  }
  return count;
}

}  // namespace

std::size_t gate_rows_8_scalar(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                               std::uint32_t *hits) {
  return gate_rows<std::uint8_t>(base, rows, row_step, length, gate, hits);
}

std::size_t gate_rows_16_scalar(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                                std::uint32_t *hits) {
  return gate_rows<std::uint16_t>(base, rows, row_step, length, gate, hits);
}

std::size_t gate_rows_32_scalar(const std::uint8_t *base, std::size_t rows, std::size_t row_step, std::size_t length, Gate gate,
                                std::uint32_t *hits) {
  return gate_rows<std::uint32_t>(base, rows, row_step, length, gate, hits);
}

}  // namespace simaai::kernels::detail
