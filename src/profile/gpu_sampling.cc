#include "profile/gpu_sampling.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "base/text.h"

#ifdef HEADROOM_HAS_CUDA
#include "profile/cuda/cupti_sampler.h"
#endif

namespace headroom {
namespace {

const SpanName kSamplingSpan{"sample the counters"};

// Samples of one measurement: more fill the buffer of the GPU, and take seconds to decode.
constexpr std::int64_t kMaxSamples = 5000;
constexpr std::int64_t kMinRuns = 3, kMaxRuns = 400;
constexpr std::size_t kPoints = 200;  // of the step over time

void sleep_ns(std::int64_t ns) { std::this_thread::sleep_for(std::chrono::nanoseconds(ns)); }

// From the first kernel to the last, of each run. Every run has the same kernels.
std::vector<Trace::Interval> runs_of_kernels(const std::vector<Trace::Kernel>& kernels, std::size_t runs) {
  if (runs == 0 || kernels.empty() || kernels.size() % runs != 0)
    fail("{} kernels were traced in {} runs of the step, which should be equal", kernels.size(), runs);
  const std::size_t each = kernels.size() / runs;
  std::vector<Trace::Interval> all;
  for (std::size_t first = 0; first < kernels.size(); first += each) {
    Trace::Interval run = kernels[first];
    for (std::size_t k = first; k < first + each; ++k) run.end_ns = std::max(run.end_ns, kernels[k].end_ns);
    all.push_back(run);
  }
  return all;
}

// The layer of each step, by number, and their names in order.
std::vector<int> main_layers(const Plan& plan, std::vector<std::string>& names) {
  std::vector<int> numbers;
  for (const Step& step : plan.steps) {
    numbers.push_back(-1);
    if (step.charges.empty()) continue;
    const std::string& layer = std::ranges::max_element(step.charges, {}, &Charge::share)->layer;
    auto it = std::ranges::find(names, layer);
    if (it == names.end()) it = names.insert(it, layer);
    numbers.back() = static_cast<int>(it - names.begin());
  }
  return numbers;
}

// Runs in bursts of different lengths with idle gaps between them: a pattern that fits at one shift only.
void run_in_bursts(Executor& executor, Device& device, Recorders recorders, std::int64_t runs,
                   std::int64_t gap_ns) {
  std::int64_t done = 0;
  for (const double part : {0.1, 0.3, 0.6, 1.0}) {
    sleep_ns(gap_ns);
    for (; done < std::max<std::int64_t>(1, std::llround(part * double(runs))); ++done)
      executor.run(recorders);
    device.stream().synchronize();
  }
  sleep_ns(gap_ns);
}

// The time of one run, after some to warm up; the first of them captures it.
std::int64_t time_of_run(Executor& executor, Device& device, Recorders recorders) {
  constexpr int kRuns = 3;
  std::int64_t begin = 0;
  for (int i = 0; i < 2 * kRuns; ++i) {
    if (i == kRuns) device.stream().synchronize(), begin = spans::now_ns();
    executor.run(recorders);
  }
  device.stream().synchronize();
  return std::max<std::int64_t>(1, (spans::now_ns() - begin) / kRuns);
}

}  // namespace

std::vector<std::string> sampled_metrics() {
  return {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
          "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed",
          "lts__t_bytes.avg.pct_of_peak_sustained_elapsed",
          "dram__throughput.avg.pct_of_peak_sustained_elapsed",
          "dram__bytes_read.sum",
          "dram__bytes_write.sum"};
}

UnitUse use_of_metrics(const std::vector<double>& values, double seconds) {
  return {.sm = values.at(0),
          .tensor = values.at(1),
          .l2 = values.at(2),
          .dram = values.at(3),
          .dram_bytes_per_s = (values.at(4) + values.at(5)) / seconds};
}

std::string SampledStep::note() const {
  std::string text = fmt::format(
      "samples of the GPU: {} every {:.4g} us over {} runs of the step; their clock was moved by {:.3f} ms "
      "to fit the kernels (correlation {:.2f})",
      samples, double(interval_ns) / 1e3, runs, double(shift.ns) / 1e6, shift.correlation);
  if (overflowed) text += "; the GPU had no room for all samples: a longer interval needs less";
  return text;
}

SampledStep assigned_samples(const Plan& plan, const std::vector<GpuSample>& samples,
                             const std::vector<Trace::Kernel>& kernels, std::size_t runs) {
  const std::vector<Trace::Interval> windows = runs_of_kernels(kernels, runs);
  SampledStep step{.samples = samples.size(), .runs = runs};
  step.shift = align_samples(samples, IntervalSet(kernels));
  constexpr double kMinCorrelation = 0.5;  // below it, samples would count for any layer
  if (step.shift.correlation < kMinCorrelation)
    fail("the samples of the GPU do not fit its kernels: the correlation is {:.2f} at best, of {} samples",
         step.shift.correlation, samples.size());
  std::vector<std::string> names;
  const std::vector<int> layer_of = main_layers(plan, names);
  std::vector<LayerKernel> of_layers;
  for (const Trace::Kernel& k : kernels) {
    const bool known = k.step >= 0 && k.step < std::ssize(layer_of);
    of_layers.push_back({k, known ? layer_of[static_cast<std::size_t>(k.step)] : -1});
  }
  const SampledUse use =
      assign_samples(samples, of_layers, windows, step.shift.ns, static_cast<int>(names.size()));
  for (std::size_t l = 0; l < names.size(); ++l)
    if (use.layers[l].seconds > 0) step.layers.push_back({names[l], use.layers[l]});
  if (use.no_layer.seconds > 0) step.layers.push_back({"kernels of no layer", use.no_layer});
  if (use.idle.seconds > 0) step.layers.push_back({"between kernels", use.idle});
  step.all = use.all;
  for (const Trace::Interval& run : windows) step.run_s += run.seconds() / double(runs);
  step.points = fold_samples(samples, windows, step.shift.ns, kPoints);
  return step;
}

SampledStep sample_step(Executor& executor, Device& device, std::int64_t interval_ns, KernelTracer& tracer,
                        const MakeSampler& make_sampler) {
  const Span span(kSamplingSpan, SpanKind::setup);
  Recorder* const hears[] = {&tracer};
  const std::int64_t run_ns = time_of_run(executor, device, {});
  const std::int64_t runs = std::clamp(kMaxSamples * interval_ns / run_ns, kMinRuns, kMaxRuns);
  const std::int64_t interval = std::max(interval_ns, runs * run_ns / kMaxSamples);
  auto sampler = make_sampler(interval);
  tracer.start();
  time_of_run(executor, device, hears);
  const std::int64_t begin = spans::now_ns();
  sampler->start();
  constexpr std::int64_t kGap = 25;  // samples
  run_in_bursts(executor, device, hears, runs, kGap * interval);
  sampler->stop();
  const std::vector<GpuSample> samples = sampler->read();
  const bool overflowed = sampler->overflowed();
  sampler.reset();  // the tracer's end detaches all of CUPTI
  Trace trace;
  tracer.stop(trace, begin, 0);
  executor.drop_captures();  // they belong to a recorder that ends here
  std::erase_if(trace.kernels, [](const Trace::Kernel& k) { return k.begin_ns < 0; });
  std::ranges::sort(trace.kernels, {}, &Trace::Kernel::begin_ns);
  SampledStep step =
      assigned_samples(executor.plan(), samples, trace.kernels, static_cast<std::size_t>(runs));
  step.interval_ns = interval, step.overflowed = overflowed;
  return step;
}

SampledStep sample_step(Executor& executor, Device& device, std::int64_t interval_ns, KernelTracer& tracer) {
  return sample_step(executor, device, interval_ns, tracer,
                     [&](std::int64_t interval) { return make_gpu_sampler(device, interval); });
}

std::unique_ptr<GpuSampler> make_gpu_sampler(Device& device, std::int64_t interval_ns) {
#ifdef HEADROOM_HAS_CUDA
  if (device.kind() != DeviceKind::cpu) return make_cupti_sampler(device, interval_ns);
#else
  (void)device, (void)interval_ns;
#endif
  fail("only GPUs are sampled");
}

}  // namespace headroom
