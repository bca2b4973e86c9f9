#include "report/trace_perfetto.h"

#include <map>

#include "report/proto_wire.h"

namespace headroom {
namespace {

// Numbers of fields, from the published definitions: protos/perfetto/trace/ of Perfetto.
namespace pf {
constexpr int kTracePacket = 1;
namespace packet {
constexpr int kTimestamp = 8, kSequence = 10, kTrackEvent = 11, kInternedData = 12, kFlags = 13,
              kTrackDescriptor = 60, kFirstOnSequence = 87;
}
namespace descriptor {
constexpr int kUuid = 1, kName = 2, kProcess = 3, kThread = 4, kParent = 5, kCounter = 8, kChildOrder = 11,
              kRank = 12, kMerge = 15;
constexpr int kExplicitOrder = 3, kNoMerge = 2;
constexpr int kProcessPid = 1, kProcessName = 6;
constexpr int kThreadPid = 1, kThreadTid = 2, kThreadName = 5;
constexpr int kCounterUnit = 6;
}  // namespace descriptor
namespace event {
constexpr int kCategoryId = 3, kDetail = 4, kType = 9, kNameId = 10, kTrack = 11, kValue = 44, kFlow = 47,
              kFlowEnd = 48;
constexpr int kBegin = 1, kEnd = 2, kCounterValue = 4;
}  // namespace event
namespace detail {
constexpr int kNameId = 1, kInt = 4, kReal = 5, kTextId = 17;
}
constexpr int kStateCleared = 1, kNeedsState = 2;  // flags of a packet
constexpr std::uint64_t kSequenceId = 1;
}  // namespace pf

// Texts that packets name by number. The packet that uses a text first carries it.
class PerfettoTexts {
 public:
  enum Kind { category = 1, event_name = 2, detail_name = 3, detail_text = 29 };  // fields of InternedData

  std::uint64_t number(Kind kind, std::string_view text) {
    auto& numbers = numbers_[kind];
    const auto found = numbers.find(text);
    if (found != numbers.end()) return found->second;
    const std::uint64_t fresh = numbers.size() + 1;  // zero is none
    numbers.emplace(text, fresh);
    ProtoWriter entry;
    entry.varint(1, fresh);
    entry.bytes(2, text);
    fresh_.message(kind, entry);
    return fresh;
  }
  bool any_fresh() const { return !fresh_.empty(); }
  std::string take_fresh() { return fresh_.take(); }

 private:
  std::map<Kind, std::map<std::string, std::uint64_t, std::less<>>> numbers_;
  ProtoWriter fresh_;
};

class PerfettoWriter {
 public:
  explicit PerfettoWriter(const TraceTracks& tracks) : tracks_(tracks) {}

  std::string write() {
    ProtoWriter first;
    first.varint(pf::packet::kSequence, pf::kSequenceId);
    first.varint(pf::packet::kFlags, pf::kStateCleared);
    first.varint(pf::packet::kFirstOnSequence, 1);
    file_.message(pf::kTracePacket, first);
    for (std::size_t i = 0; i < tracks_.processes.size(); ++i) describe_process(i);
    for (std::size_t i = 0; i < tracks_.tracks.size(); ++i) {
      describe_track(i);
      walk_slices(
          tracks_.tracks[i].slices, [&](const TraceSlice& slice) { begin_slice(track_id(i), slice); },
          [&](const TraceSlice& slice) { end_slice(track_id(i), slice); });
    }
    for (std::size_t i = 0; i < tracks_.curves.size(); ++i) add_curve(i);
    return file_.take();
  }

 private:
  // Ids of tracks: processes, then their tracks, then curves. Zero is the track of everything.
  std::uint64_t process_id(std::size_t index) const { return 1 + index; }
  std::uint64_t track_id(std::size_t index) const { return process_id(tracks_.processes.size()) + index; }
  std::uint64_t curve_id(std::size_t index) const { return track_id(tracks_.tracks.size()) + index; }

  void add_descriptor(const ProtoWriter& descriptor) {
    ProtoWriter packet;
    packet.varint(pf::packet::kSequence, pf::kSequenceId);
    packet.message(pf::packet::kTrackDescriptor, descriptor);
    file_.message(pf::kTracePacket, packet);
  }

  void add_event(std::int64_t ns, const ProtoWriter& event) {
    ProtoWriter packet;
    packet.varint(pf::packet::kTimestamp, static_cast<std::uint64_t>(ns));
    packet.varint(pf::packet::kSequence, pf::kSequenceId);
    packet.varint(pf::packet::kFlags, pf::kNeedsState);
    if (texts_.any_fresh()) packet.bytes(pf::packet::kInternedData, texts_.take_fresh());
    packet.message(pf::packet::kTrackEvent, event);
    file_.message(pf::kTracePacket, packet);
  }

  void describe_process(std::size_t index) {
    const TraceTracks::Process& process = tracks_.processes[index];
    ProtoWriter about, descriptor;
    about.varint(pf::descriptor::kProcessPid, static_cast<std::uint64_t>(process.pid));
    about.bytes(pf::descriptor::kProcessName, process.name);
    descriptor.varint(pf::descriptor::kUuid, process_id(index));
    descriptor.message(pf::descriptor::kProcess, about);
    descriptor.varint(pf::descriptor::kChildOrder, pf::descriptor::kExplicitOrder);
    add_descriptor(descriptor);
  }

  // Streams are tracks of their own: they are no threads of a system.
  void describe_track(std::size_t index) {
    const TraceTracks::Track& track = tracks_.tracks[index];
    const TraceTracks::Process& process = tracks_.processes[track.process];
    ProtoWriter descriptor;
    descriptor.varint(pf::descriptor::kUuid, track_id(index));
    descriptor.varint(pf::descriptor::kParent, process_id(track.process));
    if (process.is_gpu) {
      descriptor.bytes(pf::descriptor::kName, track.name);
      descriptor.varint(pf::descriptor::kRank, index);
      descriptor.varint(pf::descriptor::kMerge, pf::descriptor::kNoMerge);
    } else {
      ProtoWriter thread;
      thread.varint(pf::descriptor::kThreadPid, static_cast<std::uint64_t>(process.pid));
      thread.varint(pf::descriptor::kThreadTid, static_cast<std::uint64_t>(track.tid));
      thread.bytes(pf::descriptor::kThreadName, track.name);
      descriptor.message(pf::descriptor::kThread, thread);
    }
    add_descriptor(descriptor);
  }

  void add_detail(ProtoWriter& event, const TraceDetail& detail) {
    ProtoWriter annotation;
    annotation.varint(pf::detail::kNameId, texts_.number(PerfettoTexts::detail_name, detail.key));
    if (const auto* text = std::get_if<std::string>(&detail.value))
      annotation.varint(pf::detail::kTextId, texts_.number(PerfettoTexts::detail_text, *text));
    else if (const auto* number = std::get_if<std::int64_t>(&detail.value))
      annotation.varint(pf::detail::kInt, static_cast<std::uint64_t>(*number));
    else
      annotation.real(pf::detail::kReal, std::get<double>(detail.value));
    event.message(pf::event::kDetail, annotation);
  }

  void begin_slice(std::uint64_t track, const TraceSlice& slice) {
    ProtoWriter event;
    event.varint(pf::event::kType, pf::event::kBegin);
    event.varint(pf::event::kTrack, track);
    event.varint(pf::event::kCategoryId, texts_.number(PerfettoTexts::category, category_of(tracks_, slice)));
    event.varint(pf::event::kNameId, texts_.number(PerfettoTexts::event_name, label_of(tracks_, slice)));
    for (const TraceDetail& detail : details_of(tracks_, slice)) add_detail(event, detail);
    if (slice.flow != 0) {
      const bool starts = slice.source == TraceSlice::Source::call;
      event.fixed64(starts ? pf::event::kFlow : pf::event::kFlowEnd, static_cast<std::uint64_t>(slice.flow));
    }
    add_event(slice.begin_ns, event);
  }

  void end_slice(std::uint64_t track, const TraceSlice& slice) {
    ProtoWriter event;
    event.varint(pf::event::kType, pf::event::kEnd);
    event.varint(pf::event::kTrack, track);
    add_event(slice.end_ns, event);
  }

  void add_curve(std::size_t index) {
    const TraceTracks::Curve& curve = tracks_.curves[index];
    ProtoWriter counter, descriptor;
    if (!curve.unit.empty()) counter.bytes(pf::descriptor::kCounterUnit, curve.unit);
    descriptor.varint(pf::descriptor::kUuid, curve_id(index));
    if (!tracks_.processes.empty()) descriptor.varint(pf::descriptor::kParent, process_id(0));
    descriptor.bytes(pf::descriptor::kName, curve.name);
    descriptor.message(pf::descriptor::kCounter, counter);
    add_descriptor(descriptor);
    for (const TraceTracks::Point& point : curve.points) {
      ProtoWriter event;
      event.varint(pf::event::kType, pf::event::kCounterValue);
      event.varint(pf::event::kTrack, curve_id(index));
      event.real(pf::event::kValue, point.value);
      add_event(point.ns, event);
    }
  }

  const TraceTracks& tracks_;
  PerfettoTexts texts_;
  ProtoWriter file_;
};

}  // namespace

std::string perfetto_trace(const TraceTracks& tracks) { return PerfettoWriter(tracks).write(); }

}  // namespace headroom
