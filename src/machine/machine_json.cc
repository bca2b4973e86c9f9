#include <algorithm>
#include <array>

#include "machine/machine.h"
#include "machine/machine_fields.h"

namespace headroom {
namespace {

using namespace machine_fields;

constexpr int kLeastCapability = 20;  // smaller numbers are slips: 9 for 9.0
constexpr std::array<const char*, 4> kBases = {"published", "computed", "assumed", "measured"};

Machine::Level level_from(const Json& json, std::string_view origin, std::size_t index, bool last) {
  const Fields fields(json, origin, fmt::format("levels[{}]", index));
  fields.only(std::initializer_list<const char*>{"name", "bytes", "bytes_per_s", "one_core_bytes_per_s"});
  const Range rate = last ? kMemoryRate : kCacheRate;
  return {.name = fields.text("name"),
          .bytes = fields.need_amount("bytes", last ? kMemoryBytes : kCacheBytes),
          .bytes_per_s = fields.amount("bytes_per_s", rate),
          .one_core_bytes_per_s = fields.amount("one_core_bytes_per_s", rate)};
}

std::vector<Machine::Level> levels_from(const Fields& fields, std::string_view origin) {
  const Json& list = fields.need("levels");
  if (!list.is_array() || list.empty()) fields.complain("levels", "is not a list of at least one level");
  std::vector<Machine::Level> levels;
  for (const Json& item : list) {
    Machine::Level level = level_from(item, origin, levels.size(), levels.size() + 1 == list.size());
    if (!levels.empty() && level.bytes < levels.back().bytes)
      fields.complain("levels", "is not in order: {} is smaller than the level before it", level.name);
    if (std::ranges::find(levels, level.name, &Machine::Level::name) != levels.end())
      fields.complain("levels", "has two levels named {}", level.name);
    levels.push_back(std::move(level));
  }
  if (levels.back().bytes_per_s <= 0)
    fields.complain("levels", "ends with {}, which has no bytes_per_s", levels.back().name);
  return levels;
}

Machine::LaunchCosts launch_from(const Fields& fields) {
  const Fields part = fields.part("launch", {"host_s", "graph_node_s", "wait_s", "synchronize_s"});
  return {part.amount("host_s", kDelay), part.amount("graph_node_s", kDelay), part.amount("wait_s", kDelay),
          part.amount("synchronize_s", kDelay)};
}

Machine::HostLink host_link_from(const Fields& fields) {
  const Fields part =
      fields.part("host_link", {"bytes_per_s", "upload", "download", "upload_pageable", "download_pageable"});
  return {part.amount("bytes_per_s", kLinkRate), part.amount("upload", kLinkRate),
          part.amount("download", kLinkRate), part.amount("upload_pageable", kLinkRate),
          part.amount("download_pageable", kLinkRate)};
}

Machine::RankLink rank_link_from(const Fields& fields) {
  const Fields part = fields.part("rank_link", {"ranks", "latency_s", "bytes_per_s"});
  return {part.count("ranks"), part.amount("latency_s", kDelay), part.amount("bytes_per_s", kLinkRate)};
}

Machine::Clocks clocks_from(const Fields& fields) {
  const Fields part = fields.part("clock_hz", {"base", "boost", "one_core"});
  return {part.amount("base", kClock), part.amount("boost", kClock), part.amount("one_core", kClock)};
}

bool covers(std::string_view parent, std::string_view field) {
  return field.starts_with(parent) && (field.size() == parent.size() || field[parent.size()] == '.');
}

// Whether `json` holds the field of a path: "levels.L2.bytes".
bool has_field(const Json& json, std::string_view path) {
  if (path.empty()) return json.is_number() || json.is_structured();
  const std::size_t dot = std::min(path.find('.'), path.size());
  const std::string name(path.substr(0, dot));
  const std::string_view rest = path.substr(std::min(dot + 1, path.size()));
  if (json.is_object()) return json.contains(name) && has_field(json.at(name), rest);
  return json.is_array() && std::ranges::any_of(json, [&](const Json& level) {
           return level.is_object() && level.value("name", Json()) == name && has_field(level, rest);
         });
}

// Every key has to name a figure of the file, or several; every word has to be one of the four.
void check_basis(const Machine& machine, const Json& json, const Fields& fields) {
  const Fields part = fields.part("basis");
  for (const auto& [key, word] : machine.basis) {
    if (std::ranges::find(kBases, word) == kBases.end())
      part.complain(key, "is '{}'; it must be one of {}", word, fmt::join(kBases, ", "));
    if (key != "default" && !has_field(json, key))
      part.complain(key, "names no figure of this file; a figure is, for example, 'peak_flops.fp32'");
  }
}

// Files from before launch costs and links had parts of their own are read as they were written.
Json with_current_names(Json json) {
  const auto move = [&](const char* old, const char* part, const char* name) {
    if (!json.contains(old)) return;
    json[part][name] = json.at(old);
    json.erase(old);
  };
  if (!json.is_object()) return json;
  if (!json.contains("launch")) move("launch_s", "launch", "host_s");
  if (!json.contains("host_link")) move("link_bytes_per_s", "host_link", "bytes_per_s");
  json.erase("extras");
  return json;
}

}  // namespace

Machine machine_from_json(const Json& written, std::string_view origin) {
  const Json json = with_current_names(written);
  if (json.is_object() && json.contains("kernel_times"))
    reject(Hint{"headroom predict gemm, with a table of sizes, takes it as its machine"},
           "{}: it holds the times of kernels, which predict those of a table, not a machine", origin);
  const Fields fields(json, origin, "");
  fields.only(std::initializer_list<const char*>{"name",
                                                 "aliases",
                                                 "title",
                                                 "kind",
                                                 "measured",
                                                 "compute_capability",
                                                 "cores",
                                                 "fp32_lanes",
                                                 "clock_hz",
                                                 "shared_bytes",
                                                 "register_bytes",
                                                 "peak_flops",
                                                 "one_core_peak_flops",
                                                 "burst_flops",
                                                 "sustained_flops",
                                                 "levels",
                                                 "launch",
                                                 "team_s",
                                                 "host_link",
                                                 "rank_link",
                                                 "peer_bytes_per_s",
                                                 "peer_gpus",
                                                 "vector_bytes",
                                                 "power_w",
                                                 "idle_w",
                                                 "basis",
                                                 "notes"});
  Machine machine{.name = fields.text("name", ""),
                  .aliases = fields.texts("aliases"),
                  .title = fields.text("title"),
                  .kind = fields.text("kind"),
                  .measured = fields.flag("measured"),
                  .peak_flops = fields.peaks("peak_flops"),
                  .one_core_peak_flops = fields.peaks("one_core_peak_flops"),
                  .levels = levels_from(fields, origin),
                  .launch = launch_from(fields),
                  .team_s = fields.amounts("team_s", kDelay),
                  .host_link = host_link_from(fields),
                  .peer_bytes_per_s = fields.amount("peer_bytes_per_s", kLinkRate),
                  .peer_gpus = fields.count("peer_gpus", 1024),
                  .rank_link = rank_link_from(fields),
                  .compute_capability = fields.count("compute_capability", 999),
                  .cores = fields.count("cores"),
                  .fp32_lanes = fields.count("fp32_lanes", 65536),
                  .clock_hz = clocks_from(fields),
                  .shared_bytes = fields.amount("shared_bytes", kOnChipBytes),
                  .register_bytes = fields.amount("register_bytes", kOnChipBytes),
                  .vector_bytes = fields.count("vector_bytes", 4096),
                  .power_w = fields.amount("power_w", kWatts),
                  .idle_w = fields.amount("idle_w", kWatts),
                  .burst_flops = fields.peaks("burst_flops"),
                  .sustained_flops = fields.peaks("sustained_flops"),
                  .basis = fields.words("basis"),
                  .notes = fields.texts("notes")};
  if (machine.kind != "gpu" && machine.kind != "cpu")
    fields.complain("kind", "is '{}'; it must be 'gpu' or 'cpu'", machine.kind);
  if (machine.compute_capability > 0 && machine.compute_capability < kLeastCapability)
    fields.complain("compute_capability",
                    "is {}; it must be ten times the version: 90 for compute capability 9.0",
                    machine.compute_capability);
  if (!machine.peak_flops.contains("fp32")) fields.complain("peak_flops.fp32", "is missing");
  check_basis(machine, json, fields);
  return machine;
}

std::string Machine::basis_of(std::string_view field) const {
  std::string_view nearest;
  for (const auto& [key, word] : basis)
    if (covers(key, field) && key.size() > nearest.size()) nearest = key;
  if (!nearest.empty()) return basis.at(std::string(nearest));
  const auto usual = basis.find("default");
  if (usual != basis.end()) return usual->second;
  return measured ? "measured" : "assumed";
}

}  // namespace headroom
