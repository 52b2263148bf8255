#pragma once

#include <atomic>

/// What every operator does around a call. In: borrowed buffers, the flag of a context. Out: whether the call may go on.
/// Never: what is computed.
namespace simaai::kernels::detail {

/// Holds a context for one call; where another call holds it already, held() is false and nothing waits.
class InFlight {
public:
  explicit InFlight(std::atomic_flag &busy) noexcept : busy_(busy), held_(!busy.test_and_set(std::memory_order_acquire)) {}
  ~InFlight() {
    if (held_) {
      busy_.clear(std::memory_order_release);
    }
  }
  InFlight(const InFlight &) = delete;
  InFlight &operator=(const InFlight &) = delete;
  [[nodiscard]] bool held() const noexcept { return held_; }

private:
  std::atomic_flag &busy_;
  bool held_;
};

}  // namespace simaai::kernels::detail
