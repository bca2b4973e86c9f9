#include "bench/convolution_kinds.h"

#include <algorithm>

#include "train/evaluate.h"

namespace headroom {
namespace {

const SamplerOptions kKindSamples = {.warm_ups = 1,
                                     .min_samples = 3,
                                     .max_samples = 25,
                                     .max_seconds = 6,
                                     .repeats = 1,
                                     .noise = kSettledNoise,
                                     .alternate = true};

bool is_convolution(const Step& step) {
  return step.phase == Phase::forward && step.problem.op.starts_with("conv2d");
}

const std::string& layer_of(const Plan& plan, const Step& step) { return plan.graph.node(step.node).layer; }

// One pass. Seconds of all convolutions together, then of each layer.
std::vector<double> run_pass(Engine& engine, const Split& images, const Preprocess& preprocess,
                             std::int64_t batch, const std::vector<ConvolutionSteps>& convolutions,
                             ConvolutionPass& pass) {
  const EvalResult result = evaluate(engine, images, preprocess, batch);
  if (result.metrics.images() > 0) pass.accuracy = result.accuracy;
  std::vector<double> seconds = {0};
  // A last batch of fewer images runs by another plan and is not timed; it takes its share of a whole one.
  const double batches = double(images.count()) / double(batch);
  for (const ConvolutionSteps& c : convolutions) {
    double layer = 0;
    for (const std::size_t step : c.steps) layer += result.measurement.steps[step].mean() * batches;
    seconds.push_back(layer);
    seconds.front() += layer;
  }
  return seconds;
}

}  // namespace

std::vector<ConvolutionSteps> convolutions_of(const Plan& plan) {
  std::vector<ConvolutionSteps> list;
  for (const Step& step : plan.steps) {
    if (!is_convolution(step)) continue;
    const std::string& layer = layer_of(plan, step);
    auto known = std::ranges::find(list, layer, &ConvolutionSteps::layer);
    if (known == list.end()) known = list.insert(known, {.layer = layer, .kernel = step.full_name()});
    known->flops += step.cost.multiply_add;
  }
  for (std::size_t i = 0; i < plan.steps.size(); ++i) {
    const Step& step = plan.steps[i];
    const bool copy = step.problem.op == "relayout" || step.problem.op == "cast";
    if (!is_convolution(step) && !copy) continue;
    const auto of = std::ranges::find(list, layer_of(plan, step), &ConvolutionSteps::layer);
    if (of != list.end()) of->steps.push_back(i);
  }
  return list;
}

std::vector<ConvolutionPass> time_convolutions(const std::vector<Engine*>& engines, const Split& images,
                                               const Preprocess& preprocess, std::int64_t batch) {
  std::vector<std::vector<ConvolutionSteps>> convolutions;
  std::vector<ConvolutionPass> passes(engines.size());
  std::vector<TimedBody> bodies;
  for (Engine* engine : engines)
    convolutions.push_back(convolutions_of(engine->ready(Mode::eval, batch).plan()));
  for (const auto& list : convolutions)
    if (list.size() != convolutions.front().size()) fail("plans of one network have different convolutions");
  for (std::size_t i = 0; i < engines.size(); ++i)
    bodies.push_back(
        [&, i](int) { return run_pass(*engines[i], images, preprocess, batch, convolutions[i], passes[i]); });
  const std::vector<Sampled> timed = sample_in_turn(kKindSamples, bodies);
  for (std::size_t i = 0; i < engines.size(); ++i) {
    passes[i].sum = timed[i];
    for (std::size_t k = 0; k < convolutions[i].size(); ++k) {
      const ConvolutionSteps& c = convolutions[i][k];
      passes[i].layers.push_back(
          {c.layer, c.kernel, c.flops * double(images.count()) / double(batch), timed[i].parts[k]});
    }
  }
  return passes;
}

Split first_images(const Split& split, std::int64_t count) {
  if (count >= split.count()) return split;
  Split part = split;
  const auto kept = static_cast<std::size_t>(count), of_image = static_cast<std::size_t>(split.image.numel());
  if (!part.pixels.empty()) part.pixels.resize(kept * of_image);
  if (!part.values.empty()) part.values.resize(kept * of_image);
  part.labels.resize(kept);
  if (!part.text.empty()) part.text.resize(kept * of_image + 1);
  return part;
}

}  // namespace headroom
