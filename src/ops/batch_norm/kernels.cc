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

// With relu folded in, with a residual input and without; only kernels that say so take these.
void add_folded(std::vector<Case>& list, bool training) {
  for (const Shape& x :
       std::vector<Shape>{{6, 8, 3, 3}, {2, 24, 5, 7}, {40, 64, 4, 4}, {3, 264, 2, 5}, {300, 16}})
    for (bool residual : {false, true}) {
      const Shape c{x[1]};
      Case item{
          .tier = Tier::smoke, .inputs = {x, c, c, c, c}, .attrs = {{"activation", std::string("relu")}}};
      item.fills = {{}, {}, {}, {}, {Fill::Kind::positive}};
      if (residual) item.inputs.push_back(x);
      list.push_back(std::move(item));
    }
  if (training) list.back().attrs.set("momentum", 0.5);
}

void add_folded_gradient(std::vector<Case>& list) {
  for (const Shape& x :
       std::vector<Shape>{{6, 8, 3, 3}, {2, 24, 5, 7}, {40, 64, 4, 4}, {3, 264, 2, 5}, {300, 16}})
    for (int kind = 0; kind < 3; ++kind) {
      const Shape c{x[1]};
      Case item{
          .tier = Tier::smoke, .inputs = {x, x, c, c, c}, .attrs = {{"activation", std::string("relu")}}};
      item.fills = {{}, {}, {}, {}, {Fill::Kind::positive}};
      item.dtypes = {{}, {}, {}, DType::f64, DType::f64};
      item.inputs.push_back(c);
      if (kind > 0) item.inputs.push_back(x), item.attrs.set("residual", std::int64_t{1});
      if (kind > 1) item.inputs.push_back(x);
      list.push_back(std::move(item));
    }
}

std::vector<Case> with_folded(std::vector<Case> list, bool training) {
  add_folded(list, training);
  return list;
}
std::vector<Case> with_folded_gradient(std::vector<Case> list) {
  add_folded_gradient(list);
  return list;
}

int pack_of(const Problem& p) { return static_cast<int>(16 / size_of(p.outputs[0].dtype)); }

}  // namespace

Verdict accepts_plain_norm(const Problem& p, const Capabilities& capabilities) {
  if (p.attrs.has("activation")) return refuse("relu is folded in");
  return accepts_cpu_floats(p, capabilities);
}

Verdict accepts_plain_norm_cuda(const Problem& p, const Capabilities& capabilities) {
  if (p.attrs.has("activation")) return refuse("relu is folded in");
  return accepts_cuda_floats(p, capabilities);
}

Verdict accepts_norm_rows(const Problem& p, const Capabilities& capabilities) {
  if (Verdict v = accepts_cuda_floats(p, capabilities); !v.ok) return v;
  if (p.outputs[0].dtype == DType::f64) return refuse("sums are fp32");
  const Channels s = channels_of(p);
  if (s.plane != 1) return refuse("channels do not lie side by side");
  if (s.channels % pack_of(p) != 0) return refuse("channels are not whole packs of 16 bytes");
  if (rows_split(p).tiles > cuda::RowsSplit::kMostTiles) return refuse("too many channels");
  return accept();
}

cuda::RowsSplit rows_split(const Problem& p) {
  const Channels s = channels_of(p);
  return {s.rows, s.channels, pack_of(p)};
}

std::size_t norm_rows_workspace(const Problem& p, const Capabilities&) {
  if (p.op == "batch_norm_inference") return 0;
  const cuda::RowsSplit split = rows_split(p);
  return cuda::norm_rows_bytes(split.parts, split.channels);
}

// dy and x twice, but for a slope that is kept: then g is written by the first pass and read by the second.
Work norm_rows_work(const Problem& p, const Capabilities& capabilities) {
  Work work = least_work(p, capabilities);
  if (p.op == "batch_norm_inference") return work;
  work.bytes += static_cast<double>((p.op == "batch_norm" ? 1 : 2) * p.inputs[0].bytes());
  work.launches = 2;
  return work;
}

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
                    .accepts = accepts_plain_norm_cuda,
                    .work = batch_norm_cuda_work,
                    .prepare = HEADROOM_CUDA(prepare_batch_norm_cuda),
                    .workspace = batch_norm_cuda_workspace,
                    .layouts = Layouts::alike};
  const Kernel rows{.name = "cuda:rows",
                    .device = DeviceKind::cuda,
                    .accepts = accepts_norm_rows,
                    .work = norm_rows_work,
                    .prepare = HEADROOM_CUDA(prepare_batch_norm_rows),
                    .workspace = norm_rows_workspace,
                    .counts = true,
                    .layouts = Layouts::alike};
  return {{.schema = batch_norm_schema(),
           .kernels = {rows,
                       cuda,
                       {.name = "cpu:channels",
                        .accepts = accepts_plain_norm,
                        .work = batch_norm_work,
                        .prepare = batch_norm_channels,
                        .workspace = batch_norm_workspace},
                       {.name = "reference", .prepare = batch_norm_reference}},
           .cases = with_folded(cases(false, true), true),
           .no_gradient = {3, 4}},
          {.schema = batch_norm_grad_schema(),
           .kernels = {rows,
                       cuda,
                       {.name = "cpu:channels",
                        .accepts = accepts_plain_norm,
                        .work = batch_norm_work,
                        .prepare = batch_norm_grad_channels,
                        .workspace = batch_norm_workspace},
                       {.name = "reference", .prepare = batch_norm_grad_reference}},
           .cases = with_folded_gradient(cases(true, true))},
          {.schema = batch_norm_inference_schema(),
           .kernels = {rows,
                       cuda,
                       {.name = "cpu:channels",
                        .accepts = accepts_plain_norm,
                        .prepare = batch_norm_inference_channels,
                        .workspace = batch_norm_workspace},
                       {.name = "reference", .prepare = batch_norm_inference_reference}},
           .cases = with_folded(cases(false, false), false),
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
