#include "plan/tuner.h"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>

#include "base/half.h"
#include "base/random.h"
#include "base/units.h"

namespace headroom {
namespace {

constexpr int kTimedRuns = 5;
constexpr double kHopeless = 4;  // times the best so far: one run is enough to give up

// Memory for one problem, filled with random numbers: a GPU needs less power, and so less time, for zeros.
class Scratch {
 public:
  Scratch(Device& device, const Step& step) : device_(device) {
    for (const TensorType& type : step.problem.inputs) inputs_.push_back(filled(type));
    for (const TensorType& type : step.problem.outputs) outputs_.push_back(filled(type));
    workspace_ = device.allocate(std::max<std::size_t>(step.workspace, 1));
    for (const Buffer& b : inputs_) in_.push_back(b.data());
    for (const Buffer& b : outputs_) out_.push_back(b.data());
  }
  LaunchArgs args() { return {in_.data(), out_.data(), workspace_.data(), &device_.stream()}; }

 private:
  Buffer filled(const TensorType& type) {
    const auto bytes = static_cast<std::size_t>(type.bytes());
    Buffer buffer = device_.allocate(std::max<std::size_t>(bytes, 1));
    if (!is_float(type.dtype)) {
      device_.zero(buffer.data(), bytes);
      return buffer;
    }
    const std::vector<std::byte>& pattern = pattern_of(type.dtype);
    const std::size_t first = std::min(bytes, pattern.size());
    auto* at = static_cast<std::byte*>(buffer.data());
    device_.upload(at, pattern.data(), first);
    for (std::size_t done = first; done < bytes;) {  // doubled until it is full
      const std::size_t more = std::min(done, bytes - done);
      device_.copy(at + done, at, more);
      done += more;
    }
    return buffer;
  }

  // A block of random numbers between -1 and 1.
  const std::vector<std::byte>& pattern_of(DType dtype) {
    constexpr std::size_t kCount = 1 << 16;
    static thread_local std::map<DType, std::vector<std::byte>> patterns;  // as good for the next problem
    std::vector<std::byte>& bytes = patterns[dtype];
    if (!bytes.empty()) return bytes;
    bytes.resize(kCount * size_of(dtype));
    const Philox random(17);
    for (std::size_t i = 0; i < kCount; ++i) {
      const double value = 2 * random.uniform(i) - 1;
      if (is_16bit(dtype))
        reinterpret_cast<std::uint16_t*>(bytes.data())[i] = half_bits(dtype, value);
      else
        dispatch_float(dtype,
                       [&]<class T>() { reinterpret_cast<T*>(bytes.data())[i] = static_cast<T>(value); });
    }
    return bytes;
  }

  Device& device_;
  std::vector<Buffer> inputs_, outputs_;
  Buffer workspace_;
  std::vector<const void*> in_;
  std::vector<void*> out_;
};

class Stopwatch {
 public:
  explicit Stopwatch(Device& device)
      : stream_(device.stream()), begin_(device.make_event()), end_(device.make_event()) {}

  // Seconds of one run. The first run loads code and does not count. A candidate far slower than the best is
  // not run more often than needed to see that: some take a thousand times as long.
  double seconds(const Launcher& launch, const LaunchArgs& args, double best) {
    launch(args);
    const double once = timed(launch, args, 1);
    return once > kHopeless * best ? once : timed(launch, args, kTimedRuns) / kTimedRuns;
  }

 private:
  double timed(const Launcher& launch, const LaunchArgs& args, int runs) {
    begin_->record(stream_);
    for (int i = 0; i < runs; ++i) launch(args);
    end_->record(stream_);
    end_->synchronize();
    return end_->seconds_since(*begin_);
  }

  Stream& stream_;
  std::unique_ptr<Event> begin_, end_;
};

void take(Step& step, const Tuned& tuned, const char* how) {
  step.variant = tuned.variant;
  step.variant_s = tuned.seconds;
  step.why += tuned.seconds > 0 ? fmt::format("; {}: {} by itself, the fastest of {}", how,
                                              human_seconds(tuned.seconds), tuned.candidates.size())
                                : fmt::format("; {}", how);
}

bool is_open(const Step& step) {
  return step.kernel != nullptr && step.kernel->candidates && step.kernel->prepare && step.variant.empty();
}

}  // namespace

Tuned Tuner::time(const Step& step, const Target& target) {
  std::optional<Scratch> memory;
  try {
    memory.emplace(device_, step);
  } catch (const Error&) {  // the device is nearly full: the plan itself may still fit
    device_.clear_error();
    return first_that_runs(step, target);
  }
  Scratch& scratch = *memory;
  Stopwatch watch(device_);
  LaunchContext context{.target = target, .device = &device_};
  Tuned tuned{std::string(step.kernel->name), "", std::numeric_limits<double>::infinity(), {}};
  std::string last_error;
  for (const std::string& name : step.kernel->candidates(step.problem, target)) try {
      context.variant = name;
      const Launcher launch = step.kernel->prepare(step.problem, context);
      const double seconds = watch.seconds(launch, scratch.args(), tuned.seconds);
      tuned.candidates.push_back({name, seconds});
      if (seconds < tuned.seconds) tuned.seconds = seconds, tuned.variant = name;
    } catch (const Error& error) {  // the library lacks it, or lacks it for these sizes
      last_error = error.what();
      device_.clear_error();
    }
  if (tuned.candidates.empty()) fail("no candidate of kernel '{}' runs: {}", step.kernel->name, last_error);
  return tuned;
}

Tuned Tuner::first_that_runs(const Step& step, const Target& target) {
  LaunchContext context{.target = target, .device = &device_};
  std::string last_error;
  for (const std::string& name : step.kernel->candidates(step.problem, target)) try {
      context.variant = name;
      step.kernel->prepare(step.problem, context);
      return {std::string(step.kernel->name), name, 0, {{name, 0}}};
    } catch (const Error& error) {
      last_error = error.what();
      device_.clear_error();
    }
  fail("no candidate of kernel '{}' runs: {}", step.kernel->name, last_error);
}

std::size_t Tuner::tune(Plan& plan, const Watch& watch) {
  const Target& target = plan.binding.target;
  std::map<TuningKey, std::vector<Step*>> open;
  for (Step& step : plan.steps) {
    if (!is_open(step)) continue;
    const TuningKey key = tuning_key(step.problem, *step.kernel, target);
    if (const auto known = table_.find(key))
      take(step, *known, "tuned");
    else
      open[key].push_back(&step);
  }
  std::size_t done = 0;
  for (auto& [key, steps] : open) {
    if (watch) watch({done, open.size(), key.problem});
    Tuned tuned;
    if (target.policy.deterministic) {
      tuned = first_that_runs(*steps[0], target);
    } else {
      tuned = time(*steps[0], target);
      if (tuned.seconds > 0) table_.add(key, tuned);
    }
    for (Step* step : steps)
      take(*step, tuned,
           target.policy.deterministic ? "the first that runs here; nothing is timed" : "tuned");
    ++done;
  }
  if (watch && done > 0) watch({done, done, ""});
  return target.policy.deterministic ? 0 : done;
}

}  // namespace headroom
