#include "bench/perceptron.h"

#include <algorithm>
#include <cmath>

#include "base/text.h"
#include "train/unsharded.h"

namespace headroom {
namespace {

PerceptronCase suite_2024(const std::string& name, bool quick) {
  return {name, "gtestTrain", "perceptron-" + name, WeightNorm::difference, 1e-6, 1e-14, false, quick};
}

PerceptronCase graded(const std::string& years, const std::string& recipe, std::optional<double> fp32,
                      double fp64, bool usual) {
  return {
      recipe, "grading " + years, "perceptron-" + recipe, WeightNorm::relative_rows, fp32, fp64, true, false,
      usual};
}

std::vector<PerceptronCase> make_cases() {
  std::vector<PerceptronCase> list;
  for (const char* name : {"small1", "small2", "small3", "medium", "large"})
    list.push_back(suite_2024(name, true));
  list.push_back(suite_2024("custom", false));
  list.push_back(
      {"nsys1", "gtestProfile", "perceptron-nsys1", WeightNorm::relative, 1e-6, 1e-14, true, false});
  // Until 2020 the course used only double precision.
  for (const char* name : {"case1", "case2", "case3"})
    list.push_back(graded("2016-2020", name, {}, 1e-7, true));
  for (const char* name : {"2021-case1", "2021-case2", "2021-case3"})
    list.push_back(graded("2021", name, 1e-4, 1e-10, false));
  for (const char* name : {"2023-case1", "2023-case2", "2023-case3"})
    list.push_back(graded("2023", name, 2e-4, 1e-12, false));
  return list;
}

std::vector<WeightArray> read_arrays(const Engine& engine) {
  std::vector<WeightArray> arrays;
  int layer = 0;
  for (const std::string& name : engine.weight_names()) {
    const TensorType type = unsharded_type(engine, name);
    const std::vector<std::byte> bytes = read_unsharded(engine, name);
    const bool matrix = type.shape.rank() > 1;
    if (matrix) ++layer;
    WeightArray array{fmt::format("{}{}", matrix ? 'W' : 'b', layer), type.shape[0], {}};
    dispatch_float(type.dtype, [&]<class T>() {
      const T* values = reinterpret_cast<const T*>(bytes.data());
      array.values.assign(values, values + type.shape.numel());
    });
    arrays.push_back(std::move(array));
  }
  return arrays;
}

double distance_from_first(Communicator& ranks, const std::vector<WeightArray>& arrays) {
  double most = 0;
  for (const WeightArray& array : arrays) {
    std::vector<double> first = array.values;
    ranks.broadcast(first.data(), first.size() * sizeof(double));
    for (std::size_t i = 0; i < first.size(); ++i)
      most = std::max(most, std::abs(first[i] - array.values[i]));
  }
  ranks.all_reduce(&most, 1, Reduction::max);
  return most;
}

double largest_row(const std::vector<double>& values, std::int64_t rows) {
  const std::size_t columns = values.size() / static_cast<std::size_t>(rows);
  double most = 0;
  for (std::size_t first = 0; first < values.size(); first += columns) {
    double sum = 0;
    for (std::size_t i = first; i < first + columns; ++i) sum += std::abs(values[i]);
    most = std::max(most, sum);
  }
  return most;
}

double root_of_squares(const std::vector<double>& values) {
  double sum = 0;
  for (double v : values) sum += v * v;
  return std::sqrt(sum);
}

double over(double part, double whole) { return whole > 0 ? part / whole : part; }

}  // namespace

std::string_view name_of(WeightNorm norm) {
  switch (norm) {
    case WeightNorm::difference:
      return "Frobenius norm of the difference";
    case WeightNorm::relative:
      return "relative Frobenius norm";
    case WeightNorm::relative_rows:
      return "relative inf-norm";
  }
  return "";
}

const std::vector<PerceptronCase>& perceptron_cases() {
  static const std::vector<PerceptronCase> list = make_cases();
  return list;
}

const PerceptronCase& find_perceptron_case(std::string_view name) {
  std::vector<std::string> names;
  for (const PerceptronCase& c : perceptron_cases()) {
    if (c.name == name) return c;
    names.push_back(c.name);
  }
  reject(nearest(name, names), "the perceptron course has no case '{}'", name);
}

TrainedPerceptron train_perceptron(const PerceptronTask& task, Device& device, EngineOptions options) {
  Engine engine(task.net, device, options);
  TrainOptions how = task.train;
  how.timed_steps = 0, how.parts_timed = 0;
  Groups* groups = options.groups;
  require_trainable(engine, *task.data, how.batch);
  if (groups != nullptr) groups->world().barrier();
  TrainObserver silent;
  const TrainResult result = train(engine, *task.data, how, silent);
  TrainedPerceptron trained{
      .seconds = result.train_seconds, .first_loss = result.state.first_loss, .loss = result.state.last_loss};
  if (task.test != nullptr)
    trained.accuracy = evaluate(engine, *task.test, how.preprocess, how.batch).accuracy;
  trained.arrays = read_arrays(engine);
  if (groups != nullptr) {
    groups->world().all_reduce(&trained.seconds, 1, Reduction::max);
    trained.ranks_apart = distance_from_first(groups->world(), trained.arrays);
  }
  return trained;
}

double ArrayError::by(WeightNorm norm) const {
  return norm == WeightNorm::difference ? difference
         : norm == WeightNorm::relative ? relative
                                        : relative_rows;
}

std::vector<ArrayError> array_errors(const std::vector<WeightArray>& arrays,
                                     const std::vector<WeightArray>& reference) {
  if (arrays.size() != reference.size())
    fail("{} weight arrays against {} of the reference", arrays.size(), reference.size());
  std::vector<ArrayError> list;
  for (std::size_t a = 0; a < arrays.size(); ++a) {
    const WeightArray& right = reference[a];
    if (arrays[a].values.size() != right.values.size() || arrays[a].name != right.name)
      fail("weights {} of {} values against {} of {}", arrays[a].name, arrays[a].values.size(), right.name,
           right.values.size());
    std::vector<double> off = arrays[a].values;
    for (std::size_t i = 0; i < off.size(); ++i) off[i] -= right.values[i];
    const double difference = root_of_squares(off);
    list.push_back({right.name, difference, over(difference, root_of_squares(right.values)),
                    over(largest_row(off, right.rows), largest_row(right.values, right.rows))});
  }
  return list;
}

PerceptronVerdict judge(const PerceptronCase& which, DType precision,
                        const std::map<std::string, double>& published, const TrainedPerceptron& trained,
                        const std::vector<ArrayError>& errors) {
  PerceptronVerdict verdict;
  const std::optional<double> most = which.tolerance(precision);
  verdict.graded = most.has_value();
  auto fault = [&](std::string text) {
    verdict.passed = false;
    if (verdict.why.empty()) verdict.why = std::move(text);
  };
  for (const ArrayError& e : errors) {
    const double error = e.by(which.norm);
    // Every comparison with NaN is false, so this tests the negated condition.
    if (most && !(error <= *most))
      fault(fmt::format("{} is off by {:.2e}, more than {:.0e}", e.name, error, *most));
    if (!std::isnan(verdict.held) && !(error <= verdict.held)) verdict.held = error;
  }
  if (!most) return verdict;
  if (!(trained.ranks_apart <= *most))
    fault(fmt::format("ranks have weights {:.2e} apart", trained.ranks_apart));
  // As many digits as the reports print; in fp32 the same tolerance as for every recipe.
  const double loss_unit = 0.5e-5, accuracy_unit = precision == DType::f64 ? 0.5e-6 : 0.0005;
  if (const auto loss = published.find("first_loss"); loss != published.end())
    if (!(std::abs(trained.first_loss - loss->second) <= loss_unit * 1.01))
      fault(fmt::format("the first loss is {:.5f}, not the published {}", trained.first_loss, loss->second));
  if (const auto accuracy = published.find("accuracy.test"); which.tested && accuracy != published.end())
    if (!(std::abs(trained.accuracy - accuracy->second) <= accuracy_unit))
      fault(fmt::format("the accuracy is {:.6f}, not the published {}", trained.accuracy, accuracy->second));
  return verdict;
}

}  // namespace headroom
