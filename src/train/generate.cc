#include "train/generate.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "base/error.h"
#include "base/random.h"
#include "data/tensor_values.h"

namespace headroom {
namespace {

constexpr std::uint64_t kStream = 0x67656e65;  // of the random numbers, apart from those of training

NamedTensor as_array(const PortType& port, const std::vector<std::int32_t>& tokens) {
  NamedTensor array{port.name, {port.shape, DType::i32}, {}};
  array.bytes.resize(static_cast<std::size_t>(array.type.bytes()));  // the places after the last token are 0
  std::memcpy(array.bytes.data(), tokens.data(), tokens.size() * sizeof(std::int32_t));
  return array;
}

}  // namespace

Generator::Generator(Engine& engine, const TokenChoice& choice) : inference_(engine), choice_(choice) {
  const auto& inputs = inference_.inputs();
  const auto& outputs = inference_.outputs();
  const bool tokens = inputs.size() == 1 && !is_float(inputs[0].dtype) && inputs[0].shape.rank() == 2;
  const bool scores = !outputs.empty() && is_float(outputs[0].dtype) && outputs[0].shape.rank() == 3;
  if (!tokens || !scores || outputs[0].shape[1] != inputs[0].shape[1])
    reject(Hint{"take gpt2, or a network that maps N x tokens to N x tokens x vocabulary"},
           "model '{}' does not score the next token at every place", engine.net().name);
  context_ = inputs[0].shape[1], vocabulary_ = outputs[0].shape[2];
}

// The network may not look ahead, so what stands after the last token has no effect on its scores.
std::int32_t Generator::next(const std::vector<std::int32_t>& tokens) {
  if (tokens.empty()) reject("there is no token to continue");
  const auto seen = std::min<std::size_t>(tokens.size(), static_cast<std::size_t>(context_));
  const std::vector<std::int32_t> latest(tokens.end() - static_cast<std::ptrdiff_t>(seen), tokens.end());
  const NamedTensor scores = inference_.run({as_array(inference_.inputs()[0], latest)}).at(0);
  std::vector<double> row(static_cast<std::size_t>(vocabulary_));
  const std::int64_t first = (static_cast<std::int64_t>(seen) - 1) * vocabulary_;
  for (std::size_t i = 0; i < row.size(); ++i)
    row[i] = value_at(scores, first + static_cast<std::int64_t>(i));
  return choose(std::move(row), tokens.size());
}

std::int32_t Generator::choose(std::vector<double> scores, std::uint64_t place) const {
  const auto best = std::ranges::max_element(scores);
  if (!std::isfinite(*best))
    throw Error(Blame::run, "the network's scores are not finite", Hint{"were these weights trained well?"});
  if (choice_.temperature == 0) return static_cast<std::int32_t>(best - scores.begin());
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  if (choice_.top > 0) order.resize(std::min(order.size(), static_cast<std::size_t>(choice_.top)));
  const double highest = *best;
  double sum = 0;
  for (std::size_t i : order) sum += std::exp((scores[i] - highest) / choice_.temperature);
  double left = Philox(choice_.seed, kStream).uniform(place) * sum;
  for (std::size_t i : order)
    if ((left -= std::exp((scores[i] - highest) / choice_.temperature)) < 0)
      return static_cast<std::int32_t>(i);
  return static_cast<std::int32_t>(order.back());
}

}  // namespace headroom
