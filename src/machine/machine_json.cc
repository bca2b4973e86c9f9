#include <algorithm>
#include <array>
#include <cmath>
#include <initializer_list>

#include "base/error.h"
#include "base/json.h"
#include "base/text.h"
#include "machine/machine.h"

namespace headroom {
namespace {

constexpr std::array<const char*, 9> kPrecisions = {"fp64", "fp64_tensor", "fp32", "tf32", "fp16_vector",
                                                    "fp16", "bf16",        "fp8",  "fp4"};

// One JSON object being read; every error names the file, the path of the field and what is wrong.
class Fields {
 public:
  Fields(const Json& json, std::string_view origin, std::string path)
      : json_(json), origin_(origin), path_(std::move(path)) {
    if (!json.is_object()) complain("", "is {}, not an object", json.type_name());
  }

  const Json* find(const char* key) const {
    const auto found = json_.find(key);
    return found == json_.end() ? nullptr : &*found;
  }
  const Json& need(const char* key) const {
    const Json* value = find(key);
    if (value == nullptr) complain(key, "is missing");
    return *value;
  }

  std::string text(const char* key, const char* otherwise = nullptr) const {
    if (otherwise != nullptr && find(key) == nullptr) return otherwise;
    return string_of(need(key), key);
  }
  std::vector<std::string> texts(const char* key) const {
    std::vector<std::string> list;
    const Json* value = find(key);
    if (value == nullptr) return list;
    if (!value->is_array()) complain(key, "is {}, not a list", value->type_name());
    for (const Json& item : *value) list.push_back(string_of(item, key));
    return list;
  }
  // A rate, capacity or time: finite and above 0 if given; 0 if not given.
  double amount(const char* key) const { return find(key) == nullptr ? 0 : need_amount(key); }
  double need_amount(const char* key) const {
    const Json& value = need(key);
    if (!value.is_number()) complain(key, "is {}, not a number", value.type_name());
    const double number = value.get<double>();
    if (!std::isfinite(number) || number <= 0) complain(key, "is {}; it must be above 0", number);
    return number;
  }
  int count(const char* key) const {
    const double number = amount(key);
    if (number != std::floor(number) || number > 1e6)
      complain(key, "is {}, not a whole number from 0", number);
    return static_cast<int>(number);
  }
  bool flag(const char* key) const {
    const Json* value = find(key);
    if (value != nullptr && !value->is_boolean())
      complain(key, "is {}, not true or false", value->type_name());
    return value != nullptr && value->get<bool>();
  }

  std::map<std::string, double> peaks(const char* key) const {
    std::map<std::string, double> rates;
    if (find(key) == nullptr) return rates;
    const Fields inner(need(key), origin_, where(key));
    inner.only(kPrecisions);
    for (const auto& [precision, value] : inner.json_.items())
      rates[precision] = inner.need_amount(precision.c_str());
    return rates;
  }

  // An object of amounts; empty if absent.
  Fields part(const char* key, std::initializer_list<const char*> names) const {
    static const Json kNothing = Json::object();
    const Fields inner(find(key) == nullptr ? kNothing : need(key), origin_, where(key));
    inner.only(names);
    return inner;
  }

  template <class Names>
  void only(const Names& names) const {
    const std::vector<std::string> known(std::begin(names), std::end(names));
    for (const auto& [key, value] : json_.items())
      if (std::ranges::find(known, key) == known.end())
        throw Error(Blame::request, fmt::format("{}: unknown field '{}'", origin_, where(key)),
                    nearest(key, known));
  }

  template <class... Args>
  [[noreturn]] void complain(std::string_view key, fmt::format_string<Args...> what, Args&&... args) const {
    const std::string field = where(key);
    const std::string subject = field.empty() ? "the whole" : fmt::format("field '{}'", field);
    reject("{}: {} {}", origin_, subject, fmt::format(what, std::forward<Args>(args)...));
  }

 private:
  std::string where(std::string_view key) const {
    return key.empty() || path_.empty() ? path_ + std::string(key) : path_ + "." + std::string(key);
  }
  std::string string_of(const Json& value, const char* key) const {
    if (!value.is_string()) complain(key, "is {}, not text", value.type_name());
    return value.get<std::string>();
  }

  const Json& json_;
  std::string_view origin_;
  std::string path_;
};

Machine::Level level_from(const Json& json, std::string_view origin, std::size_t index) {
  const Fields fields(json, origin, fmt::format("levels[{}]", index));
  fields.only(std::initializer_list<const char*>{"name", "bytes", "bytes_per_s", "one_core_bytes_per_s"});
  return {.name = fields.text("name"),
          .bytes = fields.need_amount("bytes"),
          .bytes_per_s = fields.amount("bytes_per_s"),
          .one_core_bytes_per_s = fields.amount("one_core_bytes_per_s")};
}

std::vector<Machine::Level> levels_from(const Fields& fields, std::string_view origin) {
  const Json& list = fields.need("levels");
  if (!list.is_array() || list.empty()) fields.complain("levels", "is not a list of at least one level");
  std::vector<Machine::Level> levels;
  for (const Json& item : list) {
    levels.push_back(level_from(item, origin, levels.size()));
    if (levels.size() > 1 && levels.back().bytes < levels[levels.size() - 2].bytes)
      fields.complain("levels", "is not in order: {} is smaller than the level before it",
                      levels.back().name);
  }
  if (levels.back().bytes_per_s <= 0)
    fields.complain("levels", "ends with {}, which has no bytes_per_s", levels.back().name);
  return levels;
}

Machine::LaunchCosts launch_from(const Fields& fields) {
  const Fields part = fields.part("launch", {"host_s", "graph_node_s", "wait_s", "synchronize_s"});
  return {part.amount("host_s"), part.amount("graph_node_s"), part.amount("wait_s"),
          part.amount("synchronize_s")};
}

Machine::HostLink host_link_from(const Fields& fields) {
  const Fields part =
      fields.part("host_link", {"bytes_per_s", "upload", "download", "upload_pageable", "download_pageable"});
  return {part.amount("bytes_per_s"), part.amount("upload"), part.amount("download"),
          part.amount("upload_pageable"), part.amount("download_pageable")};
}

Machine::RankLink rank_link_from(const Fields& fields) {
  const Fields part = fields.part("rank_link", {"ranks", "latency_s", "bytes_per_s"});
  return {part.count("ranks"), part.amount("latency_s"), part.amount("bytes_per_s")};
}

// Writes only known amounts.
Json known(std::initializer_list<std::pair<const char*, double>> amounts) {
  Json json = Json::object();
  for (const auto& [name, value] : amounts)
    if (value > 0) json[name] = value;
  return json;
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
  const Fields fields(json, origin, "");
  fields.only(std::initializer_list<const char*>{
      "name", "aliases", "title", "kind", "measured", "compute_capability", "cores", "peak_flops",
      "one_core_peak_flops", "burst_flops", "sustained_flops", "levels", "launch", "host_link", "rank_link",
      "peer_bytes_per_s", "vector_bytes", "power_w", "notes"});
  Machine machine{.name = fields.text("name", ""),
                  .aliases = fields.texts("aliases"),
                  .title = fields.text("title"),
                  .kind = fields.text("kind"),
                  .measured = fields.flag("measured"),
                  .peak_flops = fields.peaks("peak_flops"),
                  .one_core_peak_flops = fields.peaks("one_core_peak_flops"),
                  .levels = levels_from(fields, origin),
                  .launch = launch_from(fields),
                  .host_link = host_link_from(fields),
                  .peer_bytes_per_s = fields.amount("peer_bytes_per_s"),
                  .rank_link = rank_link_from(fields),
                  .compute_capability = fields.count("compute_capability"),
                  .cores = fields.count("cores"),
                  .vector_bytes = fields.count("vector_bytes"),
                  .power_w = fields.amount("power_w"),
                  .burst_flops = fields.peaks("burst_flops"),
                  .sustained_flops = fields.peaks("sustained_flops"),
                  .notes = fields.texts("notes")};
  if (machine.kind != "gpu" && machine.kind != "cpu")
    fields.complain("kind", "is '{}'; it must be 'gpu' or 'cpu'", machine.kind);
  if (!machine.peak_flops.contains("fp32")) fields.complain("peak_flops.fp32", "is missing");
  return machine;
}

Json to_json(const Machine& machine) {
  Json json;
  auto put = [&](const char* key, const auto& value) {
    if (value != std::decay_t<decltype(value)>{}) json[key] = value;
  };
  // In order of precision, not of the alphabet, as in the built-in files.
  auto put_peaks = [&](const char* key, const std::map<std::string, double>& peaks) {
    for (const char* precision : kPrecisions)
      if (const auto found = peaks.find(precision); found != peaks.end())
        json[key][precision] = found->second;
  };
  put("name", machine.name);
  put("aliases", machine.aliases);
  json["title"] = machine.title;
  json["kind"] = machine.kind;
  put("measured", machine.measured);
  put("compute_capability", machine.compute_capability);
  put("cores", machine.cores);
  put_peaks("peak_flops", machine.peak_flops);
  put_peaks("one_core_peak_flops", machine.one_core_peak_flops);
  for (const Machine::Level& level : machine.levels) {
    Json item{{"name", level.name}, {"bytes", level.bytes}};
    if (level.bytes_per_s > 0) item["bytes_per_s"] = level.bytes_per_s;
    if (level.one_core_bytes_per_s > 0) item["one_core_bytes_per_s"] = level.one_core_bytes_per_s;
    json["levels"].push_back(item);
  }
  auto put_part = [&](const char* key, Json part) {
    if (!part.empty()) json[key] = std::move(part);
  };
  const Machine::LaunchCosts& launch = machine.launch;
  put_part("launch", known({{"host_s", launch.host_s},
                            {"graph_node_s", launch.graph_node_s},
                            {"wait_s", launch.wait_s},
                            {"synchronize_s", launch.synchronize_s}}));
  const Machine::HostLink& link = machine.host_link;
  put_part("host_link", known({{"bytes_per_s", link.bytes_per_s},
                               {"upload", link.upload},
                               {"download", link.download},
                               {"upload_pageable", link.upload_pageable},
                               {"download_pageable", link.download_pageable}}));
  put("peer_bytes_per_s", machine.peer_bytes_per_s);
  const Machine::RankLink& ranks = machine.rank_link;
  put_part(
      "rank_link",
      known({{"ranks", ranks.ranks}, {"latency_s", ranks.latency_s}, {"bytes_per_s", ranks.bytes_per_s}}));
  put("vector_bytes", machine.vector_bytes);
  put("power_w", machine.power_w);
  put_peaks("burst_flops", machine.burst_flops);
  put_peaks("sustained_flops", machine.sustained_flops);
  put("notes", machine.notes);
  return json;
}

}  // namespace headroom
