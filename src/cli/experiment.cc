#include "cli/experiment.h"

#include <algorithm>
#include <set>

#include "base/file.h"
#include "base/text.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/training_run.h"
#include "cli/verbs.h"

namespace headroom::cli {
namespace {

constexpr std::int64_t kMaxSeeds = 1000, kMaxAtOnce = 256;

// Options of the experiment, which its trainings do not get, or not as typed.
const std::vector<std::string> kOwnOptions = {
    "--json",    "--csv",  "--record",  "--report",    "--svg",       "--width", "--wide",
    "--sort",    "--top",  "--summary", "--resume",    "--jobs",      "--seeds", "--seed",
    "--threads", "--runs", "--target",  "--reference", "--count-eval"};

// The words after the verb without those of some options, and without their values.
std::vector<std::string> words_without(const std::vector<std::string>& words, const VerbTree& verb,
                                       const std::vector<std::string>& options) {
  std::vector<std::string> rest;
  for (std::size_t i = 2; i < words.size(); ++i) {
    const std::size_t equals = words[i].find('=');
    const std::string name = words[i].starts_with("--") ? words[i].substr(0, equals) : "";
    if (std::ranges::find(options, name) == options.end()) {
      rest.push_back(words[i]);
      continue;
    }
    const auto option = std::ranges::find_if(
        verb.options, [&](const OptionTree& o) { return std::ranges::find(o.names, name) != o.names.end(); });
    if (option != verb.options.end() && option->takes_value && name == words[i]) ++i;
  }
  return rest;
}

// Rejects images that the network cannot take.
void require_size(RunSetup& setup) {
  const Dataset data = load_data(setup, true);
  if (data.test.text.empty()) require_fit(data.test.image, Shape(setup.net.input));
}

}  // namespace

void add_experiment_options(Command verb, ExperimentRequest& r) {
  verb.option("model", r.run.model, "zoo name with options (mlp:hidden=64), a net.json or an ONNX file");
  verb.option("--recipe", r.run.recipe, "a recipe to begin with, see headroom recipe list; or a JSON file");
  add_learning_options(verb, r.run, r.common);
  add_bench_output(verb, r.target);
  add_svg_option(verb, r.target.svg);
  verb.option("--resume", r.resume,
              "keep finished runs in this file, one JSON line each; those it already holds do not run again");
  r.axes.add_options(verb);
}

Experiment::Experiment(const ExperimentRequest& request, std::vector<std::string> extra)
    : request_(request), extra_(std::move(extra)) {
  if (request.seeds < 1 || request.seeds > kMaxSeeds)
    reject("{} is {}; it must lie between 1 and {}", request.tree.name == "tta" ? "--runs" : "--seeds",
           request.seeds, kMaxSeeds);
  if (request.jobs < 0 || request.jobs > kMaxAtOnce)
    reject("--jobs is {}; it must lie between 1 and {}, or be 0 to choose", request.jobs, kMaxAtOnce);
  require_output(request.target, request.common);
  std::vector<std::string> own = kOwnOptions;
  std::ranges::copy(request.axes.option_names(), std::back_inserter(own));
  typed_ = words_without(command_line(), request.tree, own);
  axes_ = request.axes.given();
  rows_ = grid_rows(axes_);
  if (!request.resume.empty()) {
    require_writable(request.resume);
    require_files(request.target.files, {{"--resume", request.resume}});
    finished_ = FinishedRows(request.resume);
    if (finished_.dropped_last())
      warn(fmt::format("{}: the last line is damaged; its run is done again", request.resume));
  }
  require_rows();
}

void Experiment::require_rows() {
  bool cpu_alone = true;
  std::set<std::string> devices, sizes;
  for (const GridRow& row : rows_) {
    RunRequest run = request_.run;
    Common common = request_.common;
    apply(row, run, common);
    RunSetup setup = resolve(run, common);
    common.engine_options(setup.kernels);
    if (common.device == "cpu") common.cpu_dtype();
    if (devices.insert(common.device).second) common.open();
    if (sizes.insert(run.image_size).second) require_size(setup);
    cpu_alone = cpu_alone && common.device == "cpu";
    if (!setup_) setup_ = std::move(setup);
  }
  const int cores = cpu_capabilities(0).threads, runs = static_cast<int>(rows_.size()) * int(request_.seeds);
  threads_ = request_.common.threads;
  const bool shared = cpu_alone && request_.jobs != 1;  // GPUs are not shared
  if (threads_ == 0 && shared) threads_ = request_.jobs == 0 ? 1 : std::max(1, cores / request_.jobs);
  at_once_ = request_.jobs != 0 ? request_.jobs : shared ? std::max(1, cores / std::max(1, threads_)) : 1;
  at_once_ = std::min(at_once_, std::max(1, runs));
  load_first_data();
}

// Data that cannot be read, and pictures of unknown classes, are refused now. The ceilings of the machine are
// measured now too: while several trainings run, they would be too low.
void Experiment::load_first_data() {
  RunRequest run = request_.run;
  Common common = request_.common;
  apply(rows_.front(), run, common);
  common.threads = threads_;
  const Dataset data = load_data(*setup_, false);
  if (!run.wild.empty()) load_outside(run.wild, data, *setup_);
  if (!run.check_against.empty()) return;
  Progress progress("preparing");
  progress.stage("this machine's ceilings", false);
  const auto device = common.open();
  machine_ = common.machine(*device);
}

std::string Experiment::run_label(std::size_t row, std::uint64_t seed) const {
  const std::string seeded = fmt::format("seed {}", seed);
  if (varied(axes_).empty()) return seeded;
  return request_.seeds > 1 ? label(row) + ", " + seeded : label(row);
}

TrainingJob Experiment::job(std::size_t row, std::uint64_t seed) const {
  std::vector<std::string> words = {"train"};
  for (const auto& more : {typed_, words_of(rows_[row]), extra_})
    std::ranges::copy(more, std::back_inserter(words));
  for (const std::string& word : {std::string("--seed"), std::to_string(seed), std::string("--threads"),
                                  std::to_string(threads_), std::string("--json")})
    words.push_back(word);
  const std::string* device = value_of(rows_[row], "device");
  return {words, run_label(row, seed), device != nullptr ? *device : "cpu"};
}

std::string Experiment::finished_text() const {
  const auto count = static_cast<std::int64_t>(finished_.size());
  return counted(count, "finished run") + (count == 1 ? " is" : " are");
}

std::vector<ExperimentRun> Experiment::run(const HeldSignals& signals, const std::string& title) {
  std::vector<ExperimentRun> runs;
  std::vector<TrainingJob> jobs;
  std::vector<std::size_t> run_of_job;
  std::vector<std::string> keys;
  for (std::int64_t i = 0; i < request_.seeds; ++i)
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      ExperimentRun run{.row = row, .seed = request_.common.seed + static_cast<std::uint64_t>(i)};
      TrainingJob next = job(row, run.seed);
      keys.push_back(fmt::format("{}", fmt::join(next.words, " ")));
      if (const Json* known = finished_.find(keys.back())) {
        run.kept = true;
        run.outcome.json = known->value("training", Json());
        run.outcome.wall_s = known->value("wall_s", 0.0);
        run.outcome.use = utilisation_from(known->value("utilisation", Json::object()));
      } else {
        run_of_job.push_back(runs.size());
        jobs.push_back(std::move(next));
      }
      runs.push_back(std::move(run));
    }
  if (jobs.size() < runs.size())
    note(fmt::format("headroom: {} of {} are in {}\n", runs.size() - jobs.size(),
                     counted(std::ssize(runs), "run"), request_.resume));
  const auto ended = [&](std::size_t number, TrainingOutcome&& outcome) {
    const std::size_t at = run_of_job[number];
    if (outcome.done())
      finished_.add(keys[at], {{"training", outcome.json},
                               {"wall_s", outcome.wall_s},
                               {"utilisation", utilisation_json(outcome.use)}});
    runs[at].outcome = std::move(outcome);
  };
  try {
    run_trainings(jobs, at_once_, signals, title, ended);
  } catch (const Interrupted&) {
    if (!request_.resume.empty())
      note(fmt::format("headroom: stopped; {} in {}\n", finished_text(), request_.resume));
    throw;
  }
  const auto refused = [](const ExperimentRun& run) { return run.outcome.code == 2; };
  if (std::ranges::all_of(runs, refused)) reject("{}", runs.front().outcome.problem);
  return runs;
}

}  // namespace headroom::cli
