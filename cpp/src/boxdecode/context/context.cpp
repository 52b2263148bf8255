#include "boxdecode/context/context.h"

#include <new>

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

constexpr std::align_val_t block_alignment{64};

}  // namespace

void AlignedDelete::operator()(std::byte *block) const noexcept { ::operator delete[](block, block_alignment); }

std::unique_ptr<ContextState> make_context(std::shared_ptr<const PlanState> plan) {
  auto context = std::make_unique<ContextState>();
  // At least one byte, so that a pointer to no block never means a block.
  const std::size_t bytes = plan->scratch.bytes > 0 ? plan->scratch.bytes : 1;
  context->block.reset(static_cast<std::byte *>(::operator new[](bytes, block_alignment)));
  context->scratch = share_out(plan->scratch, context->block.get());
  context->plan = std::move(plan);
  return context;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
