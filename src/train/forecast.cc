#include "train/forecast_parts.h"

#include <algorithm>

#include "base/shares.h"
#include "plan/memory_need.h"
#include "timing/step_model.h"

namespace headroom {
namespace {

Chooser chooser_of(const EngineOptions& options, const Capabilities& device) {
  Chooser choose = for_reading(device, options.choose);
  return options.tuning ? with_tuned_variants(*options.tuning, std::move(choose)) : choose;
}

double memory_at(const Net& net, BuildRequest request, std::int64_t batch) {
  request.batch = batch;
  if (request.global_batch > 0) request.global_batch = batch;
  return memory_need(build(net, request).plan).total();
}

// The largest batch below `batch`, which does not fit. The need grows with the batch, almost in proportion.
std::int64_t largest_fitting(const Net& net, const BuildRequest& request, double there) {
  std::int64_t fits = 0, too_large = request.batch;
  double at_fits = 0, at_too_large = memory_at(net, request, too_large);
  for (int tries = 1; too_large - fits > 1; ++tries) {
    // In proportion, and now and then the middle, because a bent curve would be approached from one side
    // only.
    const double share = tries % 3 == 0 ? 0.5 : (there - at_fits) / (at_too_large - at_fits);
    const auto guess = fits + static_cast<std::int64_t>(share * double(too_large - fits));
    const std::int64_t batch = std::clamp(guess, fits + 1, too_large - 1);
    const double needed = memory_at(net, request, batch);
    (needed <= there ? fits : too_large) = batch;
    (needed <= there ? at_fits : at_too_large) = needed;
  }
  return fits;
}

}  // namespace

BuildRequest reading_request(const Net& net, const Machine& machine, const EngineOptions& options, Mode mode,
                             std::int64_t batch, int threads, const Distribution& ranks) {
  const Target target = target_of(capabilities_of(machine, threads), options, ranks);
  if (mode == Mode::eval && net.imported) mode = Mode::infer;
  const Share share = share_of(batch, ranks.data_parts, ranks.data_index);
  BuildRequest request = build_request(options, target, mode, std::max<std::int64_t>(1, share.count),
                                       {mode == Mode::train ? batch : 0, share.first});
  request.choose = chooser_of(options, target.device);
  return request;
}

namespace {

// Nodes of unknown operators have no time. Each may take as long as a known step does on average, or twice
// that.
void widen_for_gaps(Prediction& p, const Program& program) {
  if (program.unknown.empty()) return;
  p.has_times = p.has_times && !p.steps.empty();
  if (p.has_times) p.high_s *= 1 + 2 * double(program.unknown.size()) / double(p.steps.size());
}

}  // namespace

Forecast read_plan(std::shared_ptr<const Built> built, const Machine& machine) {
  Prediction prediction = predict(built->plan, machine, time_model_for(machine));
  widen_for_gaps(prediction, built->program);
  Forecast result{std::move(built), std::move(prediction)};
  result.batch = result.built->plan.binding.batch;
  result.memory_needed = memory_need(result.built->plan).total();
  result.memory_there = machine.memory().bytes;
  result.by_libraries = vendors_only(result.built->plan.binding.target.device);
  return result;
}

Forecast forecast(const Net& net, const Machine& machine, const EngineOptions& options, Mode mode,
                  std::int64_t batch, int threads, const Distribution& ranks) {
  const BuildRequest request = reading_request(net, machine, options, mode, batch, threads, ranks);
  Forecast result = read_plan(std::make_shared<const Built>(build(net, request)), machine);
  const bool own_batch = fixed_batch(net) == 0 && ranks.data_parts == 1;
  if (!result.fits() && own_batch) result.largest_batch = largest_fitting(net, request, result.memory_there);
  return result;
}

}  // namespace headroom
