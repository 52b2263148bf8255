// A plugin for user-mode QEMU: counts the guest's A64 instructions by class between marker hints.
//   qemu-aarch64 -plugin ./libcost_plugin.so,counts=FILE PROGRAM
// Needs no header of QEMU: the part of plugin API version 1 that is used is declared here as its documentation says.
#include <cinttypes>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

#include "encoding.h"

#define SHOWN __attribute__((visibility("default")))

extern "C" {
using qemu_plugin_id_t = std::uint64_t;
struct qemu_plugin_tb;
struct qemu_plugin_insn;
// Only the first member is looked at, through the pointer that QEMU passes.
struct qemu_info_t {
  const char *target_name;
};
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };
enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
using translated_callback = void (*)(qemu_plugin_id_t, qemu_plugin_tb *);
using executed_callback = void (*)(unsigned, void *);
using exit_callback = void (*)(qemu_plugin_id_t, void *);
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t, translated_callback);
void qemu_plugin_register_vcpu_insn_exec_cb(qemu_plugin_insn *, executed_callback, qemu_plugin_cb_flags, void *);
void qemu_plugin_register_vcpu_insn_exec_inline(qemu_plugin_insn *, qemu_plugin_op, void *, std::uint64_t);
void qemu_plugin_register_atexit_cb(qemu_plugin_id_t, exit_callback, void *);
std::size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb *);
qemu_plugin_insn *qemu_plugin_tb_get_insn(const qemu_plugin_tb *, std::size_t);
const void *qemu_plugin_insn_data(const qemu_plugin_insn *);

SHOWN int qemu_plugin_version = 1;
SHOWN int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count, char **arguments);
}

namespace {

struct Counts {
  std::uint64_t instructions[arm_cost::classes];
  std::uint64_t memory_slots;
  std::uint64_t execute_slots;
};

// Zero before any constructor runs; generated code adds to it.
Counts now;
Counts at_begin;
bool open_region = false;

struct State {
  std::vector<Counts> regions;
  std::string path;
};
State &state() {
  static State made;
  return made;
}

void begin_region(unsigned, void *) {
  if (open_region) {
    std::fprintf(stderr, "cost_plugin: a region begins inside another one\n");
    std::_Exit(1);
  }
  open_region = true;
  at_begin = now;
}

void end_region(unsigned, void *) {
  if (!open_region) {
    std::fprintf(stderr, "cost_plugin: a region ends that has not begun\n");
    std::_Exit(1);
  }
  open_region = false;
  Counts region = now;
  for (unsigned kind = 0; kind < arm_cost::classes; ++kind) {
    region.instructions[kind] -= at_begin.instructions[kind];
  }
  region.memory_slots -= at_begin.memory_slots;
  region.execute_slots -= at_begin.execute_slots;
  state().regions.push_back(region);
}

void add_inline(qemu_plugin_insn *instruction, std::uint64_t &counter, std::uint64_t amount) {
  if (amount != 0) {
    qemu_plugin_register_vcpu_insn_exec_inline(instruction, QEMU_PLUGIN_INLINE_ADD_U64, &counter, amount);
  }
}

void on_translation(qemu_plugin_id_t, qemu_plugin_tb *block) {
  const std::size_t count = qemu_plugin_tb_n_insns(block);
  for (std::size_t i = 0; i < count; ++i) {
    qemu_plugin_insn *instruction = qemu_plugin_tb_get_insn(block, i);
    std::uint32_t word;
    std::memcpy(&word, qemu_plugin_insn_data(instruction), sizeof(word));
    if (word == arm_cost::begin_marker || word == arm_cost::end_marker) {
      const auto callback = word == arm_cost::begin_marker ? begin_region : end_region;
      qemu_plugin_register_vcpu_insn_exec_cb(instruction, callback, QEMU_PLUGIN_CB_NO_REGS, nullptr);
      continue;
    }
    const arm_cost::Cost cost = arm_cost::cost_of(word);
    add_inline(instruction, now.instructions[static_cast<unsigned>(cost.kind)], 1);
    add_inline(instruction, now.memory_slots, cost.memory_slots);
    add_inline(instruction, now.execute_slots, cost.execute_slots);
  }
}

// One line a region: classes, memory slots, execute slots.
void on_exit(qemu_plugin_id_t, void *) {
  std::FILE *file = std::fopen(state().path.c_str(), "w");
  if (file == nullptr) {
    std::fprintf(stderr, "cost_plugin: cannot write %s\n", state().path.c_str());
    return;
  }
  for (const char *name : arm_cost::class_names) {
    std::fprintf(file, "%s,", name);
  }
  std::fprintf(file, "memory_slots,execute_slots\n");
  for (const Counts &region : state().regions) {
    for (const std::uint64_t instructions : region.instructions) {
      std::fprintf(file, "%" PRIu64 ",", instructions);
    }
    std::fprintf(file, "%" PRIu64 ",%" PRIu64 "\n", region.memory_slots, region.execute_slots);
  }
  std::fclose(file);
}

}  // namespace

int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t *info, int count, char **arguments) {
  if (std::strcmp(info->target_name, "aarch64") != 0) {
    std::fprintf(stderr, "cost_plugin: knows aarch64 only, not %s\n", info->target_name);
    return 1;
  }
  for (int i = 0; i < count; ++i) {
    if (std::strncmp(arguments[i], "counts=", 7) == 0) {
      state().path = arguments[i] + 7;
    }
  }
  if (state().path.empty()) {
    std::fprintf(stderr, "cost_plugin: needs counts=FILE\n");
    return 1;
  }
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
  return 0;
}
