#include "bench/alloc.h"

#include "base/json.h"
#include "bench/random_batch.h"
#include "cli/bench.h"
#include "cli/progress.h"
#include "models/onnx/imported.h"
#include "models/zoo.h"
#include "report/chart.h"
#include "report/sampling.h"

namespace headroom::cli {
namespace {

// The perceptron course's grading case 1: 54,000 images in batches of 800, 40 epochs.
constexpr const char* kCaseModel = "mlp:hidden=100";
constexpr std::int64_t kCaseBatch = 800, kCaseSteps = 40 * 68;

struct BenchAllocRequest {
  Common common;
  BenchTarget target;
  std::optional<std::int64_t> m, n, k;
  std::string model = kCaseModel;
  std::int64_t batch = kCaseBatch;

  bool is_course_products() const { return !m && !n && !k; }
  bool is_case() const { return model == kCaseModel && batch == kCaseBatch; }
  std::vector<ProductSize> sizes() const {
    if (is_course_products()) return course_products();
    if (!m || !n || !k)
      reject(Hint{"give all three, or none for the course's products"}, "--m, --n and --k belong together");
    return {{*m, *n, *k}};
  }
};

std::string size_text(const ProductSize& size) { return fmt::format("{} x {} x {}", size.m, size.n, size.k); }

Cell ms_or_none(const Spread& part) { return part.samples > 0 ? Cell(part.median * 1e3) : Cell(); }

// The course's ten calls of each product: ours, and what its reports say.
void add_course_rows(Sheet& sheet, const std::vector<ProductTiming>& timings) {
  constexpr double kCalls = 10;
  sheet.rule();
  for (const bool fresh : {true, false}) {
    double parts[6] = {};
    for (const ProductTiming& t : timings) {
      if (t.fresh != fresh) continue;
      const Spread* all[] = {&t.allocate, &t.copy_in, &t.kernel, &t.copy_out, &t.free, &t.total};
      for (std::size_t i = 0; i < 6; ++i) parts[i] += kCalls * 1e3 * all[i]->median;
    }
    sheet.row({"10 calls of each", fresh ? "fresh" : "reused", known(parts[0]), parts[1], parts[2], parts[3],
               known(parts[4]), parts[5], Cell()});
  }
  sheet.row({"published, basic kernel", "fresh", 149.5, Cell(), 636.4, Cell(), 210.4, Cell(), Cell()});
  sheet.row({"published, shared memory", "fresh", 120.9, Cell(), 214.9, Cell(), 212.6, Cell(), Cell()});
}

BenchTable products_table(const std::vector<ProductTiming>& timings, bool course) {
  Sheet sheet("alloc", {{.key = "product", .title = "product"},
                        {.key = "buffers", .title = "buffers", .left = true},
                        {.key = "allocate_ms", .title = "allocate ms", .unit = "ms"},
                        {.key = "copy_in_ms", .title = "copy in ms", .unit = "ms", .priority = 1},
                        {.key = "kernel_ms", .title = "kernel ms", .unit = "ms"},
                        {.key = "copy_out_ms", .title = "copy out ms", .unit = "ms", .priority = 1},
                        {.key = "free_ms", .title = "free ms", .unit = "ms"},
                        {.key = "total_ms", .title = "total ms", .unit = "ms"},
                        {.key = "samples", .title = "samples", .priority = 2}});
  std::vector<Sampled> medians;
  for (const ProductTiming& t : timings) {
    sheet.row({size_text(t.size), t.fresh ? "fresh" : "reused", ms_or_none(t.allocate), ms_or_none(t.copy_in),
               ms_or_none(t.kernel), ms_or_none(t.copy_out), ms_or_none(t.free), ms_or_none(t.total),
               t.total.samples});
    medians.push_back(t.total);
  }
  if (course) add_course_rows(sheet, timings);
  std::string below =
      "\nPer call, medians; results checked. Fresh: A, B and C are allocated and freed in every call. Memory "
      "that the\n"
      "system hands out is first touched by the copy and the kernel, so that these pay for its pages.\n";
  if (course) below += "Published: a report of the course, ten calls, fp64, GPU not named.\n";
  return {sheet, "", below + sampling_note(medians)};
}

BenchTable steps_table(const std::vector<StepTiming>& timings, const BenchAllocRequest& r) {
  Sheet sheet("steps", {{.key = "step", .title = r.is_case() ? "training case 1" : "training step"},
                        {.key = "copy_in_s", .title = "host to device s", .unit = "s"},
                        {.key = "copy_out_s", .title = "device to host s", .unit = "s"},
                        {.key = "kernel_s", .title = "kernels s", .unit = "s"},
                        {.key = "host_s", .title = "host s", .unit = "s"},
                        {.key = "total_s", .title = "total s", .unit = "s"},
                        {.key = "samples", .title = "samples", .priority = 1}});
  const auto steps = static_cast<double>(kCaseSteps);
  std::vector<Sampled> medians;
  for (const StepTiming& t : timings) {
    sheet.row({t.name, steps * t.copy_in.median, steps * t.copy_out.median, steps * t.kernel.median,
               steps * t.host.median, steps * t.total.median, t.total.samples});
    medians.push_back(t.total);
  }
  if (r.is_case()) {
    sheet.rule();
    sheet.row({"published, first version", 2.223, 0.448, 13.61, 269.83, 286.1, Cell()});
    sheet.row({"published, final version", 2.166, 0.469, 4.25, 219.85, 226.8, Cell()});
  }
  std::string below = fmt::format(
      "\n{}, batch {}, {} on random images: seconds of {} steps, scaled from {}-step samples.\n"
      "Through the host: fresh buffers for each batch, weights to the host and back, the loss read, no "
      "graph.\n"
      "Kernels: from the first to the last of a step. Host: all the rest, allocation included.\n",
      r.model, r.batch, r.common.precision, kCaseSteps, kStepsPerSample);
  if (r.is_case()) below += "Published: a report of the course, fp64, GPU not named.\n";
  return {sheet, "\n", below + sampling_note(medians)};
}

Json products_json(const std::vector<ProductTiming>& timings) {
  Json list = Json::array();
  for (const ProductTiming& t : timings) {
    list.push_back(
        {{"m", t.size.m}, {"n", t.size.n}, {"k", t.size.k}, {"buffers", t.fresh ? "fresh" : "reused"}});
    const auto add = [&](const char* key, const Spread& part) {
      if (part.samples > 0) list.back()[key] = part.median * 1e3;
    };
    add("allocate_ms", t.allocate), add("copy_in_ms", t.copy_in), add("kernel_ms", t.kernel);
    add("copy_out_ms", t.copy_out), add("free_ms", t.free);
    list.back()["total_ms"] = spread_json(t.total);
  }
  return list;
}

Json steps_json(const std::vector<StepTiming>& timings) {
  Json list = Json::array();
  for (const StepTiming& t : timings)
    list.push_back({{"step", t.name},
                    {"copy_in_ms", t.copy_in.median * 1e3},
                    {"copy_out_ms", t.copy_out.median * 1e3},
                    {"kernel_ms", t.kernel.median * 1e3},
                    {"host_ms", t.host.median * 1e3},
                    {"total_ms", spread_json(t.total)}});
  return list;
}

std::string products_chart(const std::vector<ProductTiming>& timings, const Device& device) {
  BarChart chart{.title = "One product: where the time of a call goes",
                 .series = {{"allocate"}, {"copy in"}, {"kernel"}, {"copy out"}, {"free"}},
                 .axis = {"time", "ms", AxisScale::log},
                 .note = device.capabilities().name};
  for (const ProductTiming& t : timings) {
    chart.categories.push_back(size_text(t.size) + (t.fresh ? ", fresh buffers" : ", reused buffers"));
    const Spread* parts[] = {&t.allocate, &t.copy_in, &t.kernel, &t.copy_out, &t.free};
    for (std::size_t i = 0; i < chart.series.size(); ++i)
      chart.series[i].values.push_back(parts[i]->median > 0 ? parts[i]->median * 1e3 : std::nan(""));
  }
  return svg(chart);
}

void run_alloc(BenchAllocRequest r) {
  require_output(r.target, r.common);
  require_svg(r.target);
  if (r.common.precision != "fp32" && r.common.precision != "fp64")
    reject(Hint{"use fp32 or fp64"},
           "--precision is {}; bench alloc compares with the course's float and double", r.common.precision);
  if (r.batch < 1) reject("--batch is {}; it must be at least 1", r.batch);
  const std::vector<ProductSize> sizes = r.sizes();
  const Net net = find_net(r.model);
  if (const std::int64_t fixed = fixed_batch(net); fixed > 0) r.batch = fixed;  // set by some files
  require_random_batch(net);
  const auto device = r.common.open();
  require_products(*device, r.common.dtype(), sizes);
  const EngineOptions options = r.common.engine_options();
  std::vector<ProductTiming> products;
  std::vector<StepTiming> steps;
  {
    Progress progress("bench alloc");
    const auto say = [&](const std::string& stage) { progress.stage(stage); };
    products = bench_products(*device, options, sizes, say);
    steps = bench_steps(*device, options, net, r.batch, say);
  }
  finish_bench({"bench alloc",
                {products_table(products, r.is_course_products()), steps_table(steps, r)},
                {{"device", device->capabilities().name},
                 {"precision", r.common.precision},
                 {"products", products_json(products)},
                 {"model", r.model},
                 {"batch", r.batch},
                 {"steps", steps_json(steps)}},
                {{"", products_chart(products, *device)}}},
               r.common, r.target, nullptr);
}

}  // namespace

void add_bench_alloc(Command verb) {
  auto r = std::make_shared<BenchAllocRequest>();
  r->common.precision = "fp64";  // the course's
  Command alloc = verb.verb("alloc", "what allocating, copying and freeing cost around a product and a step");
  add_run_options(alloc, r->common, Explains::no);
  add_bench_output(alloc, r->target);
  add_svg_option(alloc, r->target.svg);
  alloc.option("--m", r->m, "rows of the product; with --n and --k, instead of the course's two products");
  alloc.option("--n", r->n, "columns of the product");
  alloc.option("--k", r->k, "terms of each sum");
  alloc.option("--model", r->model, "the network of the training step");
  alloc.option("--batch", r->batch, "images of the training step");
  alloc.example("headroom bench alloc --m 512 --n 512 --k 512 --precision fp32");
  alloc.runs([r] { run_alloc(*r); });
}

}  // namespace headroom::cli
