#include "report/trace_perfetto.h"

#include <gtest/gtest.h>

#include <set>

#include "report/testing/random_trace.h"
#include "report/testing/trace_nesting.h"
#include "report/testing/wire_reader.h"

namespace headroom::testing {
namespace {

// Fields and wire types of Perfetto's messages, as far as the writer may use them.
const WireFields kTrace = {{1, 2}};
const WireFields kPacket = {{8, 0}, {10, 0}, {11, 2}, {12, 2}, {13, 0}, {60, 2}, {87, 0}};
const WireFields kDescriptor = {{1, 0}, {2, 2}, {3, 2}, {4, 2}, {5, 0}, {8, 2}, {11, 0}, {12, 0}, {15, 0}};
const WireFields kProcess = {{1, 0}, {6, 2}}, kThread = {{1, 0}, {2, 0}, {5, 2}}, kCounter = {{6, 2}};
const WireFields kEvent = {{3, 0}, {4, 2}, {9, 0}, {10, 0}, {11, 0}, {44, 1}, {47, 1}, {48, 1}};
const WireFields kDetail = {{1, 0}, {4, 0}, {5, 1}, {17, 0}};
const WireFields kTexts = {{1, 2}, {2, 2}, {3, 2}, {29, 2}}, kText = {{1, 0}, {2, 2}};

class PerfettoReader {
 public:
  ReadTrace read(const std::string& file) {
    bool first = true;
    const WireMessage trace(file, kTrace);
    for (const WireField& field : trace.fields()) {
      const WireMessage packet(field.bytes, kPacket);
      if (packet.at(10).value != 1) throw std::runtime_error("another sequence");
      if (first != (packet.find(13) != nullptr && packet.at(13).value == 1))
        throw std::runtime_error("the state is cleared by the first packet, and only by it");
      first = false;
      if (const WireField* texts = packet.find(12)) add_texts(*texts);
      if (const WireField* descriptor = packet.find(60)) add_track({descriptor->bytes, kDescriptor});
      if (const WireField* event = packet.find(11)) {
        if (packet.at(13).value != 2)
          throw std::runtime_error("an event that does not say it needs the texts");
        add_event(static_cast<std::int64_t>(packet.at(8).value), {event->bytes, kEvent});
      }
    }
    slices_.finish();
    trace_.slices = slices_.slices;
    for (std::size_t i = 0; i < trace_.slices.size(); ++i) {
      trace_.slices[i].details = details_[i];
      trace_.slices[i].track = tracks_.at(track_of_[i]).name;
    }
    for (const auto& [flow, ends] : flows_) {
      if (ends.first < 0 || ends.second < 0) throw std::runtime_error("an arrow with one end");
      trace_.flows[flow] = {trace_.slices[static_cast<std::size_t>(ends.first)],
                            trace_.slices[static_cast<std::size_t>(ends.second)]};
    }
    return std::move(trace_);
  }

  // Of slices that know their track by its id, not by its name.
  std::string nesting() const { return check_nesting(slices_.slices); }

 private:
  struct Track {
    std::string process, name;
    bool is_curve = false;
  };

  void add_texts(const WireField& texts) {
    const WireMessage lists(texts.bytes, kTexts);
    for (const WireField& field : lists.fields()) {
      const WireMessage entry(field.bytes, kText);
      if (!texts_[field.number].emplace(entry.at(1).value, entry.at(2).bytes).second ||
          entry.at(1).value == 0)
        throw std::runtime_error("a text is there twice");
    }
  }

  void add_track(const WireMessage& descriptor) {
    Track track;
    if (const WireField* parent = descriptor.find(5)) track.process = tracks_.at(parent->value).process;
    if (const WireField* name = descriptor.find(2)) track.name = name->bytes;
    if (const WireField* process = descriptor.find(3)) {
      const WireMessage about(process->bytes, kProcess);
      track.process = about.at(6).bytes;
      if (!pids_.insert(about.at(1).value).second) throw std::runtime_error("a pid is there twice");
    }
    if (const WireField* thread = descriptor.find(4)) {
      const WireMessage about(thread->bytes, kThread);
      track.name = about.at(5).bytes;
      if (!pids_.count(about.at(1).value)) throw std::runtime_error("a thread of no process");
      if (!tids_.insert(about.at(2).value).second) throw std::runtime_error("a tid is there twice");
    }
    if (const WireField* counter = descriptor.find(8)) {
      const WireMessage about(counter->bytes, kCounter);
      track.is_curve = true;
      if (const WireField* unit = about.find(6)) track.name += " [" + std::string(unit->bytes) + "]";
    }
    if (descriptor.at(1).value == 0 || !tracks_.emplace(descriptor.at(1).value, track).second)
      throw std::runtime_error("an id of a track is there twice");
  }

  void add_event(std::int64_t ns, const WireMessage& event) {
    const std::uint64_t id = event.at(11).value;
    const Track& track = tracks_.at(id);
    if (track.is_curve != (event.at(9).value == 4)) throw std::runtime_error("a slice on a curve");
    if (track.is_curve) return trace_.curves[track.name].push_back({ns, event.at(44).real()});
    if (event.at(9).value == 2) return slices_.end(track.process, std::to_string(id), "", ns);
    if (event.at(9).value != 1) throw std::runtime_error("an unknown type of event");
    const auto index = static_cast<std::int64_t>(slices_.slices.size());
    slices_.begin(track.process, std::to_string(id), texts_.at(2).at(event.at(10).value), ns);
    track_of_.push_back(id);
    details_.push_back({{"category", texts_.at(1).at(event.at(3).value)}});
    for (const WireField& field : event.fields()) {
      if (field.number == 4) add_detail({field.bytes, kDetail});
      if (field.number != 47 && field.number != 48) continue;
      auto& ends = flows_.try_emplace(static_cast<std::int64_t>(field.value), -1, -1).first->second;
      (field.number == 47 ? ends.first : ends.second) = index;
    }
  }

  void add_detail(const WireMessage& detail) {
    std::string& text = details_.back()[texts_.at(3).at(detail.at(1).value)];
    if (const WireField* number = detail.find(4))
      text = std::to_string(static_cast<std::int64_t>(number->value));
    if (const WireField* number = detail.find(5)) text = fmt::format("{}", number->real());
    if (const WireField* number = detail.find(17)) text = texts_.at(29).at(number->value);
  }

  std::map<std::uint64_t, Track> tracks_;
  std::set<std::uint64_t> pids_, tids_;
  std::map<int, std::map<std::uint64_t, std::string>> texts_;
  SliceStack slices_;
  std::vector<std::uint64_t> track_of_;
  std::vector<std::map<std::string, std::string>> details_;
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> flows_;
  ReadTrace trace_;
};

TEST(PerfettoTrace, HoldsTheTrace) {
  for (unsigned seed = 0; seed < 5; ++seed) {
    const RandomTrace random(seed);
    PerfettoReader reader;
    const ReadTrace read = reader.read(perfetto_trace(trace_tracks(random.trace, random.extras())));
    EXPECT_EQ(reader.nesting(), "") << seed;
    EXPECT_EQ(sorted_lines(read.slices), sorted_lines(slices_of(random.trace))) << seed;
  }
}

TEST(PerfettoTrace, HasArrowsCurvesAndDetails) {
  Trace trace;
  trace.names = {"my kernel", "cudaLaunchKernel", "step"};
  trace.lanes = {{"main"}, {"stream 7", true}};
  trace.spans = {{{1000, 9000}, 0, 2, 1}};
  trace.calls = {{{1001, 2000}, 0, 1, 5}};
  trace.kernels = {{{3003, 4000}, 1, 0, 0}};
  trace.kernels[0].correlation = 5;
  trace.kernels[0].registers = 32;
  const RandomTrace random(1);
  const ReadTrace read = PerfettoReader().read(perfetto_trace(trace_tracks(trace, random.extras())));
  ASSERT_EQ(read.flows.size(), 1u);
  const auto& [call, kernel] = read.flows.begin()->second;
  EXPECT_EQ(call.name, "cudaLaunchKernel");
  EXPECT_EQ(kernel.name, "my kernel");
  EXPECT_EQ(kernel.process, "headroom GPU");
  EXPECT_EQ(kernel.track, "stream 7");
  EXPECT_EQ(kernel.details.at("category"), "kernel");
  EXPECT_EQ(kernel.details.at("layer"), "conv1");
  EXPECT_EQ(kernel.details.at("grid"), "1 x 1 x 1");
  EXPECT_EQ(kernel.details.at("registers per thread"), "32");
  EXPECT_EQ(read.slices.at(0).details.at("layer"), "fc \"2\"");
  EXPECT_EQ(read.curves.at("GPU 0 power [W]"), (std::vector<ReadPoint>{{0, 90}, {1000, 300.5}}));
  EXPECT_EQ(read.curves.at("GPU 0 energy [J]").size(), 3u);
  EXPECT_EQ(read.curves.at("loss"), (std::vector<ReadPoint>{{1000, 2.5}, {3000, 1.25}}));
}

TEST(PerfettoTrace, OfNothingIsValid) {
  EXPECT_TRUE(PerfettoReader().read(perfetto_trace(trace_tracks({}))).slices.empty());
}

}  // namespace
}  // namespace headroom::testing
