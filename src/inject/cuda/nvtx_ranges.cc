// NVTX ranges of the program. NVTX hands its functions to the library that NVTX_INJECTION64_PATH names.
#include <nvtx3/nvToolsExt.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <map>

#include "inject/cuda/process_state.h"
#include "inject/live_ranges.h"

namespace headroom::inject {
namespace {

struct OpenRange {
  std::string name;
  std::int64_t begin_ns;
  nvtxDomainHandle_t domain;
  std::int64_t mark;
  LivePath live = {};
};

ForwardOperators& forward_operators() {
  static ForwardOperators* const made = new ForwardOperators;
  return *made;
}

std::vector<OpenRange>& open_ranges() {  // of this thread
  thread_local std::vector<OpenRange> ranges;
  return ranges;
}

std::uint64_t thread_number() {
  thread_local const auto number = static_cast<std::uint64_t>(::syscall(SYS_gettid));
  return number;
}

std::string text_of(const wchar_t* wide) {
  std::string text;
  for (; wide != nullptr && *wide != 0; ++wide) text += *wide < 128 ? static_cast<char>(*wide) : '?';
  return text;
}
std::string text_of(const char* text) { return text != nullptr ? text : ""; }

std::string text_of(const nvtxEventAttributes_t* attributes) {
  if (attributes == nullptr) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      return text_of(attributes->message.ascii);
    case NVTX_MESSAGE_TYPE_UNICODE:
      return text_of(attributes->message.unicode);
    case NVTX_MESSAGE_TYPE_REGISTERED:  // a text that we made
      return *reinterpret_cast<const std::string*>(attributes->message.registered);
    default:
      return {};
  }
}

int push(std::string name, nvtxDomainHandle_t domain = nullptr) {
  const std::int64_t mark = operator_mark(name);
  if (name.empty()) name = "range";
  std::vector<OpenRange>& ranges = open_ranges();
  OpenRange range{std::move(name), now_ns(), domain, mark};
  range.live = opened_range(ranges.empty() ? nullptr : &ranges.back().live, range.name, mark, thread_number(),
                            forward_operators());
  ranges.push_back(std::move(range));
  return static_cast<int>(ranges.size()) - 1;
}

void record(OpenRange& range, std::uint64_t thread) {
  if (state().counts) return;
  state().add({std::move(range.name), thread, {range.begin_ns, now_ns()}, range.mark});
}

// Domains have stacks of their own, so that the last range of this one need not be the last of all.
int pop(nvtxDomainHandle_t domain = nullptr) {
  std::vector<OpenRange>& ranges = open_ranges();
  for (auto range = ranges.rbegin(); range != ranges.rend(); ++range)
    if (range->domain == domain) {
      record(*range, thread_number());
      ranges.erase(std::next(range).base());
      return static_cast<int>(ranges.size());
    }
  return -1;
}

// Ranges that one thread starts and any thread ends.
struct StartedRanges {
  std::mutex mutex;
  std::map<nvtxRangeId_t, std::pair<OpenRange, std::uint64_t>> ranges;
  nvtxRangeId_t last = 0;
};
StartedRanges& started() {
  static StartedRanges* const made = new StartedRanges;
  return *made;
}

nvtxRangeId_t start(std::string name) {
  StartedRanges& s = started();
  const std::lock_guard lock(s.mutex);
  s.ranges.try_emplace(++s.last, OpenRange{std::move(name), now_ns(), nullptr, 0}, thread_number());
  return s.last;
}

void end(nvtxRangeId_t id) {
  StartedRanges& s = started();
  const std::lock_guard lock(s.mutex);
  const auto it = s.ranges.find(id);
  if (it == s.ranges.end()) return;
  record(it->second.first, it->second.second);
  s.ranges.erase(it);
}

template <class Text>
nvtxStringHandle_t register_text(nvtxDomainHandle_t, const Text* text) {
  return reinterpret_cast<nvtxStringHandle_t>(
      new std::string(text_of(text)));  // lives as long as the process
}
template <class Text>
nvtxDomainHandle_t create_domain(const Text* text) {
  return reinterpret_cast<nvtxDomainHandle_t>(new std::string(text_of(text)));
}

class FunctionTable {
 public:
  FunctionTable(const NvtxExportTableCallbacks& table, NvtxCallbackModule module) {
    if (table.GetModuleFunctionTable(module, &functions_, &size_) == 0) size_ = 0;
  }
  template <class Function>
  void set(unsigned id, Function* function) {
    if (id < size_ && functions_[id] != nullptr)
      *functions_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable functions_ = nullptr;
  unsigned size_ = 0;
};

void take_over(const NvtxExportTableCallbacks& table) {
  FunctionTable core(table, NVTX_CB_MODULE_CORE), domains(table, NVTX_CB_MODULE_CORE2);
  core.set(
      NVTX_CBID_CORE_RangePushEx, +[](const nvtxEventAttributes_t* a) { return push(text_of(a)); });
  core.set(
      NVTX_CBID_CORE_RangePushA, +[](const char* text) { return push(text_of(text)); });
  core.set(
      NVTX_CBID_CORE_RangePushW, +[](const wchar_t* text) { return push(text_of(text)); });
  core.set(
      NVTX_CBID_CORE_RangePop, +[] { return pop(); });
  core.set(
      NVTX_CBID_CORE_RangeStartEx, +[](const nvtxEventAttributes_t* a) { return start(text_of(a)); });
  core.set(
      NVTX_CBID_CORE_RangeStartA, +[](const char* text) { return start(text_of(text)); });
  core.set(
      NVTX_CBID_CORE_RangeStartW, +[](const wchar_t* text) { return start(text_of(text)); });
  core.set(
      NVTX_CBID_CORE_RangeEnd, +[](nvtxRangeId_t id) { end(id); });
  domains.set(
      NVTX_CBID_CORE2_DomainRangePushEx,
      +[](nvtxDomainHandle_t d, const nvtxEventAttributes_t* a) { return push(text_of(a), d); });
  domains.set(
      NVTX_CBID_CORE2_DomainRangePop, +[](nvtxDomainHandle_t d) { return pop(d); });
  domains.set(
      NVTX_CBID_CORE2_DomainRangeStartEx,
      +[](nvtxDomainHandle_t, const nvtxEventAttributes_t* a) { return start(text_of(a)); });
  domains.set(
      NVTX_CBID_CORE2_DomainRangeEnd, +[](nvtxDomainHandle_t, nvtxRangeId_t id) { end(id); });
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringA, &register_text<char>);
  domains.set(NVTX_CBID_CORE2_DomainRegisterStringW, &register_text<wchar_t>);
  domains.set(NVTX_CBID_CORE2_DomainCreateA, &create_domain<char>);
  domains.set(NVTX_CBID_CORE2_DomainCreateW, &create_domain<wchar_t>);
}

}  // namespace

std::string current_range() { return open_ranges().empty() ? "" : open_ranges().back().live.path; }

}  // namespace headroom::inject

extern "C" __attribute__((visibility("default"))) int InitializeInjectionNvtx2(
    NvtxGetExportTableFunc_t get_table) {
  const auto* table = static_cast<const NvtxExportTableCallbacks*>(get_table(NVTX_ETID_CALLBACKS));
  if (table == nullptr || table->struct_size < sizeof(NvtxExportTableCallbacks)) return 0;
  headroom::inject::take_over(*table);
  return 1;
}
