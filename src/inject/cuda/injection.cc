// The library that `profile -- PROGRAM` loads into the program. The driver of CUDA calls InitializeInjection
// when the program first uses CUDA, on the program's thread.
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string_view>
#include <thread>

#include "inject/cuda/counting.h"
#include "inject/cuda/loaded_cupti.h"
#include "inject/cuda/process_state.h"
#include "profile/cuda/cupti_buffers.h"
#include "profile/cuda/cupti_copies.h"

namespace headroom::inject {
namespace {

constexpr CUpti_ActivityKind kWanted[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, CUPTI_ACTIVITY_KIND_MEMCPY,
                                          CUPTI_ACTIVITY_KIND_MEMCPY2,           CUPTI_ACTIVITY_KIND_MEMSET,
                                          CUPTI_ACTIVITY_KIND_RUNTIME,           CUPTI_ACTIVITY_KIND_DRIVER};

struct Injection {
  const Cupti* cupti = nullptr;
  CuptiBuffers buffers;
  CUpti_SubscriberHandle subscriber = {};
};
Injection& injection() {
  static Injection* const made = new Injection;
  return *made;
}

template <class Record>
Aggregator::StreamWork work_of(const Record& r) {
  Aggregator::StreamWork work;
  work.begin_ns = static_cast<std::int64_t>(r.start), work.end_ns = static_cast<std::int64_t>(r.end);
  work.device = r.deviceId, work.stream = r.streamId, work.correlation = r.correlationId;
  work.graph_node = r.graphNodeId;
  return work;
}

void add_kernel(Aggregator& to, const CUpti_ActivityKernel10& r) {
  const auto at_least_one = [](std::uint32_t extent) { return std::max(std::int32_t(extent), 1); };
  What launch{.grid = {r.gridX, r.gridY, r.gridZ},
              .block = {r.blockX, r.blockY, r.blockZ},
              .cluster = {at_least_one(r.clusterX), at_least_one(r.clusterY), at_least_one(r.clusterZ)},
              .registers = r.registersPerThread,
              .static_shared = r.staticSharedMemory,
              .dynamic_shared = r.dynamicSharedMemory,
              .shared_executed = std::int32_t(r.sharedMemoryExecuted),
              .local = std::int32_t(r.localMemoryPerThread)};
  to.kernel(r.name != nullptr ? r.name : "unknown", launch, work_of(r));
}

void add_graph(Aggregator& to, const CUpti_ActivityGraphTrace2& r) {
  Aggregator::StreamWork work;
  work.begin_ns = static_cast<std::int64_t>(r.start), work.end_ns = static_cast<std::int64_t>(r.end);
  work.device = r.deviceId, work.stream = r.streamId, work.correlation = r.correlationId;
  to.graph(r.graphId, work);
}

void add_call(Aggregator& to, bool of_driver, const CUpti_ActivityAPI& r) {
  const char* name = nullptr;
  injection().cupti->GetCallbackName(of_driver ? CUPTI_CB_DOMAIN_DRIVER_API : CUPTI_CB_DOMAIN_RUNTIME_API,
                                     r.cbid, &name);
  to.call(name != nullptr ? name : "unknown call", of_driver, r.threadId, r.correlationId,
          {static_cast<std::int64_t>(r.start), static_cast<std::int64_t>(r.end)});
}

void add_record(Aggregator& to, const CUpti_Activity& record) {
  const auto add_copy = [&](const auto& r, Trace::CopyKind kind, bool pinned) {
    to.copy(static_cast<std::uint8_t>(kind), pinned, static_cast<std::int64_t>(r.bytes), work_of(r));
  };
  switch (record.kind) {
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
    case CUPTI_ACTIVITY_KIND_KERNEL:
      return add_kernel(to, reinterpret_cast<const CUpti_ActivityKernel10&>(record));
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = reinterpret_cast<const CUpti_ActivityMemcpy6&>(record);
      return add_copy(copy, copy_kind_of(copy.copyKind), is_pinned(copy));
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY2:
      return add_copy(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record), Trace::CopyKind::peer,
                      true);
    case CUPTI_ACTIVITY_KIND_MEMSET:
      return add_copy(reinterpret_cast<const CUpti_ActivityMemset4&>(record), Trace::CopyKind::fill, true);
    case CUPTI_ACTIVITY_KIND_GRAPH_TRACE:
      return add_graph(to, reinterpret_cast<const CUpti_ActivityGraphTrace2&>(record));
    case CUPTI_ACTIVITY_KIND_RUNTIME:
      return add_call(to, false, reinterpret_cast<const CUpti_ActivityAPI&>(record));
    case CUPTI_ACTIVITY_KIND_DRIVER:
      return add_call(to, true, reinterpret_cast<const CUpti_ActivityAPI&>(record));
    default:
      return;
  }
}

void CUPTIAPI on_request(std::uint8_t** buffer, std::size_t* size, std::size_t* max_records) {
  *buffer = injection().buffers.take();
  *size = CuptiBuffers::kBytes;
  *max_records = 0;  // as many as fit
}

void CUPTIAPI on_complete(CUcontext context, std::uint32_t stream, std::uint8_t* buffer, std::size_t,
                          std::size_t valid) {
  const std::int64_t begin_ns = now_ns();
  const Cupti& cupti = *injection().cupti;
  {
    const std::lock_guard lock(state().mutex);
    Aggregator& to = state().aggregator;
    CUpti_Activity* record = nullptr;
    while (valid > 0 && cupti.ActivityGetNextRecord(buffer, valid, &record) == CUPTI_SUCCESS)
      add_record(to, *record);
    std::size_t dropped = 0;
    if (cupti.ActivityGetNumDroppedRecords(context, stream, &dropped) == CUPTI_SUCCESS)
      to.add_dropped(static_cast<std::int64_t>(dropped));
    to.add_own_cost(now_ns() - begin_ns);
  }
  injection().buffers.give(buffer, 0);  // for the next request
}

// A captured node belongs to the range that this thread is in; its copy in the instantiated graph inherits
// it.
void CUPTIAPI on_callback(void*, CUpti_CallbackDomain domain, CUpti_CallbackId id, const void* data) {
  if (domain != CUPTI_CB_DOMAIN_RESOURCE) return;
  const Cupti& cupti = *injection().cupti;
  const auto& graph =
      *static_cast<const CUpti_GraphData*>(static_cast<const CUpti_ResourceData*>(data)->resourceDescriptor);
  std::uint64_t node = 0, original = 0;
  if (cupti.GetGraphNodeId(graph.node, &node) != CUPTI_SUCCESS) return;
  const std::lock_guard lock(state().mutex);
  if (id == CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED)
    state().aggregator.node_created(node, current_range());
  else if (cupti.GetGraphNodeId(graph.originalNode, &original) == CUPTI_SUCCESS)
    state().aggregator.node_cloned(node, original);
}

bool wants_whole_graphs() {
  const char* const graphs = std::getenv(kGraphsVariable);
  return graphs != nullptr && std::string_view(graphs) == "whole";
}

bool attach(std::string& why_not) {
  Injection& in = injection();
  in.cupti = loaded_cupti(why_not);
  if (in.cupti == nullptr) return false;
  const Cupti& cupti = *in.cupti;
  constexpr std::size_t kBuffers = 4;
  in.buffers.reserve(kBuffers);
  const auto good = [&](CUptiResult result, const char* call) {
    if (result == CUPTI_SUCCESS) return true;
    const char* text = nullptr;
    cupti.GetResultString(result, &text);
    why_not = std::string(call) + " answers " + (text != nullptr ? text : "an unknown error");
    return false;
  };
  if (!good(cupti.Subscribe(&in.subscriber, on_callback, nullptr), "cuptiSubscribe")) return false;
  cupti.SetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM);
  const auto clock = [] { return static_cast<std::uint64_t>(now_ns()); };
  if (!good(cupti.ActivityRegisterTimestampCallback(clock), "cuptiActivityRegisterTimestampCallback") ||
      !good(cupti.ActivityRegisterCallbacks(on_request, on_complete), "cuptiActivityRegisterCallbacks"))
    return false;
  for (const CUpti_CallbackId id :
       {CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED, CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED})
    cupti.EnableCallback(1, in.subscriber, CUPTI_CB_DOMAIN_RESOURCE, id);
  for (const CUpti_ActivityKind kind : kWanted)
    if (!good(cupti.ActivityEnable(kind), "cuptiActivityEnable")) return false;
  if (wants_whole_graphs() && cupti.ActivityEnable(CUPTI_ACTIVITY_KIND_GRAPH_TRACE) != CUPTI_SUCCESS) {
    const std::lock_guard lock(state().mutex);
    state().aggregator.note("graphs were recorded with their kernels: this CUPTI cannot do it as a whole");
  }
  return true;
}

// A process may end without a word: what was recorded is in the file a second later.
void write_now_and_then() {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::seconds kPause{1};
  constexpr int kShare = 50;  // of the time, for writing
  Clock::duration pause = kPause;
  while (true) {
    std::this_thread::sleep_for(pause);
    const auto begin = Clock::now();
    if (injection().cupti != nullptr) injection().cupti->ActivityFlushAll(0);
    state().write();
    pause = std::max<Clock::duration>(kPause, kShare * (Clock::now() - begin));
  }
}

void at_exit() {
  if (!state().records) return;  // a forked child
  if (injection().cupti != nullptr) injection().cupti->ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  if (state().counts) finish_counting();
  {
    const std::lock_guard lock(state().mutex);
    state().aggregator.finish();
  }
  state().write();
}

void begin() {
  if (state().path.empty()) return;
  std::string why_not;
  const bool counts = state().counts;
  if (counts ? !begin_counting(std::getenv(kCountersVariable), why_not) : !attach(why_not)) {
    const std::lock_guard lock(state().mutex);
    state().aggregator.note(
        (counts ? "no counters: " : "no kernels, copies and calls: CUPTI cannot be used: ") + why_not);
    injection().cupti = nullptr;
  }
  state().records = true;
  state().write();  // says that CUDA was used
  std::atexit(at_exit);
  std::thread(write_now_and_then).detach();
}

}  // namespace
}  // namespace headroom::inject

extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  static const bool once = (headroom::inject::begin(), true);
  return once ? 1 : 0;
}
