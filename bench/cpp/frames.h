#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "huge_pages.h"

#include <simaai/kernels/ops/boxdecode.h>

namespace bench {

namespace k = simaai::kernels;
namespace op = k::ops::boxdecode;

enum class Place { Contiguous, Strided, MlaCBlocked, Planar };

/// What a frame is made of. Objects are squares of neighbouring cells whose best class and box agree, as a detector leaves
/// them; every other cell is background.
struct Content {
  double hit_share = 0.01;  ///< of cells above the gate
  int cells_an_object = 8;
  int lattice = 0;  ///< > 0: objects of one cell, this many cells apart and about as large, so that none suppresses another
};

/// A frame ready to be decoded: specifications, parameters and bytes.
struct Case {
  std::string name;
  std::vector<k::TensorSpec> inputs;
  std::vector<k::TensorSpec> outputs;
  op::Params params;
  std::vector<Bytes> input_bytes;
  std::vector<Bytes> output_bytes;
  std::vector<std::size_t> score_ports;

  [[nodiscard]] std::vector<k::ConstHostBuffer> input_views() const;
  [[nodiscard]] std::vector<k::HostBuffer> output_views();
  [[nodiscard]] std::size_t score_bytes() const;
};

/// How large a YOLOv8 is: grids from stride 8 on.
struct Yolo8Size {
  std::vector<std::int64_t> grids = {80, 40, 20};
  int classes = 80;
  std::int64_t capacity = 300;
};

/// YOLOv8 of any size, INT8, contiguous.
Case yolo8_of(const Yolo8Size &size, const Content &content);

/// YOLOv8 at 640×640: 8400 cells, 80 classes, 16 bins.
Case yolo8_640(k::DType dtype, Place place, const Content &content);

/// The same with 32 mask coefficients and a 160×160×32 prototype.
Case yolo8_seg_640(k::DType dtype, Place place, const Content &content, op::MaskEncoding encoding);

/// One frame of every recipe at its usual size, INT8 and contiguous where the recipe allows it.
std::vector<Case> every_recipe(const Content &content);

}  // namespace bench
