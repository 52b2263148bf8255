#pragma once

#include <optional>
#include <variant>
#include <vector>

#include <simaai/kernels/ops/boxdecode.h>

#include "boxdecode/layout/reader.h"
#include "boxdecode/recipes/recipe.h"

/// From a request to facts or the first error. In: metadata. Out: what preparation builds on. Never: a buffer, or a repair.
///
/// Groups are checked in the order parameters, ports and roles, shapes, layouts, quantization, outputs; a rule stands in the
/// group of the last thing that it needs.
namespace simaai::kernels::ops::boxdecode::detail {

/// What the shapes of one head say.
struct HeadFacts {
  Extent grid = {};  ///< channels unused
  std::int32_t anchors = 1;
  std::int64_t encoded_classes = 0;  ///< background included
  std::int32_t box_channels = 4;     ///< of one anchor
  std::int32_t extra_channels = 0;   ///< of one anchor
  bool combined = false;
  bool objectness = false;
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

/// How many detections carry what in the outputs of a request.
[[nodiscard]] std::vector<TensorSpec> expected_outputs(const Request &request, const Facts &facts);

/// Anchors of a head: the request's, or the table of the profile for that many heads; empty when there is none.
[[nodiscard]] std::vector<std::vector<Anchor>> resolved_anchors(const Params &params, const Recipe &recipe);

}  // namespace simaai::kernels::ops::boxdecode::detail
