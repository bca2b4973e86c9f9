#include "ops/testing/harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <omp.h>

#include "base/random.h"
#include "ops/stored.h"

namespace headroom::testing {
namespace {

constexpr std::size_t kGuard = 256;  // bytes before and after each buffer, filled with a pattern
constexpr unsigned char kPattern = 0xA5;

template <class F>
void visit(DType dtype, F&& f) {
  if (dtype == DType::f16 || dtype == DType::bf16) fail("the harness does not fill {}", name_of(dtype));
  dispatch_stored(dtype, f);
}

// A buffer with a guard zone on either side; new memory is NaN so that unwritten outputs show.
class Guarded {
 public:
  explicit Guarded(std::size_t bytes) : size_(bytes), bytes_(bytes + 2 * kGuard + 64, kPattern) {
    const auto address = reinterpret_cast<std::uintptr_t>(bytes_.data());
    start_ = bytes_.data() + (64 - address % 64) % 64 + kGuard;
    std::memset(start_, 0xFF, size_);
  }
  void* data() { return start_; }
  bool intact() const {
    auto clean = [](const unsigned char* at) {
      return std::all_of(at, at + kGuard, [](unsigned char c) { return c == kPattern; });
    };
    return clean(start_ - kGuard) && clean(start_ + size_);
  }

 private:
  std::size_t size_;
  std::vector<unsigned char> bytes_;
  unsigned char* start_;
};

}  // namespace

Problem problem_of(const Operator& op, const Case& c, DType dtype) {
  Problem p{.op = op.schema.name, .inputs = {}, .outputs = {}, .attrs = c.attrs};
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const bool label = i < c.fills.size() && c.fills[i].kind == Fill::Kind::label;
    const std::optional<DType> fixed = i < c.dtypes.size() ? c.dtypes[i] : std::nullopt;
    const DType type = fixed ? *fixed : label ? DType::i32 : dtype;
    p.inputs.push_back({c.inputs[i], type});
  }
  p.outputs = op.schema.infer(p.inputs, p.attrs);
  return p;
}

std::vector<Values> inputs_of(const Problem& problem, const Case& c, Numbers numbers, std::uint64_t seed) {
  std::vector<Values> all;
  for (std::size_t i = 0; i < problem.inputs.size(); ++i) {
    const Philox random(seed, i + 1);
    const Fill fill = i < c.fills.size() ? c.fills[i] : Fill{};
    Values values(static_cast<std::size_t>(problem.inputs[i].shape.numel()));
    for (std::size_t k = 0; k < values.size(); ++k) switch (fill.kind) {
        case Fill::Kind::label:
        case Fill::Kind::digit:
          values[k] = double(random.below(k, std::uint64_t(fill.value)));
          break;
        case Fill::Kind::constant:
          values[k] = fill.value;
          break;
        case Fill::Kind::positive:
          values[k] = 0.05 + random.uniform(k);
          break;
        case Fill::Kind::normal:
          // Small integers keep every partial sum exact; normals are rounded to fp32 so that both widths
          // agree.
          values[k] = numbers == Numbers::small_integers ? double(random.below(k, 9)) - 4
                                                         : double(static_cast<float>(random.normal(k)));
      }
    all.push_back(std::move(values));
  }
  return all;
}

Run run_kernel(const Kernel& kernel, const Problem& problem, const std::vector<Values>& inputs) {
  const Capabilities capabilities = cpu_capabilities(omp_get_max_threads());
  std::vector<Guarded> in, out;
  std::vector<const void*> in_pointers;
  std::vector<void*> out_pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in.emplace_back(static_cast<std::size_t>(problem.inputs[i].bytes()));
    visit(problem.inputs[i].dtype, [&]<class T>() {
      for (std::size_t k = 0; k < inputs[i].size(); ++k)
        static_cast<T*>(in[i].data())[k] = static_cast<T>(inputs[i][k]);
    });
  }
  const OpSchema& schema = schema_of(problem.op);
  const std::vector<int> aliases = schema.aliases ? schema.aliases(problem) : std::vector<int>{};
  for (const TensorType& type : problem.outputs) out.emplace_back(static_cast<std::size_t>(type.bytes()));
  for (auto& buffer : in) in_pointers.push_back(buffer.data());
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int alias = i < aliases.size() ? aliases[i] : -1;
    out_pointers.push_back(alias < 0 ? out[i].data() : in[static_cast<std::size_t>(alias)].data());
  }
  Guarded workspace(kernel.workspace ? kernel.workspace(problem, capabilities) : 0);
  kernel.prepare(problem, capabilities)({in_pointers.data(), out_pointers.data(), workspace.data(), nullptr});

  Run run;
  for (const auto* list : {&in, &out})
    for (const Guarded& buffer : *list) run.guards_intact &= buffer.intact();
  run.guards_intact &= workspace.intact();
  for (std::size_t i = 0; i < out.size(); ++i) {
    Values values(static_cast<std::size_t>(problem.outputs[i].shape.numel()));
    visit(problem.outputs[i].dtype, [&]<class T>() {
      for (std::size_t k = 0; k < values.size(); ++k)
        values[k] = double(static_cast<const T*>(out_pointers[i])[k]);
    });
    run.outputs.push_back(std::move(values));
  }
  return run;
}

const Kernel& reference_of(const Operator& op) {
  if (op.kernels.empty() || op.kernels.back().name != "reference")
    fail("operator '{}' has no reference at the end of its list", op.schema.name);
  return op.kernels.back();
}

std::vector<Kernel> kernels_for(const Problem& problem) {
  std::vector<Kernel> list;
  for (const Kernel& kernel : operator_of(problem.op).kernels)
    if (kernel.accepts(problem, cpu_capabilities()).ok) list.push_back(kernel);
  return list;
}

Problem widened(Problem problem) {
  for (auto* list : {&problem.inputs, &problem.outputs})
    for (TensorType& type : *list)
      if (is_float(type.dtype)) type.dtype = DType::f64;
  return problem;
}

Comparison compare(const Problem& problem, std::size_t output, const Values& got, const Values& want,
                   bool exact) {
  const DType dtype = problem.outputs[output].dtype;
  const Cost cost = schema_of(problem.op).cost(problem);
  const double elements = std::max<double>(1, double(want.size()));
  const auto sum_length = operator_of(problem.op).sum_length;
  const double products = cost.multiply_add / 2 / elements;
  const double terms = 1 + products + cost.other / elements + (sum_length ? sum_length(problem) : 0);
  double square = 0;
  for (double w : want) square += w * w;
  // Sums of n products of unit normals have the size sqrt(n), also where a fused activation squeezes them
  // afterwards.
  const double size = std::max(std::sqrt(square / elements), std::sqrt(products));
  const double roundoff = unit_roundoff(dtype);

  Comparison worst;
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double allowed = exact || roundoff == 0 ? 0
                                                  : 4 * roundoff * std::abs(want[i]) +
                                                        4 * std::sqrt(terms) * roundoff * size + 1e-300;
    const double error = std::abs(got[i] - want[i]);
    double ratio = error == 0 ? 0 : allowed == 0 ? INFINITY : error / allowed;
    if (std::isnan(got[i]) != std::isnan(want[i])) ratio = INFINITY;
    if (ratio > worst.worst_ratio)
      worst = {ratio, fmt::format("output {} element {}: got {:.9g}, want {:.9g}, allowed error {:.3g}",
                                  output, i, got[i], want[i], allowed)};
  }
  return worst;
}

}  // namespace headroom::testing
