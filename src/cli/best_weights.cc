#include "cli/best_weights.h"

#include <filesystem>

#include "base/error.h"
#include "base/json.h"
#include "cli/options.h"
#include "data/safetensors.h"

namespace headroom::cli {
namespace {

std::string epoch_in(const std::string& file) {
  try {
    return read_safetensors_metadata(file).at("epoch");
  } catch (const std::exception&) {
    return {};
  }
}

}  // namespace

bool BestWeights::better(const EpochResult& a, const EpochResult& b) const {
  return classifier_ ? a.test_accuracy > b.test_accuracy : a.test_loss < b.test_loss;
}

void BestWeights::resume(const std::vector<EpochResult>& epochs) {
  for (const EpochResult& epoch : epochs)
    if (!best_ || better(epoch, *best_)) best_ = epoch;
  if (!best_ || epoch_in(file_) == std::to_string(best_->epoch)) return;
  note(
      fmt::format("headroom: {} does not hold the weights of epoch {}, the best so far; the best of the "
                  "remaining epochs will be kept\n",
                  file_, best_->epoch));
  best_.reset();
}

void BestWeights::on_epoch(const EpochResult& epoch) {
  if (best_ && !better(epoch, *best_)) return;
  best_ = epoch;
  save_(epoch);
}

std::string BestWeights::text() const {
  if (!best_) return {};
  const std::string what = classifier_ ? fmt::format("accuracy {:.4f} test", best_->test_accuracy)
                                       : fmt::format("loss {:.4f} test", best_->test_loss);
  return fmt::format("best       epoch {}: {}; its weights are in {}\n", best_->epoch, what, file_);
}

Json BestWeights::json() const {
  if (!best_) return nullptr;
  Json json = {{"epoch", best_->epoch}, {"test_loss", best_->test_loss}, {"file", file_}};
  if (classifier_) json["accuracy"] = {{"test", best_->test_accuracy}};
  return json;
}

}  // namespace headroom::cli
