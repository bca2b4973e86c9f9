#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "device/device.h"
#include "graph/schema.h"

namespace headroom {

// Does a kernel take a problem? A refusal says why, so that "why the slow one?" has a printed answer.
struct Verdict {
  bool ok = true;
  std::string reason;
};
inline Verdict accept() { return {}; }
inline Verdict refuse(std::string reason) { return {false, std::move(reason)}; }

// What this algorithm does, as opposed to the least that must be done: unrolling moves more bytes, Winograd
// does fewer products. `efficiency` is the share of the unit's peak that the inner loop can reach.
struct Work {
  double flops = 0;
  double bytes = 0;
  double efficiency = 1;
  int launches = 1;
};

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
Verdict accepts_cpu_floats(const Problem& problem, const Capabilities& capabilities);
Verdict accepts_cpu_fp32(const Problem& problem, const Capabilities& capabilities);  // and nothing else
Work least_work(const Problem& problem, const Capabilities& capabilities);
// On a GPU: any float type for which the device has arithmetic.
Verdict accepts_cuda_floats(const Problem& problem, const Capabilities& capabilities);

// Which layouts of its tensors a kernel takes; the others are refused for it.
enum class Layouts {
  nchw,         // no other
  alike,        // either, the same for all tensors of rank 4; the kernel looks which
  elementwise,  // any, where all tensors have the same shape and layout
  any,          // whatever they are
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
  Verdict (*accepts)(const Problem&, const Capabilities&) = accepts_cpu_floats;
  Work (*work)(const Problem&, const Capabilities&) = least_work;
  Launcher (*prepare)(const Problem&, const Capabilities&) = nullptr;
  std::size_t (*workspace)(const Problem&, const Capabilities&) = nullptr;  // null: needs none
  bool counts = false;  // its launches share a counter (see ops/cuda/block.cuh): two must never overlap
  Layouts layouts = Layouts::nchw;
};

// The kernel's own answer, where it takes the layouts.
Verdict accepts(const Kernel& kernel, const Problem& problem, const Capabilities& capabilities);

}  // namespace headroom
