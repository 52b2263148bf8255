#include "frames.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>

namespace bench {
namespace {

std::int64_t align16(std::int64_t channels) { return (channels + 15) / 16 * 16; }

std::size_t bytes_of(k::DType dtype) {
  return dtype == k::DType::Int8 || dtype == k::DType::UInt8 ? 1 : dtype == k::DType::Float32 ? 4 : 2;
}

// One tensor as values; packed into a layout at the end.
struct Tensor {
  std::int64_t height = 0;
  std::int64_t width = 0;
  std::int64_t channels = 0;
  std::vector<float> values = {};
  float scale = 0.1F;

  Tensor(std::int64_t h, std::int64_t w, std::int64_t c, float quantization_scale = 0.1F)
      : height(h), width(w), channels(c), values(static_cast<std::size_t>(h * w * c)), scale(quantization_scale) {}
  float &at(std::int64_t cell, std::int64_t channel) { return values[static_cast<std::size_t>(cell * channels + channel)]; }
};

k::Layout layout_of(const Tensor &tensor, Place place) {
  switch (place) {
    case Place::Contiguous: return k::Contiguous{};
    case Place::Strided: {
      const std::int64_t physical = align16(tensor.channels + 1);
      return k::Strided{{tensor.width * physical, physical, 1}};
    }
    case Place::MlaCBlocked: return k::MlaCBlocked{8, tensor.width, align16(tensor.channels)};
    case Place::Planar: return k::Planar{};
  }
  return k::Contiguous{};
}

// Byte offset of an element and, for the split stripes of BF16, of its high byte.
struct Spot {
  std::size_t low;
  std::size_t high;
};

Spot spot_of(const Tensor &t, Place place, std::size_t element, std::int64_t cell, std::int64_t channel) {
  const auto e = static_cast<std::int64_t>(element);
  std::int64_t at = 0;
  switch (place) {
    case Place::Contiguous: at = (cell * t.channels + channel) * e; break;
    case Place::Strided: at = (cell * align16(t.channels + 1) + channel) * e; break;
    case Place::Planar: at = (channel * t.height * t.width + cell) * e; break;
    case Place::MlaCBlocked: {
      // Whole rows a tile, all channels in one slice.
      const std::int64_t row = cell / t.width;
      const std::int64_t first_row = row / 8 * 8;
      const std::int64_t rows = std::min<std::int64_t>(8, t.height - first_row);
      const std::int64_t base = e * first_row * t.width * align16(t.channels);
      const std::int64_t stripe = ((channel / 16 * rows + (row - first_row)) * t.width + cell % t.width) * 16 * e;
      const auto low = static_cast<std::size_t>(base + stripe + channel % 16);
      return {low, low + 16};
    }
  }
  const auto low = static_cast<std::size_t>(at);
  return {low, low + 1};
}

std::uint16_t bfloat16_bits(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + ((bits >> 16U) & 1U)) >> 16U);
}

// Adds a tensor as the next port.
std::size_t add_port(Case &out, Tensor &tensor, k::DType dtype, Place place) {
  const std::size_t port = out.inputs.size();
  const std::size_t element = bytes_of(dtype);
  out.inputs.push_back({{tensor.height, tensor.width, tensor.channels}, dtype, layout_of(tensor, place)});
  const std::int64_t physical = place == Place::Strided       ? align16(tensor.channels + 1)
                                : place == Place::MlaCBlocked ? align16(tensor.channels)
                                                              : tensor.channels;
  Bytes bytes(static_cast<std::size_t>(tensor.height * tensor.width * physical) * element, 0x80);
  for (std::int64_t cell = 0; cell < tensor.height * tensor.width; ++cell) {
    for (std::int64_t channel = 0; channel < tensor.channels; ++channel) {
      const float value = tensor.at(cell, channel);
      const Spot spot = spot_of(tensor, place, element, cell, channel);
      if (element == 1) {
        const float raw = std::clamp(std::round(value / tensor.scale), -128.0F, 127.0F);
        bytes[spot.low] = static_cast<std::uint8_t>(static_cast<std::int8_t>(raw));
      } else if (element == 2) {
        const std::uint16_t bits = bfloat16_bits(value);
        bytes[spot.low] = static_cast<std::uint8_t>(bits & 0xFFU);
        bytes[spot.high] = static_cast<std::uint8_t>(bits >> 8U);
      } else {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        for (std::size_t byte = 0; byte < 4; ++byte) {
          bytes[spot.low + byte] = static_cast<std::uint8_t>(bits >> (8U * byte));
        }
      }
    }
  }
  out.input_bytes.push_back(std::move(bytes));
  if (element == 1) {
    out.params.quantization[port] = {.dequant_scale = tensor.scale, .zero_point = 0};
  }
  return port;
}

// An object: neighbouring cells of one grid that agree on a class and a box.
struct Object {
  std::vector<std::int64_t> cells;
  std::vector<float> logits;
  int class_id;
  float center_x, center_y, half_width, half_height;  // in cells
};

// Objects on a lattice, row by row; their scores, and so the order of their visits, are random.
std::vector<Object> make_lattice(std::mt19937 &random, std::int64_t height, std::int64_t width, int classes,
                                 const Content &content, std::int64_t wanted) {
  std::vector<Object> objects;
  const std::int64_t step = content.lattice;
  const std::int64_t columns = width / step;
  std::uniform_real_distribution<float> unit(0.0F, 1.0F);
  for (std::int64_t made = 0; made < std::min(wanted, columns * (height / step)); ++made) {
    const std::int64_t x = made % columns * step;
    const std::int64_t y = made / columns * step;
    const float half_width = static_cast<float>(step) * (0.3F + 0.3F * unit(random));
    const float half_height = static_cast<float>(step) * (0.3F + 0.3F * unit(random));
    objects.push_back({{y * width + x},
                       {-1.0F + 4.5F * unit(random)},
                       static_cast<int>(made % classes),
                       static_cast<float>(x) + 0.5F,
                       static_cast<float>(y) + 0.5F,
                       half_width,
                       half_height});
  }
  return objects;
}

std::vector<Object> make_objects(std::mt19937 &random, std::int64_t height, std::int64_t width, int classes,
                                 const Content &content) {
  std::vector<Object> objects;
  const auto wanted = static_cast<std::int64_t>(std::llround(content.hit_share * static_cast<double>(height * width)));
  if (content.lattice > 0) {
    return make_lattice(random, height, width, classes, content, wanted);
  }
  const auto side = static_cast<std::int64_t>(std::ceil(std::sqrt(content.cells_an_object)));
  std::uniform_real_distribution<float> unit(0.0F, 1.0F);
  for (std::int64_t made = 0; made < wanted;) {
    Object object;
    const auto x = static_cast<std::int64_t>(unit(random) * static_cast<float>(std::max<std::int64_t>(1, width - side)));
    const auto y = static_cast<std::int64_t>(unit(random) * static_cast<float>(std::max<std::int64_t>(1, height - side)));
    object.class_id = static_cast<int>(unit(random) * static_cast<float>(classes)) % classes;
    object.center_x = static_cast<float>(x) + static_cast<float>(side) / 2;
    object.center_y = static_cast<float>(y) + static_cast<float>(side) / 2;
    object.half_width = 1.5F + 2.5F * unit(random);
    object.half_height = 1.5F + 2.5F * unit(random);
    const float top = 0.5F + 3.0F * unit(random);
    for (std::int64_t i = 0; i < content.cells_an_object && made < wanted; ++i, ++made) {
      object.cells.push_back(std::min(y + i / side, height - 1) * width + std::min(x + i % side, width - 1));
      object.logits.push_back(std::max(-1.0F, top - 2.0F * unit(random)));
    }
    objects.push_back(std::move(object));
  }
  return objects;
}

void fill_background(std::mt19937 &random, Tensor &scores, float mean = -8.0F) {
  std::normal_distribution<float> noise(mean, 1.2F);
  for (float &value : scores.values) {
    value = std::min(noise(random), -2.0F);
  }
}

void fill_noise(std::mt19937 &random, Tensor &tensor, float spread) {
  std::normal_distribution<float> noise(0.0F, spread);
  for (float &value : tensor.values) {
    value = noise(random);
  }
}

// Sixteen bins for each side that peak at the distance.
void set_bins(Tensor &boxes, std::int64_t cell, std::int64_t side, float distance) {
  const std::int64_t bins = boxes.channels / 4;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const float away = static_cast<float>(bin) - std::clamp(distance, 0.0F, static_cast<float>(bins - 1));
    boxes.at(cell, side * bins + bin) = std::max(-10.0F, 4.0F - 1.5F * away * away);
  }
}

void finish(Case &out, std::int64_t capacity) {
  out.params.max_detections = capacity;
  out.outputs = {
      {{capacity, 4}, k::DType::Int32}, {{capacity}, k::DType::Float32}, {{capacity}, k::DType::Int32}, {{1}, k::DType::Int32}};
}

void allocate_outputs(Case &out) {
  for (const k::TensorSpec &spec : out.outputs) {
    std::size_t size = bytes_of(spec.dtype == k::DType::Int32 ? k::DType::Float32 : spec.dtype);
    for (const std::int64_t side : spec.shape) {
      size *= static_cast<std::size_t>(side);
    }
    out.output_bytes.emplace_back(size);
  }
}

void common(Case &out, op::Profile profile, std::int64_t side, int classes) {
  out.params.profile = profile;
  out.params.model_input_size = {side, side};
  out.params.original_image_size = {1280, 720};
  out.params.num_classes = classes;
  out.params.detection_threshold = 0.25F;
  out.params.nms_iou_threshold = 0.5F;
}

Case yolo8(const Yolo8Size &size, k::DType dtype, Place place, const Content &content, bool masks, op::MaskEncoding encoding) {
  Case out;
  std::mt19937 random(20261130);
  common(out, op::Profile::Yolo8V1, size.grids.front() * 8, size.classes);
  out.params.score_activation = op::ScoreActivation::Sigmoid;
  finish(out, size.capacity);
  for (const std::int64_t grid : size.grids) {
    Tensor boxes(grid, grid, 64);
    Tensor scores(grid, grid, size.classes);
    Tensor coefficients(grid, grid, 32, 0.02F);
    fill_background(random, scores);
    fill_noise(random, boxes, 0.5F);
    fill_noise(random, coefficients, 0.5F);
    for (const Object &object : make_objects(random, grid, grid, size.classes, content)) {
      for (std::size_t i = 0; i < object.cells.size(); ++i) {
        const std::int64_t cell = object.cells[i];
        scores.at(cell, object.class_id) = object.logits[i];
        const float x = static_cast<float>(cell % grid) + 0.5F;
        const float y = static_cast<float>(cell / grid) + 0.5F;
        set_bins(boxes, cell, 0, x - object.center_x + object.half_width);
        set_bins(boxes, cell, 1, y - object.center_y + object.half_height);
        set_bins(boxes, cell, 2, object.center_x + object.half_width - x);
        set_bins(boxes, cell, 3, object.center_y + object.half_height - y);
      }
    }
    op::Head head{.boxes = add_port(out, boxes, dtype, place), .scores = add_port(out, scores, dtype, place)};
    out.score_ports.push_back(head.scores);
    if (masks) {
      head.extra = add_port(out, coefficients, dtype, place);
    }
    out.params.heads.push_back(head);
  }
  if (masks) {
    Tensor prototype(160, 160, 32, 0.03F);
    fill_noise(random, prototype, 1.0F);
    out.params.task = op::Task::Segmentation;
    out.params.mask_encoding = encoding;
    out.params.mask_prototype = add_port(out, prototype, dtype, place);
    out.outputs.push_back({{out.params.max_detections, 160, 160}, k::DType::UInt8});
  }
  allocate_outputs(out);
  return out;
}

// A head of any recipe: channel counts, and where class c of anchor a of a cell lies in the scores.
struct HeadShape {
  std::int64_t height, width, box_channels, score_channels, anchors, first_class, anchor_step, class_step;
  std::int64_t objectness_channel = -1;  // in the scores port, of anchor 0
  std::int64_t objectness_channels = 0;  // of a port of its own
  std::int64_t size_channels = 0;
  std::int64_t extra_channels = 0;
  bool combined = false;
};

Case generic(const std::string &name, op::Profile profile, std::int64_t side, int classes, const std::vector<HeadShape> &heads,
             const Content &content, k::DType dtype = k::DType::Int8, Place place = Place::Contiguous) {
  Case out;
  out.name = name;
  std::mt19937 random(20261130);
  common(out, profile, side, classes);
  finish(out, 300);
  for (const HeadShape &shape : heads) {
    Tensor scores(shape.height, shape.width, shape.score_channels);
    Tensor objectness(shape.height, shape.width, std::max<std::int64_t>(1, shape.objectness_channels));
    fill_background(random, scores);
    fill_background(random, objectness);
    const bool softmax = profile == op::Profile::Ssd300V1 || profile == op::Profile::SsdLiteMobile320V1;
    for (std::int64_t cell = 0; softmax && cell < shape.height * shape.width; ++cell) {
      for (std::int64_t anchor = 0; anchor < shape.anchors; ++anchor) {
        scores.at(cell, anchor * shape.anchor_step) = 2.0F;
      }
    }
    for (const Object &object : make_objects(random, shape.height, shape.width, classes - (softmax ? 1 : 0), content)) {
      for (std::size_t i = 0; i < object.cells.size(); ++i) {
        const std::int64_t cell = object.cells[i];
        const std::int64_t anchor = static_cast<std::int64_t>(i) % shape.anchors;
        scores.at(cell, shape.first_class + anchor * shape.anchor_step + object.class_id * shape.class_step) =
            softmax ? 3.0F + object.logits[i] : 2.0F + object.logits[i];
        if (shape.objectness_channel >= 0) {
          scores.at(cell, shape.objectness_channel + anchor * shape.anchor_step) = 3.0F;
        }
        objectness.at(cell, 0) = 3.0F;
      }
    }
    op::Head head;
    if (shape.combined) {
      // Boxes share the port with the scores: small offsets and sizes.
      head.boxes = head.scores = add_port(out, scores, dtype, place);
    } else {
      Tensor boxes(shape.height, shape.width, shape.box_channels);
      fill_noise(random, boxes, 1.0F);
      for (float &value : boxes.values) {
        value = std::abs(value) + 0.5F;
      }
      head.boxes = add_port(out, boxes, dtype, place);
      head.scores = add_port(out, scores, dtype, place);
    }
    out.score_ports.push_back(head.scores);
    if (shape.objectness_channels > 0) {
      head.objectness = add_port(out, objectness, dtype, place);
    }
    if (shape.size_channels > 0) {
      Tensor sizes(shape.height, shape.width, shape.size_channels);
      fill_noise(random, sizes, 1.0F);
      for (float &value : sizes.values) {
        value = 8.0F + std::abs(value);
      }
      head.sizes = add_port(out, sizes, dtype, place);
    }
    if (shape.extra_channels > 0) {
      Tensor extra(shape.height, shape.width, shape.extra_channels);
      head.extra = add_port(out, extra, dtype, place);
    }
    out.params.heads.push_back(head);
  }
  return out;
}

}  // namespace

std::vector<k::ConstHostBuffer> Case::input_views() const {
  std::vector<k::ConstHostBuffer> views;
  for (const auto &bytes : input_bytes) {
    views.push_back({bytes.data(), bytes.size()});
  }
  return views;
}

std::vector<k::HostBuffer> Case::output_views() {
  std::vector<k::HostBuffer> views;
  for (auto &bytes : output_bytes) {
    views.push_back({bytes.data(), bytes.size()});
  }
  return views;
}

std::size_t Case::score_bytes() const {
  std::size_t total = 0;
  for (const std::size_t port : score_ports) {
    total += input_bytes[port].size();
  }
  return total;
}

Case yolo8_640(k::DType dtype, Place place, const Content &content) {
  return yolo8({}, dtype, place, content, false, op::MaskEncoding::Probability);
}

Case yolo8_of(const Yolo8Size &size, const Content &content) {
  return yolo8(size, k::DType::Int8, Place::Contiguous, content, false, op::MaskEncoding::Probability);
}

Case yolo8_seg_640(k::DType dtype, Place place, const Content &content, op::MaskEncoding encoding) {
  return yolo8({.capacity = 20}, dtype, place, content, true, encoding);
}

std::vector<Case> every_recipe(const Content &content) {
  using op::Profile;
  std::vector<Case> cases;
  const auto levels = [](std::initializer_list<std::int64_t> grids, const std::function<HeadShape(std::int64_t)> &make) {
    std::vector<HeadShape> heads;
    for (const std::int64_t grid : grids) {
      heads.push_back(make(grid));
    }
    return heads;
  };
  const auto add = [&](const char *name, Profile profile, std::int64_t side, int classes, const std::vector<HeadShape> &heads,
                       std::optional<op::ScoreActivation> activation, k::DType dtype = k::DType::Int8,
                       Place place = Place::Contiguous) {
    Case made = generic(name, profile, side, classes, heads, content, dtype, place);
    made.params.score_activation = activation;
    allocate_outputs(made);
    cases.push_back(std::move(made));
  };
  constexpr auto sigmoid = op::ScoreActivation::Sigmoid;
  const auto ltrb = [](std::int64_t g) { return HeadShape{g, g, 4, 80, 1, 0, 0, 1}; };
  add("Yolo26V1 640", Profile::Yolo26V1, 640, 80, levels({80, 40, 20}, ltrb), sigmoid);
  add("Yolo6V1 640", Profile::Yolo6V1, 640, 80, levels({80, 40, 20}, ltrb), sigmoid);
  add("Yolo8V1 640", Profile::Yolo8V1, 640, 80,
      levels({80, 40, 20}, [](std::int64_t g) { return HeadShape{g, g, 64, 80, 1, 0, 0, 1}; }), sigmoid);
  add("YoloXV1 640", Profile::YoloXV1, 640, 80,
      levels({80, 40, 20},
             [](std::int64_t g) {
               HeadShape shape{g, g, 4, 80, 1, 0, 0, 1};
               shape.objectness_channels = 1;
               return shape;
             }),
      sigmoid);
  const auto combined5 = [](std::int64_t g) {
    HeadShape shape{g, g, 0, 255, 3, 5, 85, 1};
    shape.objectness_channel = 4;
    shape.combined = true;
    return shape;
  };
  add("Yolo5V1 640", Profile::Yolo5V1, 640, 80, levels({80, 40, 20}, combined5), std::nullopt);
  add("Yolo7V1 640", Profile::Yolo7V1, 640, 80, levels({80, 40, 20}, combined5), std::nullopt);
  add("YoloDecodedV1 [84, 8400] FP32", Profile::YoloDecodedV1, 640, 80, {[] {
        HeadShape shape{1, 8400, 0, 84, 1, 4, 0, 1};
        shape.combined = true;
        return shape;
      }()},
      sigmoid, k::DType::Float32, Place::Planar);
  add("YoloAnchorDecodedV1 640", Profile::YoloAnchorDecodedV1, 640, 80,
      levels({80, 40, 20},
             [](std::int64_t g) {
               HeadShape shape{g, g, 6, 243, 3, 1, 81, 1};
               shape.objectness_channel = 0;
               shape.size_channels = 6;
               return shape;
             }),
      sigmoid);
  const auto ssd = [](std::initializer_list<std::int64_t> grids, std::initializer_list<std::int64_t> anchors,
                      std::int64_t classes, bool coordinate_major) {
    std::vector<HeadShape> heads;
    auto anchor = anchors.begin();
    for (const std::int64_t g : grids) {
      const std::int64_t a = *anchor++;
      heads.push_back(coordinate_major ? HeadShape{g, g, 4 * a, classes * a, a, a, 1, a}
                                       : HeadShape{g, g, 4 * a, classes * a, a, 1, classes, 1});
    }
    return heads;
  };
  add("Ssd300V1", Profile::Ssd300V1, 300, 81, ssd({38, 19, 10, 5, 3, 1}, {4, 6, 6, 6, 4, 4}, 81, true), std::nullopt);
  add("SsdMobile300V1", Profile::SsdMobile300V1, 300, 91, ssd({19, 10, 5, 3, 2, 1}, {3, 6, 6, 6, 6, 6}, 91, false),
      std::nullopt);
  add("SsdMobile320V1", Profile::SsdMobile320V1, 320, 91, ssd({20, 10, 5, 3, 2, 1}, {3, 6, 6, 6, 6, 6}, 91, false),
      std::nullopt);
  add("SsdLiteMobile320V1", Profile::SsdLiteMobile320V1, 320, 91, ssd({20, 10, 5, 3, 2, 1}, {6, 6, 6, 6, 6, 6}, 91, false),
      std::nullopt);
  add("EfficientDetV1 512", Profile::EfficientDetV1, 512, 90,
      levels({64, 32, 16, 8, 4}, [](std::int64_t g) { return HeadShape{g, g, 36, 810, 9, 0, 90, 1}; }), sigmoid);
  add("DetrV1 100 queries", Profile::DetrV1, 800, 91, {HeadShape{1, 100, 4, 92, 1, 0, 0, 1}}, std::nullopt, k::DType::Float32);
  add("CenterNetV1 512", Profile::CenterNetV1, 512, 80, {[] {
        HeadShape shape{128, 128, 2, 80, 1, 0, 0, 1};
        shape.extra_channels = 2;
        return shape;
      }()},
      sigmoid);
  add("RcnnStage1V1 800", Profile::RcnnStage1V1, 800, 1,
      levels({200, 100, 50, 25, 13}, [](std::int64_t g) { return HeadShape{g, g, 12, 3, 3, 0, 1, 1}; }), std::nullopt);
  Case &proposals = cases.back();
  proposals.outputs.push_back({{300, 4}, k::DType::Float32});
  proposals.output_bytes.emplace_back(300 * 16);
  return cases;
}

}  // namespace bench
