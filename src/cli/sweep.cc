// The verb sweep: one training for every combination of settings, several at once, with a table, charts and
// the best row.
#include "cli/sweep_report.h"
#include "cli/training_run.h"
#include "cli/verbs.h"

namespace headroom::cli {
namespace {

void run(const ExperimentRequest& r) {
  require_tables(r.common.tables, {});
  const bool comparison = !r.run.check_against.empty();
  if (r.run.perturb != 0 && !comparison)
    reject(Hint{"--check-against cpu"},
           "--perturb changes the other run of a comparison, and none is asked for");
  require_svg(r.target, sweep_chart_names(r.axes.given(), comparison));
  const HeldSignals signals;
  Experiment experiment(r, {});
  const SweepReport report(experiment, experiment.run(signals, "sweep"), r.seeds > 1);
  finish_bench(report.output(r.common), r.common, r.target, experiment.machine());
  if (!report.any_done())
    throw Error(Blame::run, fmt::format("no training of the sweep ended well: {}", report.first_problem()));
}

}  // namespace

void add_sweep(Command app) {
  auto r = std::make_shared<ExperimentRequest>();
  Command verb = app.verb("sweep", "train every combination of settings: table, charts, the best");
  add_experiment_options(verb, *r);
  add_comparison_options(verb, r->run);
  verb.option("--seeds", r->seeds, "trainings of each combination; run i takes --seed plus i");
  verb.option("--jobs", r->jobs, "trainings at once; 0: one per core on the CPU, one on GPUs");
  verb.example("headroom sweep mlp --data mnist --lr 0.01,0.05,0.1 --hidden 64,256");
  verb.example("headroom sweep mlp --lr 0.01,0.1 --seeds 3 --resume rows.jsonl --svg charts.svg");
  verb.example("headroom sweep resnet:depth=18,width=0.25 --image-size 32,48,64 --jobs 1");
  verb.example("headroom sweep --recipe perceptron-small3 --lr 0.002,0.02,0.2 --check-against cpu/fp64");
  r->tree = verb.tree();
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
