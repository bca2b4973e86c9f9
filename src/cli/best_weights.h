#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/json_fwd.h"
#include "train/run_state.h"
#include "train/trainer.h"

namespace headroom::cli {

// Keeps the weights of the best epoch: of the highest test accuracy, or of the lowest test loss if the
// network is not a classifier. The first of equal epochs counts. They are written at the end of each epoch
// that is the best so far, so that a kill does not lose them.
class BestWeights : public TrainObserver {
 public:
  using Save = std::function<void(const EpochResult&)>;
  BestWeights(std::string file, bool classifier, Save save)
      : file_(std::move(file)), classifier_(classifier), save_(std::move(save)) {}

  // The epochs of a resumed run. If the file does not hold the best of them, the best counts from here on.
  void resume(const std::vector<EpochResult>& epochs);
  void on_epoch(const EpochResult& epoch) override;

  const std::optional<EpochResult>& best() const { return best_; }
  const std::string& file() const { return file_; }
  std::string text() const;
  Json json() const;

 private:
  bool better(const EpochResult& a, const EpochResult& b) const;

  std::string file_;
  bool classifier_;
  Save save_;
  std::optional<EpochResult> best_;
};

}  // namespace headroom::cli
