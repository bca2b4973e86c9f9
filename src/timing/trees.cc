#include "timing/trees.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/json.h"
#include "base/random.h"
#include "base/text.h"

namespace headroom {
namespace {

constexpr double kShrink = 1;  // rows of value 0 that every leaf counts in: small leaves say less

// Grows one tree level by level, over rows that are sorted once by every feature.
class TreeGrower {
 public:
  TreeGrower(const FeatureRows& features, const TreeOptions& options) : x_(features), options_(options) {
    order_.resize(x_.width);
    for (std::size_t f = 0; f < x_.width; ++f) {
      order_[f].resize(x_.rows());
      std::iota(order_[f].begin(), order_[f].end(), std::size_t{0});
      std::ranges::stable_sort(order_[f], {}, [&](std::size_t r) { return x_.row(r)[f]; });
    }
  }

  Trees::Tree grow(std::span<const double> targets, const Philox& random) {
    Trees::Tree tree;
    tree.feature.fill(-1);
    node_.assign(x_.rows(), 0);
    std::uint64_t draw = 0;
    for (std::size_t r = 0; r < x_.rows(); ++r)
      used_.resize(x_.rows()), used_[r] = random.uniform(draw++) < options_.row_share;
    std::vector<std::size_t> allowed;
    for (std::size_t f = 0; f < x_.width; ++f)
      if (random.uniform(draw++) < options_.feature_share) allowed.push_back(f);
    if (allowed.empty()) allowed.push_back(random.below(draw, x_.width));
    for (std::size_t depth = 0; depth < Trees::kDepth; ++depth) split_level(tree, depth, targets, allowed);
    set_leaves(tree, targets);
    return tree;
  }

  std::size_t leaf(std::size_t row) const { return node_[row]; }  // of the tree grown last

 private:
  struct Sum {
    double value = 0, rows = 0;
    double gain() const { return value * value / (rows + kShrink); }
  };
  struct Best {
    double gain = 1e-9;
    int feature = -1;
    double threshold = 0;
  };

  void split_level(Trees::Tree& tree, std::size_t depth, std::span<const double> targets,
                   const std::vector<std::size_t>& allowed) {
    const std::size_t nodes = std::size_t{1} << depth;
    std::vector<Sum> all(nodes);
    for (std::size_t r = 0; r < x_.rows(); ++r)
      if (used_[r]) all[node_[r]].value += targets[r], all[node_[r]].rows += 1;
    std::vector<Best> best(nodes);
    for (const std::size_t f : allowed) scan(f, all, targets, best);
    for (std::size_t n = 0; n < nodes; ++n) {
      tree.feature[nodes - 1 + n] = best[n].feature;
      tree.threshold[nodes - 1 + n] = best[n].threshold;
    }
    for (std::size_t r = 0; r < x_.rows(); ++r) {
      const Best& b = best[node_[r]];
      const bool right = b.feature >= 0 && x_.row(r)[static_cast<std::size_t>(b.feature)] >= b.threshold;
      node_[r] = 2 * node_[r] + (right ? 1 : 0);
    }
  }

  // Tries every threshold of one feature in all nodes of a level at once.
  void scan(std::size_t f, const std::vector<Sum>& all, std::span<const double> targets,
            std::vector<Best>& best) {
    std::vector<Sum> left(all.size());
    std::vector<double> last(all.size(), NAN);
    const auto min_rows = static_cast<double>(options_.min_leaf);
    for (const std::size_t r : order_[f]) {
      if (!used_[r]) continue;
      const std::size_t n = node_[r];
      const double x = x_.row(r)[f];
      Sum& l = left[n];
      const double rest = all[n].rows - l.rows;
      if (l.rows >= min_rows && rest >= min_rows && x > last[n]) {
        const Sum right{all[n].value - l.value, rest};
        const double gain = l.gain() + right.gain() - all[n].gain();
        const double threshold = rounded((x + last[n]) / 2);
        if (gain > best[n].gain && threshold > last[n] && threshold <= x)
          best[n] = {gain, static_cast<int>(f), threshold};
      }
      l.value += targets[r], l.rows += 1;
      last[n] = x;
    }
  }

  void set_leaves(Trees::Tree& tree, std::span<const double> targets) const {
    std::array<Sum, Trees::kLeaves> sums{};
    for (std::size_t r = 0; r < x_.rows(); ++r)
      if (used_[r]) sums[node_[r]].value += targets[r], sums[node_[r]].rows += 1;
    for (std::size_t leaf = 0; leaf < Trees::kLeaves; ++leaf)
      tree.value[leaf] = rounded(options_.rate * sums[leaf].value / (sums[leaf].rows + kShrink));
  }

  const FeatureRows& x_;
  const TreeOptions& options_;
  std::vector<std::vector<std::size_t>> order_;
  std::vector<std::size_t> node_;
  std::vector<bool> used_;
};

double value_of(const Trees::Tree& tree, std::span<const double> x) {
  std::size_t node = 0;
  for (std::size_t depth = 0; depth < Trees::kDepth; ++depth) {
    const std::size_t at = (std::size_t{1} << depth) - 1 + node;
    const double f = tree.feature[at];
    node = 2 * node + (f >= 0 && x[static_cast<std::size_t>(f)] >= tree.threshold[at] ? 1 : 0);
  }
  return tree.value[node];
}

}  // namespace

double rounded(double value) {
  if (value == 0 || !std::isfinite(value)) return value;
  const double scale = std::pow(10.0, 5 - std::floor(std::log10(std::abs(value))));
  return std::round(value * scale) / scale;
}

void FeatureRows::add(std::span<const double> row) {
  width = row.size();
  values.insert(values.end(), row.begin(), row.end());
}

FeatureRows FeatureRows::at(std::span<const std::size_t> indices) const {
  FeatureRows part;
  for (const std::size_t i : indices) part.add(row(i));
  return part;
}

Trees Trees::fit(const FeatureRows& features, std::span<const double> targets, const TreeOptions& options) {
  Trees trees;
  TreeGrower grower(features, options);
  std::vector<double> left(targets.begin(), targets.end());
  for (int t = 0; t < options.trees; ++t) {
    trees.trees_.push_back(grower.grow(left, Philox(options.seed, static_cast<std::uint64_t>(t))));
    for (std::size_t r = 0; r < left.size(); ++r) left[r] -= trees.trees_.back().value[grower.leaf(r)];
  }
  return trees;
}

double Trees::predict(std::span<const double> features) const {
  double sum = 0;
  for (const Tree& tree : trees_) sum += value_of(tree, features);
  return sum;
}

Json Trees::to_json() const {
  Json list = Json::array();
  for (const Tree& tree : trees_)
    list.push_back({{"feature", numbers_text(tree.feature)},
                    {"threshold", numbers_text(tree.threshold)},
                    {"value", numbers_text(tree.value)}});
  return list;
}

Trees Trees::from_json(const Json& json, const std::string& origin, std::size_t width) {
  Trees trees;
  const auto read = [&](const Json& item, const char* key, auto& values) {
    const std::vector<double> numbers = numbers_from(item.at(key), origin);
    if (numbers.size() != values.size())
      reject("{}: a tree has {} numbers in '{}'", origin, numbers.size(), key);
    std::ranges::copy(numbers, values.begin());
  };
  for (const Json& item : json) {
    Tree tree;
    read(item, "feature", tree.feature);
    read(item, "threshold", tree.threshold);
    read(item, "value", tree.value);
    for (const double f : tree.feature)
      if (f != std::floor(f) || f < -1 || f >= static_cast<double>(width))
        reject("{}: a tree asks for feature {}", origin, f);
    trees.trees_.push_back(tree);
  }
  return trees;
}

std::string numbers_text(std::span<const double> values) {
  std::string text;
  for (const double value : values) text += fmt::format("{}{}", text.empty() ? "" : " ", value);
  return text;
}

std::vector<double> numbers_from(const Json& json, const std::string& origin) {
  std::vector<double> values;
  for (const std::string& word : split(json.get<std::string>(), ' '))
    values.push_back(parse_double(word, origin));
  return values;
}

}  // namespace headroom
