#include "boxdecode/bind.h"

#include "boxdecode/execute.h"
#include "boxdecode/geometry/boxes.h"
#include "boxdecode/geometry/keypoints.h"
#include "boxdecode/outputs/outputs.h"
#include "boxdecode/plan/plan.h"
#include "boxdecode/scan/scan.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

bool minus_infinity_discards(NonfiniteLogit rule) {
  switch (rule) {
    case NonfiniteLogit::DiscardsUnlessMinusInfinity: return false;
    case NonfiniteLogit::Discards: return true;
  }
  return false;
}

WriteExtra extra_writer(Task task, bool proposals) {
  switch (task) {
    case Task::Pose: return write_keypoints;
    case Task::Segmentation: return write_mask;
    case Task::Detection: break;
  }
  return proposals ? write_proposal : nullptr;
}

}  // namespace

void bind_words(PlanState &plan) {
  const Recipe &recipe = *plan.recipe;
  for (HeadPlan &head : plan.heads) {
    head.best_class = best_class_for(plan, head);
    head.scan = scan_for(recipe, head);
    head.decode_box = box_decoder(plan, head);
  }
  plan.every_logit_finite = minus_infinity_discards(recipe.nonfinite_logit);
  plan.decode_keypoints = keypoint_decoder(plan.params.task == Task::Pose ? recipe.keypoints : KeypointForm::None);
  plan.accept = accept_for(plan);
  plan.write_extra = extra_writer(plan.params.task, recipe.publishes_proposals);
}

}  // namespace simaai::kernels::ops::boxdecode::detail
