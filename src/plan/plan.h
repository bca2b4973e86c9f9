#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "device/capabilities.h"
#include "graph/graph.h"
#include "ops/kernel.h"

namespace headroom {

enum class Mode { train, eval };
std::string_view name_of(Mode mode);

// What a plan is for. Another batch, precision or device is another plan over the same storage.
struct Binding {
  Mode mode = Mode::train;
  std::int64_t batch = 1;
  DType precision = DType::f32;
  Capabilities capabilities;
  int streams = 1;  // 2: gradients of parameters beside those of activations; see plan/streams.h
};

// Where a value lives: in the arena at an offset, in storage shared by all plans of a model, or bound by the
// caller before each run (inputs).
struct Slot {
  enum class Where { arena, storage, bound };
  Where where = Where::arena;
  std::size_t offset = 0;  // in the arena, or within that value
  ValueId value = kNone;   // storage and bound: whose
};

struct Refusal {
  std::string kernel, reason;
};

// One launch: all that the executor runs and the predictor reads.
struct Step {
  NodeId node = kNone;
  const Kernel* kernel = nullptr;  // null: none is written yet; such a plan can be read, not run
  Problem problem;
  std::vector<Slot> inputs, outputs;
  std::size_t workspace = 0;         // bytes
  std::size_t workspace_offset = 0;  // in the arena
  int stream = 0;                    // where work is captured; step by step, all of it runs on one
  std::vector<int> waits;            // steps of other streams that must be over first
  std::vector<Charge> charges;       // shares sum to one
  Phase phase = Phase::forward;
  Cost cost;                     // least, by the schema
  Work work;                     // what the chosen kernel does
  std::vector<Refusal> refused;  // kernels before the chosen one
  std::string why;               // how it was chosen
  std::string_view kernel_name() const { return kernel ? kernel->name : "none"; }
};

struct Plan {
  Graph graph;
  Binding binding;
  std::vector<Step> steps;
  std::size_t arena_bytes = 0;
  std::size_t unshared_bytes = 0;  // what the arena would take if no two values shared memory

  std::string text() const;     // one line per step
  std::string explain() const;  // why each kernel was chosen and what refused
};

// Choice is injected: list order, a forced name, a tuning table, or predicted time.
struct Choice {
  const Kernel* kernel = nullptr;
  std::string why;
  std::vector<Refusal> refused;
};
using Chooser = std::function<Choice(const Problem&, const Capabilities&)>;

// The first kernel of the operator's list that accepts.
Choice first_that_accepts(const Problem& problem, const Capabilities& capabilities);

// "op=kernel" pairs forced by the user; a forced kernel that refuses is an error with its reason.
Chooser forced(std::vector<std::pair<std::string, std::string>> choices);

// As `choose`, but an operator that has a schema and no kernels yet gets none instead of an error: a plan to
// predict by, which no executor takes.
Chooser even_without_kernel(Chooser choose);

// Kernels, memory and order for a graph whose passes are done.
Plan make_plan(Graph graph, Binding binding, const Chooser& choose = first_that_accepts);

}  // namespace headroom
