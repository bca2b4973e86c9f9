#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace headroom {

// The quality of a classifier, collected batch by batch from its scores.
class Metrics {
 public:
  Metrics() = default;
  explicit Metrics(std::int64_t classes, std::int64_t top = 5);

  // `scores` holds one row of logits per label.
  void add(std::span<const double> scores, std::span<const std::int32_t> labels);

  // All counts, as numbers that can be added.
  std::vector<double> counts() const;
  void set_counts(std::span<const double> counts);

  std::int64_t classes() const { return classes_; }
  std::int64_t images() const { return images_; }
  std::int64_t top() const { return top_; }
  double accuracy() const;
  double top_accuracy() const;  // the label is among the `top` highest scores; ties count for it
  double log_loss() const;      // mean of -log softmax(scores)[label]

  // Images of class `truth` classified as `said`.
  std::int64_t confused(std::int64_t truth, std::int64_t said) const {
    return confusion_[static_cast<std::size_t>(truth * classes_ + said)];
  }
  std::int64_t images_of(std::int64_t truth) const;
  // 0 if the class was never predicted, or never seen.
  double precision(std::int64_t label) const;
  double recall(std::int64_t label) const;

 private:
  std::int64_t classes_ = 0, top_ = 5, images_ = 0, right_ = 0, in_top_ = 0;
  double log_loss_ = 0;
  std::vector<std::int64_t> confusion_;
};

}  // namespace headroom
