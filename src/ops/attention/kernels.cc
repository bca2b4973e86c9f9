#include <cmath>

#include "ops/attention/attention.h"
#include "ops/attention/sizes.h"

namespace headroom {
namespace {

struct Trial {
  Tier tier;
  std::int64_t batch, time, heads, width;
  bool causal = false;
  double scale = 0;  // 0: the usual one
};

// Widths on either side of every kernel's limits, times that fill tiles and that do not.
std::vector<Trial> trials() {
  return {{Tier::ci, 1, 1, 1, 1},
          {Tier::ci, 2, 5, 3, 4},
          {Tier::ci, 2, 5, 3, 4, true},
          {Tier::ci, 1, 9, 2, 7, true, 0.7},
          {Tier::ci, 1, 6, 1, 3, false, -0.5},
          {Tier::smoke, 2, 64, 2, 32, true},
          {Tier::smoke, 1, 65, 2, 64},
          {Tier::smoke, 1, 129, 1, 64, true},
          {Tier::smoke, 1, 97, 1, 80},
          {Tier::smoke, 1, 70, 1, 128, true},
          {Tier::smoke, 1, 33, 1, 136, true},
          {Tier::smoke, 1, 50, 1, 256},
          {Tier::smoke, 1, 40, 1, 300, true},
          {Tier::smoke, 3, 31, 2, 20, true},
          {Tier::smoke, 1, 300, 1, 16},
          {Tier::smoke, 1, 330, 1, 8, true},
          {Tier::smoke, 2, 197, 3, 64},
          {Tier::perf, 64, 197, 3, 64},
          {Tier::perf, 64, 197, 12, 64},
          {Tier::perf, 8, 1024, 12, 64, true},
          {Tier::perf, 4, 4096, 8, 128, true}};
}

std::vector<Case> cases(bool backward) {
  std::vector<Case> list;
  for (const Trial& t : trials()) {
    Attrs attrs{{"heads", t.heads}};
    if (t.causal) attrs.set("causal", std::int64_t{1});
    if (t.scale != 0) attrs.set("scale", t.scale);
    const Shape qkv{t.batch, t.time, 3 * t.heads * t.width}, y{t.batch, t.time, t.heads * t.width},
        lse{t.batch, t.heads, t.time};
    if (!backward) {
      list.push_back({.tier = t.tier, .inputs = {qkv}, .attrs = attrs});
      continue;
    }
    // What scores of deviation 1 come to: so the weights of a row add up to about 1.
    const Fill sums{Fill::Kind::constant, std::log(double(t.time)) + 0.5};
    list.push_back({.tier = t.tier, .inputs = {y, qkv, y, lse}, .attrs = attrs, .fills = {{}, {}, {}, sums}});
  }
  return list;
}

double row_length(const Problem& p) { return double(attention_problem(p).time); }

bool is_backward(const Problem& p) { return p.op == "attention_grad"; }

Verdict accepts_mma(const Problem& p, const Capabilities& capabilities) {
  const DType dtype = p.outputs[0].dtype;
  if (capabilities.compute_capability < 80) return refuse("needs compute capability 8.0");
  if (dtype == DType::f64) return refuse("fp64 is no type of these tensor-core products");
  if (dtype == DType::f32 && !capabilities.tf32) return refuse("rounds fp32 to tf32, which was not allowed");
  const AttentionProblem a = attention_problem(p);
  if (a.width > attention::kMostMmaWidth)
    return refuse(fmt::format("heads of {}; takes up to {}", a.width, attention::kMostMmaWidth));
  const int bytes = attention::mma_sizes(int(a.width), int(size_of(dtype)), is_backward(p)).bytes,
            there = attention::shared_limit(capabilities.compute_capability);
  if (bytes > there) return refuse(fmt::format("takes {} bytes of shared memory, not {}", bytes, there));
  return accept();
}

Verdict accepts_tiles(const Problem& p, const Capabilities& capabilities) {
  const DType dtype = p.outputs[0].dtype;
  if (capabilities.compute_capability < 80) return refuse("needs compute capability 8.0");
  const std::int64_t width = attention_problem(p).width,
                     most = dtype == DType::f64 ? attention::kMostTileDouble : attention::kMostTileWidth;
  if (width > most)
    return refuse(fmt::format("heads of {}; takes up to {} in {}", width, most, name_of(dtype)));
  return accept();
}

Verdict accepts_rows(const Problem& p, const Capabilities& capabilities) {
  if (const std::int64_t width = attention_problem(p).width; width > attention::kMostRowWidth)
    return refuse(fmt::format("heads of {}; takes up to {}", width, attention::kMostRowWidth));
  return accepts_cuda_floats(p, capabilities);
}

// One number per row.
std::size_t along_bytes(const Problem& p, const Capabilities&) {
  return is_backward(p) ? static_cast<std::size_t>(p.inputs[3].bytes()) : 0;
}

// Backward computes scores and their gradients twice over on a GPU. The shares of the peak are estimates.
Work gpu_work(const Problem& p, double efficiency) {
  const AttentionProblem a = attention_problem(p);
  const Cost cost = schema_of(p.op).cost(p);
  Work work{.flops = cost.flops(), .bytes = cost.bytes(), .efficiency = efficiency};
  if (is_backward(p)) {
    work.flops += 4 * double(a.batch * a.heads * a.pairs() * a.width);
    work.launches = 3;
  }
  return work;
}
Work mma_work(const Problem& p, const Capabilities&) { return gpu_work(p, 0.35); }
Work tiles_work(const Problem& p, const Capabilities&) { return gpu_work(p, 0.3); }
Work rows_work(const Problem& p, const Capabilities&) { return gpu_work(p, 0.02); }

Work blocks_work(const Problem& p, const Capabilities& capabilities) {
  Work work = least_work(p, capabilities);
  work.efficiency = 0.5;  // thin products, and exponentials between them
  return work;
}

std::vector<Kernel> kernels(Launcher (*blocks)(const Problem&, const Capabilities&),
                            Launcher (*reference)(const Problem&, const Capabilities&)) {
  return {
      {.name = "cuda:mma",
       .device = DeviceKind::cuda,
       .accepts = accepts_mma,
       .work = mma_work,
       .prepare = HEADROOM_CUDA(prepare_attention_mma),
       .workspace = along_bytes},
      {.name = "cuda:tiles",
       .device = DeviceKind::cuda,
       .accepts = accepts_tiles,
       .work = tiles_work,
       .prepare = HEADROOM_CUDA(prepare_attention_tiles),
       .workspace = along_bytes},
      {.name = "cuda:rows",
       .device = DeviceKind::cuda,
       .accepts = accepts_rows,
       .work = rows_work,
       .prepare = HEADROOM_CUDA(prepare_attention_rows),
       .workspace = along_bytes},
      {.name = "cpu:blocks", .work = blocks_work, .prepare = blocks, .workspace = attention_blocks_workspace},
      {.name = "reference", .prepare = reference}};
}

}  // namespace

std::vector<Operator> attention_operators() {
  return {{.schema = attention_schema(),
           .kernels = kernels(attention_blocks, attention_reference),
           .cases = cases(false),
           .sum_length = row_length},
          {.schema = attention_grad_schema(),
           .kernels = kernels(attention_grad_blocks, attention_grad_reference),
           .cases = cases(true),
           .sum_length = row_length}};
}

}  // namespace headroom
