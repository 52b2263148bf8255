// Runs the stages of the decoder inside marked regions and says, in the order of the regions, what each one worked on.
// The counts come from the plugin; table.py joins both. See README.md.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "boxdecode/access.h"
#include "boxdecode/geometry/boxes.h"
#include "boxdecode/select/collector.h"
#include "frames.h"
#include "kernels/dispatch.h"
#include "read_limit.h"
#include "regions.h"

namespace {

using namespace bench;
namespace in = op::detail;
using k::detail::Kernels;
using k::detail::MaskCoefficients;
using k::detail::RoundedBox;
using k::detail::SuppressionBlock;

volatile std::uint64_t sink;

// Every region runs twice, after a first time that does not count: all counts of a region must agree.
constexpr int rounds = 2;

// Not inlined: every round must run the very same instructions.
template <typename Body>
[[gnu::noinline]] void run_marked(const Body &body) {
  ARM_COST_BEGIN();
  body();
  ARM_COST_END();
}

template <typename Body>
void region(const char *section, const std::string &name, const char *unit, double amount, const Body &body) {
  body();
  for (int round = 0; round < rounds; ++round) {
    run_marked(body);
    std::printf("%s|%s|%s|%s|%.0f\n", section, name.c_str(), k::detail::select_kernels().name, unit, amount);
  }
}

void use_kernels(const char *name) {
  if (!k::detail::force_kernels(name)) {
    std::fprintf(stderr, "this CPU has no kernels named %s\n", name);
    std::exit(1);
  }
}

void use_best_kernels() { k::detail::force_kernels(nullptr); }

// Code whose counts are known, so that a wrong classification cannot go unseen. The name is what table.py expects:
// class=instructions, then memory and execute slots. Memory is touched below the stack pointer, where nothing lives.
void calibrate() {
  const auto known = [](const char *expected, const auto &body) { region("calibration", expected, "run", 1, body); };
  known("integer=1 load=6 memory=14 execute=1", [] {
    __asm__ volatile("sub x11, sp, #256\n"
                     "ldr q16, [x11]\n"                 // 2
                     "ldr d16, [x11]\n"                 // 1
                     "ldp q16, q17, [x11]\n"            // 4
                     "ldp x9, x10, [x11]\n"             // 2
                     "ldrb w9, [x11]\n"                 // 1
                     "ld2 {v16.16b, v17.16b}, [x11]\n"  // 4
                     ::
                         : "x9", "x10", "x11", "v16", "v17", "memory");
  });
  known("integer=1 store=4 memory=6 execute=1", [] {
    __asm__ volatile("sub x11, sp, #256\n"
                     "str q16, [x11]\n"        // 2
                     "stp w9, w10, [x11]\n"    // 1
                     "str x9, [x11]\n"         // 1
                     "st1 {v16.16b}, [x11]\n"  // 2
                     ::
                         : "x11", "memory");
  });
  known("integer=1 load=3 memory=5 execute=1", [] {
    __asm__ volatile("sub x11, sp, #256\n"
                     "ld1r {v16.4s}, [x11]\n"                 // 1
                     "ld1 {v16.b}[3], [x11]\n"                // 1
                     "ld3 {v16.s, v17.s, v18.s}[1], [x11]\n"  // 3
                     ::
                         : "x11", "v16", "v17", "v18", "memory");
  });
  known("vector=10 execute=16", [] {
    __asm__ volatile("add v16.16b, v17.16b, v18.16b\n"   // 2
                     "add v16.8b, v17.8b, v18.8b\n"      // 1
                     "smlal v16.4s, v17.4h, v18.4h\n"    // 2: long
                     "smlal2 v16.4s, v17.8h, v18.8h\n"   // 2
                     "shrn v16.8b, v17.8h, #4\n"         // 2: narrows
                     "umlal v16.2d, v17.2s, v18.s[1]\n"  // 2: long, by element
                     "umov w9, v16.s[1]\n"               // 1
                     "fmov x9, d16\n"                    // 1
                     "fadd s16, s17, s18\n"              // 1
                     "movi v16.16b, #0\n"                // 2
                     ::
                         : "x9", "v16");
  });
  known("dot=2 execute=4", [] {
    __asm__ volatile(
        ".arch armv8.2-a+dotprod\n sdot v16.4s, v17.16b, v18.16b\n udot v16.4s, v17.16b, v18.4b[1]\n .arch armv8-a" ::
            : "v16");
  });
  known("integer=4 divide=2 branch=1 system=1 execute=6", [] {
    __asm__ volatile(
        "add x9, x10, x11\n mul x9, x10, x11\n udiv x9, x10, x11\n fdiv s16, s17, s18\n nop\n b 1f\n1: ubfx x9, x10, #3, #4\n"
        "mov x9, #5" ::
            : "x9", "v16");
  });
}

struct Run {
  op::Plan plan;
  std::unique_ptr<op::ExecutionContext> context;
  std::vector<k::ConstHostBuffer> inputs;
  std::vector<k::HostBuffer> outputs;

  explicit Run(Case &made)
      : plan(plan_of(made)), context(op::create_context(plan)), inputs(made.input_views()), outputs(made.output_views()) {}

  [[nodiscard]] const in::PlanState &state() const { return in::Access::state(plan); }
  [[nodiscard]] in::Frame frame() const {
    const in::PlanState &plan_state = state();
    return {plan_state,
            *plan_state.kernels,
            inputs,
            outputs,
            plan_state.mapping,
            1280.0F,
            720.0F,
            in::Access::state(*context).scratch};
  }

private:
  static op::Plan plan_of(const Case &made) {
    auto checked = op::check_inference({made.inputs, made.outputs, made.params});
    if (const auto *error = std::get_if<k::Error>(&checked)) {
      std::fprintf(stderr, "%s: %s\n", error->field.c_str(), error->message.c_str());
      std::exit(1);
    }
    return std::get<op::Plan>(std::move(checked));
  }
};

void read_bytes(const Case &made, const char *name) {
  region("scan", name, "byte", static_cast<double>(made.score_bytes()), [&] {
    std::uint64_t sum = 0;
    for (const std::size_t port : made.score_ports) {
      sum += read_limit(made.input_bytes[port].data(), made.input_bytes[port].size());
    }
    sink = sum;
  });
}

void scan(Case &made, const std::string &name) {
  const Run run(made);
  region("scan", name, "byte", static_cast<double>(made.score_bytes()), [&] {
    const in::Frame frame = run.frame();
    const in::PlanState &state = run.state();
    in::Collector collector{frame.scratch.candidates, state.scratch.candidates};
    for (const in::HeadPlan &head : state.heads) {
      head.scan(frame, head, collector);
    }
    sink = collector.count;
  });
}

void execute(Case &made, const std::string &name) {
  const Run run(made);
  region("execute", name, "byte", static_cast<double>(made.score_bytes()), [&] {
    if (!op::execute(run.plan, *run.context, run.inputs, run.outputs).ok()) {
      std::exit(1);
    }
  });
}

void scans() {
  struct Amount {
    const char *name;
    double share;
  };
  constexpr Amount amounts[] = {{"empty", 0.0}, {"1 %", 0.01}, {"20 %", 0.2}};
  struct Form {
    const char *name;
    k::DType dtype;
    Place place;
    std::size_t amounts;
  };
  constexpr Form forms[] = {{"INT8 HWC", k::DType::Int8, Place::Contiguous, 3},
                            {"INT8 MlaCBlocked", k::DType::Int8, Place::MlaCBlocked, 2},
                            {"INT8 planar", k::DType::Int8, Place::Planar, 1},
                            {"BF16 HWC", k::DType::BFloat16, Place::Contiguous, 2},
                            {"BF16 MlaCBlocked", k::DType::BFloat16, Place::MlaCBlocked, 1}};
  for (const Form &form : forms) {
    for (std::size_t i = 0; i < form.amounts; ++i) {
      Case made = yolo8_640(form.dtype, form.place, {.hit_share = amounts[i].share});
      const std::string name = std::string(form.name) + ", " + amounts[i].name;
      const bool first = &form == &forms[0];
      if (first && i == 0) {
        read_bytes(made, "pure read");
      }
      scan(made, name);
      if (first || i == 1) {
        execute(made, name);
      }
      if (first) {
        use_kernels("scalar");
        scan(made, name);
        execute(made, name);
        use_best_kernels();
      }
    }
  }
}

// Boxes of 60 × 60 pixels, side by side: none overlaps another. Each object of a frame is in its class's chain once.
std::vector<SuppressionBlock> chain_of(std::size_t boxes) {
  std::vector<SuppressionBlock> pool(boxes / SuppressionBlock::lanes);
  for (std::size_t box = 0; box < boxes; ++box) {
    SuppressionBlock &block = pool[box / SuppressionBlock::lanes];
    const std::size_t lane = box % SuppressionBlock::lanes;
    block.x1[lane] = static_cast<std::int32_t>(box % 10 * 64);
    block.y1[lane] = static_cast<std::int32_t>(box / 10 * 64);
    block.x2[lane] = block.x1[lane] + 60;
    block.y2[lane] = block.y1[lane] + 60;
    block.area[lane] = 3600;
    block.used = SuppressionBlock::lanes;
  }
  for (std::size_t block = 0; block < pool.size(); ++block) {
    pool[block].next = block == 0 ? SuppressionBlock::end : static_cast<std::uint32_t>(block - 1);
  }
  return pool;
}

void suppression() {
  const Kernels &kernels = k::detail::select_kernels();
  constexpr std::uint32_t limit = 129;  // a threshold of 0.5
  const auto against = [&](const std::string &name, std::size_t boxes, const std::vector<RoundedBox> &candidates) {
    const std::vector<SuppressionBlock> pool = chain_of(boxes);
    const auto newest = static_cast<std::uint32_t>(pool.size() - 1);
    region("suppression", name, "box", static_cast<double>(boxes * candidates.size()), [&] {
      std::uint64_t found = 0;
      for (const RoundedBox &candidate : candidates) {
        found += kernels.suppressed(pool.data(), newest, candidate, limit) ? 1 : 0;
      }
      sink = found;
    });
    if (sink != 0) {
      std::fprintf(stderr, "%s: a box is suppressed, so that the chain is not walked to its end\n", name.c_str());
      std::exit(1);
    }
  };
  const auto candidates_at = [](std::int32_t x, std::int32_t y, std::int32_t size) {
    return std::vector<RoundedBox>(8, {x, y, x + size, y + size, static_cast<std::uint32_t>(size * size)});
  };
  for (const std::size_t boxes : {8, 64, 160}) {
    const std::string chain = std::to_string(boxes) + " boxes, ";
    against(chain + "no overlap", boxes, candidates_at(700, 0, 60));
    against(chain + "1 block overlaps", boxes, candidates_at(30, 0, 32));
  }
  // The candidate covers the model frame: every box overlaps, none is similar enough.
  against("160 boxes, every box overlaps", 160, candidates_at(0, 0, 2000));
}

// The four distances of a box from bins that peak, as a detector leaves them.
void distances() {
  constexpr std::uint32_t bins = 16;
  std::vector<float> table(256);
  std::vector<float> logits(4 * bins);
  std::vector<std::uint8_t> raw(4 * bins);
  for (std::size_t d = 0; d < table.size(); ++d) {
    table[d] = std::exp(-0.1F * static_cast<float>(d));
  }
  for (std::uint32_t i = 0; i < 4 * bins; ++i) {
    const float away = static_cast<float>(i % bins) - 3.3F - static_cast<float>(i / bins);
    logits[i] = std::max(-10.0F, 4.0F - 1.5F * away * away);
    raw[i] = static_cast<std::uint8_t>(static_cast<std::int8_t>(logits[i] * 10.0F));
  }
  const auto boxes = [&] {
    const Kernels &kernels = k::detail::select_kernels();
    float sides[4];
    region("boxes", "four distances, 16 INT8 bins", "box", 1, [&] {
      kernels.bin_distances_8(raw.data(), bins, bins, 0x80, table.data(), sides);
      sink = static_cast<std::uint64_t>(sides[0]);
    });
    region("boxes", "four distances, 16 float bins", "box", 1, [&] {
      kernels.bin_distances_32(logits.data(), bins, sides);
      sink = static_cast<std::uint64_t>(sides[0]);
    });
  };
  boxes();
  use_kernels("scalar");
  boxes();
  use_best_kernels();
}

// Twenty objects of 120 × 120 model pixels in a 160 × 160 × 32 prototype: 30 × 30 live pixels each.
void masks(op::MaskEncoding encoding, const std::string &name) {
  Case made = yolo8_seg_640(k::DType::Int8, Place::Contiguous, {.hit_share = 0.02}, encoding);
  std::vector<in::Corners> boxes;
  for (int i = 0; i < 20; ++i) {
    const float x = 20.0F + 120.0F * static_cast<float>(i % 5);
    const float y = 20.0F + 120.0F * static_cast<float>(i / 5);
    boxes.push_back({x, y, x + 120.0F, y + 120.0F});
  }
  for (const char *kernels : {"neon_dotprod", "neon", "scalar"}) {
    use_kernels(kernels);
    const Run run(made);
    region("masks", "stage, " + name, "pixel", 20 * 30 * 30, [&] {
      const in::Frame frame = run.frame();
      const in::HeadPlan &head = run.state().heads[0];
      for (std::size_t i = 0; i < boxes.size(); ++i) {
        run.state().write_extra(frame, head, in::site_of(head, static_cast<std::uint32_t>(i * 37), 0), boxes[i], i);
      }
    });
  }
  use_best_kernels();
}

void mask_products() {
  constexpr std::size_t channels = 32;
  constexpr std::size_t widest = 160;
  std::vector<std::uint8_t> prototypes(widest * channels);
  std::uint32_t random = 1;
  const auto next = [&] { return (random = random * 1664525U + 1013904223U) >> 24U; };
  for (std::uint8_t &byte : prototypes) {
    byte = static_cast<std::uint8_t>(next());
  }
  const auto coefficients_of = [&](std::int32_t zero_point) {
    MaskCoefficients coefficients{};
    coefficients.length = channels;
    coefficients.zero_point = zero_point;
    coefficients.prototype_zero = 3;
    for (std::uint32_t j = 0; j < channels; ++j) {
      coefficients.raw[j] = static_cast<std::int8_t>(next());
      coefficients.centred[j] = static_cast<std::int16_t>(coefficients.raw[j] - zero_point);
      coefficients.sum_centred += coefficients.centred[j];
    }
    return coefficients;
  };
  const MaskCoefficients eight_bits = coefficients_of(0);
  const MaskCoefficients nine_bits = coefficients_of(100);
  std::vector<std::int32_t> dots(widest);
  const auto row = [&](const std::string &name, const MaskCoefficients &coefficients, std::size_t pixels) {
    const auto mask_dots = k::detail::select_kernels().mask_dots_8;
    region("masks", "products, rows of " + std::to_string(pixels) + name, "pixel", static_cast<double>(pixels),
           [&] { mask_dots(coefficients, prototypes.data(), pixels, channels, dots.data()); });
  };
  for (const char *kernels : {"neon_dotprod", "neon", "scalar"}) {
    use_kernels(kernels);
    row("", eight_bits, widest);
    row("", eight_bits, 30);
    row(", 9-bit coefficients", nine_bits, widest);
  }
  use_best_kernels();
}

}  // namespace

int main() {
  calibrate();
  scans();
  suppression();
  use_kernels("scalar");
  suppression();
  use_best_kernels();
  distances();
  mask_products();
  masks(op::MaskEncoding::Probability, "Probability");
  masks(op::MaskEncoding::Binary, "Binary");
  return 0;
}
