#include "cli/tensorboard_log.h"

#include "base/units.h"
#include "cli/verbs.h"
#include "models/onnx/imported.h"
#include "report/model_table.h"
#include "train/unsharded.h"

namespace headroom::cli {
namespace {

// On any device: in fp32, which every CPU plan has, unless the run is in fp64.
std::string forward_costs(const Engine& engine, std::int64_t batch) {
  const BuildRequest request{.mode = Mode::infer,
                             .batch = batch,
                             .precision = engine.options().precision == DType::f64 ? DType::f64 : DType::f32,
                             .target = cpu_capabilities(),
                             .fusion = Fusion::portable,
                             .choose = even_without_kernel(first_that_accepts)};
  return model_sheet(model_cost(build(engine.net(), request).plan, nullptr)).text();
}

// Markdown; the table keeps its columns as a block of code.
std::string run_summary(const Engine& engine, const Dataset& data, const TrainOptions& options) {
  const std::int64_t batch = std::max<std::int64_t>(1, fixed_batch(engine.net()));
  return fmt::format(
      "**model** {}: {} parameters\n\n"
      "**data** {}: {} training images, {} test images; batch {}\n\n"
      "**command** `{}`\n\n"
      "**layers**, costs of a forward pass, batch {}\n\n```\n{}```\n",
      engine.net().name, with_commas(engine.parameter_count()), data.name, with_commas(data.train.count()),
      with_commas(data.test.count()), with_commas(options.batch), fmt::join(command_line(), " "), batch,
      forward_costs(engine, batch));
}

}  // namespace

TensorBoardLog::TensorBoardLog(const std::string& folder, const Engine& engine, const Dataset& data,
                               const TrainOptions& options, Saving& saving)
    : engine_(engine),
      options_(options),
      saving_(saving),
      images_(data.train.count()),
      steps_each_((images_ + options.batch - 1) / options.batch),
      schedule_(make_schedule(options.schedule, options.lr, options.warmup, options.epochs, steps_each_)) {
  if (!engine.is_first()) return;
  const std::string summary = run_summary(engine, data, options);
  file_.emplace(folder, options.start.steps > 0 ? options.start.steps + 1 : 0);
  file_->text("run", options.start.steps, summary);
  file_->flush();
}

void TensorBoardLog::on_step(std::int64_t step, std::int64_t /*of*/, double loss) {
  if (!file_) return;
  file_->scalar("loss/step", step, loss);
  constexpr std::chrono::seconds kBetweenWrites{1};
  if (Clock::now() - flushed_ > kBetweenWrites) flush();
}

void TensorBoardLog::on_epoch(const EpochResult& epoch) {
  const std::int64_t step = epoch.epoch * steps_each_;
  if (file_) write_scalars(epoch, step);
  write_weights(step);
  flush();
}

void TensorBoardLog::write_scalars(const EpochResult& epoch, std::int64_t step) {
  file_->scalar("loss/epoch", step, epoch.loss);
  file_->scalar("loss/test", step, epoch.test_loss);
  if (has_classes(engine_.net())) {
    file_->scalar("accuracy/train", step, epoch.train_accuracy);
    file_->scalar("accuracy/test", step, epoch.test_accuracy);
  }
  file_->scalar("learning_rate", step, schedule_.at(step - 1));
  // A resumed run has trained on only a part of its first epoch.
  const bool part = epoch.epoch == options_.start.epoch + 1;
  const std::int64_t images = images_ - (part ? options_.start.batch * options_.batch : 0);
  if (epoch.seconds > 0) file_->scalar("images_per_second", step, double(images) / epoch.seconds);
}

void TensorBoardLog::write_weights(std::int64_t step) {
  for (const std::string& name : engine_.storage().names(Role::parameter)) {
    if (!file_ && !engine_.storage().part(name)) continue;
    const NamedTensor tensor{name, unsharded_type(engine_, name), read_unsharded(engine_, name)};
    if (!file_) continue;
    if (const Histogram histogram = histogram_of(tensor); !histogram.counts.empty())
      file_->histogram("weights/" + name, step, histogram);
  }
}

void TensorBoardLog::flush() {
  if (file_) saving_.attempt([&] { file_->flush(); });
  flushed_ = Clock::now();
}

}  // namespace headroom::cli
