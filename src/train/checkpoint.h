#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "train/engine.h"
#include "train/trainer.h"

namespace headroom {

// What must agree between the run that wrote a checkpoint and the run that takes it up: model, data, batch,
// seed, optimizer, schedule. By name, so that a message can say which differs.
using RunIdentity = std::map<std::string, std::string>;
RunIdentity identity_of(const Engine& engine, const Dataset& data, const TrainOptions& options);

// One file: weights, statistics and optimizer state as safetensors, everything else in its JSON header, with
// a checksum over all of it. Random numbers are functions of (seed, step), so the two stand for their state.
// Written aside, synced and renamed.
void write_checkpoint(const std::filesystem::path& path, const Engine& engine, const RunState& state,
                      const RunIdentity& identity);

// Puts the tensors back and returns where the run stood. A damaged file fails (Blame::run); one of another
// run is rejected, and nothing is changed in either case. The engine must have its training plan ready.
RunState read_checkpoint(const std::filesystem::path& path, Engine& engine, const RunIdentity& identity);

// A folder of checkpoints named by step, the newest `keep` of which stay.
class CheckpointFolder {
 public:
  CheckpointFolder(std::filesystem::path folder, std::int64_t keep);
  std::filesystem::path write(const Engine& engine, const RunState& state, const RunIdentity& identity);

  // The newest whole one, or nothing; `warn` hears of each damaged one that is passed over. What a killed run
  // left half written is removed.
  std::optional<RunState> resume(Engine& engine, const RunIdentity& identity,
                                 const std::function<void(const std::string&)>& warn);

 private:
  std::vector<std::filesystem::path> files(std::string_view ending) const;  // newest first
  std::filesystem::path folder_;
  std::int64_t keep_;
};

}  // namespace headroom
