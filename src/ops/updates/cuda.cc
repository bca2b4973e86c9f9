#include "ops/updates/cuda.h"

#include "ops/cuda/launch.h"
#include "ops/updates/rules.h"

namespace headroom {
namespace updates_cuda_cc {
namespace {

cuda::Update kind_of(const UpdateRule& rule, const Attrs& attrs) {
  using cuda::Update;
  const bool momentum = attrs.real("momentum") > 0;
  if (rule.name == updates::kSgd.name)
    return !momentum ? Update::sgd : attrs.integer("nesterov") == 0 ? Update::momentum : Update::nesterov;
  if (rule.name == updates::kRmsprop.name) return momentum ? Update::rmsprop_momentum : Update::rmsprop;
  if (rule.name == updates::kAdagrad.name) return Update::adagrad;
  if (rule.name == updates::kAdadelta.name) return Update::adadelta;
  return Update::adam;
}

}  // namespace
}  // namespace updates_cuda_cc

Launcher prepare_update_cuda(const Problem& p, const LaunchContext&) {
  using namespace updates_cuda_cc;
  const UpdateRule& rule = *find_update_rule(p.op);
  std::vector<std::int64_t> sizes;
  const UpdateProblem update = update_problem(rule, p);
  for (std::size_t i = 0; i < update.tensors.size(); ++i)
    sizes.push_back(p.inputs[update.layout.in(i)].shape.numel());
  return [sizes, l2 = update.l2, layout = update.layout, dtype = p.outputs[0].dtype,
          kind = kind_of(rule, p.attrs), settings = updates::settings_of(rule, p.attrs),
          decoupled = rule.decoupled, counts = rule.counts_steps](const LaunchArgs& a) {
    cuda::TensorTable table;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      const int row = table.add(sizes[i], cuda::kUpdateChunk);
      table.number[row] = l2[i];
      table.at[row][0] = const_cast<void*>(a.inputs[layout.in(i) + 1]);
      // Parameters and states are updated in place: outputs share the storage of inputs (schema.aliases).
      for (std::size_t k = 0; k + 1 < layout.stride(); ++k)
        table.at[row][1 + k] = a.outputs[layout.out(i) + k];
      if (!table.full() && i + 1 < sizes.size()) continue;
      cuda::update(dtype, kind, settings, decoupled, a.in<double>(0), counts ? a.in<double>(1) : nullptr,
                   table, cuda::stream_of(a));
      table = {};
    }
  };
}

}  // namespace headroom
