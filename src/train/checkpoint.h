#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "train/engine.h"
#include "train/trainer.h"

namespace headroom {

// The settings that must agree between the run that wrote a checkpoint and the run that resumes it: model,
// data, batch, seed, optimizer, schedule. They have names, so that a message can say which one differs.
using RunIdentity = std::map<std::string, std::string>;
RunIdentity identity_of(const Engine& engine, const Dataset& data, const TrainOptions& options);

// One file: weights, statistics and optimizer state as safetensors, everything else in its JSON header, with
// a checksum over all of it. Random numbers are functions of (seed, step), so no generator state is stored.
// The file is written under another name, synced and renamed.
void write_checkpoint(const std::filesystem::path& path, const Engine& engine, const RunState& state,
                      const RunIdentity& identity);

// Restores the tensors and returns the state of the run. Rejects a damaged file and a file of another run;
// both change nothing. The engine must have its training plan ready.
RunState read_checkpoint(const std::filesystem::path& path, Engine& engine, const RunIdentity& identity);

// A folder of checkpoints named by step. Only the newest `keep` stay. A folder belongs to one run: the files
// of another one could neither be told apart nor be rotated without loss.
class CheckpointFolder {
 public:
  CheckpointFolder(std::filesystem::path folder, std::int64_t keep);

  // Rejects a folder that holds checkpoints of another run, or of this run after `start`, where it begins.
  // Damaged files that resume() passed over do not count.
  void require_own(const RunIdentity& identity, const RunState& start);
  std::filesystem::path write(const Engine& engine, const RunState& state, const RunIdentity& identity);

  // Resumes from the newest intact checkpoint, if any. Calls `warn` for each damaged one it skips; these stay
  // until the run writes the same step again. Removes files that a killed run left half written.
  std::optional<RunState> resume(Engine& engine, const RunIdentity& identity,
                                 const std::function<void(const std::string&)>& warn);

 private:
  std::vector<std::filesystem::path> files(std::string_view ending) const;  // newest first
  std::filesystem::path folder_;
  std::int64_t keep_;
  std::set<std::filesystem::path> damaged_;  // passed over, never rotated away
};

}  // namespace headroom
