#include "ops/product/outer.h"

namespace headroom {

Verdict accepts_outer(const Product& p, const Capabilities&) {
  constexpr std::int64_t kLeastRows = 16;
  if (p.runs.size() != 1) return refuse("takes matrices at constant distances");
  if (p.k > kMostOuter) return refuse(fmt::format("for sums of at most {} terms, not {}", kMostOuter, p.k));
  if (p.m < kLeastRows) return refuse("a block shares its columns among more rows than there are");
  return accept();
}

Work outer_work(const Product&, const Capabilities&, Work least) {
  least.efficiency = 0.12;  // ordinary multiply-adds, beside a peak that is the tensor cores'
  return least;
}

}  // namespace headroom
