#include "train/compare.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "train/weights.h"

namespace headroom {
namespace {

std::vector<double> values_of(const Storage& storage, const std::string& name) {
  const TensorType& type = storage.type(name);
  return dispatch_float(type.dtype, [&]<class T>() {
    std::vector<T> host(static_cast<std::size_t>(type.shape.numel()));
    storage.read(name, host.data(), host.size() * sizeof(T));
    return std::vector<double>(host.begin(), host.end());
  });
}

// Multiplies each weight by 1 + share or 1 - share, as a coin says.
void change_weights(Engine& engine, double share, std::uint64_t seed) {
  Storage& storage = engine.storage();
  std::mt19937_64 coin(seed);
  for (const std::string& name : engine.weight_names()) {
    const TensorType& type = storage.type(name);
    dispatch_float(type.dtype, [&]<class T>() {
      std::vector<T> host(static_cast<std::size_t>(type.shape.numel()));
      storage.read(name, host.data(), host.size() * sizeof(T));
      for (T& value : host) value = T(double(value) * (coin() % 2 == 0 ? 1 + share : 1 - share));
      storage.write(name, host.data(), host.size() * sizeof(T));
    });
  }
}

// 1, 2, 5, 10, 20, 50, …
bool is_round(std::int64_t step) {
  while (step % 10 == 0) step /= 10;
  return step == 1 || step == 2 || step == 5;
}

// One of the two runs, with its own batches in the same order.
struct Side {
  Side(Engine& e, const Dataset& data, const TrainOptions& o)
      : engine(e), feed(make_feed(e.device(), data.train, training_loader(e, o), o.feed)) {}
  // Returns false after the last batch.
  bool step(double rate, std::int64_t number) {
    const DeviceBatch* batch = feed->next();
    if (batch == nullptr) return false;
    engine.set_learning_rate(rate);
    ends_epoch = batch->last_of_epoch;
    loss = engine.train_step(engine.ready(Mode::train, batch->count), batch->images, batch->labels, number);
    return true;
  }
  Engine& engine;
  std::unique_ptr<Feed> feed;
  double loss = 0;
  bool ends_epoch = false;
};

// Values this much smaller than the network's weights are what rounding left of a zero (a bias before a batch
// norm).
constexpr double kNoise = 1e-3;

// What an error of each value is compared with: the value itself. The mean of a channel is subtracted before
// a division by its deviation, so there the deviation counts where it is larger: many means are zero but for
// rounding.
std::vector<double> scale_of(const std::string& name, const std::map<std::string, std::vector<double>>& all) {
  constexpr std::string_view kMean = "running_mean";
  std::vector<double> scale = all.at(name);
  for (double& s : scale) s = std::abs(s);
  if (!name.ends_with(kMean)) return scale;
  const auto variance = all.find(name.substr(0, name.size() - kMean.size()) + "running_var");
  if (variance == all.end() || variance->second.size() != scale.size()) return scale;
  for (std::size_t i = 0; i < scale.size(); ++i)
    scale[i] = std::max(scale[i], std::sqrt(std::max(0.0, variance->second[i])));
  return scale;
}

}  // namespace

double Divergence::worst() const {
  double most = 0;
  for (const ArrayDistance& a : arrays) most = std::max(most, a.relative);
  return most;
}

std::vector<ArrayDistance> weight_distances(Engine& engine, Engine& other) {
  std::map<std::string, std::vector<double>> reference;
  double squares = 0, count = 0;
  for (const std::string& name : engine.weight_names()) {
    const auto& values = reference[name] = values_of(other.storage(), name);
    for (double v : values) squares += v * v;
    count += double(values.size());
  }
  const double noise = kNoise * std::sqrt(squares / std::max(1.0, count));
  std::vector<ArrayDistance> list;
  for (const std::string& name : engine.weight_names()) {
    const auto a = values_of(engine.storage(), name);
    const std::vector<double>&b = reference[name], scale = scale_of(name, reference);
    double square = 0, size = 0, most = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double d = a[i] - b[i], unit = std::max(scale[i], noise);
      square += d * d, size += unit * unit;
      most = std::max(most, std::abs(d)), largest = std::max(largest, unit);
    }
    list.push_back(
        {name, size > 0 ? std::sqrt(square / size) : std::sqrt(square), largest > 0 ? most / largest : most});
  }
  return list;
}

std::vector<Divergence> compare_training(Engine& engine, Engine& other, const Dataset& data,
                                         const TrainOptions& options,
                                         const std::function<void(const Divergence&)>& seen, double perturb) {
  require_trainable(engine, data, options.batch);
  require_trainable(other, data, options.batch);
  copy_weights(engine, other);
  if (perturb != 0) change_weights(other, perturb, options.seed);
  Side one(engine, data, options), two(other, data, options);
  const Schedule schedule = make_schedule(options.schedule, options.lr, options.warmup, options.epochs,
                                          one.feed->batches_per_epoch());
  std::vector<Divergence> list;
  for (std::int64_t step = 1;; ++step) {
    const double rate = schedule.at(step - 1);
    if (!one.step(rate, step) || !two.step(rate, step)) return list;
    if (!is_round(step) && !one.ends_epoch) continue;
    list.push_back({step, one.loss, two.loss, weight_distances(engine, other)});
    seen(list.back());
    if (options.stop && options.stop()) return list;
  }
}

}  // namespace headroom
