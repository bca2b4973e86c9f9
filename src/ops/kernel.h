#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "graph/schema.h"
#include "ops/target.h"
#include "ops/work.h"

namespace headroom {

// Does a kernel take a problem? A refusal says why, so that "why the slow one?" has a printed answer.
struct Verdict {
  bool ok = true;
  std::string reason;
};
inline Verdict accept() { return {}; }
inline Verdict refuse(std::string reason) { return {false, std::move(reason)}; }

struct LaunchArgs {
  const void* const* inputs;
  void* const* outputs;
  void* workspace;
  Stream* stream;

  template <class T>
  const T* in(std::size_t i) const {
    return static_cast<const T*>(inputs[i]);
  }
  template <class T>
  T* out(std::size_t i) const {
    return static_cast<T*>(outputs[i]);
  }
};

// Bound to one problem when a plan is made ready: parsing is over, launching allocates nothing.
using Launcher = std::function<void(const LaunchArgs&)>;

// The usual answers: fp32 and fp64 on the CPU; no more work than the schema asks.
Verdict accepts_cpu_floats(const Problem& problem, const Target& target);
Verdict accepts_cpu_fp32(const Problem& problem, const Target& target);  // and nothing else
// fp32 that may be rounded to bf16, on a processor that multiplies it.
Verdict accepts_cpu_bf16(const Problem& problem, const Target& target);
// Exact fp32 as a sum of bf16 products, on a processor with AMX.
Verdict accepts_cpu_bf16x6(const Problem& problem, const Target& target);
Work least_work(const Problem& problem, const Target& target);
// On a GPU: any float type for which the device has arithmetic.
Verdict accepts_cuda_floats(const Problem& problem, const Target& target);

// Which layouts of its tensors a kernel takes; the others are refused for it.
enum class Layouts {
  nchw,         // no other
  alike,        // either, the same for all tensors of rank 4; the kernel looks which
  elementwise,  // any, where all tensors have the same shape and layout
  any,          // whatever they are
};

// A function or a closure. Beside what std::function takes: one name of several functions, of which the
// signature picks one.
template <class Signature>
class Closure;
template <class Result, class... Args>
class Closure<Result(Args...)> : public std::function<Result(Args...)> {
 public:
  using std::function<Result(Args...)>::function;
  Closure() = default;
  Closure(Result (*named)(Args...)) : std::function<Result(Args...)>(named) {}
};

// The half of a kernel that needs the CUDA toolkit: its prepare function, or null in a build without.
#ifdef HEADROOM_HAS_CUDA
#define HEADROOM_CUDA(prepare) prepare
#else
#define HEADROOM_CUDA(prepare) nullptr
#endif

// One idea for one operator on one kind of device. All but `prepare` is a description built everywhere; where
// the device's compiler is missing, `prepare` is null and the kernel can still be planned and predicted.
struct Kernel {
  std::string_view name;  // "cpu:im2col_gemm"
  DeviceKind device = DeviceKind::cpu;
  Closure<Verdict(const Problem&, const Target&)> accepts = accepts_cpu_floats;
  // Where it is faster than those after it in the list, of what it accepts; elsewhere it runs by name alone.
  // Empty: wherever it accepts.
  Closure<Verdict(const Problem&, const Target&)> pays;
  Closure<Work(const Problem&, const Target&)> work = least_work;
  Closure<Launcher(const Problem&, const LaunchContext&)> prepare;
  Closure<std::size_t(const Problem&, const Target&)> workspace;  // empty: needs none
  // The algorithms among which a library leaves the choice to its caller, by name, most promising first. They
  // are described without a device; one that the library does not have after all fails in prepare. Empty
  // function: the kernel is one algorithm.
  Closure<std::vector<std::string>(const Problem&, const Target&)> candidates;
  bool shares_counter =
      false;  // its launches share a counter (see ops/cuda/block.cuh): two must never overlap
  Layouts layouts = Layouts::nchw;
  bool vendor = false;  // by a library: cuDNN, cuBLASLt, OpenBLAS
  // Splits both factors in parts of fp16 before it multiplies them: a pass may let others share the parts.
  bool splits_factors = false;
};

// The kernel's own answer, where it takes the layouts.
Verdict accepts(const Kernel& kernel, const Problem& problem, const Target& target);

}  // namespace headroom
