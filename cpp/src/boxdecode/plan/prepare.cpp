#include "boxdecode/plan/prepare.h"

#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <utility>

#include "boxdecode/geometry/mapping.h"
#include "boxdecode/recipes/questions.h"
#include "boxdecode/suppress/capacity.h"
#include "kernels/dispatch.h"
#include "kernels/iou_rule.h"
#include "numeric/exp32.h"
#include "numeric/rounding.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

using simaai::kernels::detail::exp32;
using simaai::kernels::detail::round_half_away;

std::uint32_t narrow(std::int64_t value) { return static_cast<std::uint32_t>(value); }

PortPlan make_port(const TensorSpec &spec, const Params &params, std::size_t port) {
  PortPlan plan;
  plan.reader = make_reader(spec);
  plan.type = element_type(spec, params, port);
  return plan;
}

Lane lane_of(std::size_t port, std::int64_t origin, std::int64_t anchor_step, std::int64_t step, std::int64_t count) {
  return {narrow(static_cast<std::int64_t>(port)), narrow(origin), narrow(anchor_step), narrow(step), narrow(count)};
}

// The lane of a part. Background is settled with Classes.
Lane *lane_of_part(HeadPlan &head, Part part) {
  switch (part) {
    case Part::Box:
    case Part::Center: return &head.boxes;
    case Part::Size: return &head.sizes;
    case Part::Objectness: return &head.objectness;
    case Part::Classes: return &head.classes;
    case Part::Background: return nullptr;
    case Part::Keypoints: return &head.keypoints;
    case Part::Coefficients: return &head.coefficients;
  }
  return nullptr;
}

// The lanes of the parts of one port. Those of all encoded classes are neighbours: together they are the logits.
void build_lanes(HeadPlan &head, std::size_t port, const Parts &parts, Major major, const HeadFacts &facts) {
  const std::int64_t anchors = facts.anchors;
  const std::int64_t each = facts.channels_of(parts);
  std::int64_t before = 0;
  for (const Part part : parts) {
    const std::int64_t count = facts.channels_of(part);
    Lane lane;
    switch (major) {
      case Major::Anchor: lane = lane_of(port, before, each, 1, count); break;
      case Major::Part: lane = lane_of(port, before * anchors, 1, anchors, count); break;
    }
    before += count;
    if (count == 0) {
      continue;
    }
    // The last element of the last anchor lies in the port.
    assert(lane.first(narrow(anchors - 1)) + lane.step * (lane.count - 1) < narrow(anchors * each));
    if (Lane *own = lane_of_part(head, part)) {
      *own = lane;
    }
    if (part == Part::Classes || part == Part::Background) {
      lane.count += head.logits.count;
      lane.origin = head.logits.empty() ? lane.origin : head.logits.origin;
      head.logits = lane;
    }
  }
}

// Ports become lanes: afterwards nobody asks any more which port or channel order an element has.
void build_lanes(HeadPlan &head, const PlanState &plan, const Head &ports, const HeadFacts &facts) {
  const Recipe &recipe = *plan.recipe;
  if (facts.combined) {
    build_lanes(head, ports.boxes, recipe.combined, Major::Anchor, facts);
  } else {
    for (const PortRule &rule : recipe.ports) {
      if (const std::optional<std::size_t> port = port_of(ports, rule.role)) {
        build_lanes(head, *port, rule.parts, rule.major, facts);
      }
    }
  }
  if (recipe.background_first()) {
    head.classes.count = narrow(plan.params.num_classes - 1);  // may be a prefix
    head.class_offset = 1;
  }
  if (scores_by_objectness(plan.params, recipe)) {
    assert(!head.objectness.empty());
    head.classes = std::exchange(head.objectness, {});
  }
  assert(!head.boxes.empty() && !head.classes.empty() && head.classes.count <= head.logits.count);
}

const ExpTable *exp_table(PlanState &plan, float scale) {
  // Tables are shared inside a plan: exp32(−d·scale) does not depend on the zero point.
  for (const auto &[known, table] : plan.exp_tables) {
    if (std::bit_cast<std::uint32_t>(known) == std::bit_cast<std::uint32_t>(scale)) {
      return table.get();
    }
  }
  auto table = std::make_unique<ExpTable>();
  for (std::size_t distance = 0; distance < table->size(); ++distance) {
    (*table)[distance] = exp32(-static_cast<float>(distance) * scale);
  }
  plan.exp_tables.emplace_back(scale, std::move(table));
  return plan.exp_tables.back().second.get();
}

void prepare_scores(PlanState &plan, HeadPlan &head) {
  const ElementType &classes = plan.ports[head.classes.port].type;
  const ScoreActivation activation = *plan.params.score_activation;
  const float threshold = plan.params.detection_threshold;
  const bool objectness_alone = scores_by_objectness(plan.params, *plan.recipe);
  if (is_softmax(plan.recipe->score)) {
    head.scores.type = classes;
    head.scores.activation = activation;
    if (is_quantized(classes.dtype)) {
      head.score_exponentials = exp_table(plan, classes.scale);
    }
    return;
  }
  if (head.objectness.empty()) {
    head.scores = make_score_map(classes, activation, {threshold, 1.0F, objectness_alone});
    return;
  }
  // The product decides: each factor alone is only bounded by the best that the other can be.
  const ElementType &objectness = plan.ports[head.objectness.port].type;
  head.scores = make_score_map(classes, activation, {0.0F, 1.0F, false});
  head.objectness_scores = make_score_map(objectness, activation, {threshold, largest_score(classes, activation), true});
}

const MaskTable *mask_table(PlanState &plan, const HeadPlan &head) {
  const ElementType &coefficient = plan.ports[head.coefficients.port].type;
  const ElementType &prototype = plan.ports[plan.prototype.port].type;
  const bool integer = is_quantized(coefficient.dtype) && is_quantized(prototype.dtype);
  const float scale = integer ? coefficient.scale * prototype.scale : 1.0F;
  for (const auto &table : plan.mask_tables) {
    if (table->integer == integer && std::bit_cast<std::uint32_t>(table->scale) == std::bit_cast<std::uint32_t>(scale)) {
      return table.get();
    }
  }
  plan.mask_tables.push_back(integer ? make_mask_table(scale, plan.params.mask_encoding, plan.prototype.count)
                                     : std::make_unique<MaskTable>());
  return plan.mask_tables.back().get();
}

void prepare_lanes(PlanState &plan, const Facts &facts, std::size_t index) {
  const Params &params = plan.params;
  const HeadFacts &found = facts.heads[index];
  HeadPlan &head = plan.heads[index];
  head.width = narrow(found.grid.width);
  head.height = narrow(found.grid.height);
  head.cells = head.width * head.height;
  head.anchors = narrow(found.anchors);
  head.stride_x = static_cast<float>(params.model_input_size.width) / static_cast<float>(found.grid.width);
  head.stride_y = static_cast<float>(params.model_input_size.height) / static_cast<float>(found.grid.height);
  build_lanes(head, plan, params.heads[index], found);
  if (plan.recipe->class_is_level) {
    head.class_offset = narrow(static_cast<std::int64_t>(index));
  }
}

void prepare_head(PlanState &plan, std::size_t index, std::uint32_t &next_location) {
  HeadPlan &head = plan.heads[index];
  head.first_location = next_location;
  next_location += head.cells * head.anchors;
  const TensorSpec &scores = plan.input_specs[head.classes.port];
  const bool dense = std::holds_alternative<Contiguous>(scores.layout) || std::holds_alternative<Strided>(scores.layout);
  head.positive_zero_first = plan.recipe->raw_key_order && dense && scores.dtype == DType::BFloat16;
  prepare_scores(plan, head);
  const ElementType &boxes = plan.ports[head.boxes.port].type;
  if (has_bins(plan.recipe->box.curve) && is_quantized(boxes.dtype)) {
    head.box_exponentials = exp_table(plan, boxes.scale);
  }
  if (!plan.prototype.empty()) {
    head.mask = mask_table(plan, head);
  }
  head.priors = make_priors(plan, index);
}

void prepare_suppression(PlanState &plan) {
  const float threshold = plan.params.nms_iou_threshold;
  const std::int64_t limit = round_half_away(256.0 * static_cast<double>(threshold));
  plan.streaming = never_suppresses(plan.recipe->suppression);
  // An IoU in 256ths may exceed 256, since corners are rounded and areas are not: 256 means no suppression.
  const bool suppresses = suppresses_at(plan.recipe->suppression, threshold);
  switch (plan.params.suppression_corners) {
    case SuppressionCorners::Integer:
      plan.suppresses = suppresses && limit < 256;
      plan.suppression_limit = narrow(limit + 1);
      break;
    case SuppressionCorners::Exact:
      // No FP32 quotient of an intersection and a union is above 1.
      plan.suppresses = suppresses && threshold < 1.0F;
      plan.exact_threshold = simaai::kernels::detail::prepare_threshold(static_cast<double>(threshold));
      plan.suppression_limit = exact_outline_limit(static_cast<double>(threshold));
      break;
  }
}

void prepare_box_unit(PlanState &plan) {
  if (is_normalised(plan.recipe->box.unit, plan.params.box_unit)) {
    plan.box_scale_x = static_cast<float>(plan.params.model_input_size.width);
    plan.box_scale_y = static_cast<float>(plan.params.model_input_size.height);
  }
  if (is_normalised(LengthUnit::Told, plan.params.keypoint_unit.value_or(plan.params.box_unit))) {
    plan.keypoint_scale_x = static_cast<float>(plan.params.model_input_size.width);
    plan.keypoint_scale_y = static_cast<float>(plan.params.model_input_size.height);
  }
}

// Below this distance of the best class from the largest logit even two terms of the denominator rule a score out. The margin
// covers the rounding of the difference and of sums of up to 4,096 terms; tiny thresholds have subnormal scores and no bound.
float softmax_early_out(float threshold) {
  if (threshold < 1e-30F) {
    return -INFINITY;
  }
  const double odds = static_cast<double>(threshold) / (1.0 - static_cast<double>(threshold));
  return static_cast<float>(std::log(odds) - 1e-3);
}

void prepare_outputs(PlanState &plan) {
  for (const TensorSpec &spec : plan.output_specs) {
    OutputPlan output;
    output.alignment = element_bytes(spec.dtype);
    output.row_bytes = output.alignment;
    for (std::size_t axis = 1; axis < spec.shape.size(); ++axis) {
      output.row_bytes *= static_cast<std::size_t>(spec.shape[axis]);
    }
    output.bytes = output.row_bytes * static_cast<std::size_t>(spec.shape.front());
    plan.outputs.push_back(output);
  }
}

std::uint32_t saturated(std::uint64_t value) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(value, 0xFFFFFFFFU)); }

// How many candidates one cell and anchor can have.
std::uint64_t candidates_of_a_location(ScoreForm form, const HeadPlan &head) {
  switch (form) {
    case ScoreForm::BestClass:
    case ScoreForm::SoftmaxBest: return 1;
    case ScoreForm::EveryClass: return head.classes.count;
  }
  return 1;
}

void prepare_context(PlanState &plan) {
  ScratchSizes &sizes = plan.scratch;
  const auto capacity = static_cast<std::uint64_t>(plan.params.max_detections);
  std::uint64_t chains = 1;
  std::uint64_t candidates = 0;
  for (const HeadPlan &head : plan.heads) {
    candidates += std::uint64_t{head.cells} * head.anchors * candidates_of_a_location(plan.recipe->score, head);
    chains = std::max<std::uint64_t>(chains, plan.params.class_agnostic ? 1 : head.class_offset + head.classes.count);
    for (const Lane *lane :
         {&head.boxes, &head.sizes, &head.classes, &head.logits, &head.objectness, &head.keypoints, &head.coefficients}) {
      sizes.lane_elements = std::max(sizes.lane_elements, lane->count);
    }
  }
  sizes.candidates = saturated(plan.streaming ? capacity : candidates);
  sizes.buckets = saturated(std::bit_ceil(static_cast<std::uint64_t>(sizes.candidates)));
  if (plan.suppresses) {
    const std::uint64_t accepted = std::min<std::uint64_t>(capacity, candidates);
    sizes.chains = saturated(chains);
    sizes.suppression_blocks = saturated(suppression_blocks_for(accepted, chains));
    if (index_serves(accepted) && plan.suppression_limit > 0) {
      sizes.indexed_boxes = saturated(accepted);
      sizes.index_buckets = saturated(index_buckets_for(accepted));
    }
  }
  if (!plan.prototype.empty()) {
    sizes.lane_elements = std::max(sizes.lane_elements, plan.prototype.count);
    sizes.mask_pixels = narrow(plan.ports[plan.prototype.port].reader.extent.width);
    sizes.mask_channels = plan.prototype.count;
  }
  measure(sizes);
}

}  // namespace

std::variant<std::shared_ptr<PlanState>, Error> prepare(const Request &request, const Facts &facts) {
  auto plan = std::make_shared<PlanState>();
  plan->recipe = facts.recipe;
  plan->params = request.params;
  plan->params.score_activation = resolved_activation(request.params, *facts.recipe);
  plan->params.resize = resolved_resize(request.params, *facts.recipe);
  plan->input_specs.assign(request.inputs.begin(), request.inputs.end());
  plan->output_specs = expected_outputs(request, facts);
  plan->kernels = &simaai::kernels::detail::select_kernels();
  for (std::size_t port = 0; port < plan->input_specs.size(); ++port) {
    plan->ports.push_back(make_port(plan->input_specs[port], plan->params, port));
  }
  if (plan->params.mask_prototype) {
    const std::size_t port = *plan->params.mask_prototype;
    const Extent &extent = plan->ports[port].reader.extent;
    plan->prototype = lane_of(port, 0, extent.channels, 1, extent.channels);
    plan->prototype_scale_x =
        static_cast<float>(static_cast<double>(extent.width) / static_cast<double>(plan->params.model_input_size.width));
    plan->prototype_scale_y =
        static_cast<float>(static_cast<double>(extent.height) / static_cast<double>(plan->params.model_input_size.height));
  }
  plan->heads.resize(facts.heads.size());
  prepare_suppression(*plan);
  prepare_box_unit(*plan);
  for (std::size_t index = 0; index < plan->heads.size(); ++index) {
    prepare_lanes(*plan, facts, index);
  }
  prepare_outputs(*plan);
  prepare_context(*plan);
  // Checked before the tables of heads that no context could serve are made.
  if (std::optional<Error> error = check_context_bytes(plan->scratch.bytes)) {
    return *std::move(error);
  }
  std::uint32_t next_location = 0;
  for (std::size_t index = 0; index < plan->heads.size(); ++index) {
    prepare_head(*plan, index, next_location);
  }
  plan->softmax_early_out = softmax_early_out(plan->params.detection_threshold);
  plan->mapping = make_mapping(*plan->params.resize, plan->params.model_input_size, plan->params.original_image_size);
  return plan;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
