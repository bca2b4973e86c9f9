#include <array>

#include "ops/gemm/gemm.h"

namespace headroom {

std::vector<Case> gemm_cases() {
  std::vector<Case> list;
  auto add = [&](Tier tier, std::int64_t m, std::int64_t n, std::int64_t k, bool ta, bool tb, double alpha,
                 double beta) {
    Case c{.tier = tier, .inputs = {ta ? Shape{k, m} : Shape{m, k}, tb ? Shape{n, k} : Shape{k, n}}};
    c.attrs = {
        {"trans_a", std::int64_t{ta}}, {"trans_b", std::int64_t{tb}}, {"alpha", alpha}, {"beta", beta}};
    if (beta != 0) c.inputs.push_back({m, n});
    list.push_back(c);
  };
  for (auto [m, n, k] : {std::array<std::int64_t, 3>{1, 1, 1}, {3, 5, 7}, {37, 41, 43}, {17, 1, 130}})
    for (int t = 0; t < 4; ++t) {
      add(Tier::ci, m, n, k, t & 1, t & 2, 1, 0);
      add(Tier::ci, m, n, k, t & 1, t & 2, 2, 5);
    }
  add(Tier::ci, 4, 6, 5, false, false, -1, 1);
  add(Tier::ci, 4, 6, 5, false, false, 0, 2);
  // Past whole blocks of every kernel: tiles of 16, 32, 64 and 128, depths of 8 to 256, vectors of 16 bytes.
  for (int t = 0; t < 4; ++t) {
    add(Tier::smoke, 130, 140, 300, t & 1, t & 2, 2, 5);
    add(Tier::smoke, 128, 256, 64, t & 1, t & 2, 1, 0);
    add(Tier::smoke, 317, 129, 511, t & 1, t & 2, 2, 5);
    add(Tier::smoke, 65, 17, 33, t & 1, t & 2, 1, 1);
  }
  add(Tier::smoke, 640, 656, 512, false, true, 2, 5);  // as small as cuda:fp16x3 takes them
  add(Tier::smoke, 800, 10, 1000, false, false, 2, 5);
  add(Tier::smoke, 1, 600, 700, true, false, 2, 0);
  add(Tier::smoke, 520, 76, 9, true, false, 1, 5);
  add(Tier::perf, 800, 1000, 784, false, false, 2, 5);
  add(Tier::perf, 2048, 2048, 2048, false, false, 1, 0);
  return list;
}

}  // namespace headroom
