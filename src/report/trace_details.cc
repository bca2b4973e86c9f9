#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "report/trace_tracks.h"

namespace headroom {
namespace {

using DetailSource = TraceSlice::Source;
using TraceDetails = std::vector<TraceDetail>;

std::string launch_extent(const std::array<int, 3>& extent) {
  return fmt::format("{} x {} x {}", extent[0], extent[1], extent[2]);
}

TraceDetails step_details_of(const TraceTracks& tracks, int step) {
  if (step < 0) return {};
  if (static_cast<std::size_t>(step) < tracks.steps.size())
    return tracks.steps[static_cast<std::size_t>(step)];
  return {{"step", std::int64_t{step}}};
}

void add_kernel_details(TraceDetails& details, const Trace::Kernel& kernel) {
  details.push_back({"grid", launch_extent(kernel.grid)});
  details.push_back({"block", launch_extent(kernel.block)});
  if (kernel.cluster != std::array{1, 1, 1}) details.push_back({"cluster", launch_extent(kernel.cluster)});
  details.push_back({"registers per thread", std::int64_t{kernel.registers}});
  details.push_back({"shared memory, static (bytes)", kernel.static_shared});
  details.push_back({"shared memory, dynamic (bytes)", kernel.dynamic_shared});
  if (kernel.shared_executed > 0)
    details.push_back({"shared memory, executed (bytes)", kernel.shared_executed});
  if (kernel.local > 0) details.push_back({"local memory per thread (bytes)", kernel.local});
}

void add_copy_details(TraceDetails& details, const Trace::Copy& copy) {
  details.push_back({"bytes", copy.bytes});
  if (copy.end_ns > copy.begin_ns)  // bytes per nanosecond, in hundredths
    details.push_back(
        {"GB/s", std::round(100 * double(copy.bytes) / double(copy.end_ns - copy.begin_ns)) / 100});
  const bool with_host =
      copy.kind == Trace::CopyKind::host_to_device || copy.kind == Trace::CopyKind::device_to_host;
  if (with_host) details.push_back({"host memory", std::string(copy.pinned ? "pinned" : "pageable")});
}

}  // namespace

std::string_view label_of(const TraceTracks& tracks, const TraceSlice& slice) {
  const Trace& trace = *tracks.trace;
  const auto named = [&](int name) -> std::string_view {
    return tracks.names.at(static_cast<std::size_t>(name));
  };
  switch (slice.source) {
    case DetailSource::span:
      return named(trace.spans[slice.index].name);
    case DetailSource::call:
      return named(trace.calls[slice.index].name);
    case DetailSource::kernel:
      return named(trace.kernels[slice.index].name);
    case DetailSource::copy:
      return name_of(trace.copies[slice.index].kind);
  }
  return "";
}

std::string_view category_of(const TraceTracks& tracks, const TraceSlice& slice) {
  switch (slice.source) {
    case DetailSource::span:
      return name_of(tracks.trace->spans[slice.index].kind);
    case DetailSource::call:
      return "call";
    case DetailSource::kernel:
      return "kernel";
    case DetailSource::copy:
      return "device copy";
  }
  return "";
}

std::vector<TraceDetail> step_details(int number, const RecordedStep& step) {
  TraceDetails details = {{"step", std::int64_t{number}}};
  const auto add = [&](std::string_view key, const std::string& text) {
    if (!text.empty()) details.push_back({key, printable(text, true)});
  };
  add("layer", step.layer);
  add("phase", step.phase);
  add("operator", step.op);
  add("kernel", step.kernel);
  return details;
}

std::vector<TraceDetail> details_of(const TraceTracks& tracks, const TraceSlice& slice) {
  const Trace& trace = *tracks.trace;
  TraceDetails details;
  switch (slice.source) {
    case DetailSource::span:
      return step_details_of(tracks, trace.spans[slice.index].step);
    case DetailSource::call:
      return {};
    case DetailSource::kernel:
      details = step_details_of(tracks, trace.kernels[slice.index].step);
      add_kernel_details(details, trace.kernels[slice.index]);
      return details;
    case DetailSource::copy:
      details = step_details_of(tracks, trace.copies[slice.index].step);
      add_copy_details(details, trace.copies[slice.index]);
      return details;
  }
  return details;
}

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\')
      out += {'\\', c};
    else if (static_cast<unsigned char>(c) < 0x20)
      out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else
      out += c;
  }
  return out + '"';
}

}  // namespace headroom
