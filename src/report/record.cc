#include "report/record.h"

#include <ctime>

#include "base/version.h"
#include "report/layers.h"

namespace headroom {
namespace {

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

Json step_json(const Plan& plan, std::size_t index) {
  const Step& s = plan.steps[index];
  Json refused = Json::array();
  for (const Refusal& r : s.refused) refused.push_back({{"kernel", r.kernel}, {"reason", r.reason}});
  return {{"step", index},
          {"layer", plan.graph.node(s.node).layer},
          {"phase", name_of(s.phase)},
          {"op", s.problem.op},
          {"problem", s.problem.str()},
          {"kernel", s.kernel_name()},
          {"why", s.why},
          {"refused", refused},
          {"flops", s.cost.flops()},
          {"bytes", s.cost.bytes()},
          {"work", {{"flops", s.work.flops}, {"bytes", s.work.bytes}, {"efficiency", s.work.efficiency}}},
          {"workspace_bytes", s.workspace},
          {"charges", charges_json(s.charges)}};
}

Json measurement_json(const RunRecord& r) {
  const TrainResult& t = *r.result;
  Json steps = Json::array();
  for (std::size_t s = 0; s < t.plan_steps.size(); ++s) {
    Json item = {{"step", s}};
    item.update(spread_json(t.plan_steps[s]));
    steps.push_back(item);
  }
  return {{"device", r.plan->binding.capabilities.name},
          {"threads", r.plan->binding.capabilities.threads},
          {"step_ms", spread_json(spread_of(t.step_seconds))},
          {"images_per_s", t.train_seconds > 0 ? double(t.images) / t.train_seconds : 0},
          {"train_s", t.train_seconds},
          {"eval_s", t.eval_seconds},
          {"wall_s", r.wall_s},
          {"user_s", r.resources.user_s},
          {"system_s", r.resources.system_s},
          {"peak_rss_bytes", r.resources.peak_rss_bytes},
          {"steps", steps},
          {"layers", layers_json(read_layers(*r.plan, *r.prediction, t.plan_steps))}};
}

Json curve_json(const TrainResult& t, bool classifier) {
  Json list = Json::array();
  for (const EpochResult& e : t.state.epochs) list.push_back(epoch_json(e, classifier));
  return list;
}

}  // namespace

Json epoch_json(const EpochResult& e, bool classifier) {
  Json json = {{"epoch", e.epoch}, {"loss", e.loss}, {"test_loss", e.test_loss}, {"seconds", e.seconds}};
  if (classifier) json["accuracy"] = {{"train", e.train_accuracy}, {"test", e.test_accuracy}};
  return json;
}

Json spread_json(const Spread& s) {
  return {{"median", s.median * 1e3}, {"p10", s.p10 * 1e3}, {"p90", s.p90 * 1e3}, {"samples", s.samples}};
}

Json plan_json(const Plan& plan) {
  Json steps = Json::array();
  for (std::size_t s = 0; s < plan.steps.size(); ++s) steps.push_back(step_json(plan, s));
  return {{"mode", name_of(plan.binding.mode)},
          {"batch", plan.binding.batch},
          {"precision", name_of(plan.binding.precision)},
          {"device", plan.binding.capabilities.name},
          {"arena_bytes", plan.arena_bytes},
          {"unshared_bytes", plan.unshared_bytes},
          {"steps", steps}};
}

Json prediction_json(const Plan& plan, const Prediction& p) {
  Json steps = Json::array();
  for (std::size_t s = 0; s < p.steps.size(); ++s) {
    Json item = {{"step", s}, {"floor_ms", p.steps[s].floor_s * 1e3}, {"bound", p.steps[s].bound}};
    if (p.has_times) item["predicted_ms"] = p.steps[s].predicted_s * 1e3;
    steps.push_back(item);
  }
  Json json = {{"machine", p.machine}, {"floor_ms", p.floor_s * 1e3}};
  if (p.has_times) json["predicted_ms"] = p.predicted_s * 1e3;
  json["layers"] = layers_json(read_layers(plan, p));
  json["steps"] = steps;
  return json;
}

Json to_json(const RunRecord& r) {
  Json json = {{"headroom_record", kRecordVersion},
               {"command", r.command},
               {"version", version()},
               {"commit", commit()},
               {"compiler", compiler()},
               {"time", utc_now()},
               {"machine", to_json(*r.machine)},
               {"model",
                {{"name", r.engine->net().name},
                 {"parameters", r.engine->parameter_count()},
                 {"net", Json::parse(to_json_text(r.engine->net()))}}},
               {"data", r.data},
               {"plan", plan_json(*r.plan)},
               {"prediction", prediction_json(*r.plan, *r.prediction)},
               {"measurement", measurement_json(r)},
               {"curve", curve_json(*r.result, r.engine->net().loss != kReconstruction)}};
  if (r.ranks != nullptr) json["ranks"] = to_json(*r.ranks);
  return json;
}

}  // namespace headroom
