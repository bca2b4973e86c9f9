#pragma once

#include "plan/arena.h"
#include "plan/plan.h"

namespace headroom {

// True for values that outlive a step: all plans of a model share them.
bool lives_in_storage(Role role);

// Views and in-place updates share memory with an input. For each value: the owner of its memory, and its
// offset in that memory in bytes.
struct Homes {
  std::vector<ValueId> owner;
  std::vector<std::size_t> shift;
};
Homes homes_of(const Graph& graph);

// A piece of the arena: a value that owns memory, or the workspace of a step.
struct ArenaPiece {
  ValueId value = kNone;  // kNone: the workspace of step life.first
  Lifetime life = {};     // life.last is the number of steps if the caller reads the value after the run
  int last_use = kNone;   // before life.last if the second stream could still use the memory
};

// All pieces: values by id, then workspaces by step. A piece must exist from the step that writes it to the
// last step that reads it. Memory that the second stream touches stays until the first stream has waited for
// the second.
std::vector<ArenaPiece> arena_pieces(const Plan& plan, const Homes& homes);

}  // namespace headroom
