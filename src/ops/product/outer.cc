#include "ops/product/outer.h"

namespace headroom {

Verdict accepts_outer(const Product& p, const Target&) {
  constexpr std::int64_t kLeastRows = 16;
  if (p.runs.size() != 1) return refuse("takes matrices at constant distances");
  if (p.k > kMaxOuter) return refuse(fmt::format("for sums of at most {} terms, not {}", kMaxOuter, p.k));
  if (p.m < kLeastRows) return refuse("fewer rows than a block computes");
  return accept();
}

Work outer_work(const Product& p, const Target&, Work least) {
  return least.with("gpu.outer", ordinary_unit(p.dtype), {p.m, p.n, p.k});
}

}  // namespace headroom
