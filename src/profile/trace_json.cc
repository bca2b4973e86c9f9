// A trace as JSON: one object per kind of event, one list per field. A field that has its default in every
// event is left out, which keeps recordings small; the first one always stands. Times and numbers stand as
// they are, so that a person can read the file.
#include <algorithm>
#include <utility>

#include "base/json.h"
#include "base/text.h"
#include "profile/trace.h"

namespace headroom {
namespace {

constexpr int kTraceVersion = 1;
constexpr int kSpanKinds = static_cast<int>(SpanKind::user) + 1;
constexpr int kCopyKinds = static_cast<int>(Trace::CopyKind::fill) + 1;
constexpr int kPageKinds = static_cast<int>(Trace::PageEvent::host_faults) + 1;

// The fields of every kind of event, once for both directions.
template <class Columns>
void each_column(Columns& column, const Trace::Lane*) {
  column("name", &Trace::Lane::name);
  column("is_stream", &Trace::Lane::is_stream);
  column("rank", &Trace::Lane::rank);
  column("system_id", &Trace::Lane::system_id);
}

template <class Columns>
void each_time(Columns& column) {
  column("begin_ns", &Trace::Interval::begin_ns);
  column("end_ns", &Trace::Interval::end_ns);
}

template <class Columns>
void each_column(Columns& column, const Trace::Span*) {
  each_time(column);
  column("lane", &Trace::Span::lane);
  column("name", &Trace::Span::name);
  column("step", &Trace::Span::step);
  column("depth", &Trace::Span::depth);
  column("kind", &Trace::Span::kind);
}

template <class Columns>
void each_column(Columns& column, const Trace::Kernel*) {
  each_time(column);
  column("lane", &Trace::Kernel::lane);
  column("name", &Trace::Kernel::name);
  column("step", &Trace::Kernel::step);
  column("queued_ns", &Trace::Kernel::queued_ns);
  column("submitted_ns", &Trace::Kernel::submitted_ns);
  column("grid", &Trace::Kernel::grid);
  column("block", &Trace::Kernel::block);
  column("cluster", &Trace::Kernel::cluster);
  column("registers", &Trace::Kernel::registers);
  column("static_shared", &Trace::Kernel::static_shared);
  column("dynamic_shared", &Trace::Kernel::dynamic_shared);
  column("shared_executed", &Trace::Kernel::shared_executed);
  column("local", &Trace::Kernel::local);
  column("correlation", &Trace::Kernel::correlation);
  column("graph_node", &Trace::Kernel::graph_node);
  column("range", &Trace::Kernel::range);
}

template <class Columns>
void each_column(Columns& column, const Trace::Copy*) {
  each_time(column);
  column("lane", &Trace::Copy::lane);
  column("step", &Trace::Copy::step);
  column("kind", &Trace::Copy::kind);
  column("bytes", &Trace::Copy::bytes);
  column("pinned", &Trace::Copy::pinned);
  column("correlation", &Trace::Copy::correlation);
  column("graph_node", &Trace::Copy::graph_node);
  column("range", &Trace::Copy::range);
}

template <class Columns>
void each_column(Columns& column, const Trace::Call*) {
  each_time(column);
  column("lane", &Trace::Call::lane);
  column("name", &Trace::Call::name);
  column("correlation", &Trace::Call::correlation);
}

template <class Columns>
void each_column(Columns& column, const Trace::Pages*) {
  each_time(column);
  column("lane", &Trace::Pages::lane);
  column("kind", &Trace::Pages::kind);
  column("bytes", &Trace::Pages::bytes);
  column("faults", &Trace::Pages::faults);
}

template <class Columns>
void each_column(Columns& column, const Trace::Window*) {
  each_time(column);
  column("rank", &Trace::Window::rank);
  column("steps", &Trace::Window::steps);
  column("captured", &Trace::Window::captured);
}

template <class T>
Json trace_value(const T& value) {
  if constexpr (std::is_enum_v<T>)
    return static_cast<int>(value);  // a place in the file's own list of names
  else
    return value;
}

template <class Event>
struct ColumnWriter {
  const std::vector<Event>& events;
  Json table = Json::object();

  template <class Base, class T>
  void operator()(const char* key, T Base::*field) {
    const T otherwise = Event{}.*field;
    const bool says_how_many = table.empty() && !events.empty();  // the first one
    if (!says_how_many && std::ranges::all_of(events, [&](const Event& e) { return e.*field == otherwise; }))
      return;
    Json column = Json::array();
    for (const Event& event : events) column.push_back(trace_value(event.*field));
    table[key] = std::move(column);
  }
};

template <class Event>
Json written(const std::vector<Event>& events) {
  ColumnWriter<Event> columns{events};
  each_column(columns, static_cast<const Event*>(nullptr));
  return std::move(columns.table);
}

// Where a value stands, for messages: "x.json: trace.kernels.grid[3]".
struct TracePlace {
  const std::string& origin;
  std::string path;
  TracePlace at(std::string_view key) const { return {origin, fmt::format("{}.{}", path, key)}; }
  TracePlace at(std::size_t i) const { return {origin, fmt::format("{}[{}]", path, i)}; }
};

[[noreturn]] void reject_type(const Json& json, const TracePlace& place, std::string_view wanted) {
  reject("{}: {} is {}, not {}", place.origin, place.path, json.type_name(), wanted);
}

const Json& field_of(const Json& json, const char* key, const TracePlace& parent) {
  if (!json.contains(key)) reject("{}: {}.{} is missing", parent.origin, parent.path, key);
  return json.at(key);
}

template <class T>
T read_value(const Json& json, const TracePlace& place) {
  if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) reject_type(json, place, "true or false");
    return json.get<bool>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (!json.is_number()) reject_type(json, place, "a number");
    return json.get<double>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) reject_type(json, place, "a text");
    return json.get<std::string>();
  } else {
    if (!json.is_number_integer()) reject_type(json, place, "a whole number");
    const bool negative = !json.is_number_unsigned() && json.get<std::int64_t>() < 0;
    if (negative ? !std::in_range<T>(json.get<std::int64_t>()) : !std::in_range<T>(json.get<std::uint64_t>()))
      reject("{}: {} is {}, which is out of range", place.origin, place.path, json.dump());
    return json.get<T>();
  }
}

const Json& list_of(const Json& json, const TracePlace& place) {
  if (!json.is_array()) reject_type(json, place, "a list");
  return json;
}

std::vector<std::string> read_texts(const Json& json, const TracePlace& place) {
  std::vector<std::string> texts;
  for (const Json& text : list_of(json, place))
    texts.push_back(read_value<std::string>(text, place.at(texts.size())));
  return texts;
}

// Kinds by the place of their name in the file's list: a later program may sort its own differently.
struct KindNames {
  std::vector<SpanKind> span;
  std::vector<Trace::CopyKind> copy;
  std::vector<Trace::PageEvent> page = {};
};

template <class Kind>
std::vector<Kind> read_kinds(const Json& json, const TracePlace& place, int known) {
  std::vector<Kind> kinds;
  for (const std::string& name : read_texts(json, place)) {
    int i = 0;
    while (i < known && name_of(static_cast<Kind>(i)) != name) ++i;
    if (i == known)
      reject("{}: {} is '{}', which this program does not know", place.origin, place.at(kinds.size()).path,
             printable(name));
    kinds.push_back(static_cast<Kind>(i));
  }
  return kinds;
}

template <class Event>
class ColumnReader {
 public:
  ColumnReader(const Json& json, TracePlace place, const KindNames& kinds)
      : json_(json), place_(std::move(place)), kinds_(kinds) {
    if (!json.is_object()) reject_type(json, place_, "an object");
  }

  template <class Base, class T>
  void operator()(const char* key, T Base::*field) {
    const bool is_first = std::exchange(first_, false);
    if (json_.empty() || (!is_first && !json_.contains(key))) return;
    const TracePlace place = place_.at(key);
    const Json& column = list_of(field_of(json_, key, place_), place);
    if (is_first) events.resize(column.size());
    if (column.size() != events.size())
      reject("{}: {} has {} for {}", place.origin, place.path, counted(std::ssize(column), "value"),
             counted(std::ssize(events), "event"));
    for (std::size_t i = 0; i < events.size(); ++i) read(events[i].*field, column[i], place.at(i));
  }

  std::vector<Event> events;

 private:
  template <class T>
  void read(T& value, const Json& json, const TracePlace& place) {
    value = read_value<T>(json, place);
  }
  void read(SpanKind& kind, const Json& json, const TracePlace& place) {
    kind = kind_at(kinds_.span, json, place);
  }
  void read(Trace::CopyKind& kind, const Json& json, const TracePlace& place) {
    kind = kind_at(kinds_.copy, json, place);
  }
  void read(Trace::PageEvent& kind, const Json& json, const TracePlace& place) {
    kind = kind_at(kinds_.page, json, place);
  }
  void read(std::array<int, 3>& sizes, const Json& json, const TracePlace& place) {
    if (!json.is_array() || json.size() != 3) reject("{}: {} is not three numbers", place.origin, place.path);
    for (std::size_t i = 0; i < 3; ++i) sizes[i] = read_value<int>(json[i], place.at(i));
  }
  template <class Kind>
  static Kind kind_at(const std::vector<Kind>& kinds, const Json& json, const TracePlace& place) {
    const auto i = read_value<std::uint32_t>(json, place);
    if (i >= kinds.size())
      reject("{}: {} is {}, but the file names {} kinds", place.origin, place.path, i, kinds.size());
    return kinds[i];
  }

  const Json& json_;
  TracePlace place_;
  const KindNames& kinds_;
  bool first_ = true;
};

// What the tables rely on: every number points to something, and no time runs backwards.
template <class Event>
void check_events(const std::vector<Event>& events, const Trace& trace, const TracePlace& place) {
  const auto check = [&](std::size_t i, const char* key, std::int64_t value, std::size_t size,
                         const char* what) {
    if (value < 0 || value >= std::int64_t(size))
      reject("{}: {} is {}, but the trace has {}", place.origin, place.at(key).at(i).path, value,
             counted(std::int64_t(size), what));
  };
  for (std::size_t i = 0; i < events.size(); ++i) {
    const Event& event = events[i];
    if constexpr (requires { event.begin_ns; })
      if (event.end_ns < event.begin_ns)
        reject("{}: {} is {}, before its begin", place.origin, place.at("end_ns").at(i).path, event.end_ns);
    if constexpr (requires { event.lane; }) check(i, "lane", event.lane, trace.lanes.size(), "lane");
    if constexpr (requires { int{event.name}; }) check(i, "name", event.name, trace.names.size(), "name");
    if constexpr (requires { event.range; })
      if (event.range != -1) check(i, "range", event.range, trace.names.size(), "name");
    if constexpr (requires { event.step; })
      if (event.step < -1)
        reject("{}: {} is {}, not a step", place.origin, place.at("step").at(i).path, event.step);
  }
}

template <class Event>
void read_events(std::vector<Event>& events, const char* key, const Json& json, const Trace& trace,
                 const KindNames& kinds, const TracePlace& parent) {
  ColumnReader<Event> columns(field_of(json, key, parent), parent.at(key), kinds);
  each_column(columns, static_cast<const Event*>(nullptr));
  check_events(columns.events, trace, parent.at(key));
  events = std::move(columns.events);
}

void expect_trace(const Json& json, const std::string& origin) {
  if (!json.is_object() || !json.contains("headroom_trace"))
    reject(Hint{"name the trace in a folder that `profile` wrote"},
           "{}: this is not a trace: it has no 'headroom_trace'", origin);
  const int version = read_value<int>(json.at("headroom_trace"), {origin, "trace.headroom_trace"});
  if (version != kTraceVersion)
    reject(Hint{"read it with the headroom that wrote it"},
           "{}: the trace has version {}; this program reads {}", origin, version, kTraceVersion);
}

}  // namespace

Json to_json(const Trace& trace) {
  Json spans = Json::array(), copies = Json::array();
  for (int i = 0; i < kSpanKinds; ++i) spans.push_back(name_of(static_cast<SpanKind>(i)));
  for (int i = 0; i < kCopyKinds; ++i) copies.push_back(name_of(static_cast<Trace::CopyKind>(i)));
  Json json = {{"headroom_trace", kTraceVersion},
               {"own_cost_s", trace.own_cost_s},
               {"dropped", trace.dropped},
               {"notes", trace.notes},
               {"span_kinds", spans},
               {"copy_kinds", copies},
               {"names", trace.names},
               {"lanes", written(trace.lanes)},
               {"windows", written(trace.windows)},
               {"spans", written(trace.spans)},
               {"kernels", written(trace.kernels)},
               {"copies", written(trace.copies)},
               {"calls", written(trace.calls)}};
  if (trace.pages.empty()) return json;  // as almost always: few programs use managed memory
  json["page_kinds"] = Json::array();
  for (int i = 0; i < kPageKinds; ++i)
    json["page_kinds"].push_back(name_of(static_cast<Trace::PageEvent>(i)));
  json["pages"] = written(trace.pages);
  return json;
}

Trace trace_from_json(const Json& json, const std::string& origin) {
  expect_trace(json, origin);
  const TracePlace place{origin, "trace"};
  const auto field = [&](const char* key) -> const Json& { return field_of(json, key, place); };
  Trace trace;
  trace.own_cost_s = read_value<double>(field("own_cost_s"), place.at("own_cost_s"));
  trace.dropped = read_value<std::int64_t>(field("dropped"), place.at("dropped"));
  trace.notes = read_texts(field("notes"), place.at("notes"));
  trace.names = read_texts(field("names"), place.at("names"));
  KindNames kinds{read_kinds<SpanKind>(field("span_kinds"), place.at("span_kinds"), kSpanKinds),
                  read_kinds<Trace::CopyKind>(field("copy_kinds"), place.at("copy_kinds"), kCopyKinds)};
  read_events(trace.lanes, "lanes", json, trace, kinds, place);
  read_events(trace.windows, "windows", json, trace, kinds, place);
  read_events(trace.spans, "spans", json, trace, kinds, place);
  read_events(trace.kernels, "kernels", json, trace, kinds, place);
  read_events(trace.copies, "copies", json, trace, kinds, place);
  read_events(trace.calls, "calls", json, trace, kinds, place);
  if (!json.contains("pages")) return trace;
  kinds.page = read_kinds<Trace::PageEvent>(field("page_kinds"), place.at("page_kinds"), kPageKinds);
  read_events(trace.pages, "pages", json, trace, kinds, place);
  return trace;
}

}  // namespace headroom
