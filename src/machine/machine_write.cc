#include "machine/machine.h"
#include "machine/machine_fields.h"

namespace headroom {
namespace {

// Writes only known amounts.
Json known_amounts(std::initializer_list<std::pair<const char*, double>> amounts) {
  Json json = Json::object();
  for (const auto& [name, value] : amounts)
    if (value > 0) json[name] = value;
  return json;
}

// In order of precision, not of the alphabet, as in the built-in files.
Json peaks_json(const std::map<std::string, double>& peaks) {
  Json json = Json::object();
  for (const char* precision : machine_fields::kPrecisions)
    if (const auto found = peaks.find(precision); found != peaks.end()) json[precision] = found->second;
  return json;
}

Json levels_json(const std::vector<Machine::Level>& levels) {
  Json json = Json::array();
  for (const Machine::Level& level : levels) {
    Json item{{"name", level.name}, {"bytes", level.bytes}};
    item.update(known_amounts(
        {{"bytes_per_s", level.bytes_per_s}, {"one_core_bytes_per_s", level.one_core_bytes_per_s}}));
    json.push_back(std::move(item));
  }
  return json;
}

Json launch_json(const Machine::LaunchCosts& launch) {
  return known_amounts({{"host_s", launch.host_s},
                        {"graph_node_s", launch.graph_node_s},
                        {"wait_s", launch.wait_s},
                        {"synchronize_s", launch.synchronize_s}});
}

Json host_link_json(const Machine::HostLink& link) {
  return known_amounts({{"bytes_per_s", link.bytes_per_s},
                        {"upload", link.upload},
                        {"download", link.download},
                        {"upload_pageable", link.upload_pageable},
                        {"download_pageable", link.download_pageable}});
}

Json rank_link_json(const Machine::RankLink& link) {
  return known_amounts(
      {{"ranks", link.ranks}, {"latency_s", link.latency_s}, {"bytes_per_s", link.bytes_per_s}});
}

// "default" first, then by name.
Json basis_json(const std::map<std::string, std::string>& basis) {
  Json json = Json::object();
  if (const auto usual = basis.find("default"); usual != basis.end()) json["default"] = usual->second;
  for (const auto& [field, word] : basis) json[field] = word;
  return json;
}

// Paths of the numbers below `json`. A level is named, not counted.
void add_figures(const Json& json, const std::string& path, std::vector<std::string>& figures) {
  if (json.is_number()) return figures.push_back(path);
  if (!json.is_structured()) return;
  for (const auto& [key, value] : json.items()) {
    const std::string name = json.is_array() && value.is_object() ? value.at("name").get<std::string>() : key;
    add_figures(value, path.empty() ? name : path + "." + name, figures);
  }
}

}  // namespace

Json to_json(const Machine& machine) {
  Json json;
  auto put = [&](const char* key, const auto& value) {
    if (value != std::decay_t<decltype(value)>{}) json[key] = value;
  };
  auto put_part = [&](const char* key, Json part) {
    if (!part.empty()) json[key] = std::move(part);
  };
  const Machine::Clocks& clock = machine.clock_hz;
  put("name", machine.name);
  put("aliases", machine.aliases);
  json["title"] = machine.title;
  json["kind"] = machine.kind;
  put("measured", machine.measured);
  put("compute_capability", machine.compute_capability);
  put("cores", machine.cores);
  put("fp32_lanes", machine.fp32_lanes);
  put_part("clock_hz",
           known_amounts({{"base", clock.base}, {"boost", clock.boost}, {"one_core", clock.one_core}}));
  put("shared_bytes", machine.shared_bytes);
  put("register_bytes", machine.register_bytes);
  put("vector_bytes", machine.vector_bytes);
  put_part("peak_flops", peaks_json(machine.peak_flops));
  put_part("one_core_peak_flops", peaks_json(machine.one_core_peak_flops));
  put_part("burst_flops", peaks_json(machine.burst_flops));
  put_part("sustained_flops", peaks_json(machine.sustained_flops));
  put_part("levels", levels_json(machine.levels));
  put_part("launch", launch_json(machine.launch));
  put("team_s", machine.team_s);
  put_part("host_link", host_link_json(machine.host_link));
  put("peer_bytes_per_s", machine.peer_bytes_per_s);
  put("peer_gpus", machine.peer_gpus);
  put_part("rank_link", rank_link_json(machine.rank_link));
  put("power_w", machine.power_w);
  put("idle_w", machine.idle_w);
  put_part("basis", basis_json(machine.basis));
  put("notes", machine.notes);
  return json;
}

std::vector<std::string> figures_of(const Machine& machine) {
  std::vector<std::string> figures;
  add_figures(to_json(machine), "", figures);
  return figures;
}

}  // namespace headroom
