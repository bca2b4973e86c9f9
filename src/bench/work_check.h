#pragma once

// Every kernel of ours for GPUs, its own account of its work beside what the GPU counted while it ran.

#include <functional>
#include <string>
#include <vector>

#include "ops/operator.h"
#include "profile/counted_work.h"

namespace headroom {

// A kernel on one case of its operator. `precision` as users name it: "tf32".
struct WorkCase {
  const Operator* op;
  const Kernel* kernel;
  Case of;
  Problem problem;
  Target target;
  DType dtype;
  std::string precision;
};
// Small cases are those of correctness tests, many of uneven sizes; any: the timed ones as well.
enum class CaseSize { any, small };
// For each kernel and precision the case with most work that it accepts. Kernels of libraries, exchanges
// between ranks and views are left out. Without names all operators; rejects unknown ones.
std::vector<WorkCase> work_cases(const Capabilities& gpu, const std::vector<std::string>& operators,
                                 CaseSize size);

struct WorkRow {
  Problem problem;
  std::string kernel, precision;
  Cost cost;  // the least
  Work work;
  CountedWork counted;
};
// How far a kernel's account may be off.
struct WorkTolerance {
  double flops = 0.02, bytes = 0.05;
  double l2_capacity = 0;  // 0: unknown, then bytes of memory are not judged
};
struct WorkCheck {
  std::vector<WorkRow> rows;
  WorkTolerance tolerance;
  std::vector<std::string> left_out;  // what failed, with the reason
  std::vector<std::string> notes;     // how it was counted
  std::string why_not;                // not empty: nothing can be counted here
};
WorkCheck check_work(Device& gpu, const std::vector<WorkCase>& cases,
                     const std::function<void(const std::string&)>& progress);

// Where a kernel's account is off. FLOPs are judged where nearly all of them are products; bytes through L2
// from a megabyte on, since parameters and instructions come through it, too; bytes of memory where the
// tensors take more than four times the cache.
struct WorkVerdict {
  bool flops = false, l2 = false, dram = false;  // true: off
  bool any() const { return flops || l2 || dram; }
};
WorkVerdict judge(const WorkRow& row, const WorkTolerance& tolerance);

}  // namespace headroom
