// The verb tta: time to accuracy. Trains the same network several times with different seeds and reports how
// long it took to reach an accuracy, and how much that varies.
#include "cli/tta_report.h"
#include "cli/verbs.h"

namespace headroom::cli {
namespace {

struct TtaRequest {
  ExperimentRequest experiment;
  TtaOptions options;
};

void require_reference(const std::optional<double>& reference) {
  if (reference && !(*reference > 0 && *reference < 100))
    reject(Hint{"4.5 % is --reference 0.045"},
           "--reference is {}; it must be a coefficient of variation above 0", *reference);
}

void run(TtaRequest& r) {
  require_reference(r.options.reference);
  require_tables(r.experiment.common.tables, {});
  require_svg(r.experiment.target);
  const HeldSignals signals;
  r.experiment.jobs = 1;  // times of runs that share the machine would say little
  const std::optional<double>& target = r.experiment.run.target;
  Experiment experiment(r.experiment, target
                                          ? std::vector<std::string>{"--target", fmt::format("{}", *target)}
                                          : std::vector<std::string>{});
  r.options.target = experiment.setup().train.target;
  if (!(r.options.target > 0))
    reject(Hint{"--target 0.97"}, "tta needs an accuracy to reach: --target, or a recipe that has one");
  if (!has_classes(experiment.setup().net))
    reject(Hint{"take a network with classes"}, "'{}' has no accuracy", experiment.setup().net.name);
  const TtaReport report(experiment, r.options, experiment.run(signals, "time to accuracy"));
  finish_bench(report.output(r.experiment.common), r.experiment.common, r.experiment.target,
               experiment.machine());
  if (report.reached() == 0)
    throw Error(Blame::run,
                fmt::format("no run reached an accuracy of {}; the best had {:.4f}", r.options.target,
                            report.best_accuracy()),
                Hint{"give it more --epochs, or a lower --target"});
}

}  // namespace

void add_tta(Command app) {
  auto r = std::make_shared<TtaRequest>();
  r->experiment.seeds = 5;
  Command verb = app.verb("tta", "time to accuracy: several trainings to a target, and how much they vary");
  add_experiment_options(verb, r->experiment);
  verb.option("--target", r->experiment.run.target, "test accuracy to reach, as 0.97");
  verb.option("--runs", r->experiment.seeds, "trainings of each setting; run i takes --seed plus i");
  verb.option("--reference", r->options.reference,
              "a coefficient of variation to print beside the measured one, as 0.045");
  verb.flag("--count-eval", r->options.count_eval, "count the time of tests in the seconds to the target");
  verb.example("headroom tta lenet5 --data glyphs --target 0.97 --runs 5");
  verb.example("headroom tta lenet5 --target 0.97 --eval-every 100 --batch 64,256");
  verb.example(
      "headroom tta --recipe tta-resnet50-cifar10 --device cpu,cuda --reference 0.05 --wild images:DIR");
  r->experiment.tree = verb.tree();
  verb.runs([r] { run(*r); });
}

}  // namespace headroom::cli
