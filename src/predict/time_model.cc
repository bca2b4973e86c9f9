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

// Two factors of a predicted time: one of at most 1, one of at least 1.
TimeModel::Factors factors_from(const Json& json, const char* key, std::string_view origin) {
  if (!json.contains(key)) return {};
  const Json& pair = json.at(key);
  if (!pair.is_array() || pair.size() != 2 || !pair[0].is_number() || !pair[1].is_number() ||
      !(pair[0].get<double>() > 0) || pair[0].get<double>() > 1 || pair[1].get<double>() < 1)
    reject("{}: '{}' must be two factors, one of at most 1 and one of at least 1", origin, key);
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

// The machine waited for one kernel. Its own time is none of the wait, and the host's call to wait costs
// nothing beside a run that goes on meanwhile.
double TimeModel::wait_s(const Machine& machine) const {
  if (machine.kind == "cpu") return 0;
  const Machine::LaunchCosts& launch = machine.launch;
  return std::max(0.0, launch.wait_s - launch.synchronize_s - launch.graph_node_s);
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

DType product_type(const Problem& p) {
  const bool bytes = p.inputs.size() > 1 && is_8bit(p.inputs[0].dtype) && is_8bit(p.inputs[1].dtype);
  return bytes ? DType::i8 : float_type(p);
}

double product_peak(const Machine& machine, DType dtype, bool tf32) {
  // GPUs have kernels that split a factor in parts of 16 bits and add up three products.
  const bool splits = machine.kind != "cpu";
  const double fp32 = std::max(rate(machine, "fp32"),
                               splits ? std::max(rate(machine, "fp16"), rate(machine, "bf16")) / 3 : 0);
  switch (dtype) {
    case DType::f64:
      return std::max(rate(machine, "fp64"), rate(machine, "fp64_tensor"));
    case DType::f16:
      return std::max({fp32, rate(machine, "fp16"), rate(machine, "fp16_vector")});
    case DType::bf16:
      return std::max(fp32, rate(machine, "bf16"));
    case DType::i8:
      return std::max(fp32, rate(machine, "int8"));
    default:
      return tf32 ? std::max(fp32, rate(machine, "tf32")) : fp32;
  }
}

double vector_peak(const Machine& machine, DType dtype) {
  if (dtype == DType::f64) return rate(machine, "fp64");
  if (dtype == DType::f16) return std::max(rate(machine, "fp32"), rate(machine, "fp16_vector"));
  return rate(machine, "fp32");
}

ConstantsModel::ConstantsModel(std::string_view text, std::string_view origin) {
  const Json json = parse_object(text, origin);
  if (!json.contains("name") || !json.at("name").is_string()) reject("{}: a time model has a 'name'", origin);
  name_ = json.at("name").get<std::string>();
  basis_ = basis_named(json.value("basis", "assumed"));
  factors_ = factors_from(json, "interval", origin);
  run_factors_ = json.contains("run_interval") ? factors_from(json, "run_interval", origin) : factors_;
  add_kinds(json, origin);
  if (!has("plain")) reject("{}: kind 'plain' is missing", origin);
}

void ConstantsModel::add_kinds(std::string_view text, std::string_view origin) {
  add_kinds(parse_object(text, origin), origin);
}

void ConstantsModel::add_kinds(const Json& json, std::string_view origin) {
  if (!json.contains("kinds") || !json.at("kinds").is_object())
    reject("{}: a time model has 'kinds' of steps", origin);
  for (const auto& [name, constants] : json.at("kinds").items()) {
    if (!constants.is_object()) reject("{}: kind '{}' is not an object", origin, name);
    Kind kind{.shares = {.efficiency = 1,
                         .half_m = 0,
                         .half_n = 0,
                         .half_k = 0,
                         .memory_share = 1,
                         .cache_share = 0,  // as memory_share
                         .start_s = 0}};
    double chain_ns = 0, stage_ns = 0;
    const std::pair<const char*, double*> fields[] = {{"efficiency", &kind.shares.efficiency},
                                                      {"half_m", &kind.shares.half_m},
                                                      {"half_n", &kind.shares.half_n},
                                                      {"half_k", &kind.shares.half_k},
                                                      {"memory_share", &kind.shares.memory_share},
                                                      {"cache_share", &kind.shares.cache_share},
                                                      {"starts", &kind.starts},
                                                      {"chain_ns", &chain_ns},
                                                      {"stage_ns", &stage_ns}};
    for (const auto& [field, value] : fields) {
      if (!constants.contains(field)) continue;
      if (!constants.at(field).is_number() || !(constants.at(field).get<double>() > 0))
        reject("{}: kind '{}': '{}' must be a number above 0", origin, name, field);
      *value = constants.at(field).get<double>();
    }
    kind.shares.chain_s = chain_ns * 1e-9, kind.shares.stage_s = stage_ns * 1e-9;
    if (kind.shares.cache_share == 0) kind.shares.cache_share = kind.shares.memory_share;
    kinds_.emplace(name, kind);
  }
}

const ConstantsModel::Kind& ConstantsModel::kind_of(const StepAmounts& amounts) const {
  for (const std::string& name : {amounts.kind, amounts.family})
    if (const auto it = kinds_.find(name); it != kinds_.end()) return it->second;
  return kinds_.at("plain");
}

StepTime ConstantsModel::time(const Step& step, const Machine& machine, const Target& target) const {
  const StepAmounts amounts = amounts_of(step, machine, target);
  const Kind& kind = kind_of(amounts);
  StepConstants constants = kind.shares;
  constants.start_s = kind.starts * machine.start_s();
  const StepTimeParts parts = parts_of(amounts, constants);
  const double seconds = parts.seconds();
  return {.seconds = seconds,
          .low = factors_.low * seconds,
          .high = factors_.high * seconds,
          .busy = parts.busy(),
          .bound = bound_of(parts, amounts)};
}

const TimeModel& default_time_model(const Machine& machine) {
  static const auto text_of = [](const std::string& name) -> std::string_view {
    for (const EmbeddedFile& file : embedded_time_models())
      if (file.name == name) return file.text;
    fail("the built-in time model '{}' is missing", name);
  };
  static const auto built_in = [](const std::string& kind) {
    ConstantsModel model(text_of(kind), fmt::format("built-in time model {}", kind));
    model.add_kinds(text_of(kind + "-rungs"), fmt::format("built-in time model {}-rungs", kind));
    return model;
  };
  static const ConstantsModel cpu = built_in("cpu"), gpu = built_in("gpu");
  return machine.kind == "cpu" ? cpu : gpu;
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
