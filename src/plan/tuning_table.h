#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "plan/plan.h"

namespace headroom {

// The tuner's result for one problem on one device: the fastest candidate of a kernel, and all timed
// candidates.
struct Tuned {
  std::string kernel, variant;
  double seconds = 0;
  struct Candidate {
    std::string name;
    double seconds = 0;
  };
  std::vector<Candidate> candidates;  // those that ran, in order of trial
};

// The key of a winner. A new driver or library creates new entries; old ones are not used.
struct TuningKey {
  std::string problem;    // Problem::str, and the policy if it matters
  std::string kernel;     // "cudnn"
  std::string device;     // the driver's name for it
  std::string libraries;  // versions; empty (device not open): any, the newest entry
  auto operator<=>(const TuningKey&) const = default;
};
TuningKey tuning_key(const Problem& problem, const Kernel& kernel, const Target& target);

// Winners, kept in a file: one JSON object per line, appended under a lock, so that processes that tune at
// the same time lose nothing. Later lines win. The file may be deleted at any time; unreadable lines are
// ignored. Without a file the table lives as long as the process. Thread-safe.
class TuningTable {
 public:
  TuningTable() = default;
  explicit TuningTable(std::filesystem::path file);  // reads existing lines; no file means an empty table

  std::optional<Tuned> find(const TuningKey& key) const;
  // Warns instead of failing if the file cannot be written: the winner still serves this process.
  void add(const TuningKey& key, const Tuned& tuned);

  std::vector<std::pair<TuningKey, Tuned>> entries() const;
  const std::filesystem::path& file() const { return file_; }
  std::vector<std::string> take_warnings();  // since the last call: ignored lines, unwritable file

 private:
  void read();

  mutable std::mutex mutex_;
  std::filesystem::path file_;
  std::map<TuningKey, Tuned> entries_;
  std::vector<std::string> warnings_;
};

std::filesystem::path default_tuning_file();  // in the cache folder

// Same as `choose`, plus the variant the table holds for the chosen kernel. Without an entry the variant
// stays open. The table must outlive the chooser.
Chooser with_tuned_variants(const TuningTable& table, Chooser choose);

}  // namespace headroom
