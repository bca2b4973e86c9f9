#include <algorithm>
#include <cmath>
#include <map>

#include "base/text.h"
#include "page/html.h"
#include "page/section.h"
#include "report/findings.h"

namespace headroom {
namespace {

constexpr std::size_t kGaps = 3;

void add_training(std::vector<SummaryFact>& facts, const RecordedTraining& training) {
  if (!training.epochs.empty()) {
    const EpochResult& last = training.epochs.back();
    const std::string after = "after " + counted(last.epoch, "epoch");
    if (training.classifier)
      facts.push_back({"test accuracy", fmt::format("{:.4f}", last.test_accuracy), after});
    else
      facts.push_back({"test loss", fmt::format("{:.4g}", last.test_loss), after});
  }
  if (training.images_per_s > 0)
    facts.push_back({"training speed", with_commas(std::llround(training.images_per_s)) + " images/s",
                     human_seconds(training.train_s) + " of training"});
  if (!training.diverged.empty()) facts.push_back({"diverged", training.diverged});
  if (training.interrupted) facts.push_back({"interrupted", "the training was stopped early"});
}

double measured_run(const RunRecord& r) {
  if (!r.measurement) return 0;
  if (const Spread whole = whole_spread(r); whole.samples > 0) return whole.median;
  double sum = 0;
  for (const LayerReading& l : r.layers) sum += l.measured_s();
  return sum;
}

void add_readings_of(std::vector<SummaryFact>& facts, const RunRecord& r) {
  const double measured = measured_run(r);
  const char* what = r.plan && r.plan->mode == "train" ? "training step" : "forward pass";
  if (measured > 0)
    facts.push_back({what, human_seconds(measured), counted(whole_spread(r).samples, "sample") + ", median"});
  if (!r.prediction) return;
  const Prediction& p = *r.prediction;
  if (p.has_times) {
    std::string note = fmt::format("90 % interval {} to {}", human_seconds(p.low_s), human_seconds(p.high_s));
    if (measured > 0) note += fmt::format("; {:+.0f} %", 100 * (p.predicted_s / measured - 1));
    facts.push_back({"predicted", human_seconds(p.predicted_s), note});
  }
  facts.push_back({"floor", human_seconds(p.floor_s), "no program is faster on this machine"});
  if (measured > 0) facts.push_back({"of roofline", fmt::format("{:.1f} %", 100 * p.floor_s / measured)});
}

// The kernel in which a layer spends most of its time.
std::string main_kernel(const RunRecord& r, const std::string& layer) {
  std::map<std::string, double> times;
  if (!r.plan || !r.measurement || r.measurement->steps.size() != r.plan->steps.size()) return "";
  for (std::size_t s = 0; s < r.plan->steps.size(); ++s)
    for (const Charge& charge : r.plan->steps[s].charges)
      if (charge.layer == layer)
        times[r.plan->steps[s].op + " by " + r.plan->steps[s].kernel] +=
            charge.share * r.measurement->median_s(s);
  const auto largest = std::ranges::max_element(times, {}, [](const auto& item) { return item.second; });
  return largest == times.end() ? "" : largest->first;
}

std::string remedy_for(const LayerReading& layer, const RunRecord& r) {
  constexpr double kShort = 5e-6;  // launching a kernel alone takes about as long
  const bool gpu = r.machine && r.machine->kind == "gpu";
  const bool calibrated = r.prediction && r.prediction->basis == TimeModel::Basis::calibrated;
  if (calibrated && layer.high_s > 0 && layer.measured_s() > 1.5 * layer.high_s)
    return "slower than its kernels usually are: measure again on an idle machine";
  if (gpu && layer.floor_s < kShort)
    return "it has too little work for a whole GPU: a larger `batch` gives more multiprocessors some";
  if (layer.bound == "compute")
    return gpu ? "headroom tune times the algorithms of its kernels; a `precision` of tf32 or bf16 uses "
                 "faster units"
               : "`explain` says why this kernel was chosen, `kernel` takes another";
  return gpu ? "it waits for memory: a larger `batch` reads weights less often, a lower `precision` moves "
               "fewer bytes"
             : "it waits for memory: a larger `batch` reads weights less often";
}

// The layers that are furthest from their floor, and what would help.
std::string gaps_list(const RunRecord& r) {
  std::vector<const LayerReading*> layers;
  for (const LayerReading& l : r.layers)
    if (l.measured_s() > l.floor_s) layers.push_back(&l);
  std::ranges::stable_sort(layers, std::greater<>{},
                           [](const LayerReading* l) { return l->measured_s() - l->floor_s; });
  if (layers.empty()) return "";
  std::string text = "<h3>The largest gaps</h3><ol class=\"gaps\">";
  for (std::size_t i = 0; i < std::min(kGaps, layers.size()); ++i) {
    const LayerReading& l = *layers[i];
    const std::string kernel = main_kernel(r, l.layer);
    text += fmt::format(
        "<li><b>{}</b>: {} above its floor of {} ({:.1f} % of the roofline, bound by {}){}. "
        "<span class=\"try\">Try: {}.</span></li>",
        html_text(l.layer), human_seconds(l.measured_s() - l.floor_s), human_seconds(l.floor_s),
        100 * l.floor_s / l.measured_s(), html_text(l.bound),
        kernel.empty() ? "" : ", mostly " + html_text(kernel), html_message(remedy_for(l, r)));
  }
  return text + "</ol>";
}

// What the trace shows: causes that no layer has.
std::string findings_list(const RunProfile& run) {
  if (run.trace.windows.empty()) return "";
  const std::vector<Finding> findings = findings_of(run);
  if (findings.empty()) return "";
  std::string text = "<h3>What else costs time</h3><ol class=\"gaps\">";
  for (std::size_t i = 0; i < std::min(kGaps, findings.size()); ++i)
    text +=
        fmt::format("<li><b>{}</b>: {}. <span class=\"try\">Try: {}.</span> Expected gain: {:.1f} %.</li>",
                    html_text(findings[i].name), html_message(findings[i].text),
                    html_message(findings[i].remedy), findings[i].gain_percent());
  return text + "</ol>";
}

}  // namespace

std::vector<SummaryFact> summary_of(const RunRecord& r) {
  std::vector<SummaryFact> facts;
  if (r.model) facts.push_back({"network", r.model->name, with_commas(r.model->parameters) + " parameters"});
  if (!r.data.empty()) facts.push_back({"data", r.data});
  if (r.plan)
    facts.push_back({"batch", with_commas(r.plan->batch), r.plan->precision + " on " + r.plan->device});
  if (r.training) add_training(facts, *r.training);
  add_readings_of(facts, r);
  if (r.memory && r.memory->planned.peak.total() > 0)
    facts.push_back({"memory", human_bytes(double(r.memory->planned.peak.total())), "planned, at its peak"});
  if (!r.tables.empty()) facts.push_back({"tables", with_commas(std::ssize(r.tables)), r.verb});
  return facts;
}

PageSection summary_section(const PageRun& page) {
  const RunRecord& r = page.run.record;
  const std::vector<SummaryFact> facts = summary_of(r);
  if (facts.empty()) return {"summary", "Summary"};
  return {"summary", "Summary", html_facts(facts) + gaps_list(r) + findings_list(page.run)};
}

}  // namespace headroom
