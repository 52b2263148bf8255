#pragma once

#include <cstddef>
#include <cstdint>

namespace bench {

/// Reads every byte once with the widest loads of the baseline kernels and returns something that depends on all of them:
/// the least that any scan of these bytes can cost.
std::uint64_t read_limit(const std::uint8_t *bytes, std::size_t size);

/// Drops the bytes from every cache level. Without effect where the CPU has no instruction for it.
void flush(const void *bytes, std::size_t size);
bool can_flush();

}  // namespace bench
