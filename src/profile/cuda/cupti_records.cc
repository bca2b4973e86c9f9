#include "profile/cuda/cupti_records.h"

#ifdef HEADROOM_HAS_CUPTI

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>

#include "base/demangle.h"
#include "profile/call_names.h"
#include "profile/cuda/cupti_copies.h"

namespace headroom {
namespace {

std::string call_name(CUpti_CallbackDomain domain, CUpti_CallbackId id) {
  const char* text = nullptr;
  if (cupti().GetCallbackName(domain, id, &text) != CUPTI_SUCCESS || text == nullptr) return "unknown call";
  return call_without_version(text);
}

std::optional<Trace::PageEvent> page_event(std::int32_t counter) {
  switch (counter) {
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_HTOD:
      return Trace::PageEvent::to_device;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_BYTES_TRANSFER_DTOH:
      return Trace::PageEvent::to_host;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_GPU_PAGE_FAULT:
      return Trace::PageEvent::device_faults;
    case CUPTI_ACTIVITY_UNIFIED_MEMORY_COUNTER_KIND_CPU_PAGE_FAULT_COUNT:
      return Trace::PageEvent::host_faults;
    default:
      return {};
  }
}

class CuptiReader {
 public:
  CuptiReader(Trace& trace, const CuptiContext& context) : trace_(trace), context_(context) {}

  void read(const CUpti_Activity& record) {
    switch (record.kind) {
      case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL:
      case CUPTI_ACTIVITY_KIND_KERNEL:
        return kernel(reinterpret_cast<const CUpti_ActivityKernel10&>(record));
      case CUPTI_ACTIVITY_KIND_MEMCPY:
        return copy(reinterpret_cast<const CUpti_ActivityMemcpy6&>(record));
      case CUPTI_ACTIVITY_KIND_MEMCPY2:
        return peer(reinterpret_cast<const CUpti_ActivityMemcpyPtoP4&>(record));
      case CUPTI_ACTIVITY_KIND_MEMSET:
        return fill(reinterpret_cast<const CUpti_ActivityMemset4&>(record));
      case CUPTI_ACTIVITY_KIND_RUNTIME:
        return call(CUPTI_CB_DOMAIN_RUNTIME_API, reinterpret_cast<const CUpti_ActivityAPI&>(record));
      case CUPTI_ACTIVITY_KIND_DRIVER:
        return call(CUPTI_CB_DOMAIN_DRIVER_API, reinterpret_cast<const CUpti_ActivityAPI&>(record));
      case CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER:
        return pages(reinterpret_cast<const CUpti_ActivityUnifiedMemoryCounter3&>(record));
      case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
        const auto& tie = reinterpret_cast<const CUpti_ActivityExternalCorrelation&>(record);
        steps_[tie.correlationId] = static_cast<std::int32_t>(tie.externalId) - 1;
        return;
      }
      default:
        return;
    }
  }

  // Calls of the driver inside a call of the runtime are one call; kernels launched one by one find their
  // step by the call.
  void finish() {
    std::erase_if(trace_.calls, [&](const Trace::Call& call) {
      return driver_calls_.contains(&call - trace_.calls.data()) && runtime_calls_.contains(call.correlation);
    });
    const auto set_step = [&](auto& event) {
      if (event.graph_node != 0) {
        const auto node = context_.node_steps.find(event.graph_node);
        event.step = node == context_.node_steps.end() ? -1 : node->second;
      } else if (const auto tie = steps_.find(event.correlation); tie != steps_.end()) {
        event.step = tie->second;
      }
    };
    for (Trace::Kernel& kernel : trace_.kernels) set_step(kernel);
    for (Trace::Copy& copy : trace_.copies) set_step(copy);
    const auto by_begin = [](const auto& a, const auto& b) { return a.begin_ns < b.begin_ns; };
    std::ranges::stable_sort(trace_.kernels, by_begin);
    leave_out_early_starts(trace_.kernels);
    std::ranges::stable_sort(trace_.copies, by_begin);
    std::ranges::stable_sort(trace_.calls, by_begin);
    std::ranges::stable_sort(trace_.pages, by_begin);
  }

 private:
  std::int64_t since_origin(std::uint64_t time) const {
    return time == 0 ? 0 : static_cast<std::int64_t>(time) - context_.origin_ns;
  }

  template <class Record>
  Trace::Interval interval(const Record& r) const {
    return {since_origin(r.start), since_origin(r.end)};
  }

  void kernel(const CUpti_ActivityKernel10& r) {
    if (r.start == 0 || r.end == 0) {  // never ran, or its times were lost
      ++trace_.dropped;
      return;
    }
    Trace::Kernel k;
    static_cast<Trace::Interval&>(k) = interval(r);
    k.lane = stream_lane(r.streamId);
    k.name = kernel_name(r.name);
    k.queued_ns = since_origin(r.queued), k.submitted_ns = since_origin(r.submitted);
    k.grid = {r.gridX, r.gridY, r.gridZ};
    k.block = {r.blockX, r.blockY, r.blockZ};
    k.cluster = {int(r.clusterX), int(r.clusterY), int(r.clusterZ)};
    for (int& extent : k.cluster) extent = std::max(extent, 1);
    k.registers = r.registersPerThread;
    k.static_shared = r.staticSharedMemory, k.dynamic_shared = r.dynamicSharedMemory;
    k.shared_executed = r.sharedMemoryExecuted;
    k.local = r.localMemoryPerThread;
    k.correlation = r.correlationId;
    k.graph_node = r.graphNodeId;
    trace_.kernels.push_back(k);
  }

  template <class Record>
  void add_copy(const Record& r, Trace::CopyKind kind, bool pinned) {
    Trace::Copy c;
    static_cast<Trace::Interval&>(c) = interval(r);
    c.lane = stream_lane(r.streamId);
    c.kind = kind;
    c.bytes = static_cast<std::int64_t>(r.bytes);
    c.pinned = pinned;
    c.correlation = r.correlationId;
    c.graph_node = r.graphNodeId;
    trace_.copies.push_back(c);
  }
  void copy(const CUpti_ActivityMemcpy6& r) { add_copy(r, copy_kind_of(r.copyKind), is_pinned(r)); }
  void peer(const CUpti_ActivityMemcpyPtoP4& r) { add_copy(r, Trace::CopyKind::peer, true); }
  void fill(const CUpti_ActivityMemset4& r) { add_copy(r, Trace::CopyKind::fill, true); }

  void pages(const CUpti_ActivityUnifiedMemoryCounter3& r) {
    const std::optional<Trace::PageEvent> kind = page_event(r.counterKind);
    if (!kind) return;
    if (pages_lane_ < 0) {
      pages_lane_ = int(trace_.lanes.size());
      trace_.lanes.push_back({.name = "managed memory", .is_stream = true, .rank = context_.rank});
    }
    const bool moves = *kind == Trace::PageEvent::to_device || *kind == Trace::PageEvent::to_host;
    Trace::Pages event;
    event.begin_ns = since_origin(r.start);
    event.end_ns = std::max(event.begin_ns, since_origin(r.end));  // a fault of the host has no end
    event.lane = pages_lane_, event.kind = *kind;
    (moves ? event.bytes : event.faults) = static_cast<std::int64_t>(r.value);
    trace_.pages.push_back(event);
  }

  void call(CUpti_CallbackDomain domain, const CUpti_ActivityAPI& r) {
    auto& name = call_names_[{domain, r.cbid}];
    if (name == 0) name = trace_.name_id(call_name(domain, r.cbid)) + 1;
    if (domain == CUPTI_CB_DOMAIN_RUNTIME_API)
      runtime_calls_.insert(r.correlationId);
    else
      driver_calls_.insert(std::ssize(trace_.calls));
    Trace::Call c;
    static_cast<Trace::Interval&>(c) = interval(r);
    c.lane = thread_lane(r.threadId);
    c.name = name - 1;
    c.correlation = r.correlationId;
    trace_.calls.push_back(c);
  }

  int kernel_name(const char* mangled) {
    int& name = kernel_names_[mangled];
    if (name == 0) name = trace_.name_id(demangled(mangled)) + 1;
    return name - 1;
  }

  int stream_lane(std::uint32_t id) {
    const auto [it, added] = streams_.try_emplace(id, int(trace_.lanes.size()));
    if (added) {
      const auto named = context_.streams.find(id);
      trace_.lanes.push_back({named != context_.streams.end() ? named->second : fmt::format("stream {}", id),
                              true, context_.rank});
    }
    return it->second;
  }

  int thread_lane(std::uint32_t id) {
    for (std::size_t lane = 0; lane < trace_.lanes.size(); ++lane)
      if (trace_.lanes[lane].system_id == id && trace_.lanes[lane].rank == context_.rank) return int(lane);
    trace_.lanes.push_back({fmt::format("thread {}", id), false, context_.rank, id});
    return int(trace_.lanes.size()) - 1;
  }

  Trace& trace_;
  const CuptiContext& context_;
  std::unordered_map<std::uint32_t, int> streams_;
  std::unordered_map<const char*, int> kernel_names_;  // CUPTI keeps one text per kernel
  std::map<std::pair<CUpti_CallbackDomain, CUpti_CallbackId>, int> call_names_;
  std::unordered_map<std::int64_t, std::int32_t> steps_;  // by correlation
  std::set<std::int64_t> runtime_calls_;
  std::set<std::ptrdiff_t> driver_calls_;
  int pages_lane_ = -1;
};

}  // namespace

void add_cupti_records(Trace& trace, const CuptiBuffers& buffers, const CuptiContext& context) {
  CuptiReader reader(trace, context);
  for (const CuptiBuffers::Full& full : buffers.full()) {
    CUpti_Activity* record = nullptr;
    while (cupti().ActivityGetNextRecord(full.data, full.bytes, &record) == CUPTI_SUCCESS)
      reader.read(*record);
  }
  reader.finish();
}

}  // namespace headroom
#endif
