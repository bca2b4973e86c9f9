// A program that trains on the GPU of fake_cupti.cc: `counted_program STEPS`. Each step launches two kernels
// in ranges, an exchange of NCCL and a graph that was captured at the start.
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <cstdlib>

namespace {

template <class Function>
Function* found(void* library, const char* name) {
  return library == nullptr ? nullptr : reinterpret_cast<Function*>(::dlsym(library, name));
}

}  // namespace

int main(int, char** words) {
  const char* const path = std::getenv("CUDA_INJECTION64_PATH");
  auto* const initialize =
      found<int()>(path != nullptr ? ::dlopen(path, RTLD_NOW) : nullptr, "InitializeInjection");
  if (initialize == nullptr || initialize() != 1) return 3;
  void* const cupti = ::dlopen(FAKE_CUPTI, RTLD_NOW);
  auto* const launch = found<void(const char*, unsigned)>(cupti, "fake_launch");
  auto* const launch_graph = found<void()>(cupti, "fake_graph_launch");
  auto* const capture = found<void(bool)>(cupti, "fake_capture");
  if (launch == nullptr || launch_graph == nullptr || capture == nullptr) return 4;
  launch("start", 1);
  capture(true);
  launch("captured", 1);
  capture(false);
  for (int i = std::atoi(words[1]); i > 0; --i) {
    nvtxRangePushA("step");
    nvtxRangePushA("forward");
    launch("forward", 8);
    nvtxRangePop();
    launch("backward", 16);
    launch("ncclDevKernel_AllReduce", 2);
    launch_graph();
    nvtxRangePop();
  }
  return 0;
}
