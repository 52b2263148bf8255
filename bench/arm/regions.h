#pragma once

/// Marks what the counting plugin counts. Regions do not nest; they are numbered in the order in which they begin. The hints
/// are the ones of encoding.h, no-operations everywhere.
#define ARM_COST_BEGIN() __asm__ volatile("hint #120" ::: "memory")
#define ARM_COST_END() __asm__ volatile("hint #121" ::: "memory")
