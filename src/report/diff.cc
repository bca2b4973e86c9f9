// Matches the rows of two records and judges each.
#include "report/diff.h"

#include <algorithm>
#include <map>

#include "base/json.h"
#include "base/text.h"

namespace headroom {
namespace {

// Times of one row on one side.
struct Timed {
  std::string name, what, kernel;
  std::vector<double> seconds;
};

// The rows of one side, in the order in which they first appear.
class TimedRows {
 public:
  bool has(const std::string& key) const { return index_.contains(key); }
  const Timed& at(const std::string& key) const { return rows_[index_.at(key)]; }
  Timed& get(const std::string& key) {
    const auto [it, is_new] = index_.try_emplace(key, rows_.size());
    if (is_new) keys_.push_back(key), rows_.push_back({.name = key});
    return rows_[it->second];
  }
  const std::vector<std::string>& keys() const { return keys_; }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<std::string> keys_;
  std::vector<Timed> rows_;
};

// Adds a share of a step's samples, run by run. If steps were timed in different numbers of runs, the sums
// cover the runs that all of them have.
void add_samples(std::vector<double>& sum, const std::vector<double>& seconds, double share, bool first) {
  if (first) sum.assign(seconds.size(), 0);
  sum.resize(std::min(sum.size(), seconds.size()));
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += share * seconds[i];
}

struct Readings {
  TimedRows phases, layers, steps;
};

void add_charge(TimedRows& rows, const std::string& key, const std::vector<double>& seconds, double share) {
  const bool first = !rows.has(key);
  add_samples(rows.get(key).seconds, seconds, share, first);
}

Readings read_steps(const RunRecord& record) {
  Readings readings;
  if (!record.plan || !record.measurement) return readings;
  std::map<std::string, int> seen;
  const std::size_t count = std::min(record.plan->steps.size(), record.measurement->steps.size());
  for (std::size_t s = 0; s < count; ++s) {
    const RecordedStep& step = record.plan->steps[s];
    const std::vector<double>& seconds = record.measurement->steps[s].seconds;
    if (seconds.empty()) continue;
    const std::string place = fmt::format("{}\n{}", step.layer, step.op);
    readings.steps.get(fmt::format("{}\n{}", place, seen[place]++)) = {
        step.layer, step.op, step.variant.empty() ? step.kernel : step.kernel + " " + step.variant, seconds};
    for (const Charge& c : step.charges) {
      add_charge(readings.layers, c.layer, seconds, c.share);
      add_charge(readings.phases, std::string(name_of(c.phase)), seconds, c.share);
    }
  }
  return readings;
}

DiffRow judged(const Timed& before, const Timed& after) {
  DiffRow row{.name = before.name, .what = before.what, .kernel = before.kernel};
  if (before.kernel != after.kernel) row.kernel = fmt::format("{} -> {}", before.kernel, after.kernel);
  row.before = median_interval(before.seconds), row.after = median_interval(after.seconds);
  row.change = judge(row.before, row.after);
  return row;
}

DiffRow one_sided(const Timed& only, Change change) {
  DiffRow row{.name = only.name, .what = only.what, .kernel = only.kernel, .change = change};
  (change == Change::gone ? row.before : row.after) = median_interval(only.seconds);
  return row;
}

// Rows of `before` in their order, then those that only `after` has.
std::vector<DiffRow> matched(const TimedRows& before, const TimedRows& after) {
  std::vector<DiffRow> rows;
  for (const std::string& key : before.keys())
    rows.push_back(after.has(key) ? judged(before.at(key), after.at(key))
                                  : one_sided(before.at(key), Change::gone));
  for (const std::string& key : after.keys())
    if (!before.has(key)) rows.push_back(one_sided(after.at(key), Change::added));
  return rows;
}

}  // namespace

std::optional<double> DiffRow::percent() const {
  if (before.spread.median <= 0 || after.spread.median <= 0) return {};
  return 100 * (after.spread.median / before.spread.median - 1);
}

std::vector<double> whole_samples(const RunRecord& record) {
  if (!record.measurement) return {};
  if (!record.measurement->run_s.empty()) return record.measurement->run_s;
  std::vector<double> sum;
  bool first = true;
  for (const Measurement::Step& step : record.measurement->steps) {
    if (step.seconds.empty()) continue;
    add_samples(sum, step.seconds, 1, first);
    first = false;
  }
  return sum;
}

namespace {

// The value of an option of a command, behind a blank or an equals sign.
std::string option_in(const std::vector<std::string>& command, const std::string& name,
                      const std::string& usual) {
  const std::string option = fmt::format("--{}", name);
  for (std::size_t i = 0; i < command.size(); ++i) {
    if (command[i] == option && i + 1 < command.size()) return command[i + 1];
    if (command[i].starts_with(option + "=")) return command[i].substr(option.size() + 1);
  }
  return usual;
}

// Of a benchmark that was not told one.
std::string usual_precision(const std::string& verb) {
  return verb == "bench alloc" ? "fp64" : verb == "bench perceptron" ? "fp32,fp64" : "fp32";
}

}  // namespace

std::vector<DiffSetting> differing_settings(const RunRecord& before, const RunRecord& after) {
  std::vector<DiffSetting> settings;
  const auto compare = [&](const char* what, const std::string& a, const std::string& b) {
    if (a != b) settings.push_back({what, a.empty() ? "none" : a, b.empty() ? "none" : b});
  };
  compare("verb", before.verb, after.verb);
  if (before.model && after.model) {
    compare("model", before.model->name, after.model->name);
    if (settings.empty() && before.model->net != after.model->net)
      settings.push_back({"layers", counted(before.model->parameters, "parameter"),
                          counted(after.model->parameters, "parameter")});
  }
  if (before.plan && after.plan) {
    const RecordedPlan &a = *before.plan, &b = *after.plan;
    compare("mode", a.mode, b.mode);
    compare("batch", std::to_string(a.batch), std::to_string(b.batch));
    compare("precision", a.precision, b.precision);
    compare("device", a.device, b.device);
    compare("threads", std::to_string(a.threads), std::to_string(b.threads));
  } else if (before.machine && after.machine) {
    compare("machine", before.machine->title, after.machine->title);
  }
  // Benchmarks have no plan: what they computed is in their commands. A workload has its own alpha and beta.
  if (!before.plan && !after.plan && before.verb == after.verb) {
    const auto compare_option = [&](const char* option, const std::string& usual) {
      compare(option, option_in(before.command, option, usual), option_in(after.command, option, usual));
    };
    compare_option("precision", usual_precision(before.verb));
    compare_option("workload", "");
    const bool own_sizes =
        option_in(before.command, "workload", "").empty() && option_in(after.command, "workload", "").empty();
    if (own_sizes) compare_option("alpha", "1"), compare_option("beta", "0");
  }
  const auto ranks = [](const RunRecord& r) {
    return r.ranks.is_object() && r.ranks.contains("count") ? r.ranks.at("count").dump() : std::string("1");
  };
  compare("ranks", ranks(before), ranks(after));
  return settings;
}

RecordDiff compare_records(const RecordedRun& before, const RecordedRun& after) {
  RecordDiff diff{.settings = differing_settings(before.record, after.record)};
  const std::string step =
      before.record.plan && before.record.plan->mode == "train" ? "training step" : "pass";
  const Timed a{step, "", "", whole_samples(before.record)}, b{step, "", "", whole_samples(after.record)};
  if (!a.seconds.empty() && !b.seconds.empty()) {
    diff.whole = judged(a, b);
    const Readings old = read_steps(before.record), fresh = read_steps(after.record);
    if (old.phases.keys().size() > 1 || fresh.phases.keys().size() > 1)
      diff.phases = matched(old.phases, fresh.phases);
    diff.layers = matched(old.layers, fresh.layers);
    diff.steps = matched(old.steps, fresh.steps);
    return diff;
  }
  diff.cells = compare_tables(before.record.tables, after.record.tables);
  if (diff.cells.empty())
    reject(
        Hint{"records of train, eval and run have times of layers; those of one benchmark have equal tables"},
        "{} and {} have no times in common that could be compared", before.name, after.name);
  return diff;
}

}  // namespace headroom
