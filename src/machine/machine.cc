#include "machine/machine.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <optional>
#include <set>
#include <system_error>

#include "base/embedded.h"
#include "base/error.h"
#include "base/file.h"
#include "base/json.h"
#include "base/text.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

bool measured_here(std::string_view name) { return name == "here" || name == "here-gpu"; }

Machine parse(std::string_view text, std::string_view origin, const Hint& hint) {
  return machine_from_json(parse_object(text, origin, hint), origin);
}

Machine load_file(const fs::path& path, Hint hint) {
  const std::string text = read_file(path);
  try {
    Machine machine = parse(text, path.string(), hint);
    if (machine.name.empty()) machine.name = path.stem().string();
    return machine;
  } catch (const Error& error) {
    if (!error.hint().empty()) throw;
    throw Error(error.blame(), error.what(), std::move(hint));
  }
}

// One spelling of the many that drivers, data sheets and people use: "NVIDIA_H100_80GB_HBM3" and
// "h100-80gb-hbm3" are the same. Vendors and product lines do not tell devices apart.
std::string plain_name(std::string_view name) {
  std::string plain;
  for (const char c : name)
    plain += c == ' ' || c == '_' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const std::string_view word : {"nvidia-", "tesla-", "geforce-", "quadro-", "intel-", "amd-"})
    if (plain.starts_with(word) && plain.size() > word.size()) plain.erase(0, word.size());
  return plain;
}

Machine load_builtin(const EmbeddedFile& file) {
  return parse(file.text, fmt::format("built-in machine {}", file.name), {});
}

// Other names of the built-in machines. They are inside the files, so only a name without a file pays for
// reading them all, once.
const std::map<std::string, const EmbeddedFile*>& builtin_aliases() {
  static const auto aliases = [] {
    std::map<std::string, const EmbeddedFile*> names;
    for (const EmbeddedFile& file : embedded_machines()) {
      const Json json = parse_object(file.text, file.name);
      if (const auto list = json.find("aliases"); list != json.end())
        for (const Json& alias : *list) names[plain_name(alias.get<std::string>())] = &file;
    }
    return names;
  }();
  return aliases;
}

// The stems of the user's machine files, in order; empty if there is no such folder.
std::vector<std::string> saved_names() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(cache_dir() / "machines", error))
    if (entry.path().extension() == ".json") names.push_back(entry.path().stem().string());
  std::ranges::sort(names);
  return names;
}

// The stem of the user's file of this plain name; empty if there is none.
std::string saved_as(std::string_view plain) {
  for (const std::string& stem : saved_names())
    if (plain_name(stem) == plain) return stem;
  return {};
}

Machine load_saved(std::string_view stem) {
  Machine machine = load_file(
      machine_file(stem),
      {measured_here(stem) ? "run `headroom roofline` to measure it again" : "correct or delete that file"});
  machine.name = stem;  // even if the file is an edited copy of another
  return machine;
}

// The user's machine with this alias. A damaged file has none.
std::optional<Machine> saved_with_alias(std::string_view plain) {
  for (const std::string& stem : saved_names()) {
    try {
      Machine machine = load_saved(stem);
      if (std::ranges::find(machine.aliases, plain, plain_name) != machine.aliases.end()) return machine;
    } catch (const Error&) {
      continue;
    }
  }
  return std::nullopt;
}

// By its name or an alias; null: none is called so.
const EmbeddedFile* builtin_called(const std::string& plain) {
  for (const EmbeddedFile& file : embedded_machines())
    if (plain == file.name) return &file;
  const auto& aliases = builtin_aliases();
  const auto found = aliases.find(plain);
  return found == aliases.end() ? nullptr : found->second;
}

bool is_path(std::string_view name) { return name.find('/') != name.npos || name.ends_with(".json"); }

}  // namespace

const Machine::Level& Machine::level_for(double bytes) const {
  const Level* fastest = nullptr;
  for (const Level& level : levels) {
    const bool holds = bytes <= level.bytes || &level == &memory();
    if (!holds || level.bytes_per_s <= 0) continue;
    if (fastest == nullptr || level.bytes_per_s > fastest->bytes_per_s) fastest = &level;
  }
  return fastest == nullptr ? memory() : *fastest;
}

double Machine::start_s() const {
  constexpr double kUsualOfGpu = 3e-6, kUsualOfCpu = 1e-6;
  return launch.host_s > 0 ? launch.host_s : kind == "cpu" ? kUsualOfCpu : kUsualOfGpu;
}

Machine with_threads(Machine machine, int threads) {
  constexpr double kMemoryRateOfCore = 20e9;  // assumed: what one core of a server draws
  if (machine.kind != "cpu" || threads <= 0 || threads >= machine.cores) return machine;
  const double share = double(threads) / machine.cores;
  for (auto& [unit, rate] : machine.peak_flops) {
    const auto one = machine.one_core_peak_flops.find(unit);
    rate = one == machine.one_core_peak_flops.end() ? rate * share : std::min(rate, threads * one->second);
  }
  for (Machine::Level& level : machine.levels) {
    const bool is_memory = &level == &machine.levels.back(),
               is_private = level.name == "L1" || level.name == "L2";
    const double of_core = level.one_core_bytes_per_s > 0 ? level.one_core_bytes_per_s
                           : is_memory                    ? kMemoryRateOfCore
                                                          : level.bytes_per_s / machine.cores;
    if (level.bytes_per_s > 0) level.bytes_per_s = std::min(level.bytes_per_s, threads * of_core);
    if (is_private) level.bytes *= share;
  }
  machine.cores = threads;
  return machine;
}

fs::path machine_file(std::string_view name) {
  return cache_dir() / "machines" / (std::string(name) + ".json");
}

std::vector<std::string> machine_names() {
  std::vector<std::string> names = saved_names();
  std::set<std::string, std::less<>> saved;
  for (const std::string& name : names) saved.insert(plain_name(name));
  for (const EmbeddedFile& file : embedded_machines())
    if (!saved.contains(file.name)) names.emplace_back(file.name);
  std::ranges::sort(names);
  return names;
}

Machine find_machine(std::string_view name) {
  if (is_path(name))
    return load_file(fs::path(name), {"headroom machine show h200 `json` prints an example"});
  if (name.empty()) reject(Hint{"`headroom machine list` shows them"}, "the name of a machine is empty");

  if (std::error_code error; fs::exists(machine_file(name), error)) return load_saved(name);
  if (measured_here(name))
    reject(Hint{"run `headroom roofline` first"}, "{} has not been measured yet",
           name == "here" ? "this machine" : "the GPU of this machine");

  const std::string plain = plain_name(name);
  if (const std::string stem = saved_as(plain); !stem.empty()) return load_saved(stem);
  if (const EmbeddedFile* file = builtin_called(plain)) {
    const std::string edited = saved_as(file->name);
    return edited.empty() ? load_builtin(*file) : load_saved(edited);
  }
  if (std::optional<Machine> machine = saved_with_alias(plain)) return *std::move(machine);
  std::vector<std::string> known = machine_names();
  for (const auto& [alias, file] : builtin_aliases()) known.push_back(alias);
  reject(nearest(plain, known), "unknown machine '{}'", name);
}

void save_machine(const Machine& machine) {
  if (machine.name.empty() || is_path(machine.name))
    reject("'{}' cannot be the name of a saved machine", machine.name);
  const fs::path path = machine_file(machine.name);
  std::error_code error;
  fs::create_directories(path.parent_path(), error);
  if (error) reject("cannot create {}: {}", path.parent_path().string(), error.message());
  write_file(path, to_json(machine).dump(2) + "\n");
}

Machine with_saved_link(Machine machine) {
  std::error_code error;
  if (!fs::exists(machine_file(machine.name), error)) return machine;
  try {
    const Machine saved = find_machine(machine.name);
    if (machine.rank_link.ranks == 0) machine.rank_link = saved.rank_link;
  } catch (const Error&) {
    // A damaged file has no link.
  }
  return machine;
}

}  // namespace headroom
