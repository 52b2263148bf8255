#include <algorithm>

#include "boxdecode/check/groups.h"
#include "boxdecode/layout/reader.h"

namespace simaai::kernels::ops::boxdecode::detail {
namespace {

// What a recipe asks of one port's padding.
struct PortDemands {
  bool padded_to_sixteen = false;  ///< physical channels beyond C must make a multiple of 16
  bool tile_of_sixteen = false;    ///< channel tiles must be multiples of 16, or hold all channels
};

std::vector<PortDemands> demands_of(const Request &request, const Facts &facts) {
  const Recipe &recipe = *facts.recipe;
  std::vector<PortDemands> demands(request.inputs.size());
  for (std::size_t port = 0; port < demands.size(); ++port) {
    const DType dtype = request.inputs[port].dtype;
    const bool bytes = dtype == DType::Int8 || dtype == DType::UInt8;
    demands[port].tile_of_sixteen = !recipe.any_channel_tile && (bytes || recipe.channel_tile_sixteen);
  }
  for (std::size_t index = 0; index < facts.heads.size(); ++index) {
    const Head &head = request.params.heads[index];
    const HeadFacts &found = facts.heads[index];
    PortDemands &scores = demands[head.scores];
    scores.padded_to_sixteen = found.combined || pads_to_sixteen(recipe.score_padding, found.channels_of(Part::Objectness) > 0);
    scores.tile_of_sixteen = scores.tile_of_sixteen || found.combined;
  }
  return demands;
}

class LayoutCheck {
public:
  LayoutCheck(const TensorSpec &spec, std::size_t port, const PortDemands &demands)
      : spec_(spec), port_(port), demands_(demands), extent_(extent_of(spec)) {}

  Finding run() {
    Finding finding = check_pattern();
    if (finding) {
      return finding;
    }
    // The padding of each channel tile is no stride: what is bounded there is C itself.
    const bool blocked = std::holds_alternative<MlaCBlocked>(spec_.layout);
    const std::int64_t physical = blocked ? extent_.channels : physical_channels(spec_);
    if (physical > largest_physical_channels) {
      return refuse("holds " + text(physical) + " physical channels; at most " + text(largest_physical_channels) +
                    " are supported");
    }
    if (demands_.padded_to_sixteen && physical != extent_.channels && physical % 16 != 0) {
      return refuse("pads " + text(extent_.channels) + " channels to " + text(physical) +
                    "; here padding must end at a multiple of 16, or be left out");
    }
    if (required_bytes(spec_) > largest_tensor_bytes) {
      return Error{ErrorCode::ResourceLimit, path("inputs", port_),
                   path("inputs", port_) + " would cover " + text(required_bytes(spec_)) + " bytes; at most " +
                       text(largest_tensor_bytes) + " are admitted"};
    }
    return std::nullopt;
  }

private:
  [[nodiscard]] Finding refuse(const std::string &message) const {
    return Error{ErrorCode::UnsupportedLayout, path("inputs", port_, ".layout"),
                 path("inputs", port_, ".layout") + " (" + text(spec_.layout) + ") " + message};
  }

  Finding check_pattern() const {
    if (std::holds_alternative<MlaTiled>(spec_.layout)) {
      return refuse("is not supported: its tiles are pixel-major (each pixel's channels side by side), while MlaCBlocked is "
                    "blocks of 16 channels over the pixels of a tile; convert it, or have the compiler emit MlaCBlocked or a "
                    "dense tensor");
    }
    if (const auto *strided = std::get_if<Strided>(&spec_.layout)) {
      return check_strides(*strided);
    }
    if (const auto *blocked = std::get_if<MlaCBlocked>(&spec_.layout)) {
      return check_tiles(*blocked);
    }
    return std::nullopt;
  }

  Finding check_strides(const Strided &strided) const {
    const std::vector<std::int64_t> &strides = strided.strides;
    const std::size_t rank = spec_.shape.size();
    if (strides.size() != rank) {
      return refuse("has " + text(strides.size()) + " strides; the shape has " + text(rank) + " sides and each needs one");
    }
    if (strides[rank - 1] != 1) {
      return refuse("has a channel stride of " + text(strides[rank - 1]) + "; it must be 1" + hint_of_bytes(strides));
    }
    const std::int64_t physical = strides[rank - 2];
    if (physical < extent_.channels) {
      return refuse("has a W stride of " + text(physical) + ", below the " + text(extent_.channels) +
                    " channels; it is the physical channel count");
    }
    if (physical > largest_physical_channels) {
      return std::nullopt;  // named by the caller, before products could overflow
    }
    const std::int64_t row = extent_.width * physical;
    if (strides[rank - 3] != row) {
      return refuse("has an H stride of " + text(strides[rank - 3]) + "; rows are tight, so it must be " + text(row));
    }
    for (std::size_t axis = 0; axis + 3 < rank; ++axis) {
      if (strides[axis] != extent_.height * row) {
        return refuse("has an outer stride of " + text(strides[axis]) + "; it must be the span of a frame, " +
                      text(extent_.height * row));
      }
    }
    return std::nullopt;
  }

  // What to do when the strides look like NumPy's, which count bytes.
  [[nodiscard]] std::string hint_of_bytes(const std::vector<std::int64_t> &strides) const {
    const auto bytes = static_cast<std::int64_t>(element_bytes(spec_.dtype));
    if (bytes == 1 || strides.back() != bytes ||
        !std::ranges::all_of(strides, [bytes](std::int64_t stride) { return stride % bytes == 0; })) {
      return "";
    }
    Shape elements(strides);
    for (std::int64_t &stride : elements) {
      stride /= bytes;
    }
    return ". Strides count elements, not bytes as NumPy's do: divided by the " + text(bytes) + " bytes of " +
           text(spec_.dtype) + " they are " + text(elements);
  }

  Finding check_tiles(const MlaCBlocked &blocked) const {
    if (spec_.dtype != DType::Int8 && spec_.dtype != DType::UInt8 && spec_.dtype != DType::BFloat16) {
      return refuse(std::string("takes Int8, UInt8 and BFloat16, not ") + text(spec_.dtype));
    }
    for (const std::int64_t side : {blocked.tile_h, blocked.tile_w, blocked.tile_c}) {
      if (side < 1 || side > largest_side) {
        return refuse("has tiles of " + text(blocked.tile_h) + "x" + text(blocked.tile_w) + "x" + text(blocked.tile_c) +
                      "; each side must be 1 to " + text(largest_side));
      }
    }
    if (demands_.tile_of_sixteen && blocked.tile_c % 16 != 0 && blocked.tile_c < extent_.channels) {
      return refuse("has channel tiles of " + text(blocked.tile_c) + "; here they must be a multiple of 16, or hold all " +
                    text(extent_.channels) + " channels");
    }
    return std::nullopt;
  }

  const TensorSpec &spec_;
  std::size_t port_;
  PortDemands demands_;
  Extent extent_;
};

}  // namespace

Finding check_layouts(const Request &request, const Facts &facts) {
  const std::vector<PortDemands> demands = demands_of(request, facts);
  for (std::size_t port = 0; port < request.inputs.size(); ++port) {
    if (Finding finding = LayoutCheck(request.inputs[port], port, demands[port]).run()) {
      return finding;
    }
  }
  return std::nullopt;
}

}  // namespace simaai::kernels::ops::boxdecode::detail
