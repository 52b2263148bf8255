#include "boxdecode/select/decoded.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

const HeadPlan &head_of(const PlanState &plan, std::uint32_t location) {
  std::size_t index = plan.heads.size() - 1;
  while (plan.heads[index].first_location > location) {
    --index;
  }
  return plan.heads[index];
}

}  // namespace

std::span<const Decoded> DecodedBoxes::next() {
  std::size_t ready = 0;
  for (; ready < ahead; ++ready) {
    const Candidate *candidate = ordering_.next();
    if (candidate == nullptr) {
      break;
    }
    const HeadPlan &head = head_of(frame_.plan, candidate->location);
    const std::uint32_t place = candidate->location - head.first_location;
    const bool one = head.anchors == 1;
    const Site site = site_of(head, one ? place : place / head.anchors, one ? 0 : place % head.anchors);
    // Candidates come by score, which jumps about in the tensor.
    touch(frame_.port(head.boxes).reader, frame_.input(head.boxes.port), site.cell, head.boxes.first(site.anchor),
          head.boxes.count);
    decoded_[ready] = {candidate, &head, site, {}};
  }
  for (std::size_t i = 0; i < ready; ++i) {
    decoded_[i].corners = decoded_[i].head->decode_box(frame_, *decoded_[i].head, decoded_[i].site);
  }
  return {decoded_, ready};
}

}  // namespace simaai::kernels::ops::boxdecode::detail
