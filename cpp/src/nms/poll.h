#pragma once

#include <cstdint>

/// How somebody who waits for a long run ends it.
/// In: the work that was done, in pairs of boxes. Out: whether to end. The question is asked after an amount of work, never
/// after a time, so that the same rows are always asked about at the same places. Never: a question in a short run.
namespace simaai::kernels::detail {

class NmsPoll {
public:
  /// True to end the run, whose result is then worth nothing. Called in the thread of the run.
  using Question = bool (*)(void *context);

  /// Pairs of boxes between two questions: some tens of milliseconds.
  static constexpr std::uint64_t interval = std::uint64_t{1} << 27U;

  NmsPoll() = default;
  NmsPoll(Question question, void *context) noexcept : question_(question), context_(context) {}

  /// Counts work, without a question.
  void add(std::uint64_t pairs) noexcept { left_ = pairs < left_ ? left_ - pairs : 0; }

  /// Counts work, and asks when it is time. True when the run shall end: then also every time after.
  [[nodiscard]] bool spend(std::uint64_t pairs) {
    if (pairs < left_) {
      left_ -= pairs;
      return false;
    }
    ended_ = ended_ || (question_ != nullptr && question_(context_));
    left_ = ended_ ? 0 : interval;
    return ended_;
  }

  [[nodiscard]] bool ended() const noexcept { return ended_; }

private:
  Question question_ = nullptr;
  void *context_ = nullptr;
  std::uint64_t left_ = interval;
  bool ended_ = false;
};

}  // namespace simaai::kernels::detail
