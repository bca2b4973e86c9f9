#include <algorithm>

#include "bench/alloc.h"
#include "bench/random_batch.h"
#include "machine/timing.h"

namespace headroom {
namespace {

struct StepParts {
  double total = 0, copy_in = 0, copy_out = 0, kernel = 0;
  std::vector<double> list() const {
    const double host = std::max(0.0, total - copy_in - copy_out - kernel);
    std::vector<double> all = {total, copy_in, copy_out, kernel, host};
    for (double& seconds : all) seconds /= kStepsPerSample;
    return all;
  }
};

// One engine, its batch on the device and on the host, and the steps of one of the two kinds.
class SplitSteps {
 public:
  SplitSteps(Device& device, const EngineOptions& options, const Net& net, std::int64_t batch)
      : device_(device),
        engine_(net, device, options),
        train_(engine_.ready(Mode::train, batch)),
        data_(device, train_.program, batch),
        images_(static_cast<std::size_t>(train_.program.graph.value(train_.program.images).type.bytes())),
        labels_(static_cast<std::size_t>(batch * train_.program.labels_each)),
        begin_(device.make_event()),
        end_(device.make_event()) {
    engine_.set_learning_rate(1e-6);  // random labels: nothing to learn, and the loss cannot diverge
    device.download(images_.data(), data_.image(0), images_.size());
    device.download(labels_.data(), data_.label(0), labels_.size() * sizeof(std::int32_t));
    for (const std::string& name : engine_.weight_names())
      weights_.emplace_back(static_cast<std::size_t>(engine_.storage().type(name).bytes()));
  }

  StepParts through_host() {
    StepParts parts;
    const double begin = now_s();
    for (int i = 0; i < kStepsPerSample; ++i) step_through_host(parts);
    parts.total = now_s() - begin;
    return parts;
  }

  StepParts on_device() {
    StepParts parts;
    device_.stream().synchronize();
    const double begin = now_s();
    begin_->record(device_.stream());
    for (int i = 0; i < kStepsPerSample; ++i) queue(data_.image(0), data_.label(0));
    end_->record(device_.stream());
    end_->synchronize();
    parts.kernel = end_->seconds_since(*begin_);
    if (engine_.queues()) {
      const double before = now_s();
      engine_.take_tally();
      parts.copy_out = now_s() - before;
    }
    parts.total = now_s() - begin;
    return parts;
  }

 private:
  void queue(const void* images, const std::int32_t* labels) {
    if (engine_.queues())
      engine_.queue_step(train_, images, labels, ++step_);
    else
      engine_.train_step(train_, images, labels, ++step_);
  }

  void step_through_host(StepParts& parts) {
    const Buffer images = device_.allocate(images_.size()),
                 labels = device_.allocate(labels_.size() * sizeof(std::int32_t));
    double at = now_s();
    const auto lap = [&] {
      const double now = now_s(), since = now - at;
      at = now;
      return since;
    };
    device_.upload(images.data(), images_.data(), images_.size());
    device_.upload(labels.data(), labels_.data(), labels_.size() * sizeof(std::int32_t));
    parts.copy_in += lap();
    begin_->record(device_.stream());
    queue(images.data(), static_cast<const std::int32_t*>(labels.data()));
    end_->record(device_.stream());
    end_->synchronize();
    parts.kernel += end_->seconds_since(*begin_);
    lap();
    if (engine_.queues()) engine_.take_tally();  // a CPU's step has already read its loss
    const std::vector<std::string>& names = engine_.weight_names();
    for (std::size_t w = 0; w < names.size(); ++w)
      engine_.storage().read(names[w], weights_[w].data(), weights_[w].size());
    parts.copy_out += lap();
    for (std::size_t w = 0; w < names.size(); ++w)
      engine_.storage().write(names[w], weights_[w].data(), weights_[w].size());
    parts.copy_in += lap();
  }

  Device& device_;
  Engine engine_;
  Engine::Ready& train_;
  RandomBatch data_;
  std::vector<std::byte> images_;
  std::vector<std::int32_t> labels_;
  std::vector<std::vector<std::byte>> weights_;
  std::unique_ptr<Event> begin_, end_;
  std::int64_t step_ = 0;
};

StepTiming step_timing(const std::string& name, const Sampled& sampled) {
  return {name, sampled, sampled.parts[0], sampled.parts[1], sampled.parts[2], sampled.parts[3]};
}

}  // namespace

std::vector<StepTiming> bench_steps(Device& device, const EngineOptions& options, const Net& net,
                                    std::int64_t batch,
                                    const std::function<void(const std::string&)>& progress) {
  progress(fmt::format("{}, batch {}", net.name, batch));
  EngineOptions plain = options;
  plain.capture = false;
  SplitSteps before(device, plain, net, batch), after(device, options, net, batch);
  const SamplerOptions sampler{.warm_ups = 1,
                               .min_samples = 7,
                               .max_samples = 50,
                               .max_seconds = 3,
                               .repeats = 1,
                               .noise = 0.01,
                               .alternate = true};
  const auto sampled = sample_in_turn(sampler, {[&](int) { return before.through_host().list(); },
                                                [&](int) { return after.on_device().list(); }});
  return {step_timing("through the host", sampled[0]), step_timing("on the device", sampled[1])};
}

}  // namespace headroom
