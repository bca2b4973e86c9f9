#include "ops/pool/place_bytes.h"
#include "ops/pool/pool.h"

namespace headroom {
namespace {

using Integers = std::vector<std::int64_t>;

struct PoolCase {
  Tier tier;
  Shape input;
  Attrs attrs;
};

const std::vector<PoolCase>& pool_cases() {
  static const auto attr = [](std::int64_t v) { return Attr{v}; };
  static const std::vector<PoolCase> list = {
      {Tier::ci, {2, 3, 8, 8}, {{"kernel", Integers{2, 2}}}},
      {Tier::ci, {1, 1, 2, 2}, {{"kernel", Integers{2, 2}}}},
      {Tier::ci, {2, 2, 7, 11}, {{"kernel", Integers{2, 2}}}},   // odd: a row and a column are left over
      {Tier::ci, {2, 3, 28, 28}, {{"kernel", Integers{2, 2}}}},  // LeNet: 14 windows in a row
      {Tier::ci, {1, 2, 6, 70}, {{"kernel", Integers{2, 2}}}},
      {Tier::ci, {2, 2, 7, 9}, {{"kernel", Integers{2, 2}}, {"ceil_mode", attr(1)}}},
      {Tier::ci,
       {2, 3, 11, 13},
       {{"kernel", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}},
      {Tier::ci,
       {2, 3, 11, 13},
       {{"kernel", Integers{3, 3}},
        {"strides", Integers{2, 2}},
        {"pads", Integers{1, 1, 1, 1}},
        {"count_include_pad", attr(1)}}},
      {Tier::ci,
       {1, 2, 10, 6},
       {{"kernel", Integers{3, 2}},
        {"strides", Integers{3, 1}},
        {"pads", Integers{2, 0, 1, 1}},
        {"ceil_mode", attr(1)},
        {"count_include_pad", attr(1)}}},
      {Tier::ci, {1, 3, 9, 9}, {{"kernel", Integers{3, 3}}, {"strides", Integers{1, 1}}}},
      {Tier::ci,
       {1, 2, 9, 12},
       {{"kernel", Integers{2, 3}}, {"strides", Integers{1, 1}}, {"dilations", Integers{3, 2}}}},
      {Tier::ci, {1, 2, 10, 9}, {{"kernel", Integers{3, 3}}, {"auto_pad", std::string("same_upper")}}},
      {Tier::ci, {2, 5, 7, 7}, {{"kernel", Integers{7, 7}}}},  // global
      {Tier::smoke,
       {1, 1, 3, 4500},
       {{"kernel", Integers{2, 3}}, {"strides", Integers{1, 2}}}},  // longer than a buffered row
      {Tier::ci, {1, 2, 4, 16}, {{"kernel", Integers{2, 2}}}},      // eight of 16 bits at once
      {Tier::smoke, {3, 2, 20, 30}, {{"kernel", Integers{9, 11}}, {"strides", Integers{3, 4}}}},
      {Tier::smoke, {9, 6, 28, 28}, {{"kernel", Integers{2, 2}}}},  // large enough to share among threads
      {Tier::smoke,
       {3, 8, 28, 28},
       {{"kernel", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}},
      {Tier::perf, {256, 6, 28, 28}, {{"kernel", Integers{2, 2}}}},
      {Tier::perf, {256, 16, 10, 10}, {{"kernel", Integers{2, 2}}}},
      {Tier::perf,
       {32, 64, 112, 112},
       {{"kernel", Integers{3, 3}}, {"strides", Integers{2, 2}}, {"pads", Integers{1, 1, 1, 1}}}},
  };
  return list;
}

Shape pooled(const PoolCase& c) {
  const auto kernel = c.attrs.integers("kernel");
  const Window2d w = parse_window(c.attrs, c.input, kernel[0], kernel[1], DefaultStride::kernel);
  return {c.input[0], c.input[1], w.output.h, w.output.w};
}

std::vector<Case> forward_cases() {
  std::vector<Case> list;
  for (const PoolCase& c : pool_cases())
    list.push_back({.tier = c.tier, .inputs = {c.input}, .attrs = c.attrs});
  return list;
}

std::vector<Case> max_grad_cases() {
  std::vector<Case> list;
  std::size_t number = 0;
  for (const PoolCase& c : pool_cases()) {
    list.push_back({.tier = c.tier, .inputs = {pooled(c), c.input, pooled(c)}, .attrs = c.attrs});
    // Behind an activation too: relu where numbers are exact, or one of the others in turn.
    if (c.tier == Tier::perf) continue;
    static constexpr const char* kSlopes[] = {"relu", "sigmoid", "tanh"};
    Case behind = list.back();
    behind.attrs.set("activation_grad", std::string(kSlopes[number++ % 3]));
    list.push_back(std::move(behind));
  }
  return list;
}

std::vector<Case> avg_grad_cases() {
  std::vector<Case> list;
  for (const PoolCase& c : pool_cases()) {
    list.push_back({.tier = c.tier, .inputs = {pooled(c)}, .attrs = c.attrs});
    list.back().attrs.set("input_shape", c.input.vector());
  }
  return list;
}

}  // namespace

bool covers_by_pairs(const PoolProblem& p) {
  const Window2d& w = p.window;
  const Extent2d two{2, 2};
  return w.kernel == two && w.stride == two && w.dilation == Extent2d{1, 1} && w.pad == Extent2d{0, 0} &&
         w.input == Extent2d{2 * w.output.h, 2 * w.output.w};
}

Verdict accepts_pool_cuda(const Problem& problem, const Capabilities& capabilities) {
  const PoolProblem p = pool_problem(problem);
  const Window2d& w = p.window;
  constexpr std::int64_t kLargest = std::int64_t{1} << 28;  // sums of a few of them fit an int
  for (const Extent2d& e : {w.input, w.output, w.kernel, w.stride, w.dilation, w.pad, w.pad_end})
    if (e.h > kLargest || e.w > kLargest) return refuse("places in a plane are counted in 32 bits");
  if (p.input_plane() >= INT32_MAX || (w.kernel.h - 1) * w.dilation.h > kLargest ||
      (w.kernel.w - 1) * w.dilation.w > kLargest)
    return refuse("places in a plane are counted in 32 bits");
  return accepts_cuda_floats(problem, capabilities);
}

bool pool_is_nhwc(const Problem& problem) {
  for (const auto* list : {&problem.inputs, &problem.outputs})
    for (const TensorType& type : *list)
      if (type.layout == Layout::nhwc) return true;
  return false;
}

std::size_t max_pool_grad_cuda_workspace(const Problem& problem, const Capabilities&) {
  const PoolProblem p = pool_problem(problem);
  if (pool_is_nhwc(problem))
    return static_cast<std::size_t>(p.planes * p.output_plane()) *
           static_cast<std::size_t>(cuda::place_bytes(false, p.window.kernel.h * p.window.kernel.w));
  if (covers_by_pairs(p)) return 0;
  return static_cast<std::size_t>(p.planes * p.output_plane()) * sizeof(std::int32_t);
}

Work max_pool_grad_cuda_work(const Problem& problem, const Capabilities& capabilities) {
  Work work = least_work(problem, capabilities);
  const auto places = static_cast<double>(max_pool_grad_cuda_workspace(problem, capabilities));
  if (places > 0) work.bytes += 2 * places, work.launches = 2;
  return work;
}

std::vector<Operator> pool_operators() {
  const Kernel reference{.name = "reference", .prepare = pool_reference};
  const Kernel cuda{.name = "cuda:windows",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_pool_cuda,
                    .prepare = HEADROOM_CUDA(prepare_pool_cuda),
                    .layouts = Layouts::alike};
  Kernel cuda_max_grad = cuda;
  cuda_max_grad.work = max_pool_grad_cuda_work;
  cuda_max_grad.workspace = max_pool_grad_cuda_workspace;
  return {
      {.schema = max_pool_schema(),
       .kernels = {cuda,
                   {.name = "cpu:pairs", .accepts = accepts_pool_pairs, .prepare = max_pool_pairs},
                   {.name = "cpu:rows", .accepts = accepts_pool_rows, .prepare = max_pool_rows},
                   reference},
       .cases = forward_cases(),
       .exact = true},
      {.schema = max_pool_grad_schema(),
       .kernels = {cuda_max_grad,
                   {.name = "cpu:pairs", .accepts = accepts_pool_pairs, .prepare = max_pool_grad_pairs},
                   {.name = "cpu:planes", .accepts = accepts_pool_planes, .prepare = max_pool_grad_planes},
                   reference},
       .cases = max_grad_cases(),
       .exact = true},
      {.schema = avg_pool_schema(),
       .kernels = {cuda,
                   {.name = "cpu:pairs", .accepts = accepts_pool_pairs, .prepare = avg_pool_pairs},
                   {.name = "cpu:rows", .accepts = accepts_pool_rows, .prepare = avg_pool_rows},
                   reference},
       .cases = forward_cases()},
      {.schema = avg_pool_grad_schema(),
       .kernels = {cuda,
                   {.name = "cpu:pairs", .accepts = accepts_pool_pairs, .prepare = avg_pool_grad_pairs},
                   {.name = "cpu:planes", .accepts = accepts_pool_planes, .prepare = avg_pool_grad_planes},
                   reference},
       .cases = avg_grad_cases()},
  };
}

}  // namespace headroom
