#include "plan/tuning_table.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/file.h"
#include "base/json.h"
#include "base/text.h"
#include "base/units.h"

namespace headroom {
namespace {

namespace fs = std::filesystem;

Json line_of(const TuningKey& key, const Tuned& tuned) {
  Json candidates = Json::object();
  for (const Tuned::Candidate& c : tuned.candidates) candidates[c.name] = c.seconds * 1e6;
  return {{"problem", key.problem},     {"kernel", key.kernel},     {"device", key.device},
          {"libraries", key.libraries}, {"variant", tuned.variant}, {"us", tuned.seconds * 1e6},
          {"candidates_us", candidates}};
}

std::pair<TuningKey, Tuned> parse_line(const std::string& line) {
  const Json json = Json::parse(line);
  const auto text = [&](const char* name) { return json.at(name).get<std::string>(); };
  TuningKey key{text("problem"), text("kernel"), text("device"), text("libraries")};
  Tuned tuned{key.kernel, text("variant"), json.at("us").get<double>() / 1e6, {}};
  for (const auto& [name, us] : json.at("candidates_us").items())
    tuned.candidates.push_back({name, us.get<double>() / 1e6});
  return {std::move(key), std::move(tuned)};
}

// Appends a whole line even if other processes write. Ends a line that a killed process left open.
void append_line(const fs::path& file, std::string line) {
  std::error_code ignored;
  fs::create_directories(file.parent_path(), ignored);
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (fd < 0) fail("{}", std::strerror(errno));
  ::flock(fd, LOCK_EX);
  const off_t size = ::lseek(fd, 0, SEEK_END);
  char last = '\n';
  if (size > 0 && ::pread(fd, &last, 1, size - 1) == 1 && last != '\n') line.insert(line.begin(), '\n');
  const ssize_t wrote = ::write(fd, line.data(), line.size());
  const int error = errno;
  ::close(fd);  // releases the lock
  if (wrote != static_cast<ssize_t>(line.size())) fail("{}", std::strerror(error));
}

}  // namespace

fs::path default_tuning_file() { return cache_dir() / "tuning.jsonl"; }

TuningKey tuning_key(const Problem& problem, const Kernel& kernel, const Target& target) {
  std::string text = problem.str();
  if (target.policy.tf32) text += " tf32";
  if (target.policy.bf16) text += " bf16";
  if (target.policy.deterministic) text += " deterministic";
  return {std::move(text), std::string(kernel.name), target.device.name, target.device.libraries};
}

TuningTable::TuningTable(fs::path file) : file_(std::move(file)) { read(); }

void TuningTable::read() {
  std::error_code error;
  if (!fs::exists(file_, error)) return;
  std::string text;
  try {
    text = read_file(file_);
  } catch (const Error& problem) {
    warnings_.push_back(fmt::format("the tuning table is not used: {}", problem.what()));
    return;
  }
  std::size_t unread = 0;
  for (const std::string& line : split(text, '\n')) {
    if (line.empty()) continue;
    try {
      auto [key, tuned] = parse_line(line);
      entries_[std::move(key)] = std::move(tuned);
    } catch (const std::exception&) {
      ++unread;
    }
  }
  if (unread > 0)
    warnings_.push_back(fmt::format("{}: {} {} could not be read and {} ignored; the rest is used",
                                    file_.string(), unread, unread == 1 ? "line" : "lines",
                                    unread == 1 ? "is" : "are"));
}

std::optional<Tuned> TuningTable::find(const TuningKey& key) const {
  const std::lock_guard lock(mutex_);
  if (!key.libraries.empty()) {
    const auto it = entries_.find(key);
    return it == entries_.end() ? std::nullopt : std::optional(it->second);
  }
  std::optional<Tuned> newest;  // by version, as text: keys are sorted
  for (auto it = entries_.lower_bound(key); it != entries_.end(); ++it) {
    const TuningKey& other = it->first;
    if (other.problem != key.problem || other.kernel != key.kernel || other.device != key.device) break;
    newest = it->second;
  }
  return newest;
}

void TuningTable::add(const TuningKey& key, const Tuned& tuned) {
  const std::lock_guard lock(mutex_);
  entries_[key] = tuned;
  if (file_.empty()) return;
  try {
    append_line(file_, line_of(key, tuned).dump() + "\n");
  } catch (const Error& error) {
    if (warnings_.empty())
      warnings_.push_back(fmt::format("{} could not be written ({}); winners are kept only for this run",
                                      file_.string(), error.what()));
  }
}

std::vector<std::pair<TuningKey, Tuned>> TuningTable::entries() const {
  const std::lock_guard lock(mutex_);
  return {entries_.begin(), entries_.end()};
}

std::vector<std::string> TuningTable::take_warnings() {
  const std::lock_guard lock(mutex_);
  return std::exchange(warnings_, {});
}

Chooser with_tuned_variants(const TuningTable& table, Chooser choose) {
  return [&table, choose = std::move(choose)](const Problem& problem, const Target& target) {
    Choice choice = choose(problem, target);
    if (choice.kernel == nullptr || !choice.kernel->candidates || !choice.variant.empty()) return choice;
    if (const auto tuned = table.find(tuning_key(problem, *choice.kernel, target))) {
      choice.variant = tuned->variant;
      choice.variant_s = tuned->seconds;
      choice.why += fmt::format("; tuned: {} by itself, the fastest of {}", human_seconds(tuned->seconds),
                                tuned->candidates.size());
    }
    return choice;
  };
}

}  // namespace headroom
