#include "profile/cuda/cupti_tracer.h"

#include <unistd.h>

#include "base/error.h"

#ifdef HEADROOM_HAS_CUPTI

#include "device/cuda/cuda_device.h"
#include "profile/cuda/cupti_records.h"

namespace headroom {
namespace {

// External numbers of calls: the step plus one, since steps count from 0.
constexpr auto kStepNumbers = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

constexpr CUpti_ActivityKind kTraced[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                          CUPTI_ACTIVITY_KIND_MEMCPY,
                                          CUPTI_ACTIVITY_KIND_MEMCPY2,
                                          CUPTI_ACTIVITY_KIND_MEMSET,
                                          CUPTI_ACTIVITY_KIND_RUNTIME,
                                          CUPTI_ACTIVITY_KIND_DRIVER,
                                          CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION};

thread_local std::int32_t step_now = -1;  // backward kernels may be queued by another thread one day

class CuptiTracer final : public KernelTracer {
 public:
  CuptiTracer(CudaDevice& device, const TracerOptions& options) : device_(device), options_(options) {
    cupti();  // throws without the library
    constexpr std::size_t kBuffers = 8;
    buffers_.reserve(kBuffers);
  }
  ~CuptiTracer() override {
    detach();
    if (attached_) cupti().Finalize();
  }

  void start() override {
    if (active_ != nullptr) fail("two kernel traces at once");
    device_.stream().synchronize();
    active_ = this;
    attached_ = true;
    buffers_.recycle();
    node_steps_.clear();
    try {
      HEADROOM_CUPTI_CHECK(Subscribe(&subscriber_, on_callback, this));
      subscribed_ = true;
      cupti().SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
      HEADROOM_CUPTI_CHECK(
          ActivityRegisterTimestampCallback([] { return static_cast<std::uint64_t>(spans::now_ns()); }));
      HEADROOM_CUPTI_CHECK(ActivityRegisterCallbacks(on_request, on_complete));
      for (const CUpti_CallbackId id :
           {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
        HEADROOM_CUPTI_CHECK(EnableCallback(1, subscriber_, CUPTI_CB_DOMAIN_RESOURCE, id));
      HEADROOM_CUPTI_CHECK(ActivityEnableLatencyTimestamps(options_.delays ? 1 : 0));
      for (const CUpti_ActivityKind kind : kTraced) HEADROOM_CUPTI_CHECK(ActivityEnable(kind));
      if (options_.pages) enable_pages();
    } catch (...) {
      detach();
      throw;
    }
  }

  void stop(Trace& trace, std::int64_t origin_ns, int rank) override {
    if (active_ != this) fail("a kernel trace ends that did not begin");
    device_.stream().synchronize();
    device_.copy_stream().synchronize();
    CuptiContext context{
        .origin_ns = origin_ns, .rank = rank, .streams = stream_names(), .node_steps = node_steps_};
    std::size_t dropped = 0;
    disable_pages();  // the driver hands over what it has counted then
    HEADROOM_CUPTI_CHECK(ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
    cupti().ActivityGetNumDroppedRecords(nullptr, 0, &dropped);
    add_cupti_records(trace, buffers_, context);  // names die with the library's state
    detach();
    trace.dropped += static_cast<std::int64_t>(dropped);
    if (!why_no_pages_.empty())
      trace.notes.push_back(why_no_pages_);
    else if (options_.pages && trace.pages.empty())
      trace.notes.push_back(
          "no pages of managed memory: CUPTI counted none, so either none moved or this system does not "
          "tell");
  }

  void begin(std::size_t step, Stream&) override {
    step_now = static_cast<std::int32_t>(step);
    cupti().ActivityPushExternalCorrelationId(kStepNumbers, step + 1);
  }
  void end(std::size_t, Stream&) override {
    std::uint64_t last = 0;
    cupti().ActivityPopExternalCorrelationId(kStepNumbers, &last);
    step_now = -1;
  }

 private:
  static void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
    *buffer = active_->buffers_.take();
    *size = CuptiBuffers::kBytes;
    *max_records = 0;  // as many as fit
  }
  static void CUPTIAPI on_complete(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t,
                                   std::size_t valid) {
    if (active_ != nullptr) active_->buffers_.give(buffer, valid);
  }

  // A captured node gets the step that is being captured; its copy in the instantiated graph inherits it.
  static void CUPTIAPI on_callback(void* self, CUpti_CallbackDomain domain, CUpti_CallbackId id,
                                   const void* data) {
    if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
    auto& steps = static_cast<CuptiTracer*>(self)->node_steps_;
    const auto& graph = *static_cast<const CUpti_GraphData*>(
        static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
    std::uint64_t node = 0, original = 0;
    if (cupti().GetGraphNodeId(graph.node, &node) != CUPTI_SUCCESS) return;
    if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED) {
      steps[node] = step_now;
    } else if (cupti().GetGraphNodeId(graph.originalNode, &original) == CUPTI_SUCCESS) {
      const auto it = steps.find(original);
      steps[node] = it == steps.end() ? -1 : it->second;
    }
  }

  std::map<std::uint32_t, std::string> stream_names() {
    std::map<std::uint32_t, std::string> names;
    const std::pair<Stream*, const char*> known[] = {{&device_.stream(), "compute stream"},
                                                     {&device_.side_stream(), "side stream"},
                                                     {&device_.third_stream(), "third stream"},
                                                     {&device_.copy_stream(), "copy stream"}};
    for (const auto& [stream, name] : known) {
      std::uint32_t id = 0;
      const cudaStream_t handle = static_cast<CudaStream*>(stream)->handle();
      if (cupti().GetStreamIdEx(nullptr, handle, 0, &id) == CUPTI_SUCCESS) names[id] = name;
    }
    return names;
  }

  void enable_pages() {
    constexpr const char* kCounters =
        "/dev/nvidia-uvm-tools";  // from which CUPTI reads; containers may lack it
    if (::access(kCounters, R_OK | W_OK) != 0) {
      why_no_pages_ = fmt::format("no pages of managed memory: {} cannot be opened", kCounters);
      return;
    }
    std::vector<CUpti_ActivityUnifiedMemoryCounterConfig> wanted;
    for (const auto counter : {CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD,
                               CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH,
                               CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT,
                               CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT})
      wanted.push_back({CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_SCOPE_PROCESS_SINGLE_DEVICE, counter,
                        static_cast<std::uint32_t>(device_.index()), 1});
    try {
      HEADROOM_CUPTI_CHECK(
          ActivityConfigureUnifiedMemoryCounter(wanted.data(), static_cast<std::uint32_t>(wanted.size())));
      HEADROOM_CUPTI_CHECK(ActivityEnable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER));
      traces_pages_ = true;
    } catch (const Error& error) {  // not every system counts them
      why_no_pages_ = fmt::format("no pages of managed memory: {}", error.what());
    }
  }

  void disable_pages() noexcept {
    if (traces_pages_) cupti().ActivityDisable(CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER);
    traces_pages_ = false;
  }

  void detach() noexcept {
    if (active_ != this) return;
    disable_pages();
    for (const CUpti_ActivityKind kind : kTraced) cupti().ActivityDisable(kind);
    cupti().ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
    if (subscribed_) cupti().Unsubscribe(subscriber_);
    subscribed_ = false;
    active_ = nullptr;
    if (options_.counters_follow) return;
    cupti().Finalize();  // else launches stay slower
    attached_ = false;
  }

  inline static CuptiTracer* active_ = nullptr;  // CUPTI gives its buffers' callbacks no argument
  CudaDevice& device_;
  TracerOptions options_;
  CuptiBuffers buffers_;
  CUpti_SubscriberHandle subscriber_ = {};
  bool attached_ = false, subscribed_ = false, traces_pages_ = false;
  std::string why_no_pages_;
  std::unordered_map<std::uint64_t, std::int32_t> node_steps_;
};

}  // namespace

std::unique_ptr<KernelTracer> make_cupti_tracer(Device& device, const TracerOptions& options) {
  return std::make_unique<CuptiTracer>(dynamic_cast<CudaDevice&>(device), options);
}

}  // namespace headroom

#else

namespace headroom {

std::unique_ptr<KernelTracer> make_cupti_tracer(Device&, const TracerOptions&) {
  throw Error(Blame::run, "this program was built without CUPTI",
              Hint{"install CUPTI of the CUDA toolkit and build again"});
}

}  // namespace headroom

#endif
