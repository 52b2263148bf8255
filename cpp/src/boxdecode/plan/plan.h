#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "boxdecode/layout/reader.h"
#include "boxdecode/numeric/elements.h"
#include "boxdecode/numeric/mask_table.h"
#include "boxdecode/numeric/score_map.h"
#include "boxdecode/recipes/recipe.h"
#include "boxdecode/scratch/scratch.h"
#include "kernels/kernels.h"
#include "kernels/nms_kernels.h"

/// Everything that is prepared once. In: an admitted request. Out: readers, lanes, tables, priors and the function for each
/// word of the recipe. Never: anything of a frame.
namespace simaai::kernels::ops::boxdecode::detail {

struct Frame;
struct Collector;
class DecodedBoxes;
struct HeadPlan;
struct PlanState;

/// One input port: where its elements are and what they are worth.
struct PortPlan {
  Reader reader = {};
  ElementType type = {};
};

/// Channels that belong together: of anchor a they are origin + a·anchor_step + i·step, i < count. Every stage speaks of
/// lanes; which port, role or channel order they come from is settled before.
struct Lane {
  std::uint32_t port = 0;
  std::uint32_t origin = 0;
  std::uint32_t anchor_step = 0;
  std::uint32_t step = 1;
  std::uint32_t count = 0;

  [[nodiscard]] bool empty() const noexcept { return count == 0; }
  [[nodiscard]] std::uint32_t first(std::uint32_t anchor) const noexcept { return origin + anchor * anchor_step; }
};

/// Priors of one head, axis by axis: centres of the columns and rows, sizes of the anchors.
struct Priors {
  std::vector<float> center_x = {};
  std::vector<float> center_y = {};
  std::vector<Anchor> sizes = {};
};

/// exp32(−d·scale) for d = 0..255: a softmax over 8-bit elements of that scale needs nothing else.
using ExpTable = std::array<float, 256>;

/// A place in a head: the candidate's cell and anchor.
struct Site {
  std::uint32_t cell = 0;
  std::uint32_t anchor = 0;
  std::uint32_t grid_x = 0;
  std::uint32_t grid_y = 0;
};

/// Corners in model pixels.
struct Corners {
  float x1 = 0.0F;
  float y1 = 0.0F;
  float x2 = 0.0F;
  float y2 = 0.0F;
};

struct HeadPlan {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  std::uint32_t cells = 0;
  std::uint32_t anchors = 1;
  std::uint32_t first_location = 0;  ///< of cell 0, anchor 0; locations number cells · anchors over all heads
  std::uint32_t class_offset = 0;    ///< class id of the first class lane
  float stride_x = 1.0F;
  float stride_y = 1.0F;
  bool positive_zero_first = false;  ///< among classes whose best key is zero, +0 ranks above −0
  Lane boxes = {};
  Lane sizes = {};
  Lane classes = {};  ///< what may be emitted
  Lane logits = {};   ///< softmax: all encoded classes, of which `classes` are a run
  Lane objectness = {};
  Lane keypoints = {};
  Lane coefficients = {};  ///< of the mask
  ScoreMap scores = {};
  ScoreMap objectness_scores = {};
  const ExpTable *box_exponentials = nullptr;
  const ExpTable *score_exponentials = nullptr;
  const MaskTable *mask = nullptr;
  Priors priors = {};

  // The words of the recipe that depend on a head's element types and layouts, bound.
  simaai::kernels::detail::Best (*best_class)(const Frame &frame, const HeadPlan &head, std::uint32_t cell,
                                              std::uint32_t anchor) = nullptr;
  void (*scan)(const Frame &frame, const HeadPlan &head, Collector &collector) = nullptr;
  Corners (*decode_box)(const Frame &frame, const HeadPlan &head, const Site &site) = nullptr;
};

struct OutputPlan {
  std::size_t bytes = 0;
  std::size_t row_bytes = 0;
  std::size_t alignment = 1;
};

/// Writes what becomes of a frame's boxes and returns how many (execute.h).
using Accept = std::size_t (*)(const Frame &frame, DecodedBoxes &boxes);

struct PlanState {
  Params params = {};
  std::vector<TensorSpec> input_specs = {};
  std::vector<TensorSpec> output_specs = {};
  const Recipe *recipe = nullptr;
  const simaai::kernels::detail::Kernels *kernels = nullptr;
  std::vector<PortPlan> ports = {};
  std::vector<HeadPlan> heads = {};
  std::vector<OutputPlan> outputs = {};
  std::vector<std::pair<float, std::unique_ptr<ExpTable>>> exp_tables = {};  ///< by scale
  std::vector<std::unique_ptr<MaskTable>> mask_tables = {};
  Lane prototype = {};
  float prototype_scale_x = 1.0F;  ///< prototype width / model width
  float prototype_scale_y = 1.0F;
  ImageMapping mapping = {};
  ScratchSizes scratch = {};
  bool streaming = false;  ///< top-K of valid boxes instead of suppression
  bool suppresses = true;
  std::uint32_t suppression_limit = 0;  ///< T + 1; with exact corners the limit of outlines, 0 for none
  simaai::kernels::detail::NmsThreshold exact_threshold = {};
  float softmax_early_out = 0.0F;  ///< best − background below this cannot pass; −inf: always look
  float box_scale_x = 1.0F;        ///< from the unit of the corners to model pixels
  float box_scale_y = 1.0F;
  float keypoint_scale_x = 1.0F;  ///< the same for keypoints that are decoded already
  float keypoint_scale_y = 1.0F;

  // The other words of the recipe, bound.
  bool every_logit_finite = false;  ///< softmax: a logit of −inf discards its cell too
  void (*decode_keypoints)(const Frame &frame, const HeadPlan &head, const Site &site, float *keypoints) = nullptr;
  Accept accept = nullptr;
  void (*write_extra)(const Frame &frame, const HeadPlan &head, const Site &site, const Corners &corners,
                      std::size_t slot) = nullptr;
};

/// Whether a lane is whole blocks of 8-bit stripes, which can be read where they lie (blocks_of_cell).
[[nodiscard]] inline bool in_blocks(const PlanState &plan, const Lane &lane) noexcept {
  const Reader &reader = plan.ports[lane.port].reader;
  return reader.element_size == 1 && are_blocks(reader, lane.origin, lane.step) && lane.anchor_step % 16 == 0;
}

/// Priors of one head; empty for PriorRule::None.
[[nodiscard]] Priors make_priors(const PlanState &plan, std::size_t head_index);

[[nodiscard]] std::string describe(const PlanState &plan);

}  // namespace simaai::kernels::ops::boxdecode::detail
