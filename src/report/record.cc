// Writes run records; record_read.cc reads them again.
#include "report/record.h"

#include <algorithm>
#include <ctime>

#include "base/json.h"
#include "base/version.h"
#include "plan/streams.h"
#include "report/series.h"

namespace headroom {
namespace {

constexpr std::size_t kMaxSamples = 64;  // of one step in a file; its median uses all of them

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

Json charges_json(const std::vector<Charge>& charges) {
  Json list = Json::array();
  for (const Charge& c : charges)
    list.push_back({{"layer", c.layer},
                    {"phase", name_of(c.phase)},
                    {"share", c.share},
                    {"shared", charges.size() > 1}});
  return list;
}

Json launches_json(const std::vector<RecordedStep::Launch>& launches) {
  Json list = Json::array();
  for (const RecordedStep::Launch& l : launches) {
    Json item = {{"family", l.family}, {"unit", l.unit}, {"flops", l.flops}, {"bytes", l.bytes}};
    if (l.l2_bytes > 0) item["l2_bytes"] = l.l2_bytes;
    if (l.tile.m > 0) item["tile"] = {l.tile.m, l.tile.n, l.tile.k};
    if (l.blocks > 0) item["blocks"] = l.blocks;
    item["count"] = l.count;
    list.push_back(std::move(item));
  }
  return list;
}

Json step_json(const RecordedStep& s, std::size_t index) {
  Json refused = Json::array();
  for (const Refusal& r : s.refused) refused.push_back({{"kernel", r.kernel}, {"reason", r.reason}});
  Json json = {{"step", index},        {"layer", s.layer},   {"phase", s.phase}, {"op", s.op},
               {"problem", s.problem}, {"kernel", s.kernel}, {"why", s.why},     {"refused", refused}};
  if (!s.variant.empty()) json["variant"] = s.variant;
  if (s.variant_s > 0) json["variant_us"] = s.variant_s * 1e6;
  json.update({{"flops", s.flops},
               {"bytes", s.bytes},
               {"launches", launches_json(s.launches)},
               {"workspace_bytes", s.workspace_bytes},
               {"stream", s.stream},
               {"charges", charges_json(s.charges)}});
  if (s.could_branch) json["could_branch"] = true;
  return json;
}

Json plan_json(const RecordedPlan& plan) {
  Json steps = Json::array(), passes = Json::array();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) steps.push_back(step_json(plan.steps[s], s));
  for (const PassReport& p : plan.passes) passes.push_back({{"pass", p.pass}, {"change", p.change}});
  return {{"mode", plan.mode},
          {"batch", plan.batch},
          {"precision", plan.precision},
          {"device", plan.device},
          {"threads", plan.threads},
          {"streams", plan.streams},
          {"arena_bytes", plan.arena_bytes},
          {"unshared_bytes", plan.unshared_bytes},
          {"passes", passes},
          {"steps", steps}};
}

Json memory_bytes_json(const MemoryBytes& bytes) {
  Json json = Json::object();
  for (const MemoryKind kind : kMemoryKinds) json[fmt::format("{}_bytes", name_of(kind))] = bytes[kind];
  return json;
}

// Only what changes from step to step: the rest is the same as at the peak.
Json memory_steps_json(const std::vector<MemoryBytes>& steps) {
  Json json = Json::object();
  for (const MemoryKind kind : kArenaKinds) {
    Json& list = json[fmt::format("{}_bytes", name_of(kind))] = Json::array();
    for (const MemoryBytes& bytes : steps) list.push_back(bytes[kind]);
  }
  return json;
}

Json memory_json(const RecordedMemory& memory) {
  const MemoryTimeline& t = memory.planned;
  Json json = {{"peak_step", t.peak_step}, {"peak_bytes", t.peak.total()}, {"arena_bytes", t.arena_bytes}};
  if (memory.real_peak_bytes > 0) json["real_peak_bytes"] = memory.real_peak_bytes;
  json["peak"] = memory_bytes_json(t.peak);
  json["steps"] = memory_steps_json(t.steps);
  json["alive"] = Json::array(), json["layers"] = Json::array();
  for (const MemoryTimeline::Piece& p : t.alive)
    json["alive"].push_back({{"name", p.name},
                             {"layer", p.layer},
                             {"kind", name_of(p.kind)},
                             {"bytes", p.bytes},
                             {"first_step", p.first},
                             {"last_use_step", p.last_use},
                             {"last_step", p.last}});
  for (const MemoryTimeline::Layer& l : t.layers) {
    Json layer = {{"layer", l.layer}};
    layer.update(memory_bytes_json(l.bytes));
    json["layers"].push_back(std::move(layer));
  }
  return json;
}

Json prediction_steps(const Prediction& p) {
  Json steps = Json::array();
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    Json item = {{"step", s}, {"floor_ms", p.steps[s].floor_s * 1e3}, {"bound", p.steps[s].bound}};
    if (p.has_times) {
      item["predicted_ms"] = p.steps[s].predicted_s * 1e3;
      item["low_ms"] = p.steps[s].low_s * 1e3, item["high_ms"] = p.steps[s].high_s * 1e3;
      item["limit"] = p.steps[s].limit;
    }
    steps.push_back(item);
  }
  return steps;
}

Json prediction_head(const Prediction& p) {
  Json json = {{"machine", p.machine}, {"model", p.model}, {"floor_ms", p.floor_s * 1e3}};
  if (p.has_times) {
    json["predicted_ms"] = p.predicted_s * 1e3;
    json["low_ms"] = p.low_s * 1e3, json["high_ms"] = p.high_s * 1e3;
    json["basis"] = std::string(name_of(p.basis));
  }
  return json;
}

// Evenly spaced samples if there are too many.
Json samples_json(const std::vector<double>& seconds) {
  Json list = Json::array();
  const std::size_t count = std::min(seconds.size(), kMaxSamples);
  for (std::size_t i = 0; i < count; ++i) list.push_back(seconds[i * seconds.size() / count] * 1e6);
  return list;
}

Json measured_step(const Measurement::Step& step, std::size_t index) {
  Json json = {{"step", index}};
  json.update(spread_json(step.spread()));
  json["samples_us"] = samples_json(step.seconds);
  for (const Measurement::Launch& l : step.launches)
    json["launches"].push_back(
        {{"name", l.name}, {"begin_us", l.begin_s * 1e6}, {"end_us", l.end_s * 1e6}, {"stream", l.stream}});
  for (const auto& [name, value] : step.counters) json["counters"][name] = value;
  return json;
}

Json measurement_json(const RunRecord& r) {
  const Measurement& m = *r.measurement;
  Json steps = Json::array();
  for (std::size_t s = 0; s < m.steps.size(); ++s) steps.push_back(measured_step(m.steps[s], s));
  Json json = {{"source", name_of(m.source)}, {"captured", m.captured}};
  if (r.plan) json.update({{"device", r.plan->device}, {"threads", r.plan->threads}});
  json["step_ms"] = spread_json(whole_spread(r));
  if (r.training)
    json.update({{"images_per_s", r.training->images_per_s},
                 {"train_s", r.training->train_s},
                 {"eval_s", r.training->eval_s}});
  json.update({{"wall_s", r.wall_s},
               {"user_s", r.resources.user_s},
               {"system_s", r.resources.system_s},
               {"peak_rss_bytes", r.resources.peak_rss_bytes},
               {"run_us", samples_json(m.run_s)},
               {"steps", steps},
               {"layers", layers_json(r.layers)}});
  return json;
}

}  // namespace

RecordedPlan record_plan(const Plan& plan, const std::vector<PassReport>& passes) {
  RecordedPlan kept{.mode = std::string(name_of(plan.binding.mode)),
                    .precision = std::string(name_of(plan.binding.precision)),
                    .device = plan.binding.target.device.name,
                    .batch = plan.binding.batch,
                    .threads = plan.binding.target.device.threads,
                    .streams = plan.binding.streams,
                    .arena_bytes = plan.arena_bytes,
                    .unshared_bytes = plan.unshared_bytes,
                    .passes = passes};
  for (const Step& s : plan.steps) {
    RecordedStep step{.layer = plan.graph.node(s.node).layer,
                      .phase = std::string(name_of(s.phase)),
                      .op = s.problem.op,
                      .problem = s.problem.str(),
                      .kernel = std::string(s.kernel_name()),
                      .variant = s.variant,
                      .why = s.why,
                      .variant_s = s.variant_s,
                      .refused = s.refused,
                      .flops = s.cost.flops(),
                      .bytes = s.cost.bytes(),
                      .workspace_bytes = s.workspace,
                      .stream = s.stream,
                      .charges = s.charges};
    for (const KernelLaunch& l : s.work.launches)
      step.launches.push_back({std::string(l.family), std::string(name_of(l.unit)), l.flops, l.bytes,
                               l.l2_bytes, l.tile, l.blocks, l.count});
    kept.steps.push_back(std::move(step));
  }
  if (plan.binding.streams == 1 && plan.binding.target.device.kind != DeviceKind::cpu) {
    const std::vector<bool> branches = fits_other_streams(plan);
    for (std::size_t s = 0; s < branches.size(); ++s) kept.steps[s].could_branch = branches[s];
  }
  return kept;
}

RunRecord start_record(std::string verb, std::vector<std::string> command) {
  RunRecord record{.verb = std::move(verb), .command = std::move(command)};
  record.program = version(), record.commit = commit(), record.compiler = compiler(), record.time = utc_now();
  return record;
}

Spread whole_spread(const RunRecord& record) {
  if (record.whole.samples > 0 || !record.measurement) return record.whole;
  return spread_of(record.measurement->run_s);
}

RunRecord::Model recorded_model(const Engine& engine) {
  return {engine.net().name, engine.parameter_count(), Json::parse(to_json_text(engine.net()))};
}

std::int64_t real_peak_bytes(const Engine& engine, const Plan& plan, const Resources& resources) {
  if (!engine.queues()) return resources.peak_rss_bytes;
  return static_cast<std::int64_t>(engine.storage().bytes() +
                                   std::max(engine.arena_bytes(), plan.arena_bytes));
}

void add_readings(RunRecord& record, const Plan& plan, const std::vector<PassReport>& passes,
                  const Prediction& prediction, const Measurement& measurement, std::int64_t real_bytes) {
  record.plan = record_plan(plan, passes);
  record.memory = RecordedMemory{memory_timeline(plan), real_bytes};
  record.prediction = prediction;
  record.measurement = measurement;
  record.layers = read_layers(plan, prediction, measurement);
}

Json epoch_json(const EpochResult& e, bool classifier) {
  Json json = {{"epoch", e.epoch}, {"loss", e.loss}, {"test_loss", e.test_loss}, {"seconds", e.seconds}};
  if (classifier) json["accuracy"] = {{"train", e.train_accuracy}, {"test", e.test_accuracy}};
  return json;
}

Json spread_json(const Spread& s) {
  return {{"median", s.median * 1e3}, {"p10", s.p10 * 1e3}, {"p90", s.p90 * 1e3}, {"samples", s.samples}};
}

// What the total is made of. Steps of several streams overlap, and copies run behind the step before: the
// parts may add up to more than it.
Json prediction_parts(const Plan& plan, const Prediction& p) {
  Json parts = {
      {"forward_ms", 0.0}, {"backward_ms", 0.0}, {"update_ms", 0.0}, {"copies_ms", p.copies_s * 1e3}};
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    Json& part = parts[fmt::format("{}_ms", name_of(plan.steps[s].phase))];
    part = part.get<double>() + p.steps[s].predicted_s * 1e3;
  }
  return parts;
}

Json prediction_json(const Plan& plan, const Prediction& p) {
  Json json = prediction_head(p);
  if (p.has_times) json["parts"] = prediction_parts(plan, p);
  json["layers"] = layers_json(read_layers(plan, p));
  json["steps"] = prediction_steps(p);
  return json;
}

Json to_json(const RunRecord& r) {
  Json json = {{"headroom_record", kRecordVersion},
               {"verb", r.verb},
               {"command", r.command},
               {"version", r.program},
               {"commit", r.commit},
               {"compiler", r.compiler},
               {"time", r.time}};
  if (r.machine) json["machine"] = to_json(*r.machine);
  if (r.model)
    json["model"] = {{"name", r.model->name}, {"parameters", r.model->parameters}, {"net", r.model->net}};
  if (!r.data.empty()) json["data"] = r.data;
  if (r.plan) json["plan"] = plan_json(*r.plan);
  if (r.memory) json["memory"] = memory_json(*r.memory);
  if (r.prediction) {
    json["prediction"] = prediction_head(*r.prediction);
    std::vector<LayerReading> predicted = r.layers;  // without the times of the other reading
    for (LayerReading& l : predicted) l.forward_s = l.backward_s = l.update_s = 0;
    json["prediction"]["layers"] = layers_json(predicted);
    json["prediction"]["steps"] = prediction_steps(*r.prediction);
  }
  if (r.measurement) json["measurement"] = measurement_json(r);
  if (r.training && !r.training->diverged.empty()) json["diverged"] = r.training->diverged;
  if (r.training && r.training->interrupted) json["interrupted"] = true;
  if (r.training)
    for (const EpochResult& e : r.training->epochs)
      json["curve"].push_back(epoch_json(e, r.training->classifier));
  if (r.training && !r.training->losses.empty())
    json["progress"] = {{"epoch_end_s", r.training->epoch_end_s},
                        {"loss_s", r.training->loss_s},
                        {"losses", r.training->losses}};
  if (r.samples) json["samples"] = to_json(*r.samples);
  for (const Sheet& sheet : r.tables) json["tables"].push_back(sheet.to_json());
  if (!r.ranks.is_null()) json["ranks"] = r.ranks;
  return json;
}

}  // namespace headroom
