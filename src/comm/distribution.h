#pragma once

#include <string_view>

namespace headroom {

inline constexpr std::string_view kDataGroup = "data", kModelGroup = "model";

// How ranks share the work: every batch is split into `data_parts`, and within each, layers that can be split
// are split into `model_parts`. Plain data: a plan for 1,024 ranks needs no running rank.
struct Distribution {
  int data_parts = 1, data_index = 0;
  int model_parts = 1, model_index = 0;
  bool shard_optimizer = false;  // each data-parallel rank keeps a part of the optimizer's state
  bool sync_norms = false;       // batch_norm uses the statistics of the whole batch
  int ranks() const { return data_parts * model_parts; }
  int parts(std::string_view group) const { return group == kModelGroup ? model_parts : data_parts; }
  bool operator==(const Distribution&) const = default;
};

}  // namespace headroom
