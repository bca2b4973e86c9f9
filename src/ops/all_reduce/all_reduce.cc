#include "ops/all_reduce/all_reduce.h"

#include <cstring>

#include "base/shares.h"
#include "comm/groups.h"
#include "graph/graph.h"
#include "ops/cpu/gemm.h"
#include "ops/expect.h"

namespace headroom {
namespace all_reduce_cc {
namespace {

// Null where the plan has no ranks.
Groups* groups_of(const Problem& p, const LaunchContext& context) {
  Groups* groups = context.groups;
  return groups != nullptr && groups->parts(p.attrs.text("group")) > 1 ? groups : nullptr;
}

// The device whose memory is exchanged; null: the host's.
Device* memory_of(const LaunchContext& context) {
  return context.target.device.kind == DeviceKind::cuda ? context.device : nullptr;
}

Collective sum_of(void* data, std::int64_t count, DType dtype, Device* memory) {
  return {
      .kind = Collective::Kind::all_reduce, .data = data, .count = count, .dtype = dtype, .device = memory};
}

void copy_on_host(const LaunchArgs&, void* to, const void* from, std::size_t bytes) {
  if (to != from) std::memcpy(to, from, bytes);
}

Launcher copy_part(const Problem& p, const LaunchContext&) {
  const auto size = size_of(p.inputs[0].dtype);
  return [from = static_cast<std::size_t>(p.attrs.integer("first")) * size,
          bytes = static_cast<std::size_t>(p.outputs[0].bytes())](const LaunchArgs& a) {
    std::memcpy(a.outputs[0], static_cast<const std::byte*>(a.inputs[0]) + from, bytes);
  };
}

Launcher multiply(const Problem& p, const LaunchContext& context) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [k = p.inputs[0].shape[0], m = p.inputs[0].shape[1], n = p.inputs[1].shape[1],
            memory = memory_of(context), groups = groups_of(p, context), group = p.attrs.text("group"),
            dtype = p.outputs[0].dtype,
            pieces = static_cast<int>(p.attrs.integer("pieces", 1))](const LaunchArgs& a) {
      for (int i = 0; i < pieces; ++i) {
        const Share rows = share_of(m, pieces, i);
        T* c = a.out<T>(0) + rows.first * n;
        gemm(true, false, rows.count, n, k, T{1}, a.in<T>(0) + rows.first, m, a.in<T>(1), n, T{0}, c, n);
        if (groups != nullptr) groups->start(group, sum_of(c, rows.count * n, dtype, memory), a.outputs[0]);
      }
    };
  });
}

Launcher multiply_by_hand(const Problem& p, const LaunchContext& context) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [k = p.inputs[0].shape[0], m = p.inputs[0].shape[1], n = p.inputs[1].shape[1],
            memory = memory_of(context), groups = groups_of(p, context), group = p.attrs.text("group"),
            dtype = p.outputs[0].dtype](const LaunchArgs& a) {
      for (std::int64_t i = 0; i < m; ++i)
        for (std::int64_t j = 0; j < n; ++j) {
          T sum = 0;
          for (std::int64_t l = 0; l < k; ++l) sum += a.in<T>(0)[l * m + i] * a.in<T>(1)[l * n + j];
          a.out<T>(0)[i * n + j] = sum;
        }
      if (groups != nullptr) groups->start(group, sum_of(a.outputs[0], m * n, dtype, memory), a.outputs[0]);
    };
  });
}

Launcher on_host(const Problem& p, const LaunchContext& context) {
  return prepare_all_reduce(p, context, copy_on_host);
}
Launcher start_on_host(const Problem& p, const LaunchContext& context) {
  return prepare_all_reduce_start(p, context, copy_on_host);
}
Launcher finish_on_host(const Problem& p, const LaunchContext& context) {
  return prepare_all_reduce_finish(p, context, copy_on_host);
}

std::vector<Kernel> kernels(Launcher (*cuda)(const Problem&, const LaunchContext&),
                            Launcher (*cpu)(const Problem&, const LaunchContext&)) {
  return {{.name = "cuda:ranks",
           .device = DeviceKind::cuda,
           .accepts = accepts_cuda_floats,
           .prepare = cuda,
           .layouts = Layouts::any},
          {.name = "cpu:ranks", .prepare = cpu},
          {.name = "reference", .prepare = cpu}};  // alone, nothing is added: copies are all there is
}

}  // namespace
}  // namespace all_reduce_cc

Launcher prepare_all_reduce(const Problem& p, const LaunchContext& context, CopyBytes copy) {
  using namespace all_reduce_cc;
  return [groups = groups_of(p, context), group = p.attrs.text("group"), type = p.inputs[0],
          memory = memory_of(context), copy](const LaunchArgs& a) {
    copy(a, a.outputs[0], a.inputs[0], static_cast<std::size_t>(type.bytes()));
    if (groups != nullptr) groups->run(group, sum_of(a.outputs[0], type.shape.numel(), type.dtype, memory));
  };
}

Launcher prepare_all_reduce_start(const Problem& p, const LaunchContext& context, CopyBytes copy) {
  using namespace all_reduce_cc;
  return [groups = groups_of(p, context), group = p.attrs.text("group"), types = p.inputs,
          memory = memory_of(context), copy, n = elements_of(p.inputs),
          scatter = p.attrs.integer("scatter") != 0](const LaunchArgs& a) {
    auto* to = static_cast<std::byte*>(a.outputs[0]);
    for (std::size_t i = 0; i < types.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(types[i].bytes());
      copy(a, to, a.inputs[i], bytes);
      to += bytes;
    }
    if (groups == nullptr) return;
    Collective sum = sum_of(a.outputs[0], n, types[0].dtype, memory);
    if (scatter) sum.kind = Collective::Kind::reduce_scatter;
    groups->start(group, sum, a.outputs[0]);
  };
}

Launcher prepare_all_reduce_finish(const Problem& p, const LaunchContext& context, CopyBytes copy) {
  using namespace all_reduce_cc;
  return [groups = groups_of(p, context), types = p.outputs, packed = p.inputs.size() > 1,
          copy](const LaunchArgs& a) {
    if (groups != nullptr) groups->finish(a.inputs[0]);
    const auto* from = static_cast<const std::byte*>(a.inputs[0]);
    for (std::size_t i = 0; packed && i < types.size(); ++i) {
      const auto bytes = static_cast<std::size_t>(types[i].bytes());
      copy(a, a.outputs[i], from, bytes);
      from += bytes;
    }
  };
}

Launcher prepare_all_gather(const Problem& p, const LaunchContext& context) {
  using namespace all_reduce_cc;
  return [groups = groups_of(p, context), group = p.attrs.text("group"), dtype = p.inputs[0].dtype,
          whole = p.attrs.integer("whole"), memory = memory_of(context),
          back = static_cast<std::size_t>(p.attrs.integer("first")) *
                 size_of(p.inputs[0].dtype)](const LaunchArgs& a) {
    if (groups == nullptr) return;
    Collective all = sum_of(static_cast<std::byte*>(a.outputs[0]) - back, whole, dtype, memory);
    all.kind = Collective::Kind::all_gather;
    groups->run(group, all);
  };
}

std::vector<Operator> all_reduce_operators() {
  using namespace all_reduce_cc;
  const Attrs data = {{"group", std::string(kDataGroup)}}, model = {{"group", std::string(kModelGroup)}};
  const Attrs bands = {{"group", std::string(kDataGroup)}, {"pieces", std::int64_t{3}}};
  return {
      {.schema = all_reduce_schema(),
       .kernels = kernels(HEADROOM_CUDA(prepare_all_reduce_cuda), on_host),
       .cases = {{.tier = Tier::smoke, .inputs = {{4, 7}}, .attrs = model},
                 {.inputs = {{3}},
                  .attrs = {{"group", std::string(kDataGroup)}, {"backward", std::string("sum")}}}},
       .exact = true},
      {.schema = all_reduce_start_schema(),
       .kernels = kernels(HEADROOM_CUDA(prepare_all_reduce_start_cuda), start_on_host),
       .cases = {{.tier = Tier::smoke, .inputs = {{5, 3}}, .attrs = data},
                 {.inputs = {{5}},
                  .attrs = {{"group", std::string(kModelGroup)}, {"packed", std::int64_t{1}}}},
                 {.inputs = {{5}, {1}, {2, 3, 4}}, .attrs = data}},
       .exact = true},
      {.schema = all_reduce_finish_schema(),
       .kernels = kernels(HEADROOM_CUDA(prepare_all_reduce_finish_cuda), finish_on_host),
       .cases = {{.tier = Tier::smoke, .inputs = {{5, 3}}, .attrs = data},
                 {.inputs = {{30}, {5}, {1}, {2, 3, 4}}, .attrs = data}},
       .exact = true},
      {.schema = matmul_reduce_schema(),
       .kernels = {{.name = "cpu:bands", .prepare = multiply},
                   {.name = "reference", .prepare = multiply_by_hand}},
       .cases = {{.tier = Tier::smoke, .inputs = {{9, 7}, {9, 5}}, .attrs = bands},
                 {.inputs = {{64, 33}, {64, 70}}, .attrs = bands}},
       .exact = true},
      {.schema = part_of_schema(),
       .kernels = {{.name = "reference", .prepare = copy_part}},
       .cases = {{.tier = Tier::smoke,
                  .inputs = {{4, 7}},
                  .attrs = {{"first", std::int64_t{5}}, {"count", std::int64_t{9}}}}},
       .exact = true},
      {.schema = all_gather_schema(),
       .kernels = kernels(HEADROOM_CUDA(prepare_all_gather), prepare_all_gather),
       .cases = {{.tier = Tier::smoke,
                  .inputs = {{9}},
                  .attrs = {{"group", std::string(kDataGroup)},
                            {"first", std::int64_t{0}},
                            {"whole", std::int64_t{9}}}}},
       .exact = true},
      {.schema = enter_split_schema(),
       .kernels = {{.name = "reference", .prepare = on_host}},
       .cases = {{.tier = Tier::smoke, .inputs = {{4, 7}}, .attrs = model}},
       .exact = true},
  };
}

}  // namespace headroom
