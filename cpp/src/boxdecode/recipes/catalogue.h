#pragma once

#include "boxdecode/recipes/centernet.h"
#include "boxdecode/recipes/detr.h"
#include "boxdecode/recipes/efficientdet.h"
#include "boxdecode/recipes/rcnn.h"
#include "boxdecode/recipes/sound.h"
#include "boxdecode/recipes/ssd.h"
#include "boxdecode/recipes/yolo26.h"
#include "boxdecode/recipes/yolo5.h"
#include "boxdecode/recipes/yolo6.h"
#include "boxdecode/recipes/yolo7.h"
#include "boxdecode/recipes/yolo8.h"
#include "boxdecode/recipes/yolo_anchor_decoded.h"
#include "boxdecode/recipes/yolo_decoded.h"
#include "boxdecode/recipes/yolox.h"

namespace simaai::kernels::ops::boxdecode::detail {

/// A recipe, or none. Whether there is one stands apart from its address: GCC's sanitizers compare no address with null while
/// compiling.
struct CatalogueEntry {
  constexpr CatalogueEntry() = default;
  constexpr CatalogueEntry(const Recipe *one) : recipe(one), exists(true) {}
  const Recipe *recipe = nullptr;
  bool exists = false;
};

/// No default label: the compiler names a new enumerator that has no recipe.
[[nodiscard]] constexpr CatalogueEntry catalogue_entry(Profile profile) {
  switch (profile) {
    case Profile::Yolo26V1: return &yolo26_recipe;
    case Profile::Yolo6V1: return &yolo6_recipe;
    case Profile::Yolo8V1: return &yolo8_recipe;
    case Profile::YoloDecodedV1: return &yolo_decoded_recipe;
    case Profile::YoloXV1: return &yolox_recipe;
    case Profile::Yolo5V1: return &yolo5_recipe;
    case Profile::Yolo7V1: return &yolo7_recipe;
    case Profile::YoloAnchorDecodedV1: return &yolo_anchor_decoded_recipe;
    case Profile::Ssd300V1: return &ssd300_recipe;
    case Profile::SsdMobile300V1: return &ssd_mobile300_recipe;
    case Profile::SsdMobile320V1: return &ssd_mobile320_recipe;
    case Profile::SsdLiteMobile320V1: return &ssd_lite_mobile320_recipe;
    case Profile::EfficientDetV1: return &efficientdet_recipe;
    case Profile::DetrV1: return &detr_recipe;
    case Profile::CenterNetV1: return &centernet_recipe;
    case Profile::RcnnStage1V1: return &rcnn_stage1_recipe;
  }
  return {};
}

/// The description of a profile; null for a value that is no enumerator.
[[nodiscard]] constexpr const Recipe *find_recipe(Profile profile) { return catalogue_entry(profile).recipe; }

/// Every recipe, in the order of the enumeration.
inline constexpr auto all_recipes = [] {
  constexpr auto count = [] {
    std::size_t found = 0;
    while (catalogue_entry(static_cast<Profile>(found)).exists) {
      ++found;
    }
    return found;
  }();
  std::array<const Recipe *, count> recipes = {};
  for (std::size_t index = 0; index < count; ++index) {
    recipes[index] = find_recipe(static_cast<Profile>(index));
  }
  return recipes;
}();

/// The words of every recipe may stand together, and it is found by its name.
consteval bool are_sound() {
  for (std::size_t index = 0; index < all_recipes.size(); ++index) {
    must(all_recipes[index]->profile == static_cast<Profile>(index), "a recipe is found by its own profile");
    must(is_sound(*all_recipes[index]), "");
  }
  return true;
}
static_assert(are_sound());

}  // namespace simaai::kernels::ops::boxdecode::detail
