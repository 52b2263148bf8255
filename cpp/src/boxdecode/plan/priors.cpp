#include <algorithm>
#include <cmath>

#include "boxdecode/check/check.h"
#include "boxdecode/plan/plan.h"

// Priors are computed in binary64 and stored in FP32. Formulas: see the recipe files for the projects that they come from.
namespace simaai::kernels::ops::boxdecode::detail {
namespace {

constexpr std::size_t ssd_levels = 6;

void centers(std::vector<float> &axis, std::uint32_t count, double offset, double step, double divisor = 1.0) {
  axis.reserve(count);
  for (std::uint32_t i = 0; i < count; ++i) {
    axis.push_back(static_cast<float>((static_cast<double>(i) + offset) * step / divisor));
  }
}

void add_size(Priors &priors, double width, double height) {
  priors.sizes.push_back({static_cast<float>(width), static_cast<float>(height)});
}

void add_both_ways(Priors &priors, double scale, double ratio) {
  const double root = std::sqrt(ratio);
  add_size(priors, scale * root, scale / root);
  add_size(priors, scale / root, scale * root);
}

void clamp_to_unit(std::vector<float> &values) {
  for (float &value : values) {
    value = std::clamp(value, 0.0F, 1.0F);
  }
}

void clamp_sizes(Priors &priors) {
  for (Anchor &size : priors.sizes) {
    size.width = std::min(size.width, 1.0F);
    size.height = std::min(size.height, 1.0F);
  }
}

Priors ssd_nvidia(const HeadPlan &head, std::size_t level) {
  constexpr double input = 300.0;
  constexpr double steps[ssd_levels] = {8, 16, 32, 64, 100, 300};
  constexpr double sizes[ssd_levels + 1] = {21, 45, 99, 153, 207, 261, 315};
  Priors priors;
  centers(priors.center_x, head.width, 0.5, steps[level], input);
  centers(priors.center_y, head.height, 0.5, steps[level], input);
  const double scale = sizes[level] / input;
  const double between = std::sqrt(scale * (sizes[level + 1] / input));
  add_size(priors, scale, scale);
  add_size(priors, between, between);
  add_both_ways(priors, scale, 2.0);
  if (head.anchors == 6) {
    add_both_ways(priors, scale, 3.0);
  }
  clamp_to_unit(priors.center_x);
  clamp_to_unit(priors.center_y);
  clamp_sizes(priors);
  return priors;
}

constexpr double linear_scales[ssd_levels + 1] = {0.2, 0.35, 0.5, 0.65, 0.8, 0.95, 1.0};

Priors ssd_tensorflow(const HeadPlan &head, std::size_t level) {
  Priors priors;
  centers(priors.center_x, head.width, 0.5, 1.0, head.width);
  centers(priors.center_y, head.height, 0.5, 1.0, head.height);
  const auto add = [&priors](double scale, double ratio) {
    const double root = std::sqrt(ratio);
    add_size(priors, scale * root, scale / root);
  };
  if (level == 0) {
    add(0.1, 1.0);
    add(0.2, 2.0);
    add(0.2, 0.5);
    return priors;
  }
  const double scale = linear_scales[level];
  for (const double ratio : {1.0, 2.0, 0.5, 3.0, 0.3333}) {  // the configuration says 0.3333, not 1/3
    add(scale, ratio);
  }
  add(std::sqrt(scale * linear_scales[level + 1]), 1.0);
  return priors;
}

Priors ssd_torchvision(const HeadPlan &head, std::size_t level) {
  Priors priors;
  centers(priors.center_x, head.width, 0.5, 1.0, head.width);
  centers(priors.center_y, head.height, 0.5, 1.0, head.height);
  const double scale = linear_scales[level];
  const double between = std::sqrt(scale * linear_scales[level + 1]);
  add_size(priors, scale, scale);
  add_size(priors, between, between);
  add_both_ways(priors, scale, 2.0);
  add_both_ways(priors, scale, 3.0);
  clamp_sizes(priors);
  return priors;
}

Priors efficientdet(const PlanState &plan, const HeadPlan &head) {
  const double stride_x = static_cast<double>(plan.params.model_input_size.width) / head.width;
  const double stride_y = static_cast<double>(plan.params.model_input_size.height) / head.height;
  Priors priors;
  centers(priors.center_x, head.width, 0.5, stride_x);
  centers(priors.center_y, head.height, 0.5, stride_y);
  // 2^(0/3), 2^(1/3), 2^(2/3), the nearest binary64 of each: a power function may differ in its last bit.
  for (const double octave_scale : {1.0, 1.2599210498948732, 1.5874010519681994}) {
    const double scale_x = static_cast<double>(plan.params.anchor_scale) * stride_x * octave_scale;
    const double scale_y = static_cast<double>(plan.params.anchor_scale) * stride_y * octave_scale;
    for (const double ratio : {1.0, 2.0, 0.5}) {
      const double root = std::sqrt(ratio);
      add_size(priors, scale_x * root, scale_y / root);
    }
  }
  return priors;
}

Priors rpn(const PlanState &plan, const HeadPlan &head, std::size_t level) {
  const std::int64_t step_x = plan.params.model_input_size.width / head.width;
  const std::int64_t step_y = plan.params.model_input_size.height / head.height;
  Priors priors;
  centers(priors.center_x, head.width, 0.0, static_cast<double>(step_x));
  centers(priors.center_y, head.height, 0.0, static_cast<double>(step_y));
  if (!plan.params.anchors.empty()) {
    priors.sizes = plan.params.anchors[level];
    return priors;
  }
  const double size = 32.0 * static_cast<double>(1U << level);
  for (const double ratio : {0.5, 1.0, 2.0}) {  // height / width
    const double root = std::sqrt(ratio);
    // torchvision rounds the corners ±size/2, halves to even; they are symmetric, so the centre stays at 0.
    const double half_width = std::nearbyint(size / root / 2.0);
    const double half_height = std::nearbyint(size * root / 2.0);
    add_size(priors, 2.0 * half_width, 2.0 * half_height);
  }
  return priors;
}

}  // namespace

Priors make_priors(const PlanState &plan, std::size_t head_index) {
  const HeadPlan &head = plan.heads[head_index];
  switch (plan.recipe->priors) {
    case PriorRule::None: break;
    case PriorRule::YoloAnchors: {
      Priors priors;
      priors.sizes = resolved_anchors(plan.params, *plan.recipe)[head_index];
      return priors;
    }
    case PriorRule::SsdNvidia: return ssd_nvidia(head, head_index);
    case PriorRule::SsdTensorFlow: return ssd_tensorflow(head, head_index);
    case PriorRule::SsdTorchvision: return ssd_torchvision(head, head_index);
    case PriorRule::EfficientDet: return efficientdet(plan, head);
    case PriorRule::Rpn: return rpn(plan, head, head_index);
  }
  return {};
}

}  // namespace simaai::kernels::ops::boxdecode::detail
