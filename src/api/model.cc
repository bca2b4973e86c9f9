#include "headroom/model.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "api/data_impl.h"
#include "api/forward.h"
#include "api/layer_times.h"
#include "data/pixel_writer.h"
#include "timing/step_model.h"
#include "train/freeze.h"
#include "train/settings.h"
#include "train/trainer.h"
#include "train/weights.h"

namespace headroom {
namespace {

void require_at_least_one(std::int64_t value, const char* what) {
  if (value < 1) reject("{} is {}; it must be at least 1", what, value);
}

void require_not_negative(double value, const char* what) {
  if (!std::isfinite(value) || value < 0) reject("{} is {}; it must be a non-negative number", what, value);
}

Update update_of(const TrainSettings& s) {
  Update update = parse_update(s.optimizer);
  update.nesterov = s.nesterov;
  update.l2 = s.l2;
  update.freeze = parse_freeze(s.freeze);
  if (update.nesterov && update.momentum == 0)
    reject(Hint{"optimizer = \"sgd:momentum=0.9\""}, "nesterov needs a momentum above 0");
  return update;
}

TrainOptions options_of(const TrainSettings& s, const ModelSettings& model, const Update& update) {
  require_at_least_one(s.epochs, "epochs");
  require_at_least_one(s.batch, "batch");
  require_not_negative(s.lr, "lr");
  require_not_negative(s.l2, "l2");
  require_not_negative(s.warmup, "warmup");
  if (!(s.target >= 0 && s.target <= 1)) reject("target is {}; it is an accuracy between 0 and 1", s.target);
  const bool plain = update.kind == "sgd" || update.kind == "adadelta";
  TrainOptions options{.batch = s.batch, .epochs = s.epochs, .lr = s.lr > 0 ? s.lr : plain ? 0.05 : 0.001};
  options.schedule = parse_schedule(s.schedule);
  options.warmup = s.warmup;
  options.shuffle = s.shuffle;
  options.seed = model.seed;
  if (!s.augment.empty()) options.augment = parse_augment(s.augment);
  options.loader_threads = s.loader_threads;
  options.target = s.target;
  return options;
}

Epoch epoch_of(const EpochResult& e) {
  return {e.epoch, e.loss, e.train_accuracy, e.test_accuracy, e.test_loss, e.seconds};
}

class Teller final : public TrainObserver {
 public:
  explicit Teller(const std::function<void(const Epoch&)>& tell) : tell_(tell) {}
  void on_epoch(const EpochResult& e) override {
    if (tell_) tell_(epoch_of(e));
  }

 private:
  const std::function<void(const Epoch&)>& tell_;
};

std::unique_ptr<Device> opened(const ModelSettings& settings) {
  require_threads(settings.threads);
  return open_device(settings.device, settings.threads);
}

}  // namespace

struct Model::Impl {
  Impl(Net net, const ModelSettings& s)
      : settings(s),
        precision(parse_precision(s.precision)),
        dtype(master_of(precision.dtype)),
        device(opened(s)),
        engine(make(std::move(net), {})) {}

  std::unique_ptr<Engine> make(Net net, Update update) {
    return std::make_unique<Engine>(std::move(net), *device,
                                    EngineOptions{.precision = precision.dtype,
                                                  .tf32 = precision.tf32,
                                                  .seed = settings.seed,
                                                  .update = std::move(update)});
  }

  // An optimizer belongs to an engine, so a new run gets a new engine; the weights move.
  void begin_run(const Data& data, const Update& update, std::int64_t batch) {
    std::unique_ptr<Engine> next = make(engine->net(), update);
    require_trainable(*next, data.impl().set, batch);
    copy_weights(*engine, *next);
    forward.reset();
    trained.reset();
    engine = std::move(next);
  }

  Scores predict(std::int64_t count, const std::function<void(std::int64_t, void*)>& fill) {
    if (forward == nullptr) forward = std::make_unique<Forward>(*engine);
    return forward->run(count, fill);
  }

  struct Trained {
    std::int64_t batch;
    TrainResult result;
  };

  ModelSettings settings;
  Precision precision;
  DType dtype;  // type in which items are passed
  Timer timer;
  std::unique_ptr<Device> device;
  std::unique_ptr<Engine> engine;
  std::unique_ptr<Forward> forward;  // over the engine's weights
  std::optional<Trained> trained;
};

Model::Model(Net net, const ModelSettings& settings)
    : impl_(std::make_unique<Impl>(std::move(net), settings)) {}
Model::~Model() = default;
Model::Model(Model&& other) noexcept = default;
Model& Model::operator=(Model&& other) noexcept = default;

Training Model::train(const Data& data, const TrainSettings& settings,
                      const std::function<void(const Epoch&)>& on_epoch) {
  const auto scope = impl_->timer.scope("train");
  const Update update = update_of(settings);
  TrainOptions options = options_of(settings, impl_->settings, update);
  options.preprocess = data.impl().preprocess;
  impl_->begin_run(data, update, options.batch);
  Teller teller(on_epoch);
  TrainResult result = headroom::train(*impl_->engine, data.impl().set, options, teller);
  Training training{.steps = result.state.steps,
                    .first_loss = result.state.first_loss,
                    .last_loss = result.state.last_loss,
                    .target_reached = result.target_reached};
  for (const EpochResult& e : result.state.epochs) training.epochs.push_back(epoch_of(e));
  if (result.train_seconds > 0) training.images_per_s = double(result.images) / result.train_seconds;
  impl_->trained = Impl::Trained{options.batch, std::move(result)};
  return training;
}

Evaluation Model::evaluate(const Data& data, std::int64_t batch) {
  const auto scope = impl_->timer.scope("evaluate");
  require_at_least_one(batch, "batch");
  if (data.test_count() == 0) reject("data '{}' has no test items", data.name());
  const EvalResult r =
      headroom::evaluate(*impl_->engine, data.impl().set.test, data.impl().preprocess, batch);
  Evaluation evaluation{
      .accuracy = r.accuracy, .loss = r.loss, .images = r.images, .seconds = r.seconds, .confusion = {}};
  if (r.metrics.images() > 0) evaluation.top5_accuracy = r.metrics.top_accuracy();
  for (std::int64_t truth = 0; truth < r.metrics.classes(); ++truth)
    for (std::int64_t said = 0; said < r.metrics.classes(); ++said)
      evaluation.confusion.push_back(r.metrics.confused(truth, said));
  return evaluation;
}

Scores Model::predict(std::span<const float> items) {
  const auto scope = impl_->timer.scope("predict");
  const std::int64_t each = Shape(net().input).numel(), elements = std::ssize(items);
  if (elements % each != 0)
    reject("{} values do not make items of {}, which have {} each", elements, Shape(net().input).str(), each);
  if (reads_tokens(net()))
    return impl_->predict(elements / each, [&](std::int64_t i, void* to) {
      std::copy_n(items.data() + i * each, each, static_cast<std::int32_t*>(to));
    });
  return impl_->predict(elements / each, [&](std::int64_t i, void* to) {
    dispatch_float(impl_->dtype,
                   [&]<class T>() { std::copy_n(items.data() + i * each, each, static_cast<T*>(to)); });
  });
}

Scores Model::predict(std::span<const std::uint8_t> pixels, const Data& like) {
  const auto scope = impl_->timer.scope("predict");
  const Shape image(like.shape()), input(net().input);
  if (reads_tokens(net()))
    reject(Hint{"pass token numbers as values"}, "model '{}' reads tokens, not pixels", net().name);
  require_fit(image, input);
  const std::int64_t each = image.numel(), elements = std::ssize(pixels);
  if (elements % each != 0)
    reject("{} pixels do not make images of {}, which have {} each", elements, image.str(), each);
  const PixelWriter writer(image, input, like.impl().preprocess);
  return impl_->predict(elements / each, [&](std::int64_t i, void* to) {
    dispatch_float(impl_->dtype, [&]<class T>() {
      writer.clear(static_cast<T*>(to));
      writer.write(pixels.data() + i * each, Jitter{}, static_cast<T*>(to));
    });
  });
}

std::int64_t Scores::best(std::int64_t i) const {
  const std::span<const float> scores = row(i);
  return std::max_element(scores.begin(), scores.end()) - scores.begin();
}

void Model::save(const std::string& path) const {
  const auto scope = impl_->timer.scope("save");
  save_weights(*impl_->engine, path);
}

void Model::load(const std::string& path) {
  const auto scope = impl_->timer.scope("load");
  load_weights(*impl_->engine, path);
}

Profile Model::profile() const {
  if (!impl_->trained)
    reject(Hint{"call train() first"}, "model '{}' was not trained, so there are no times", net().name);
  const auto& [batch, result] = *impl_->trained;
  const Plan& plan = impl_->engine->ready(Mode::train, batch).plan();
  const Machine machine = ceilings_of(*impl_->device, impl_->settings.threads);
  const Prediction prediction = headroom::predict(plan, machine, time_model_for(machine));
  const Spread step = spread_of(result.step_seconds);
  return {.model = net().name,
          .machine = plan.binding.target.device.name,
          .precision = impl_->settings.precision,
          .batch = batch,
          .threads = plan.binding.target.device.threads,
          .samples = step.samples,
          .step_s = step.median,
          .layers = layer_times(read_layers(plan, prediction, result.measurement)),
          .floor_s = prediction.floor_s,
          .predicted_s = prediction.has_times ? prediction.predicted_s : 0,
          .timers = impl_->timer.rows()};
}

Timer& Model::timer() { return impl_->timer; }
const Net& Model::net() const { return impl_->engine->net(); }
std::int64_t Model::parameter_count() const { return impl_->engine->parameter_count(); }

}  // namespace headroom
