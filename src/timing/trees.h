#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/json_fwd.h"

namespace headroom {

// Numbers of several rows, row after row.
struct FeatureRows {
  std::size_t width = 0;
  std::vector<double> values;

  std::size_t rows() const { return width == 0 ? 0 : values.size() / width; }
  std::span<const double> row(std::size_t r) const { return {values.data() + r * width, width}; }
  void add(std::span<const double> row);
  FeatureRows at(std::span<const std::size_t> indices) const;
};

struct TreeOptions {
  int trees = 300;
  double rate = 0.04;
  double row_share = 0.7, feature_share = 0.5;
  std::size_t min_leaf = 3;  // rows
  std::uint64_t seed = 5;
};

// Boosted regression trees of depth 4: each corrects what those before it left over.
class Trees {
 public:
  static constexpr std::size_t kDepth = 4, kLeaves = 1 << kDepth;
  struct Tree {
    std::array<double, kLeaves - 1> feature{};    // an index; -1: no split, all go left
    std::array<double, kLeaves - 1> threshold{};  // go left if below
    std::array<double, kLeaves> value{};
    bool operator==(const Tree&) const = default;
  };

  static Trees fit(const FeatureRows& features, std::span<const double> targets, const TreeOptions& options);
  double predict(std::span<const double> features) const;
  bool empty() const { return trees_.empty(); }
  Json to_json() const;
  static Trees from_json(const Json& json, const std::string& origin, std::size_t width);
  bool operator==(const Trees&) const = default;

 private:
  std::vector<Tree> trees_;
};

// Six digits: what a file holds is what was fitted.
double rounded(double value);

// Many numbers of a file on one line: "1 2.5 -3".
std::string numbers_text(std::span<const double> values);
std::vector<double> numbers_from(const Json& json, const std::string& origin);

}  // namespace headroom
