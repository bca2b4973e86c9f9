#include "train/forecast.h"

#include "base/shares.h"

namespace headroom {
namespace {

Chooser chooser_of(const EngineOptions& options, const Capabilities& device) {
  Chooser choose = for_reading(device, options.choose);
  return options.tuning ? with_tuned_variants(*options.tuning, std::move(choose)) : choose;
}

}  // namespace

Forecast forecast(const Net& net, const Machine& machine, const EngineOptions& options, Mode mode,
                  std::int64_t batch, int threads, const Distribution& ranks) {
  const Target target = target_of(capabilities_of(machine, threads), options, ranks);
  if (mode == Mode::eval && net.imported) mode = Mode::infer;
  const Share share = share_of(batch, ranks.data_parts, ranks.data_index);
  BuildRequest request = build_request(options, target, mode, std::max<std::int64_t>(1, share.count),
                                       {mode == Mode::train ? batch : 0, share.first});
  request.choose = chooser_of(options, target.device);
  Built built = build(net, request);
  Prediction prediction = predict(built.plan, machine);
  return {std::move(built), std::move(prediction)};
}

}  // namespace headroom
