#pragma once

#include <cstdint>

/// What an A64 instruction word costs on a small in-order core. Bit fields after the A64 encoding index of the Arm
/// Architecture Reference Manual (DDI 0487). In: an instruction word. Out: its class and the slots it takes. Never: latency.
namespace arm_cost {

enum class Class { Branch, System, Load, Store, Vector, Dot, Divide, Integer };
constexpr unsigned classes = 8;
constexpr const char *class_names[classes] = {"branch", "system", "load", "store", "vector", "dot", "divide", "integer"};

struct Cost {
  Class kind;
  unsigned memory_slots;   ///< 64-bit transfers of the load/store port
  unsigned execute_slots;  ///< 64-bit operations of the execute ports
};

/// Bits high..low of a word.
constexpr std::uint32_t bits(std::uint32_t word, unsigned high, unsigned low) {
  return (word >> low) & ((1U << (high - low + 1U)) - 1U);
}

constexpr Cost transfer(bool load, unsigned slots) { return {load ? Class::Load : Class::Store, slots, 0}; }

/// Registers that LD1..LD4 and ST1..ST4 of whole vectors move.
constexpr unsigned structure_registers(std::uint32_t opcode) {
  switch (opcode) {
    case 0b0111: return 1;
    case 0b1000:
    case 0b1010: return 2;
    case 0b0100:
    case 0b0110: return 3;
    default: return 4;
  }
}

constexpr Cost load_or_store(std::uint32_t word) {
  const bool vector = bits(word, 26, 26) != 0;
  const bool load_bit = bits(word, 22, 22) != 0;
  const std::uint32_t size = bits(word, 31, 30);
  switch (bits(word, 29, 27)) {
    case 0b001:
      if (!vector) {
        return transfer(load_bit, 1);  // exclusive, ordered
      }
      if (bits(word, 24, 24) == 0) {
        return transfer(load_bit, structure_registers(bits(word, 15, 12)) << bits(word, 30, 30));
      }
      return transfer(load_bit, bits(word, 13, 13) * 2 + bits(word, 21, 21) + 1);  // one lane of 1..4 registers
    case 0b011:
      if (bits(word, 25, 24) != 0) {
        return transfer(bits(word, 23, 22) != 0, 1);  // ordered, unscaled offset
      }
      return transfer(true, vector && size == 0b10 ? 2 : 1);                            // literal
    case 0b101: return transfer(load_bit, vector ? 1U << size : size == 0b10 ? 2 : 1);  // pair
    default: {
      const std::uint32_t operation = bits(word, 23, 22);
      if (vector) {
        return transfer(load_bit, size == 0 && operation >= 0b10 ? 2 : 1);
      }
      if (bits(word, 24, 24) == 0 && bits(word, 21, 21) != 0 && bits(word, 11, 10) == 0) {
        return transfer(true, 2);  // atomic: reads and writes
      }
      return transfer(operation != 0, 1);  // signed loads and prefetches count as loads
    }
  }
}

/// Whether a vector instruction of the 64-bit form has a 128-bit operand or result: it lengthens or narrows.
constexpr bool changes_width(std::uint32_t word) {
  if (bits(word, 28, 24) == 0b01110) {
    if (bits(word, 21, 21) != 0 && bits(word, 11, 10) == 0b00) {
      return true;  // three registers of different widths
    }
    if (bits(word, 21, 17) == 0b10000 && bits(word, 11, 10) == 0b10) {
      const std::uint32_t operation = bits(word, 16, 12);
      return operation == 0b10010 || operation == 0b10011 || operation == 0b10100 || operation == 0b10110 ||
             operation == 0b10111;
    }
    return false;
  }
  if (bits(word, 23, 23) == 0 && bits(word, 22, 19) != 0 && bits(word, 10, 10) != 0) {
    return bits(word, 15, 11) >= 0b10000 && bits(word, 15, 11) <= 0b10100;  // shift by an immediate
  }
  const std::uint32_t operation = bits(word, 15, 12);
  return bits(word, 10, 10) == 0 && (operation & 0b0010U) != 0 && operation != 0b1110;  // by element
}

constexpr bool moves_one_lane(std::uint32_t word) {
  if ((word & 0xBFE08400U) == 0x0E000400U) {
    const std::uint32_t operation = bits(word, 14, 11);
    return operation == 0b0011 || operation == 0b0101 || operation == 0b0111;  // INS (general), SMOV, UMOV
  }
  return (word & 0xFFE08400U) == 0x6E000400U;  // INS (element)
}

constexpr Cost vector_or_float(std::uint32_t word) {
  if (bits(word, 28, 28) != 0) {
    const bool divides = (word & 0xFF20FC00U) == 0x1E201800U;
    return {divides ? Class::Divide : Class::Vector, 0, 1};
  }
  const bool dot = (word & 0x9F20FC00U) == 0x0E009400U || (word & 0x9F00F400U) == 0x0F00E000U;
  const bool divides = (word & 0xBFA0FC00U) == 0x2E20FC00U;
  const bool wide = (bits(word, 30, 30) != 0 || changes_width(word)) && !moves_one_lane(word);
  return {dot ? Class::Dot : divides ? Class::Divide : Class::Vector, 0, wide ? 2U : 1U};
}

constexpr Cost cost_of(std::uint32_t word) {
  const std::uint32_t group = bits(word, 28, 25);
  if ((group & 0b1110U) == 0b1010U) {
    return {bits(word, 31, 24) == 0b11010101 || bits(word, 31, 24) == 0b11010100 ? Class::System : Class::Branch, 0, 0};
  }
  if ((group & 0b0101U) == 0b0100U) {
    return load_or_store(word);
  }
  if ((group & 0b0111U) == 0b0111U) {
    return vector_or_float(word);
  }
  const bool divides = (word & 0x7FE0F800U) == 0x1AC00800U;
  return {divides ? Class::Divide : Class::Integer, 0, 1};
}

/// Words of the marker hints. They are no-operations on every core.
constexpr std::uint32_t hint(std::uint32_t number) { return 0xD503201FU | number << 5U; }
constexpr std::uint32_t begin_marker = hint(120);
constexpr std::uint32_t end_marker = hint(121);

}  // namespace arm_cost
