// Times execute and its stages against one read of the score bytes, all in one run. Ratios are what to quote.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "boxdecode/access.h"
#include "boxdecode/geometry/boxes.h"
#include "boxdecode/select/collector.h"
#include "frames.h"
#include "kernels/dispatch.h"
#include "read_limit.h"

namespace {

using namespace bench;
namespace in = op::detail;

volatile std::uint64_t sink;
int rounds = 201;

double now_us() {
  return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double median(std::vector<double> &times) {
  std::nth_element(times.begin(), times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2), times.end());
  return times[times.size() / 2];
}

// Medians of several bodies, timed in turn so that a drift of the machine meets all of them alike.
std::vector<double> in_turn(const std::vector<std::function<void()>> &bodies, const std::function<void()> &before = {}) {
  std::vector<std::vector<double>> times(bodies.size());
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      if (before) {
        before();
      } else {
        bodies[i]();
      }
      const double start = now_us();
      bodies[i]();
      times[i].push_back(now_us() - start);
    }
  }
  std::vector<double> medians;
  for (auto &list : times) {
    medians.push_back(median(list));
  }
  return medians;
}

op::Plan plan_of(const Case &made) {
  auto checked = op::check_inference({made.inputs, made.outputs, made.params});
  if (const auto *error = std::get_if<k::Error>(&checked)) {
    std::fprintf(stderr, "%s: %s\n", made.name.c_str(), error->message.c_str());
    std::exit(1);
  }
  return std::get<op::Plan>(std::move(checked));
}

struct Row {
  double read, read_cold, total, total_cold, scan, order, geometry, rest;
  int detections;
  std::uint32_t candidates;
};

Row measure(Case &made, bool cold) {
  const op::Plan plan = plan_of(made);
  const auto context = op::create_context(plan);
  const auto inputs = made.input_views();
  const auto outputs = made.output_views();
  const in::PlanState &state = in::Access::state(plan);
  const in::Frame frame{state,         *state.kernels, inputs, outputs,
                        state.mapping, 1280.0F,        720.0F, in::Access::state(*context).scratch};
  std::uint32_t candidates = 0;
  const auto scan = [&] {
    in::Collector collector{frame.scratch.candidates, state.scratch.candidates};
    for (const in::HeadPlan &head : state.heads) {
      head.scan(frame, head, collector);
    }
    candidates = collector.count;
    return collector;
  };
  const auto decode = [&](bool geometry) {
    const in::Collector collector = scan();
    in::Ordering ordering(frame, collector);
    float sum = 0;
    while (const in::Candidate *candidate = ordering.next()) {
      if (geometry) {
        const in::HeadPlan *head = &state.heads.back();
        while (head->first_location > candidate->location) {
          --head;
        }
        const std::uint32_t place = candidate->location - head->first_location;
        sum += head->decode_box(frame, *head, in::site_of(*head, place / head->anchors, place % head->anchors)).x1;
      }
    }
    sink = static_cast<std::uint64_t>(sum);
  };
  const auto read = [&] {
    std::uint64_t sum = 0;
    for (const std::size_t port : made.score_ports) {
      sum += read_limit(made.input_bytes[port].data(), made.input_bytes[port].size());
    }
    sink = sum;
  };
  const auto execute = [&] {
    if (!op::execute(plan, *context, inputs, outputs).ok()) {
      std::exit(1);
    }
  };
  const std::vector<double> hot =
      in_turn({read, execute, [&] { sink = scan().count; }, [&] { decode(false); }, [&] { decode(true); }});
  Row row{};
  row.read = hot[0];
  row.total = hot[1];
  row.scan = hot[2];
  row.order = hot[3] - hot[2];
  row.geometry = hot[4] - hot[3];
  row.rest = hot[1] - hot[4];
  row.candidates = candidates;
  if (cold && can_flush()) {
    const std::vector<double> flushed = in_turn({read, execute}, [&] {
      for (const auto &bytes : made.input_bytes) {
        flush(bytes.data(), bytes.size());
      }
    });
    row.read_cold = flushed[0];
    row.total_cold = flushed[1];
  }
  std::memcpy(&row.detections, made.output_bytes[3].data(), sizeof row.detections);
  return row;
}

void heading(const char *text) {
  std::printf("\n%s\n%-44s %8s %8s %7s %7s | %7s %7s %7s %7s | %6s %5s\n", text, "case", "read us", "exec us", "ratio", "cold",
              "scan", "order", "boxes", "rest", "cand.", "det.");
}

void print(const std::string &name, Case &made, bool cold) {
  const Row row = measure(made, cold);
  std::printf("%-44s %8.2f %8.2f %7.2f ", name.c_str(), row.read, row.total, row.total / row.read);
  if (cold && can_flush()) {
    std::printf("%7.2f", row.total_cold / row.read_cold);
  } else {
    std::printf("%7s", "");
  }
  std::printf(" | %7.2f %7.2f %7.2f %7.2f | %6u %5d\n", row.scan, row.order, row.geometry, row.rest, row.candidates,
              row.detections);
  std::fflush(stdout);
}

// The mask stage alone: a frame with masks less the same frame without.
void print_masks(op::MaskEncoding encoding, const char *name) {
  const Content content{.hit_share = 0.02};
  Case with = yolo8_seg_640(k::DType::Int8, Place::Contiguous, content, encoding);
  const op::Plan plan = plan_of(with);
  const auto context = op::create_context(plan);
  const auto inputs = with.input_views();
  const auto outputs = with.output_views();
  const in::PlanState &state = in::Access::state(plan);
  const in::Frame frame{state,         *state.kernels, inputs, outputs,
                        state.mapping, 1280.0F,        720.0F, in::Access::state(*context).scratch};
  // Twenty objects of 120 by 120 model pixels, spread over the frame: 30·30 live prototype pixels each.
  std::vector<in::Corners> boxes;
  for (int i = 0; i < 20; ++i) {
    const float x = 20.0F + 120.0F * static_cast<float>(i % 5);
    const float y = 20.0F + 120.0F * static_cast<float>(i / 5);
    boxes.push_back({x, y, x + 120.0F, y + 120.0F});
  }
  const in::HeadPlan &head = state.heads[0];
  const auto masks = [&] {
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      state.write_extra(frame, head, in::site_of(head, static_cast<std::uint32_t>(i * 37), 0), boxes[i], i);
    }
  };
  const Bytes &prototype = with.input_bytes.back();
  const auto read = [&] {
    std::uint64_t sum = 0;
    for (const in::Corners &box : boxes) {
      const auto first = static_cast<std::size_t>(box.x1 / 4.0F);
      for (std::size_t row = 0; row < 30; ++row) {
        const std::size_t start = ((static_cast<std::size_t>(box.y1 / 4.0F) + row) * 160 + first) * 32;
        sum += read_limit(prototype.data() + start, std::size_t{30} * 32);
      }
    }
    sink = sum;
  };
  const std::vector<double> times = in_turn({read, masks});
  std::printf("%-44s %8.2f %8.2f %7.2f\n", name, times[0], times[1], times[1] / times[0]);
}

// How execute grows with one size at a time: series, size, microseconds, candidates, detections, as comma-separated values.
void print_growth() {
  std::printf("series,size,execute_us,candidates,detections\n");
  const auto line = [](const char *series, std::int64_t size, Case made) {
    const Row row = measure(made, false);
    std::printf("%s,%lld,%.2f,%u,%d\n", series, static_cast<long long>(size), row.total, row.candidates, row.detections);
    std::fflush(stdout);
  };
  for (const std::int64_t grid : {20, 40, 80, 160, 320}) {
    line("cells", grid * grid, yolo8_of({.grids = {grid}}, {.hit_share = 0.0}));
  }
  for (const int classes : {20, 40, 80, 160, 320, 640}) {
    line("classes", classes, yolo8_of({.classes = classes}, {.hit_share = 0.0}));
  }
  for (const double share : {0.01, 0.02, 0.04, 0.08, 0.16, 0.32}) {
    // Objects of one cell: nearly every candidate is spread and kept, K is never reached.
    line("candidates", static_cast<std::int64_t>(share * 102400),
         yolo8_of({.grids = {320}, .capacity = 65536}, {.hit_share = share, .cells_an_object = 1}));
  }
  for (const std::int64_t capacity : {64, 128, 256, 512, 1024, 2048, 4096}) {
    line("K", capacity, yolo8_of({.grids = {320}, .capacity = capacity}, {.hit_share = 0.3, .cells_an_object = 1}));
  }
  for (std::int64_t objects = 1024; objects <= 65536; objects *= 2) {
    // All of one class, spread and kept, on a grid that grows with them.
    std::int64_t side = 2;
    while (side * side < 4 * objects) {
      side += 2;
    }
    const double share = static_cast<double>(objects) / static_cast<double>(side * side);
    line("one class", objects,
         yolo8_of({.grids = {side}, .classes = 1, .capacity = 65536}, {.hit_share = share, .lattice = 2}));
  }
}

}  // namespace

int main(int argc, char **argv) {
  if (argc > 1) {
    rounds = std::atoi(argv[1]);
  }
  if (argc > 2 && std::strcmp(argv[2], "growth") == 0) {
    print_growth();
    return 0;
  }
  if (argc > 2 && !k::detail::force_kernels(argv[2])) {
    std::fprintf(stderr, "this CPU has no kernels named %s\n", argv[2]);
    return 1;
  }
  std::printf("kernels %s, medians of %d rounds\n", k::detail::select_kernels().name, rounds);
  struct Amount {
    const char *name;
    double share;
  };
  constexpr Amount amounts[] = {{"empty", 0.0}, {"1 %", 0.01}, {"20 %", 0.2}, {"all cells", 1.0}};
  heading("YOLOv8-640, 8400 x 80 scores");
  struct Form {
    const char *name;
    k::DType dtype;
    Place place;
  };
  constexpr Form forms[] = {
      {"INT8 HWC", k::DType::Int8, Place::Contiguous},          {"INT8 HWC strided", k::DType::Int8, Place::Strided},
      {"INT8 MlaCBlocked", k::DType::Int8, Place::MlaCBlocked}, {"INT8 planar", k::DType::Int8, Place::Planar},
      {"BF16 HWC", k::DType::BFloat16, Place::Contiguous},      {"BF16 MlaCBlocked", k::DType::BFloat16, Place::MlaCBlocked},
      {"BF16 planar", k::DType::BFloat16, Place::Planar},       {"FP32 HWC", k::DType::Float32, Place::Contiguous},
      {"FP32 planar", k::DType::Float32, Place::Planar}};
  for (const Form &form : forms) {
    for (const Amount &amount : amounts) {
      Case made = yolo8_640(form.dtype, form.place, {.hit_share = amount.share});
      print(std::string(form.name) + ", " + amount.name, made, true);
    }
  }
  std::printf("\nMasks, 20 of 30 x 30 live pixels in 160 x 160 x 32 INT8: stage / read of the live prototypes\n");
  print_masks(op::MaskEncoding::Probability, "Probability");
  print_masks(op::MaskEncoding::Binary, "Binary");
  for (const Amount &amount : {amounts[0], amounts[1], amounts[2]}) {
    heading((std::string("Every recipe, ") + amount.name).c_str());
    for (Case &made : every_recipe({.hit_share = amount.share})) {
      print(made.name, made, false);
    }
  }
  return 0;
}
