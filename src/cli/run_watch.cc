#include "cli/run_watch.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/spans.h"
#include "profile/nvml_source.h"
#include "profile/proc_sources.h"

namespace headroom::cli {
namespace {

constexpr double kSampleSeconds = 0.1;
constexpr std::size_t kMaxPoints = 1000;  // of a series in a record

double five_digits(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10, 4 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

}  // namespace

std::vector<std::unique_ptr<SampleSource>> sources_of_run() {
  std::vector<std::unique_ptr<SampleSource>> sources;
  sources.push_back(machine_source());
  sources.push_back(nvml_source());
  sources.push_back(process_source(::getpid()));
  return sources;
}

Samples kept_samples(Samples samples) {
  std::erase_if(samples.series, [](const Series& series) { return series.info.per_core; });
  for (double& s : samples.seconds) s = std::round(s * 1e4) / 1e4;
  for (Series& series : samples.series)
    std::ranges::transform(series.values, series.values.begin(), five_digits);
  return samples;
}

RunWatch::RunWatch()
    : start_s_(1e-9 * double(spans::now_ns())),
      losses_({{.key = "loss", .name = "loss", .unit = ""}}, kMaxPoints),
      sampler_(sources_of_run(), kSampleSeconds, kMaxPoints) {}

double RunWatch::seconds() const { return 1e-9 * double(spans::now_ns()) - start_s_; }

void RunWatch::on_step(std::int64_t /*step*/, std::int64_t /*of*/, double loss) {
  losses_.add(seconds(), std::array{loss});
}

void RunWatch::on_epoch(const EpochResult& /*epoch*/) { epoch_end_s_.push_back(seconds()); }

void RunWatch::add_progress(RecordedTraining& training) const {
  Samples losses = SampleStore(losses_).take();
  training.loss_s = std::move(losses.seconds);
  training.losses = std::move(losses.series.at(0).values);
  std::ranges::transform(training.losses, training.losses.begin(), five_digits);
  training.epoch_end_s = epoch_end_s_;
}

void RunWatch::stop() { samples_ = kept_samples(sampler_.stop()); }

void RunWatch::add_to(RunRecord& record) const {
  record.samples = samples_;
  if (record.training) add_progress(*record.training);
}

}  // namespace headroom::cli
