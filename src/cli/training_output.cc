#include "cli/training_output.h"

#include <csignal>

#include "base/json.h"
#include "base/text.h"
#include "cli/signals.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

constexpr const char* kNext =
    "\nNext:\n"
    "  headroom predict lenet5 --machine here,h200,k80 --batch 256    what it must cost elsewhere\n"
    "  headroom train lenet5 --explain --batch 256                    why each kernel was chosen\n"
    "  headroom roofline                                              this machine's ceilings, measured with "
    "care\n"
    "  headroom recipe list                                           published cases to repeat\n";

}  // namespace

void print_what_is_next() { print(kNext); }

void leave(const RunRequest& request, const TrainResult& result) {
  const int noted = noted_signal(), signal = noted == 0 ? SIGTERM : noted;  // or only another rank got one
  note(fmt::format("headroom: stopped by {} after step {}; ", signal == SIGINT ? "SIGINT" : "SIGTERM",
                   result.state.steps));
  if (!request.checkpoint_dir.empty())
    note(fmt::format("resume with --checkpoint-dir {} --resume auto\n", request.checkpoint_dir));
  else if (!request.save.empty())
    note(fmt::format("the weights are in {}\n", request.save));
  else
    note("no weights were saved: neither --checkpoint-dir nor --save was given\n");
  throw Interrupted{128 + signal};
}

void print_result(const FinishedTraining& finished, const Common& common,
                  const std::optional<DeterministicOverhead>& overhead, const BestWeights* best,
                  const EvalResult* outside) {
  if (common.json) {
    Json json = training_json(finished);
    if (best != nullptr) json["best"] = best->json();
    if (outside != nullptr)
      json["wild"] = {{"images", outside->images}, {"accuracy", outside->accuracy}, {"loss", outside->loss}};
    if (overhead)
      json["deterministic"] = {{"step_ms", spread_json(overhead->deterministic)},
                               {"plain_step_ms", spread_json(overhead->plain)},
                               {"times_slower", overhead->times()}};
    return print_json(json);
  }
  print(training_text(finished));
  if (best != nullptr) print(best->text());
  if (outside != nullptr)
    print(fmt::format("wild       accuracy {:.4f} on {} from outside, loss {:.4f}\n", outside->accuracy,
                      counted(outside->images, "image"), outside->loss));
  if (overhead)
    print(fmt::format("bits       the same every run: a step takes {}, {} without: {:.2f} times as long\n",
                      human_seconds(overhead->deterministic.median), human_seconds(overhead->plain.median),
                      overhead->times()));
}

}  // namespace headroom::cli
