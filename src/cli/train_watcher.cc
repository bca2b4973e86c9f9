#include "cli/train_watcher.h"

#include "base/units.h"

namespace headroom::cli {

void TrainWatcher::tell(TrainObserver* other) {
  if (other != nullptr) others_.push_back(other);
}

void TrainWatcher::on_step(std::int64_t step, std::int64_t of, double loss) {
  if (log_every_ > 0 && step % log_every_ == 0)
    progress_.line(fmt::format("step {}: loss {:.6g}", step, loss), true);
  progress_.update(step, of, fmt::format("loss {:.4f}", loss));
  for (TrainObserver* other : others_) other->on_step(step, of, loss);
}

void TrainWatcher::on_epoch(const EpochResult& e) {
  const std::string success =
      classifier_ ? fmt::format("accuracy {:.4f} training, {:.4f} test", e.train_accuracy, e.test_accuracy)
                  : fmt::format("test loss {:.4f}", e.test_loss);
  progress_.line(fmt::format("epoch {} of {}: loss {:.4f}, {}, {}", e.epoch, epochs_, e.loss, success,
                             human_seconds(e.seconds)));
  for (TrainObserver* other : others_) other->on_epoch(e);
}

void TrainWatcher::on_test(const TestPoint& e) {
  progress_.line(fmt::format("step {}: {}", e.step,
                             classifier_ ? fmt::format("accuracy {:.4f} test", e.accuracy)
                                         : fmt::format("test loss {:.4f}", e.loss)));
  for (TrainObserver* other : others_) other->on_test(e);
}

}  // namespace headroom::cli
