#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "ops/kernel.h"

namespace headroom {

// Training; evaluation with loss and correct count; the forward pass alone; gradients without a loss.
enum class Mode { train, eval, infer, gradients };
std::string_view name_of(Mode mode);

// The purpose of a plan. Another batch, precision or device needs another plan over the same storage.
struct Binding {
  Mode mode = Mode::train;
  std::int64_t batch = 1;
  DType precision = DType::f32;
  Target target;  // the device, what the user allows, and the ranks
  int streams =
      1;  // up to kMaxStreams: gradients of parameters beside those of activations; see plan/streams.h
};

// Where a value lives: in the arena at an offset, in storage that all plans of a model share, or at an
// address the caller binds before each run (inputs).
struct Slot {
  enum class Where { arena, storage, bound };
  Where where = Where::arena;
  std::size_t offset = 0;  // in the arena, or within `value`
  ValueId value = kNone;   // storage and bound: the value that owns the memory
};

struct Refusal {
  std::string kernel, reason;
};

// One launch: everything the executor runs and the predictor reads.
struct Step {
  NodeId node = kNone;
  const Kernel* kernel = nullptr;  // null: not written yet; such a plan can be read, not run
  std::string variant;             // the kernel's candidate; empty: no candidates, or none chosen
  double variant_s = 0;            // measured by the tuner; 0: not timed
  Problem problem;
  std::vector<Slot> inputs, outputs;
  std::size_t workspace = 0;         // bytes
  std::size_t workspace_offset = 0;  // in the arena
  int stream = 0;                    // used in captures; uncaptured steps all run on one stream
  std::vector<int> waits;            // steps of other streams that must finish first
  std::vector<Charge> charges;       // shares sum to one
  Phase phase = Phase::forward;
  int like = kNone;              // the same for steps that compute the same by the same kernel
  Cost cost;                     // lower bound, from the schema
  Work work;                     // work of the chosen kernel
  std::vector<Refusal> refused;  // kernels listed before the chosen one
  std::string why;               // reason for the choice
  std::string_view kernel_name() const { return kernel ? kernel->name : "none"; }
  std::string full_name() const;  // "cudnn:heuristic_3"
};

struct Plan {
  Graph graph;
  Binding binding;
  std::vector<Step> steps;
  std::size_t arena_bytes = 0;
  std::size_t unshared_bytes = 0;  // arena size if no two values shared memory

  std::string text() const;     // one line per step
  std::string explain() const;  // why each kernel was chosen and why others refused
};

// The choice is injected: list order, a forced name, a tuning table, or predicted time.
struct Choice {
  const Kernel* kernel = nullptr;
  std::string why;
  std::vector<Refusal> refused;
  std::string variant = {};  // the kernel's candidate; empty: the tuner has to choose
  double variant_s = 0;
  bool forced = false;   // by the user, for all nodes of this operator
  bool of_kind = false;  // forced to a kind of kernels, "library" or "own", not to one of them
};
using Chooser = std::function<Choice(const Problem&, const Target&)>;

// The first kernel in the operator's list that accepts.
Choice first_that_accepts(const Problem& problem, const Target& target);

// "op=kernel" pairs forced by the user, or "op=kernel:candidate"; a forced kernel that refuses is an error
// with its reason.
Chooser forced(std::vector<std::pair<std::string, std::string>> choices);

// Same as `choose`, but an operator that has a schema and no kernel gets none instead of an error. Such a
// plan can be used to predict; no executor runs it.
Chooser even_without_kernel(Chooser choose);

// Chooses kernels, memory and order for a graph whose passes are done. Networks get here only through `build`
// (train/build.h).
Plan make_plan(Graph graph, Binding binding, const Chooser& choose = first_that_accepts);

// Plans a graph of operators outside any network: constants to fold, a product to time.
Plan plan_operators(Graph graph, DType precision, const Target& target,
                    const Chooser& choose = first_that_accepts);

}  // namespace headroom
