#pragma once

// A ladder: one operator, one problem, and kernels that add one idea each. Every rung is checked against fp64
// before it is timed. An operator's ladder is a list of rungs and a check (see bench/gemm_ladder.h).

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bench/sampler.h"
#include "graph/schema.h"
#include "machine/machine.h"
#include "ops/kernel.h"
#include "profile/counted_work.h"

namespace headroom {

// One idea: a kernel of the operator's list, or one of its variants.
struct Rung {
  std::string name;   // in tables, and for picking: "cpu:blocked"
  std::string title;  // the idea in a few words: "blocks that fit the cache"
  std::string kernel;
  std::string variant = {};    // one of the kernel's candidates; empty: none, or the tuner's choice
  std::string builds_on = {};  // the name of the rung that this one changes; empty: a baseline
  // For people who ask for an explanation, a sentence each: what is different from `builds_on`, and why that
  // should help or not. The measured outcome and the amounts of work are added to them.
  std::string changed = {}, why = {};
};

// A rung named like its kernel, without a variant.
Rung rung_of(std::string kernel, std::string title, std::string builds_on, std::string changed,
             std::string why);

struct Ladder {
  std::string op;
  std::vector<Rung> rungs;                       // in the order of the climb
  const std::vector<Kernel>* kernels = nullptr;  // null: those of the operator
};

// A node of the ladder's operator. Inputs are filled with normal random numbers, mean 0, deviation 1.
struct LadderProblem {
  std::string name;  // "800 x 1000 x 784"
  std::vector<TensorType> inputs;
  Attrs attrs = {};
};

// A tensor in host memory, stored in its type.
struct HostTensor {
  TensorType type;
  std::vector<std::byte> bytes;
  // Elements [begin, begin + count), widened.
  void read(std::int64_t begin, std::int64_t count, double* to) const;
};

// How far a result is from fp64.
struct RungError {
  double frobenius = 0;  // relative, over what was compared element by element
  double max = 0;        // the largest error over the root mean square of the results
  std::string wrong;     // not empty: the result is wrong, and where
};

// Knows the right result of one problem on given inputs, or enough of it to find every wrong element.
class LadderCheck {
 public:
  virtual ~LadderCheck() = default;
  virtual RungError compare(const std::vector<HostTensor>& outputs) const = 0;
};
using MakeLadderCheck = std::function<std::unique_ptr<LadderCheck>(
    const Problem& problem, const std::vector<HostTensor>& inputs, const Policy& policy)>;

// The largest error of one element that rounding explains: 4 u |want| + 4 v sqrt(terms) size, with u the unit
// roundoff of the stored type, v that of the factors or the sums (tf32: 2^-11), and `size` the root mean
// square of the results. `terms`: products and sums for one element.
double allowed_error(double want, DType dtype, const Policy& policy, double terms, double size);

// Registers and shared memory of a rung's longest kernel, and how many of its blocks fit on a multiprocessor.
struct RungLaunch {
  std::string kernel;
  int registers = 0;
  std::int64_t shared_bytes = 0;
  double occupancy_percent = 0;
  std::string limiter;
};

struct RungResult {
  enum class Outcome { timed, wrong, left_out };
  Rung rung;
  Outcome outcome = Outcome::left_out;
  std::string reason;  // why it was left out, or what is wrong
  Sampled seconds;     // of one run, on the device
  Work work;           // by the kernel's own account
  double floor_s = 0;  // lower than the ladder's where the algorithm needs fewer products
  RungError error;
  std::optional<RungLaunch> launch;
  std::optional<CountedWork> counted;  // of one run
  double over_before = 0;  // times faster than the rung it builds on, or the timed one above; 0: unknown
  double over_first = 0;   // times faster than the first timed rung

  bool timed() const { return outcome == Outcome::timed; }
};

// A time that someone else published for a rung, or for its idea, on the same problem.
struct PublishedRung {
  std::string rung;
  double low_s = 0, high_s = 0;  // equal: one figure
  char source = 'a';             // the letter of a note
};

struct LadderRun {
  LadderProblem problem;
  std::string text;  // the problem as plans name it
  Cost cost;         // the minimum work
  double floor_s = 0;
  std::string bound;  // what sets the floor
  std::vector<RungResult> rungs;
  std::string
      why_no_launches;  // why registers and occupancy are unknown; empty: they are known, or a CPU ran

  std::vector<PublishedRung> published = {};
  std::vector<std::string> counter_notes = {};  // how counters were read, or why there are none

  bool any_wrong() const;
  bool any_timed() const;
  static double percent_of_roofline(const RungResult& rung) {
    return 100 * rung.floor_s / rung.seconds.median;
  }
};

struct LadderOptions {
  Policy policy = {};
  std::vector<std::string> only = {};  // names of rungs; empty: all
  std::uint64_t seed = 0;
  double seconds = 1;    // of timed runs for each rung; at least one sample, whatever it takes
  double patience = 60;  // a rung whose single run takes longer is left out, unless `only` names it
  // A small problem of the same kind, to tell how long a run takes before it starts. Empty: nobody asks.
  std::optional<LadderProblem> small = {};
  // The rule of a course: a sample is one run, from an idle device with a zeroed output to an idle device.
  bool zeroed = false;
  // Counters of a GPU to read in runs of their own, after a rung was timed; nothing is traced then.
  std::vector<std::string> counters = {};
  std::function<void(const std::string& rung)> progress = {};
};

// Rejects names in `options.only` that the ladder does not have, and a problem that does not fit into memory.
LadderRun climb(Device& device, const Machine& machine, const Ladder& ladder, const LadderProblem& problem,
                const MakeLadderCheck& make_check, const LadderOptions& options);

// Sets over_before and over_first of all timed rungs: `climb` does, and who changes a rung afterwards.
void compare_times(LadderRun& run);

// Rejects a name that is no rung, with the nearest ones.
void require_rungs(const Ladder& ladder, const std::vector<std::string>& names);

// The most bytes that the tensors of a problem may have here: the device's free memory, and the host's, which
// keeps a copy of all of them to check with.
double ladder_memory(const Device& device);
// Rejects a problem with more than that. `hint` says what would fit.
void require_memory(const Device& device, const std::string& name, double bytes, Hint hint = {});

}  // namespace headroom
