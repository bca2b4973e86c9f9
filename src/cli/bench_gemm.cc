#include <cmath>

#include "base/json.h"
#include "base/text.h"
#include "bench/gemm_ladder.h"
#include "bench/published_gemm.h"
#include "cli/bench_ladder.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "profile/gpu_counting.h"
#include "report/ladder_sheet.h"

namespace headroom::cli {
namespace {

struct BenchGemmRequest {
  Common common;
  std::optional<std::int64_t> size, m, n, k;
  std::optional<double> alpha, beta;
  std::string workload;
  LadderRequest ladder;
  BenchTarget target;
};

// The sizes of the perceptron course, all with alpha 2 and beta 5.
std::vector<GemmSize> workload_sizes(const std::string& name, DType dtype) {
  const std::int64_t scale = dtype == DType::f64 ? 4 : 10;
  if (name == "course") return {{800, 1000, 784, 2, 5}, {800, 10, 1000, 2, 5}};
  if (name == "course-2023")
    return {{800 * scale, 1000 * scale, 784 * scale, 2, 5},
            {800 * scale, 100 * scale, 1000 * scale, 2, 5},
            {800 * scale, 10 * scale, 1000 * scale, 2, 5}};
  if (name == "homework") return {{37, 41, 43, 2, 5}, {599, 433, 751, 2, 5}, {7817, 7919, 6869, 2, 5}};
  reject(nearest(name, std::vector<std::string>{"course", "course-2023", "homework"}),
         "no workload of bench gemm is called '{}'", name);
}

std::int64_t side_of(const char* option, const std::optional<std::int64_t>& value) {
  constexpr std::int64_t kMaxSide = 2147483647;  // what matrix libraries count in
  if (!value) reject(Hint{"give --m, --n and --k, or --size for squares"}, "bench gemm needs {}", option);
  if (*value < 1 || *value > kMaxSide)
    reject("{} is {}; it must lie between 1 and {}", option, *value, kMaxSide);
  return *value;
}

// Results must stay within the type: far within it, because they are sums of many products.
double factor_of(const char* option, const std::optional<double>& value, double usual, DType dtype) {
  if (!value) return usual;
  if (!std::isfinite(*value)) reject("{} is {}; it must be a finite number", option, *value);
  const double limit = dtype == DType::f64 ? 1e280 : dtype == DType::f16 ? 100 : 1e30;
  const double size = std::abs(*value);
  if (size != 0 && (size > limit || size < 1 / limit))
    reject("{} is {:g}; for {} it must lie between {:g} and {:g}, or be 0", option, *value, name_of(dtype),
           1 / limit, limit);
  return *value;
}

std::vector<GemmSize> sizes_of(const BenchGemmRequest& r, DType dtype) {
  const bool sides = r.m || r.n || r.k;
  if (int(sides) + int(r.size.has_value()) + int(!r.workload.empty()) > 1)
    reject(Hint{"give only one of them"}, "--size, --workload and --m, --n, --k exclude each other");
  std::vector<GemmSize> sizes;
  if (!r.workload.empty()) {
    sizes = workload_sizes(r.workload, dtype);
  } else if (sides) {
    sizes = {{side_of("--m", r.m), side_of("--n", r.n), side_of("--k", r.k)}};
  } else {
    constexpr std::int64_t kUsualCpu = 768, kUsualGpu = 4096;
    const std::int64_t side = r.size                     ? side_of("--size", r.size)
                              : r.common.device == "cpu" ? kUsualCpu
                                                         : kUsualGpu;
    sizes = {{side, side, side}};
  }
  for (GemmSize& size : sizes) {
    size.alpha = factor_of("--alpha", r.alpha, size.alpha, dtype);
    size.beta = factor_of("--beta", r.beta, size.beta, dtype);
  }
  return sizes;
}

void require_gemm_fits(const Device& device, const GemmSize& size, DType dtype) {
  const double per_element = gemm_bytes({1, 1, 1, size.alpha, size.beta}, dtype);
  const auto side = static_cast<std::int64_t>(std::sqrt(ladder_memory(device) / per_element));
  require_memory(device, fmt::format("{} x {} x {}", size.m, size.n, size.k), gemm_bytes(size, dtype),
                 Hint{fmt::format("the largest square that fits here is --size {}", side)});
}

std::string scaling_text(const GemmSize& size) {
  if (size.alpha == 1 && size.beta == 0) return "";
  return fmt::format(", alpha {:g}, beta {:g}", size.alpha, size.beta);
}

std::string chart_name(const GemmSize& size, bool several) {
  return several ? fmt::format("{}x{}x{}", size.m, size.n, size.k) : std::string();
}

void run_gemm(const BenchGemmRequest& r) {
  require_output(r.target, r.common);
  const DType dtype = r.common.device == "cpu" ? r.common.cpu_dtype() : r.common.dtype();
  const std::vector<GemmSize> sizes = sizes_of(r, dtype);
  LadderOptions options = ladder_options(r.ladder, gemm_ladder(), r.common);
  std::vector<std::string> chart_names;
  for (const GemmSize& size : sizes) chart_names.push_back(chart_name(size, sizes.size() > 1));
  require_svg(r.target, chart_names);
  const auto device = r.common.open();
  require_gpu_counters(*device, options.counters);
  for (const GemmSize& size : sizes) require_gemm_fits(*device, size, dtype);
  const Machine machine = r.common.machine(*device);
  BenchOutput output{"bench gemm", {}, {}, {}};
  Json ladders = Json::array();
  bool wrong = false;
  for (const GemmSize& size : sizes) {
    Progress progress("bench gemm");
    options.progress = [&](const std::string& rung) { progress.stage(rung); };
    const LadderRun run = climb_gemm(*device, machine, size, dtype, options);
    if (!run.any_timed() && !run.any_wrong())
      reject("none of these rungs runs here: {}: {}", run.rungs.front().rung.name, run.rungs.front().reason);
    wrong = wrong || run.any_wrong();
    add_ladder_tables(
        run, device->kind(),
        fmt::format("gemm: {} on {}{}", r.common.precision, device->capabilities().name, scaling_text(size)),
        published_gemm_sources(), r.common.explain, output);
    output.charts.push_back({chart_name(size, sizes.size() > 1),
                             svg(ladder_chart(run, fmt::format("gemm, {}, {}", r.common.precision,
                                                               device->capabilities().name)))});
    ladders.push_back(ladder_json(run));
    ladders.back().update({{"alpha", size.alpha}, {"beta", size.beta}});
  }
  output.json = {{"device", device->capabilities().name},
                 {"threads", device->capabilities().threads},
                 {"precision", r.common.precision},
                 {"ladders", ladders}};
  finish_bench(output, r.common, r.target, &machine);
  if (wrong) throw Interrupted{1};
}

}  // namespace

void add_bench_gemm(Command bench) {
  auto r = std::make_shared<BenchGemmRequest>();
  Command gemm =
      bench.verb("gemm", "matrix products, from plain loops to the best kernel, one idea at a time");
  add_json(gemm, r->common);
  add_table_options(gemm, r->common.tables);
  add_bench_output(gemm, r->target);
  gemm.option("--device", r->common.device, "cpu, cuda, or cuda:1 for the second GPU");
  gemm.option("--precision", r->common.precision,
              "fp32 or fp64; bf16 on some CPUs; on GPUs also tf32, bf16, fp16");
  gemm.option("--seed", r->common.seed, "seed of the random matrices");
  gemm.option("--threads", r->common.threads, "CPU threads; 0: one per core");
  gemm.option("--size", r->size, "rows, columns and terms of a square product");
  gemm.option("--m", r->m, "rows of the result");
  gemm.option("--n", r->n, "columns of the result");
  gemm.option("--k", r->k, "terms of each sum");
  gemm.option("--alpha", r->alpha, "factor of the product; 1 if none is given");
  gemm.option("--beta", r->beta, "factor of the matrix that is added; 0 if none is given");
  gemm.option("--workload", r->workload, "all sizes of a course: course, course-2023 or homework");
  add_ladder_options(gemm, r->ladder, "cpu:loops,cpu:blas");
  add_svg_option(gemm, r->target.svg);
  gemm.flag("--explain", r->common.explain, "say for each rung what changed and whether it helped");
  gemm.example("headroom bench gemm --size 512 --explain");
  gemm.example("headroom bench gemm --m 800 --n 1000 --k 784 --alpha 2 --beta 5 --precision fp64");
  gemm.example("headroom bench gemm --workload course --rung cpu:vector,cpu:blas");
  gemm.example("headroom bench gemm --device cuda --size 4096 --counters flops,memory");
  gemm.runs([r] { run_gemm(*r); });
}

}  // namespace headroom::cli
