#pragma once

#include <array>
#include <optional>
#include <variant>
#include <vector>

#include <simaai/kernels/ops/boxdecode.h>

#include "boxdecode/layout/reader.h"
#include "boxdecode/numeric/elements.h"
#include "boxdecode/recipes/recipe.h"

/// From a request to facts or the first error. In: metadata. Out: what preparation builds on. Never: a buffer, or a repair.
///
/// Groups are checked in the order parameters, ports and roles, shapes, layouts, quantization, outputs; a rule stands in the
/// group of the last thing that it needs.
namespace simaai::kernels::ops::boxdecode::detail {

/// The port that a head names for a role.
[[nodiscard]] inline std::optional<std::size_t> port_of(const Head &head, Role role) {
  switch (role) {
    case Role::Boxes: return head.boxes;
    case Role::Scores: return head.scores;
    case Role::Objectness: return head.objectness;
    case Role::Extra: return head.extra;
    case Role::Sizes: return head.sizes;
  }
  return std::nullopt;
}

/// What the shapes of one head say.
struct HeadFacts {
  Extent grid = {};  ///< channels unused
  std::int32_t anchors = 1;
  bool combined = false;
  std::array<std::int32_t, part_count> channels = {};  ///< of one anchor, by Part; 0 where the head has none

  [[nodiscard]] std::int32_t channels_of(Part part) const { return channels[static_cast<std::size_t>(part)]; }
  void set_channels(Part part, std::int64_t count) {
    channels[static_cast<std::size_t>(part)] = static_cast<std::int32_t>(count);
  }
  /// Of one anchor in a port.
  [[nodiscard]] std::int32_t channels_of(const Parts &parts) const {
    std::int32_t sum = 0;
    for (const Part part : parts) {
      sum += channels_of(part);
    }
    return sum;
  }
};

struct Facts {
  const Recipe *recipe = nullptr;
  std::vector<HeadFacts> heads = {};
};

[[nodiscard]] std::variant<Facts, Error> check(const Request &request);

/// Group 6, for a plan whose context is already laid out.
[[nodiscard]] std::optional<Error> check_context_bytes(std::size_t bytes);

/// An image size on its own: 1 to 1,048,576 a side.
[[nodiscard]] std::optional<Error> check_image_size(ImageSize size, const char *field);

/// An affine mapping on its own: scales finite and > 0, offsets finite.
[[nodiscard]] std::optional<Error> check_affine(const Affine &affine, const char *field);

/// The policy of a request, or the recipe's own.
[[nodiscard]] ResizePolicy resolved_resize(const Params &params, const Recipe &recipe);

/// The activation of a request, or the recipe's own.
[[nodiscard]] ScoreActivation resolved_activation(const Params &params, const Recipe &recipe);

/// Whether the score of a request is its objectness alone.
[[nodiscard]] bool scores_by_objectness(const Params &params, const Recipe &recipe);

/// What turns the elements of a port into values.
[[nodiscard]] ElementType element_type(const TensorSpec &spec, const Params &params, std::size_t port);

/// The outputs of a recipe in a task.
[[nodiscard]] std::vector<TensorSpec> expected_outputs(const Request &request, const Facts &facts);

/// Anchors of a head: the request's, or the table of the profile for that many heads; empty when there is none.
[[nodiscard]] std::vector<std::vector<Anchor>> resolved_anchors(const Params &params, const Recipe &recipe);

}  // namespace simaai::kernels::ops::boxdecode::detail
