#pragma once

#include <array>

#include "plan/plan.h"

namespace headroom {

// What memory is for. The first four exist during the whole step; the arena holds the others.
enum class MemoryKind { parameters, optimizer_state, other_state, inputs, activations, gradients, workspace };
inline constexpr std::array kMemoryKinds = {
    MemoryKind::parameters,  MemoryKind::optimizer_state, MemoryKind::other_state, MemoryKind::inputs,
    MemoryKind::activations, MemoryKind::gradients,       MemoryKind::workspace};
inline constexpr std::array kArenaKinds = {MemoryKind::activations, MemoryKind::gradients,
                                           MemoryKind::workspace};
std::string_view name_of(MemoryKind kind);  // as in JSON: "optimizer_state"

// Bytes of each kind.
struct MemoryBytes {
  std::array<std::int64_t, kMemoryKinds.size()> of = {};
  std::int64_t& operator[](MemoryKind kind) { return of[static_cast<std::size_t>(kind)]; }
  std::int64_t operator[](MemoryKind kind) const { return of[static_cast<std::size_t>(kind)]; }
  std::int64_t total() const;
  std::int64_t arena() const;  // activations, gradients and workspace
  bool operator==(const MemoryBytes&) const = default;
};

// The memory of one plan, step by step.
struct MemoryTimeline {
  // A value of the arena, or the workspace of a step.
  struct Piece {
    std::string name, layer;
    MemoryKind kind = MemoryKind::activations;
    std::int64_t bytes = 0;
    int first = 0;     // the step that writes it
    int last_use = 0;  // the last step that reads it; the number of steps: it is read after the run
    int last = 0;      // memory is held so long: past last_use if the second stream could still use it
  };
  struct Layer {
    std::string layer;  // empty: memory of no layer, such as inputs
    MemoryBytes bytes;  // its part of the peak
  };

  std::vector<MemoryBytes> steps = {};  // alive while each step runs
  int peak_step = kNone;                // the first with the most bytes; kNone: the plan has no steps
  MemoryBytes peak = {};                // what is alive then
  std::int64_t arena_bytes = 0;         // the plan's arena: alive at the peak, rounded up and with gaps
  std::vector<Piece> alive = {};        // pieces of the arena alive at the peak, largest first
  std::vector<Layer> layers = {};       // add up to the peak; in the order of the network
};

// A value is alive from the step that writes it to the last step that reads it; the graph's outputs stay to
// the end. Views and in-place results count as the value whose memory they share. State that only updates
// touch belongs to the optimizer.
MemoryTimeline memory_timeline(const Plan& plan);

}  // namespace headroom
