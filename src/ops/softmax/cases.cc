#include "ops/softmax/softmax.h"

namespace headroom {
namespace softmax_cases_cc {
namespace {

struct Trial {
  Tier tier;
  Shape shape;
  std::int64_t axis = -1;
};

std::vector<Trial> trials() {
  return {{Tier::ci, {1}},
          {Tier::ci, {7}},
          {Tier::ci, {1, 10}},
          {Tier::ci, {5, 1}},
          {Tier::ci, {64, 10}},
          {Tier::ci, {3, 5, 7}},
          {Tier::ci, {33, 129}},
          {Tier::ci, {7, 5}, 0},
          {Tier::ci, {3, 5, 7}, 1},
          {Tier::ci, {2, 9, 3, 23}, -3},
          {Tier::ci, {4, 1, 70}, 1},
          {Tier::ci, {5, 16}},
          {Tier::ci, {9, 17}},
          {Tier::ci, {3, 61}},
          {Tier::smoke, {11, 300}},
          {Tier::smoke, {11, 1024}},
          {Tier::smoke, {2, 5000}},
          {Tier::smoke, {2, 9001}},
          {Tier::smoke, {3000, 10}},
          {Tier::smoke, {2, 21, 33, 17}, 1},
          {Tier::perf, {4096, 1024}},
          {Tier::perf, {256, 1024}},
          {Tier::perf, {26214, 10}},
          {Tier::perf, {4, 21, 224, 224}, 1},
          {Tier::perf, {64, 64, 64}, 1}};
}

}  // namespace
}  // namespace softmax_cases_cc

std::vector<Case> softmax_cases(bool backward) {
  using namespace softmax_cases_cc;
  std::vector<Case> list;
  for (const Trial& t : trials()) {
    Attrs attrs;
    if (t.axis != -1) attrs.set("axis", t.axis);
    std::vector<Shape> inputs(backward ? 2 : 1, t.shape);
    list.push_back({.tier = t.tier, .inputs = std::move(inputs), .attrs = attrs});
  }
  // Rows beyond a GPU's registers and shared memory. Gradients of so long a row of normal numbers are all
  // cancellation.
  if (!backward)
    for (std::int64_t length : {20000, 60001}) list.push_back({.tier = Tier::smoke, .inputs = {{2, length}}});
  return list;
}

}  // namespace headroom
