#include "predict/time_model.h"

#include <algorithm>

#include "base/embedded.h"
#include "base/json.h"
#include "ops/all_reduce/all_reduce.h"

namespace headroom {
namespace {

double rate(const Machine& m, const char* name) {
  const auto it = m.peak_flops.find(name);
  return it == m.peak_flops.end() ? 0 : it->second;
}

RooflineModel::Family family_from(const Json& json, std::string_view origin, const std::string& name) {
  RooflineModel::Family family;
  const auto read = [&](const char* field, double& value, bool required) {
    if (!required && !json.contains(field)) return;
    if (!json.contains(field) || !json.at(field).is_number() || !(json.at(field).get<double>() > 0))
      reject("{}: family '{}': '{}' must be a number above 0", origin, name, field);
    value = json.at(field).get<double>();
  };
  if (!json.is_object()) reject("{}: family '{}' is not an object", origin, name);
  read("efficiency", family.efficiency, true);
  read("half_extent", family.half_extent, false);
  return family;
}

// "interval": [low, high], factors of a predicted time.
TimeModel::Factors interval_from(const Json& json, std::string_view origin) {
  if (!json.contains("interval")) return {};
  const Json& pair = json.at("interval");
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number() ||
      !(pair[0].get<double>() > 0) || pair[0].get<double>() > 1 || pair[1].get<double>() < 1)
    reject("{}: 'interval' must be two factors, one of at most 1 and one of at least 1", origin);
  return {pair[0].get<double>(), pair[1].get<double>()};
}

}  // namespace

std::string_view name_of(TimeModel::Basis basis) {
  switch (basis) {
    case TimeModel::Basis::calibrated:
      return "calibrated";
    case TimeModel::Basis::shared:
      return "shared";
    default:
      return "assumed";
  }
}

TimeModel::Basis basis_named(std::string_view name) {
  for (const auto basis : {TimeModel::Basis::calibrated, TimeModel::Basis::shared})
    if (name == name_of(basis)) return basis;
  return TimeModel::Basis::assumed;
}

DType float_type(const Problem& p) {
  for (const auto* list : {&p.outputs, &p.inputs})
    for (const TensorType& type : *list)
      if (is_float(type.dtype)) return type.dtype;
  return DType::f32;
}

double product_peak(const Machine& machine, DType dtype, bool tf32) {
  const double fp32 = std::max({rate(machine, "fp32"), rate(machine, "fp16") / 3, rate(machine, "bf16") / 3});
  switch (dtype) {
    case DType::f64:
      return std::max(rate(machine, "fp64"), rate(machine, "fp64_tensor"));
    case DType::f16:
      return std::max({fp32, rate(machine, "fp16"), rate(machine, "fp16_vector")});
    case DType::bf16:
      return std::max(fp32, rate(machine, "bf16"));
    default:
      return tf32 ? std::max(fp32, rate(machine, "tf32")) : fp32;
  }
}

double vector_peak(const Machine& machine, DType dtype) {
  if (dtype == DType::f64) return rate(machine, "fp64");
  if (dtype == DType::f16) return std::max(rate(machine, "fp32"), rate(machine, "fp16_vector"));
  return rate(machine, "fp32");
}

RooflineModel::RooflineModel(std::string_view text, std::string_view origin) {
  const Json json = parse_object(text, origin);
  if (!json.contains("name") || !json.at("name").is_string() || !json.contains("families") ||
      !json.at("families").is_object())
    reject("{}: a time model has a 'name' and 'families'", origin);
  name_ = json.at("name").get<std::string>();
  factors_ = interval_from(json, origin);
  for (const auto& [family, constants] : json.at("families").items())
    families_[family] = family_from(constants, origin, family);
  if (!has("plain")) reject("{}: family 'plain' is missing", origin);
}

double RooflineModel::efficiency(const KernelLaunch& launch) const {
  const auto it = families_.find(launch.family);
  if (it == families_.end()) fail("time model '{}' has no family '{}'", name_, launch.family);
  double share = it->second.efficiency * launch.useful;
  for (const std::int64_t extent : {launch.extent.m, launch.extent.n, launch.extent.k})
    if (extent > 0) share *= double(extent) / (double(extent) + it->second.half_extent);
  return share;
}

StepTime RooflineModel::time(const Step& step, const Machine& machine, const Target& target) const {
  const double products = product_peak(machine, float_type(step.problem), target.policy.tf32);
  const double moved = step.work.bytes() + static_cast<double>(step.workspace);
  const Machine::Level& level = machine.level_for(moved);
  const double memory = time_at(step.work.bytes(), level.bytes_per_s),
               launches = step.work.launch_count() * machine.launch.host_s;
  double compute = 0;
  for (const KernelLaunch& launch : step.work.launches)
    compute += time_at(launch.flops, products * efficiency(launch));
  const double busy = std::max(compute, memory), seconds = busy + launches;
  return {.seconds = seconds,
          .low = factors_.low * seconds,
          .high = factors_.high * seconds,
          .busy = busy,
          .bound = launches > busy     ? "launch"
                   : compute >= memory ? "compute"
                                       : level.name};
}

const TimeModel& default_time_model() {
  static const RooflineModel model = [] {
    for (const EmbeddedFile& file : embedded_time_models())
      if (file.name == "roofline") return RooflineModel(file.text, "built-in time model roofline");
    fail("the built-in time model is missing");
  }();
  return model;
}

double exchange_seconds(const Step& step, const Machine& machine, const Target& target) {
  const Exchange exchange = awaited_of(step.problem);
  const Machine::RankLink& link = machine.rank_link;
  if (exchange.calls == 0 || link.ranks == 0) return 0;
  const double ranks = target.ranks.parts(exchange.group);
  if (ranks < 2) return 0;
  return double(exchange.calls) * link.latency_s +
         2 * (ranks - 1) / ranks * double(exchange.bytes) / link.bytes_per_s;
}

}  // namespace headroom
