#include "cli/checkpoints.h"

namespace headroom::cli {

std::unique_ptr<CheckpointFolder> prepare_checkpoints(const RunRequest& request, const RankRun& ranks,
                                                      Engine& engine, const Dataset& data,
                                                      TrainOptions& train, Saving& saving) {
  const RunIdentity identity = identity_of(engine, data, train);
  const bool newest = request.resume == "auto";
  std::unique_ptr<CheckpointFolder> folder;
  ranks.agree([&] {
    // Before the folder is made: a wrong file leaves nothing behind.
    if (!newest && !request.resume.empty()) train.start = read_checkpoint(request.resume, engine, identity);
    if (!request.checkpoint_dir.empty())
      folder = std::make_unique<CheckpointFolder>(request.checkpoint_dir, request.keep.value_or(3));
  });
  if (folder) {
    train.save_every = request.checkpoint_every.value_or(0);
    train.save = [&engine, &saving, identity, to = folder.get()](const RunState& state) {
      saving.attempt([&] { to->write(engine, state, identity); });
    };
  }
  if (newest) {
    bool damaged = false;
    const auto found = folder->resume(engine, identity, [&](const std::string& what) {
      note(fmt::format("headroom: {}; using the one before it\n", what));
      damaged = true;
    });
    if (found) train.start = *found;
    if (damaged && !found) note("headroom: no checkpoint is intact: starting from the beginning\n");
  }
  ranks.agree([&] {
    if (folder && ranks.first()) folder->require_own(identity, train.start);
    if (train.start.epoch > train.epochs)
      reject(Hint{"ask for more --epochs, or take another --checkpoint-dir"},
             "the run to be resumed has already finished its {} epochs", train.start.epoch);
  });
  if (train.start.steps > 0)
    note(fmt::format("resuming after step {}, in epoch {}\n", train.start.steps, train.start.epoch + 1));
  return folder;
}

}  // namespace headroom::cli
