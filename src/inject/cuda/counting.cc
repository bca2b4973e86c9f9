// Counters of a program's kernels. CUPTI calls us, on the program's thread, before and after each launch.
#include "inject/cuda/counting.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "inject/cuda/loaded_cupti.h"
#include "inject/cuda/process_state.h"

#ifdef HEADROOM_HAS_RANGES

#include "base/error.h"
#include "base/text.h"
#include "device/cuda/library.h"
#include "inject/launch_counter.h"
#include "profile/cuda/cupti_ranges.h"

namespace headroom::inject {
namespace {

enum class DriverCall {
  launch,
  cooperative,
  launch_ex,
  graph,
  begin_capture,
  end_capture,
  destroy,
  reset,
  release
};

struct WatchedCall {
  CUpti_driver_api_trace_cbid id;
  DriverCall call;
};
constexpr WatchedCall kWatchedCalls[] = {
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel, DriverCall::launch},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernel_ptsz, DriverCall::launch},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel, DriverCall::cooperative},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchCooperativeKernel_ptsz, DriverCall::cooperative},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx, DriverCall::launch_ex},
    {CUPTI_DRIVER_TRACE_CBID_cuLaunchKernelEx_ptsz, DriverCall::launch_ex},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch, DriverCall::graph},
    {CUPTI_DRIVER_TRACE_CBID_cuGraphLaunch_ptsz, DriverCall::graph},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture, DriverCall::begin_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_ptsz, DriverCall::begin_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2, DriverCall::begin_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCapture_v2_ptsz, DriverCall::begin_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph, DriverCall::begin_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamBeginCaptureToGraph_ptsz, DriverCall::begin_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture, DriverCall::end_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuStreamEndCapture_ptsz, DriverCall::end_capture},
    {CUPTI_DRIVER_TRACE_CBID_cuCtxDestroy_v2, DriverCall::destroy},
    {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset, DriverCall::reset},
    {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxReset_v2, DriverCall::reset},
    {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease, DriverCall::release},
    {CUPTI_DRIVER_TRACE_CBID_cuDevicePrimaryCtxRelease_v2, DriverCall::release},
};

struct Counting {
  std::timed_mutex mutex;  // of everything below that is not atomic
  std::vector<std::string> counters;
  std::unique_ptr<LaunchCounter> counter;
  std::atomic<CUcontext> context = nullptr;  // in which it counts
  std::atomic<std::int64_t> other_contexts = 0;
  std::atomic<bool> ended = false;
  int launching = 0;                 // threads inside a launch
  int captures = 0;                  // that are being recorded
  bool exchanges_in_graphs = false;  // a graph holds a kernel that waits for other processes
  CUpti_SubscriberHandle subscriber = {};
};
Counting& counting() {
  static Counting* const made = new Counting;
  return *made;
}

// What this thread is doing: CUPTI launches and synchronises, too, while we count.
struct ThreadPlace {
  int depth = 0;         // of launches inside launches
  bool ours = false;     // inside our own work
  bool entered = false;  // the outermost launch is one of Counting::launching
};
ThreadPlace& place() {
  thread_local ThreadPlace of_thread;
  return of_thread;
}

class OwnWork {
 public:
  OwnWork() : lock_(counting().mutex) { place().ours = true; }
  ~OwnWork() { place().ours = false; }
  OwnWork(const OwnWork&) = delete;
  OwnWork& operator=(const OwnWork&) = delete;

 private:
  std::lock_guard<std::timed_mutex> lock_;
};

// NCCL's kernels wait for those of other processes: one after the other they would wait for ever.
bool is_exchange(const char* kernel) {
  return kernel != nullptr && std::string_view(kernel).find("nccl") != std::string_view::npos;
}

template <class Params>
void set_size(CountedKernel& size, const Params& p) {
  const unsigned grid[] = {p.gridDimX, p.gridDimY, p.gridDimZ},
                 block[] = {p.blockDimX, p.blockDimY, p.blockDimZ};
  for (int i = 0; i < 3; ++i)
    size.grid[i] = static_cast<std::int32_t>(grid[i]), size.block[i] = static_cast<std::int32_t>(block[i]);
}

CountedKernel size_of(DriverCall call, const void* params) {
  CountedKernel size;
  if (params == nullptr) return size;
  if (call == DriverCall::launch) set_size(size, *static_cast<const cuLaunchKernel_params*>(params));
  if (call == DriverCall::cooperative)
    set_size(size, *static_cast<const cuLaunchCooperativeKernel_params*>(params));
  if (call == DriverCall::launch_ex)
    if (const CUlaunchConfig* const config = static_cast<const cuLaunchKernelEx_params*>(params)->config)
      set_size(size, *config);
  return size;
}

void end_counting(const std::string& why) {
  counting().ended = true;
  const std::lock_guard lock(state().mutex);
  state().aggregator.note("no counters: " + why);
}

// The device of this thread's context, and the warps that one of its multiprocessors has room for.
int current_device(std::int64_t& warp_slots) {
  const cuda::Library driver({"libcuda.so.1"});
  CUresult (*get_device)(CUdevice*) = nullptr;
  CUresult (*get_attribute)(int*, CUdevice_attribute, CUdevice) = nullptr;
  CUdevice device = 0;
  if (!driver.loaded() || !driver.find(get_device, "cuCtxGetDevice") ||
      !driver.find(get_attribute, "cuDeviceGetAttribute") || get_device(&device) != CUDA_SUCCESS)
    throw Error(Blame::run, "the driver does not tell the device", Hint{});
  int threads = 0, lanes = 0;
  if (get_attribute(&threads, CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR, device) == CUDA_SUCCESS &&
      get_attribute(&lanes, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device) == CUDA_SUCCESS && lanes > 0)
    warp_slots = threads / lanes;
  return device;
}

// At the first launch: a program may open contexts in which it launches nothing.
void start_counter(CUcontext context) {
  Counting& c = counting();
  if (c.counter != nullptr || c.ended) return;
  try {
    std::int64_t warp_slots = 0;
    const int device = current_device(warp_slots);
    c.counter = std::make_unique<LaunchCounter>(make_cupti_ranges(device, c.counters), state().mutex,
                                                state().aggregator);
    c.context = context;
    const std::lock_guard lock(state().mutex);
    state().aggregator.header().counting.warp_slots = warp_slots;
  } catch (const Error& error) {
    end_counting(error.what() + (error.hint().empty() ? "" : " (" + error.hint() + ")"));
  } catch (const std::exception& error) {
    end_counting(error.what());
  }
}

void before_launch(DriverCall call, const CUpti_CallbackData& data) {
  Counting& c = counting();
  if (c.context != nullptr && c.context != data.context) {
    ++c.other_contexts;
    return;
  }
  const bool exchange = call != DriverCall::graph && is_exchange(data.symbolName);
  const OwnWork work;
  place().entered = true;
  if (++c.launching > 1 && c.counter != nullptr) c.counter->spoil();
  if (c.captures > 0) {
    c.exchanges_in_graphs = c.exchanges_in_graphs || exchange;
    return;
  }
  start_counter(data.context);
  if (c.counter == nullptr || c.ended) return;
  if (exchange || (call == DriverCall::graph && c.exchanges_in_graphs))
    c.counter->exchange();
  else if (call == DriverCall::graph)
    c.counter->graph(current_range());
  else
    c.counter->launch({data.symbolName != nullptr ? data.symbolName : "unknown", current_range(),
                       size_of(call, data.functionParams)});
}

void after_launch() {
  if (!std::exchange(place().entered, false)) return;
  const OwnWork work;
  --counting().launching;
}

// While a stream is captured nothing may wait for the device.
void on_capture(DriverCall call, bool enters) {
  Counting& c = counting();
  const OwnWork work;
  if (call == DriverCall::begin_capture && enters) {
    ++c.captures;
    if (c.counter != nullptr) c.counter->pause();
  }
  if (call == DriverCall::end_capture && !enters && c.captures > 0) --c.captures;
}

// Before a context may end, so that its counters can still be read.
void before_end_of_context(DriverCall call, const void* params) {
  Counting& c = counting();
  if (call == DriverCall::destroy && static_cast<const cuCtxDestroy_v2_params*>(params)->ctx != c.context)
    return;
  if (call != DriverCall::release) return finish_counting();
  const OwnWork work;
  if (c.counter != nullptr) c.counter->pause();
}

void on_driver_call(CUpti_CallbackId id, const CUpti_CallbackData& data) {
  const auto* const watched =
      std::ranges::find(kWatchedCalls, id, [](const WatchedCall& w) { return CUpti_CallbackId(w.id); });
  if (watched == std::end(kWatchedCalls)) return;
  const bool enters = data.callbackSite == CUPTI_API_ENTER;
  switch (watched->call) {
    case DriverCall::begin_capture:
    case DriverCall::end_capture:
      return on_capture(watched->call, enters);
    case DriverCall::destroy:
    case DriverCall::reset:
    case DriverCall::release:
      if (enters) before_end_of_context(watched->call, data.functionParams);
      return;
    default:
      if (enters && ++place().depth == 1) before_launch(watched->call, data);
      if (!enters && place().depth > 0 && --place().depth == 0) after_launch();
  }
}

void CUPTIAPI on_counting_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) {
  if (place().ours || !state().records) return;
  try {
    if (domain == CUPTI_CB_DOMAIN_DRIVER_API)
      on_driver_call(id, *static_cast<const CUpti_CallbackData*>(data));
  } catch (const std::exception& error) {  // the program goes on
    end_counting(error.what());
  }
}

}  // namespace

bool begin_counting(const std::string& counters, std::string& why_not) {
  Counting& c = counting();
  try {
    c.counters = split(counters, ',');
    const Cupti& library = cupti();
    check_cupti(library.Subscribe(&c.subscriber, on_counting_callback, nullptr), "cuptiSubscribe");
    for (const WatchedCall& watched : kWatchedCalls)
      library.EnableCallback(1, c.subscriber, CUPTI_CB_DOMAIN_DRIVER_API, watched.id);
    return true;
  } catch (const std::exception& error) {
    why_not = error.what();
    return false;
  }
}

void finish_counting() {
  Counting& c = counting();
  constexpr std::chrono::seconds kPatience{10};  // a thread may be stuck in a launch
  if (place().ours || !c.mutex.try_lock_for(kPatience)) return;
  const std::lock_guard lock(c.mutex, std::adopt_lock);
  place().ours = true;
  if (c.counter != nullptr) c.counter->finish();
  {
    const std::lock_guard state_lock(state().mutex);
    state().aggregator.header().counting.other_contexts = c.other_contexts;
  }
  place().ours = false;
}

}  // namespace headroom::inject

#else

namespace headroom::inject {

bool begin_counting(const std::string&, std::string& why_not) {
  why_not = "headroom was built with a CUPTI that has no range profiler";
  return false;
}
void finish_counting() {}

}  // namespace headroom::inject

#endif
