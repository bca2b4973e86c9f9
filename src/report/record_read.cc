#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "report/record.h"
#include "report/series.h"

namespace headroom {
namespace {

// One object of a record; every error names the file and the path of the field. Unknown keys are ignored: a
// newer program of the same version may have written them.
class Section {
 public:
  Section(const Json& json, const std::string& origin, std::string path)
      : json_(json), origin_(origin), path_(std::move(path)) {
    if (!json.is_object()) reject("{}: {} is {}, not an object", origin_, path_, json.type_name());
  }
  bool has(const char* key) const { return json_.contains(key) && !json_.at(key).is_null(); }
  template <class T>
  T need(const char* key) const {
    if (!has(key)) reject("{}: {}.{} is missing", origin_, path_, key);
    try {
      return json_.at(key).get<T>();
    } catch (const nlohmann::json::exception&) {
      reject("{}: {}.{} has the wrong type, {}", origin_, path_, key, json_.at(key).type_name());
    }
  }
  template <class T>
  T get(const char* key, T otherwise = {}) const {
    return has(key) ? need<T>(key) : otherwise;
  }
  Section section(const char* key) const {
    if (!has(key)) reject("{}: {}.{} is missing", origin_, path_, key);
    return {json_.at(key), origin_, fmt::format("{}.{}", path_, key)};
  }
  std::vector<Section> list(const char* key) const {
    std::vector<Section> parts;
    if (!has(key)) return parts;
    const Json& all = json_.at(key);
    if (!all.is_array()) reject("{}: {}.{} is not a list", origin_, path_, key);
    for (std::size_t i = 0; i < all.size(); ++i)
      parts.emplace_back(all[i], origin_, fmt::format("{}.{}[{}]", path_, key, i));
    return parts;
  }
  const Json& json() const { return json_; }
  const std::string& origin() const { return origin_; }

 private:
  const Json& json_;
  const std::string& origin_;
  std::string path_;
};

Phase phase_named(const std::string& name, const std::string& origin) {
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    if (name_of(phase) == name) return phase;
  reject("{}: unknown phase '{}'", origin, name);
}

RecordedStep::Launch launch_from(const Section& p) {
  RecordedStep::Launch launch{p.need<std::string>("family"), p.need<std::string>("unit"),
                              p.get<double>("flops"), p.get<double>("bytes"), p.get<double>("l2_bytes")};
  if (const auto tile = p.get<std::vector<std::int64_t>>("tile"); tile.size() == 3)
    launch.tile = {tile[0], tile[1], tile[2]};
  launch.blocks = p.get<std::int64_t>("blocks");
  launch.count = p.get<int>("count", 1);
  return launch;
}

RecordedStep step_from(const Section& p) {
  RecordedStep step{.layer = p.need<std::string>("layer"),
                    .phase = p.need<std::string>("phase"),
                    .op = p.need<std::string>("op"),
                    .problem = p.need<std::string>("problem"),
                    .kernel = p.need<std::string>("kernel"),
                    .variant = p.get<std::string>("variant"),
                    .why = p.get<std::string>("why"),
                    .variant_s = p.get<double>("variant_us") / 1e6,
                    .flops = p.need<double>("flops"),
                    .bytes = p.need<double>("bytes"),
                    .workspace_bytes = p.get<std::size_t>("workspace_bytes"),
                    .stream = p.get<int>("stream"),
                    .could_branch = p.get<bool>("could_branch")};
  for (const Section& r : p.list("refused"))
    step.refused.push_back({r.need<std::string>("kernel"), r.need<std::string>("reason")});
  for (const Section& l : p.list("launches")) step.launches.push_back(launch_from(l));
  if (p.has("work")) {  // version 1 has one sum
    const Section work = p.section("work");
    step.launches.push_back({"", "", work.get<double>("flops"), work.get<double>("bytes")});
  }
  for (const Section& c : p.list("charges"))
    step.charges.push_back({c.need<std::string>("layer"),
                            phase_named(c.need<std::string>("phase"), p.origin()), c.need<double>("share")});
  return step;
}

RecordedPlan plan_from(const Section& p) {
  RecordedPlan plan{.mode = p.need<std::string>("mode"),
                    .precision = p.need<std::string>("precision"),
                    .device = p.need<std::string>("device"),
                    .batch = p.need<std::int64_t>("batch"),
                    .threads = p.get<int>("threads", 1),
                    .streams = p.get<int>("streams", 1),
                    .arena_bytes = p.get<std::size_t>("arena_bytes"),
                    .unshared_bytes = p.get<std::size_t>("unshared_bytes")};
  for (const Section& pass : p.list("passes"))
    plan.passes.push_back({pass.need<std::string>("pass"), pass.get<std::string>("change")});
  for (const Section& step : p.list("steps")) plan.steps.push_back(step_from(step));
  return plan;
}

MemoryKind memory_kind_named(const std::string& name, const std::string& origin) {
  for (const MemoryKind kind : kMemoryKinds)
    if (name_of(kind) == name) return kind;
  reject("{}: unknown kind of memory '{}'", origin, name);
}

MemoryBytes memory_bytes_from(const Section& p) {
  MemoryBytes bytes;
  for (const MemoryKind kind : kMemoryKinds)
    bytes[kind] = p.need<std::int64_t>(fmt::format("{}_bytes", name_of(kind)).c_str());
  return bytes;
}

// The file has only what changes from step to step.
std::vector<MemoryBytes> memory_steps_from(const Section& p, const MemoryBytes& peak) {
  std::vector<MemoryBytes> steps;
  for (const MemoryKind kind : kArenaKinds) {
    const auto bytes = p.need<std::vector<std::int64_t>>(fmt::format("{}_bytes", name_of(kind)).c_str());
    if (kind == kArenaKinds[0]) steps.assign(bytes.size(), peak);
    if (bytes.size() != steps.size())
      reject("{}: memory.steps: the lists have {} and {} steps", p.origin(), steps.size(), bytes.size());
    for (std::size_t s = 0; s < bytes.size(); ++s) steps[s][kind] = bytes[s];
  }
  return steps;
}

RecordedMemory memory_from(const Section& p) {
  RecordedMemory memory{.planned = {}, .real_peak_bytes = p.get<std::int64_t>("real_peak_bytes")};
  MemoryTimeline& t = memory.planned;
  t.arena_bytes = p.need<std::int64_t>("arena_bytes");
  t.peak = memory_bytes_from(p.section("peak"));
  t.steps = memory_steps_from(p.section("steps"), t.peak);
  t.peak_step = p.need<int>("peak_step");
  if (t.peak_step < kNone || t.peak_step >= static_cast<int>(t.steps.size()))
    reject("{}: memory.peak_step is {}; there are {} steps", p.origin(), t.peak_step, t.steps.size());
  for (const Section& piece : p.list("alive"))
    t.alive.push_back({piece.need<std::string>("name"), piece.need<std::string>("layer"),
                       memory_kind_named(piece.need<std::string>("kind"), p.origin()),
                       piece.need<std::int64_t>("bytes"), piece.need<int>("first_step"),
                       piece.need<int>("last_use_step"), piece.need<int>("last_step")});
  for (const Section& layer : p.list("layers"))
    t.layers.push_back({layer.need<std::string>("layer"), memory_bytes_from(layer)});
  return memory;
}

Prediction prediction_from(const Section& p) {
  Prediction prediction{.machine = p.need<std::string>("machine"), .model = p.get<std::string>("model")};
  prediction.floor_s = p.need<double>("floor_ms") / 1e3;
  prediction.has_times = p.has("predicted_ms");
  prediction.predicted_s = p.get<double>("predicted_ms") / 1e3;
  prediction.low_s = p.get<double>("low_ms") / 1e3, prediction.high_s = p.get<double>("high_ms") / 1e3;
  prediction.basis = basis_named(p.get<std::string>("basis"));
  for (const Section& s : p.list("steps"))
    prediction.steps.push_back({.floor_s = s.need<double>("floor_ms") / 1e3,
                                .bound = s.need<std::string>("bound"),
                                .predicted_s = s.get<double>("predicted_ms") / 1e3,
                                .low_s = s.get<double>("low_ms") / 1e3,
                                .high_s = s.get<double>("high_ms") / 1e3,
                                .limit = s.get<std::string>("limit")});
  return prediction;
}

std::vector<double> seconds_from(const Section& p, const char* key) {
  std::vector<double> seconds = p.get<std::vector<double>>(key);
  for (double& s : seconds) s /= 1e6;
  return seconds;
}

// Version 1 keeps only a median: one sample.
Measurement::Step measured_step_from(const Section& p) {
  Measurement::Step step{.seconds = seconds_from(p, "samples_us")};
  if (!p.has("samples_us") && p.get<std::int64_t>("samples") > 0)
    step.seconds = {p.need<double>("median") / 1e3};
  for (const Section& l : p.list("launches"))
    step.launches.push_back({l.need<std::string>("name"), l.need<double>("begin_us") / 1e6,
                             l.need<double>("end_us") / 1e6, l.get<int>("stream")});
  step.counters = p.get<std::map<std::string, double>>("counters");
  return step;
}

Measurement measurement_from(const Section& p) {
  Measurement m;
  if (p.has("source")) m.source = parse_measurement_source(p.need<std::string>("source"));
  m.captured = p.get<bool>("captured");
  for (const Section& step : p.list("steps")) m.steps.push_back(measured_step_from(step));
  m.run_s = seconds_from(p, "run_us");
  if (m.run_s.empty() && p.has("step_ms"))
    if (const Section whole = p.section("step_ms"); whole.get<std::int64_t>("samples") > 0)
      m.run_s = {whole.need<double>("median") / 1e3};
  return m;
}

LayerReading layer_from(const Section& p) {
  LayerReading l{.layer = p.need<std::string>("layer"), .output = p.get<std::string>("output")};
  l.parameters = p.get<std::int64_t>("parameters");
  l.forward_flops = p.get<double>("forward_flops"), l.flops = p.get<double>("flops");
  l.forward_s = p.get<double>("forward_ms") / 1e3, l.backward_s = p.get<double>("backward_ms") / 1e3;
  l.update_s = p.get<double>("update_ms") / 1e3;
  l.floor_s = p.get<double>("floor_ms") / 1e3, l.predicted_s = p.get<double>("predicted_ms") / 1e3;
  l.low_s = p.get<double>("low_ms") / 1e3, l.high_s = p.get<double>("high_ms") / 1e3;
  l.predicted_forward_s = p.get<double>("predicted_forward_ms") / 1e3;
  l.predicted_backward_s = p.get<double>("predicted_backward_ms") / 1e3;
  l.predicted_update_s = p.get<double>("predicted_update_ms") / 1e3;
  l.bound = p.get<std::string>("bound");
  return l;
}

EpochResult epoch_from(const Section& p) {
  EpochResult e{.epoch = p.need<std::int64_t>("epoch"), .loss = p.need<double>("loss")};
  e.test_loss = p.get<double>("test_loss"), e.seconds = p.get<double>("seconds");
  if (!p.has("accuracy")) return e;
  const Section accuracy = p.section("accuracy");
  e.train_accuracy = accuracy.get<double>("train"), e.test_accuracy = accuracy.get<double>("test");
  return e;
}

void read_measurement(RunRecord& r, const Section& p) {
  r.measurement = measurement_from(p);
  if (p.has("step_ms")) {
    const Section whole = p.section("step_ms");
    r.whole.median = whole.get<double>("median") / 1e3, r.whole.samples = whole.get<std::int64_t>("samples");
    r.whole.p10 = whole.get<double>("p10") / 1e3, r.whole.p90 = whole.get<double>("p90") / 1e3;
  }
  for (const Section& layer : p.list("layers")) r.layers.push_back(layer_from(layer));
  r.wall_s = p.get<double>("wall_s");
  r.resources = {p.get<double>("user_s"), p.get<double>("system_s"), p.get<std::int64_t>("peak_rss_bytes")};
  if (p.has("train_s"))
    r.training = {.images_per_s = p.get<double>("images_per_s"),
                  .train_s = p.get<double>("train_s"),
                  .eval_s = p.get<double>("eval_s")};
}

}  // namespace

RunRecord record_from_json(const Json& json, const std::string& origin) {
  const Section p(json, origin, "record");
  if (!p.has("headroom_record"))
    reject(Hint{"name a file that `record` wrote"},
           "{}: this is not a run record: it has no 'headroom_record'", origin);
  RunRecord r;
  r.version = p.need<int>("headroom_record");
  if (r.version < 1 || r.version > kRecordVersion)
    reject(Hint{"read it with a newer headroom"},
           "{}: the record has version {}; this program reads up to {}", origin, r.version, kRecordVersion);
  r.command = p.need<std::vector<std::string>>("command");
  r.verb = p.get<std::string>("verb", r.version == 1 ? "train" : "");
  r.program = p.get<std::string>("version"), r.commit = p.get<std::string>("commit");
  r.compiler = p.get<std::string>("compiler"), r.time = p.get<std::string>("time");
  if (p.has("machine")) r.machine = machine_from_json(p.section("machine").json(), origin);
  if (p.has("model")) {
    const Section model = p.section("model");
    r.model = RunRecord::Model{model.need<std::string>("name"), model.get<std::int64_t>("parameters"),
                               model.get<Json>("net", nullptr)};
  }
  r.data = p.get<std::string>("data");
  if (p.has("plan")) r.plan = plan_from(p.section("plan"));
  if (p.has("memory")) r.memory = memory_from(p.section("memory"));
  if (p.has("prediction")) r.prediction = prediction_from(p.section("prediction"));
  if (p.has("measurement")) read_measurement(r, p.section("measurement"));
  if (r.layers.empty() && p.has("prediction"))
    for (const Section& layer : p.section("prediction").list("layers")) r.layers.push_back(layer_from(layer));
  // A training that ended within its first epoch has no curve.
  for (const char* key : {"curve", "progress", "interrupted", "diverged"})
    if (p.has(key) && !r.training) r.training.emplace();
  for (const Section& epoch : p.list("curve")) {
    r.training->epochs.push_back(epoch_from(epoch));
    r.training->classifier = epoch.has("accuracy");
  }
  if (r.training) r.training->diverged = p.get<std::string>("diverged");
  if (r.training) r.training->interrupted = p.get<bool>("interrupted", false);
  if (r.training && p.has("progress")) {
    const Section progress = p.section("progress");
    r.training->epoch_end_s = progress.get<std::vector<double>>("epoch_end_s");
    r.training->loss_s = progress.need<std::vector<double>>("loss_s");
    r.training->losses = progress.need<std::vector<double>>("losses");
    if (r.training->loss_s.size() != r.training->losses.size())
      reject("{}: progress: there are {} losses at {} times", origin, r.training->losses.size(),
             r.training->loss_s.size());
  }
  if (p.has("samples")) r.samples = samples_from_json(p.section("samples").json(), origin);
  for (const Section& table : p.list("tables")) r.tables.push_back(Sheet::from_json(table.json(), origin));
  r.ranks = p.get<Json>("ranks", nullptr);
  return r;
}

RunRecord read_record(const std::filesystem::path& path) {
  return record_from_json(
      parse_object(read_file(path), path.string(), Hint{"name a file that `record` wrote"}), path.string());
}

}  // namespace headroom
