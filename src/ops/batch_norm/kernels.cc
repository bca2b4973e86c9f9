#include "ops/batch_norm/batch_norm.h"
#include "ops/batch_norm/cuda_shape.h"

namespace headroom {
namespace {

// Matrices and short planes, planes of a run and of several, fewer channels than threads, and more.
std::vector<Case> cases(bool gradient, bool training) {
  std::vector<Case> list;
  auto add = [&](Tier tier, const Shape& x, Attrs attrs = {}) {
    const Shape c{x[1]};
    Case item{.tier = tier, .inputs = {x, c, c, c, c}, .attrs = std::move(attrs)};
    item.fills = {{}, {}, {}, {}, {Fill::Kind::positive}};  // a variance, or one over a deviation
    if (gradient) item.inputs = {x, x, c, c, c};
    if (gradient && training) item.dtypes = {{}, {}, {}, DType::f64, DType::f64};
    list.push_back(std::move(item));
  };
  for (const Shape& x : std::vector<Shape>{{2, 1},
                                           {5, 3},
                                           {129, 10},
                                           {300, 67},
                                           {3, 2, 5},
                                           {4, 3, 7, 7},
                                           {2, 5, 8, 8},
                                           {1, 2, 9, 9},
                                           {3, 16, 12, 11},
                                           {2, 3, 4100}})
    add(Tier::ci, x);
  add(Tier::ci, {6, 4, 3, 3}, {{"epsilon", 0.5}});
  if (training && !gradient) add(Tier::ci, {6, 4}, {{"momentum", 1.0}});
  add(Tier::smoke, {32, 64, 14, 14});
  add(Tier::smoke, {500, 300});
  add(Tier::perf, {32, 128, 32, 32});
  add(Tier::perf, {32, 512, 7, 7});
  add(Tier::perf, {4096, 1024});
  return list;
}

}  // namespace

std::size_t batch_norm_cuda_workspace(const Problem& p, const Capabilities&) {
  if (p.op == "batch_norm_inference") return 0;
  const Channels s = channels_of(p);
  return cuda::BatchNormSplit(s.rows, s.channels, s.plane).workspace(s.channels, s.plane);
}

Work batch_norm_cuda_work(const Problem& p, const Capabilities& capabilities) {
  if (p.op == "batch_norm_inference") return least_work(p, capabilities);
  const Channels s = channels_of(p);
  Work work = least_work(p, capabilities);
  const int read = p.op == "batch_norm" ? 1 : 2;  // by the sums; then again by the elements
  work.bytes += static_cast<double>(read * p.inputs[0].bytes());
  work.launches = cuda::BatchNormSplit(s.rows, s.channels, s.plane).columns ? 3 : 2;
  return work;
}

std::vector<Operator> batch_norm_operators() {
  const Kernel cuda{.name = "cuda:channels",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_cuda_floats,
                    .work = batch_norm_cuda_work,
                    .prepare = HEADROOM_CUDA(prepare_batch_norm_cuda),
                    .workspace = batch_norm_cuda_workspace};
  return {{.schema = batch_norm_schema(),
           .kernels = {cuda,
                       {.name = "cpu:channels",
                        .work = batch_norm_work,
                        .prepare = batch_norm_channels,
                        .workspace = batch_norm_workspace},
                       {.name = "reference", .prepare = batch_norm_reference}},
           .cases = cases(false, true),
           .no_gradient = {3, 4}},
          {.schema = batch_norm_grad_schema(),
           .kernels = {cuda,
                       {.name = "cpu:channels",
                        .work = batch_norm_work,
                        .prepare = batch_norm_grad_channels,
                        .workspace = batch_norm_workspace},
                       {.name = "reference", .prepare = batch_norm_grad_reference}},
           .cases = cases(true, true)},
          {.schema = batch_norm_inference_schema(),
           .kernels = {cuda,
                       {.name = "cpu:channels",
                        .prepare = batch_norm_inference_channels,
                        .workspace = batch_norm_workspace},
                       {.name = "reference", .prepare = batch_norm_inference_reference}},
           .cases = cases(false, false),
           .no_gradient = {3, 4}},
          {.schema = batch_norm_inference_grad_schema(),
           .kernels = {cuda,
                       {.name = "cpu:channels",
                        .work = batch_norm_work,
                        .prepare = batch_norm_grad_channels,
                        .workspace = batch_norm_workspace},
                       {.name = "reference", .prepare = batch_norm_grad_reference}},
           .cases = cases(true, false)}};
}

}  // namespace headroom
