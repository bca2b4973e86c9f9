#include "ops/softmax/softmax.h"

namespace headroom {
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

double row_length(const Problem& p) { return static_cast<double>(softmax_problem(p).length); }

}  // namespace

std::vector<Operator> softmax_operators() {
  const Kernel cuda{.name = "cuda:rows",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .prepare = HEADROOM_CUDA(prepare_softmax_cuda)};
  std::vector<Operator> list;
  for (const std::string name : {"softmax", "log_softmax"}) {
    std::vector<Case> forward, backward;
    for (const Trial& t : trials()) {
      Attrs attrs;
      if (t.axis != -1) attrs.set("axis", t.axis);
      forward.push_back({.tier = t.tier, .inputs = {t.shape}, .attrs = attrs});
      backward.push_back({.tier = t.tier, .inputs = {t.shape, t.shape}, .attrs = attrs});
    }
    // Rows beyond a GPU's registers and shared memory. Gradients of so long a row of normal numbers are all
    // cancellation.
    for (std::int64_t length : {20000, 60001})
      forward.push_back({.tier = Tier::smoke, .inputs = {{2, length}}});
    list.push_back(
        {.schema = softmax_schema(name),
         .kernels = {cuda,
                     {.name = "cpu:blocks", .accepts = softmax_along_rows, .prepare = softmax_blocks},
                     {.name = "cpu:columns", .prepare = softmax_columns},
                     {.name = "reference", .prepare = softmax_reference}},
         .cases = forward,
         .sum_length = row_length});
    list.push_back(
        {.schema = softmax_schema(name + "_grad"),
         .kernels = {cuda,
                     {.name = "cpu:rows", .accepts = softmax_along_rows, .prepare = softmax_grad_rows},
                     {.name = "cpu:columns", .prepare = softmax_grad_columns},
                     {.name = "reference", .prepare = softmax_reference}},
         .cases = backward,
         .sum_length = row_length});
  }
  return list;
}

}  // namespace headroom
