#include "ops/testing/harness.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <omp.h>

#include "base/half.h"
#include "base/random.h"
#include "ops/stored.h"
#include "ops/testing/buffer_pool.h"

namespace headroom::testing {
namespace {

constexpr std::size_t kGuard = 256;  // bytes before and after each buffer, filled with a pattern
constexpr unsigned char kPattern = 0xA5;

// Widened values to the bytes a tensor is stored as, and back.
void store(DType dtype, const Values& values, void* to) {
  if (dtype == DType::f16 || dtype == DType::bf16) {
    for (std::size_t k = 0; k < values.size(); ++k)
      static_cast<std::uint16_t*>(to)[k] = half_bits(dtype, values[k]);
    return;
  }
  dispatch_stored(dtype, [&]<class T>() {
    for (std::size_t k = 0; k < values.size(); ++k) static_cast<T*>(to)[k] = static_cast<T>(values[k]);
  });
}

Values load(const TensorType& type, const void* from) {
  Values values(static_cast<std::size_t>(type.shape.numel()));
  if (type.dtype == DType::f16 || type.dtype == DType::bf16) {
    for (std::size_t k = 0; k < values.size(); ++k)
      values[k] = half_value(type.dtype, static_cast<const std::uint16_t*>(from)[k]);
    return values;
  }
  dispatch_stored(type.dtype, [&]<class T>() {
    for (std::size_t k = 0; k < values.size(); ++k) values[k] = double(static_cast<const T*>(from)[k]);
  });
  return values;
}

// Tests think of all tensors as NCHW: between that and how a tensor lies.
Values reordered(const TensorType& type, const Values& values, bool to_memory) {
  if (type.layout == Layout::nchw) return values;
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  const std::int64_t channels = type.shape[1], plane = type.shape[2] * type.shape[3];
  Values result(values.size());
  for (std::int64_t n = 0; n < type.shape[0]; ++n)
    for (std::int64_t c = 0; c < channels; ++c)
      for (std::int64_t i = 0; i < plane; ++i) {
        const std::size_t nchw = at((n * channels + c) * plane + i),
                          nhwc = at((n * plane + i) * channels + c);
        result[to_memory ? nhwc : nchw] = values[to_memory ? nchw : nhwc];
      }
  return result;
}

// Never freed: the GPU may be closed before it when the program ends.
BufferPool& pool() {
  static auto* kept = new BufferPool;
  return *kept;
}

// A buffer of a device with a guard zone on either side; new memory is NaN so that unwritten outputs show.
class Guarded {
 public:
  Guarded(Device& device, std::size_t bytes) : device_(&device), size_(bytes) {
    buffer_ = pool().take(device, bytes + 2 * kGuard);
    std::vector<unsigned char> fresh(bytes + 2 * kGuard, kPattern);
    std::fill_n(fresh.begin() + kGuard, bytes, 0xFF);
    device.upload(buffer_.data(), fresh.data(), fresh.size());
  }
  Guarded(Guarded&&) = default;
  ~Guarded() { pool().give_back(std::move(buffer_)); }
  void* data() const { return static_cast<unsigned char*>(buffer_.data()) + kGuard; }
  void fill(const TensorType& type, const Values& values) {
    std::vector<unsigned char> host(size_);
    store(type.dtype, reordered(type, values, true), host.data());
    device_->upload(data(), host.data(), size_);
  }
  Values values(const TensorType& type) const {
    std::vector<unsigned char> host(size_);
    device_->download(host.data(), data(), size_);
    return reordered(type, load(type, host.data()), false);
  }
  bool intact() const {
    std::vector<unsigned char> host(size_ + 2 * kGuard);
    device_->download(host.data(), buffer_.data(), host.size());
    auto clean = [](auto at) {
      return std::all_of(at, at + kGuard, [](unsigned char c) { return c == kPattern; });
    };
    return clean(host.begin()) && clean(host.end() - kGuard);
  }

 private:
  Device* device_;
  std::size_t size_;
  Buffer buffer_;
};

Device& cpu() {
  static const auto device = open_device("cpu", omp_get_max_threads());
  return *device;
}

}  // namespace

Problem problem_of(const Operator& op, const Case& c, DType dtype) {
  Problem p{.op = op.schema.name, .inputs = {}, .outputs = {}, .attrs = c.attrs};
  for (std::size_t i = 0; i < c.inputs.size(); ++i) {
    const bool label = i < c.fills.size() && c.fills[i].kind == Fill::Kind::label;
    const std::optional<DType> fixed = i < c.dtypes.size() ? c.dtypes[i] : std::nullopt;
    const bool narrow = dtype == DType::f16 || dtype == DType::bf16;
    const auto& wide = op.schema.keeps_fp32;
    const bool kept = narrow && std::find(wide.begin(), wide.end(), int(i)) != wide.end();
    const DType type = fixed ? *fixed : label ? DType::i32 : kept ? DType::f32 : dtype;
    p.inputs.push_back({c.inputs[i], type, i < c.layouts.size() ? c.layouts[i] : Layout::nchw});
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
          values[k] = 0.05 + random.uniform(k) + fill.value;
          break;
        case Fill::Kind::normal:
          // Small integers keep every partial sum exact; normals are rounded to fp32 so that both widths
          // agree.
          values[k] = numbers == Numbers::small_integers ? double(random.below(k, 9)) - 4
                      : numbers == Numbers::positive     ? 0.05 + random.uniform(k)
                                                         : double(static_cast<float>(random.normal(k)));
      }
    // What is stored is what both see.
    for (double& value : values) {
      const DType type = problem.inputs[i].dtype;
      if (is_16bit(type)) value = half_value(type, half_bits(type, value));
      if (type == DType::f32) value = double(static_cast<float>(value));
    }
    all.push_back(std::move(values));
  }
  return all;
}

Device* test_gpu(std::string* why) {
  static const GpuSurvey survey = survey_gpus();
  static const auto device = survey.gpus.empty() ? nullptr : open_device("cuda");
  if (device == nullptr && why != nullptr) *why = survey.why_not;
  return device.get();
}

Run run_kernel(const Kernel& kernel, const Problem& problem, const std::vector<Values>& inputs,
               const Policy& policy, const std::string& variant) {
  Device& device = kernel.device == DeviceKind::cuda ? *test_gpu() : cpu();
  LaunchContext context{.target = device.capabilities(), .device = &device, .variant = variant};
  context.target.policy = policy;
  context.target.device.threads = omp_get_max_threads();  // other tests change it; scratch memory is by it
  std::vector<Guarded> in, out;
  std::vector<const void*> in_pointers;
  std::vector<void*> out_pointers;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    in.emplace_back(device, static_cast<std::size_t>(problem.inputs[i].bytes()));
    in[i].fill(problem.inputs[i], inputs[i]);
  }
  const OpSchema& schema = schema_of(problem.op);
  const std::vector<int> aliases = schema.aliases ? schema.aliases(problem) : std::vector<int>{};
  for (const TensorType& type : problem.outputs)
    out.emplace_back(device, static_cast<std::size_t>(type.bytes()));
  for (auto& buffer : in) in_pointers.push_back(buffer.data());
  std::vector<const Guarded*> results;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int alias = i < aliases.size() ? aliases[i] : -1;
    results.push_back(alias < 0 ? &out[i] : &in[static_cast<std::size_t>(alias)]);
    out_pointers.push_back(results.back()->data());
  }
  Guarded workspace(device, kernel.workspace ? kernel.workspace(problem, context.target) : 0);
  kernel.prepare(problem,
                 context)({in_pointers.data(), out_pointers.data(), workspace.data(), &device.stream()});
  device.stream().synchronize();

  Run run;
  for (const auto* list : {&in, &out})
    for (const Guarded& buffer : *list) run.guards_intact &= buffer.intact();
  run.guards_intact &= workspace.intact();
  for (std::size_t i = 0; i < out.size(); ++i) run.outputs.push_back(results[i]->values(problem.outputs[i]));
  return run;
}

const Kernel& reference_of(const Operator& op) {
  if (op.kernels.empty() || op.kernels.back().name != "reference")
    fail("operator '{}' has no reference at the end of its list", op.schema.name);
  return op.kernels.back();
}

const Kernel& cpu_kernel(const Operator& op) {
  return *std::find_if(op.kernels.begin(), op.kernels.end(),
                       [](const Kernel& kernel) { return kernel.device == DeviceKind::cpu; });
}

const Kernel& cpu_kernel(const Problem& problem) {
  const Operator& op = operator_of(problem.op);
  return *std::find_if(op.kernels.begin(), op.kernels.end(), [&](const Kernel& kernel) {
    return kernel.device == DeviceKind::cpu && accepts(kernel, problem, cpu_capabilities()).ok;
  });
}

std::vector<Kernel> kernels_here(const Operator& op) {
  std::vector<Kernel> list;
  for (const Kernel& kernel : op.kernels)
    if (kernel.device == DeviceKind::cpu || (kernel.prepare != nullptr && test_gpu() != nullptr))
      list.push_back(kernel);
  return list;
}

std::vector<Kernel> kernels_for(const Problem& problem) {
  std::vector<Kernel> list;
  for (const Kernel& kernel : kernels_here(operator_of(problem.op))) {
    const bool gpu = kernel.device == DeviceKind::cuda;
    if (accepts(kernel, problem, gpu ? test_gpu()->capabilities() : cpu_capabilities()).ok)
      list.push_back(kernel);
  }
  return list;
}

Problem widened(Problem problem) {
  for (auto* list : {&problem.inputs, &problem.outputs})
    for (TensorType& type : *list) {
      if (is_float(type.dtype)) type.dtype = DType::f64;
      if (problem.op != "relayout") type.layout = Layout::nchw;
    }
  return problem;
}

Problem in_nhwc(Problem problem) {
  for (auto* list : {&problem.inputs, &problem.outputs})
    for (TensorType& type : *list)
      if (type.shape.rank() == 4) type.layout = Layout::nhwc;
  return problem;
}

Comparison compare(const Problem& problem, std::size_t output, const Values& got, const Values& want,
                   bool exact, const Policy& policy) {
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
  // Factors rounded to fewer bits show in every product.
  const double factors = policy.bf16 ? unit_roundoff(DType::bf16) : policy.tf32 ? std::ldexp(1.0, -11) : 0;
  // A wider output beside those of the operator's type holds sums of what was computed in that type: a tally.
  const DType own = problem.outputs[0].dtype;
  const DType computed = dtype == DType::f64 && is_float(own) ? own : dtype;
  const double roundoff = std::max(unit_roundoff(computed), products > 0 ? factors : 0.0);

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
