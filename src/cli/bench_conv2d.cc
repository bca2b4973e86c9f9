#include <algorithm>
#include <set>

#include "base/json.h"
#include "base/text.h"
#include "bench/conv2d_ladder.h"
#include "bench/published_conv2d.h"
#include "cli/bench_conv2d_report.h"
#include "cli/bench_ladder.h"
#include "cli/counts.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "ops/operator.h"
#include "profile/gpu_counting.h"
#include "report/ladder_sheet.h"

namespace headroom::cli {
namespace {

struct BenchConv2dRequest {
  Common common;
  BenchTarget target;
  std::string workload, images, blocks, coarsen;
  std::optional<std::int64_t> batch, channels, height, width, maps, kernel, stride, padding, groups;
  bool backward = false, sweep = false;
  LadderRequest ladder;

  bool has_shape() const {
    return batch || channels || height || width || maps || kernel || stride || padding || groups;
  }
  std::vector<Conv2dPass> passes() const {
    if (!backward) return {Conv2dPass::forward};
    return {Conv2dPass::forward, Conv2dPass::grad_input, Conv2dPass::grad_weight};
  }
};

Conv2dSize shape_of(const BenchConv2dRequest& r) {
  if (r.width && !r.height) require_conv2d_count("width", *r.width);  // before it is the height as well
  const std::int64_t height = r.height.value_or(r.width.value_or(32));
  return {.name = {},
          .batch = r.batch.value_or(32),
          .channels = r.channels.value_or(1),
          .height = height,
          .width = r.width.value_or(height),
          .maps = r.maps.value_or(16),
          .kernel = r.kernel.value_or(3),
          .stride = r.stride.value_or(1),
          .padding = r.padding.value_or(0),
          .groups = r.groups.value_or(1)};
}

constexpr std::int64_t kLargestCount = 1'000'000'000;

std::vector<std::int64_t> counts_of(const std::string& list, const char* option) {
  std::vector<std::int64_t> counts = parse_counts(list, option);
  for (const std::int64_t count : counts)
    if (count < 1 || count > kLargestCount)
      reject("{} has {}; every number must be at least 1, and at most {}", option, count, kLargestCount);
  return counts;
}

// A number of images that the rungs of a CPU compute within a minute.
constexpr std::int64_t kCpuImages = 100, kCpuBatch = 1;

std::vector<Conv2dSize> layers_of(const BenchConv2dRequest& r) {
  if (r.has_shape() && !r.workload.empty())
    reject(Hint{"give only one of them"},
           "--workload and a shape (--batch, --channels, …) exclude each other");
  if (r.has_shape() && !r.images.empty()) reject(Hint{"--batch sets them"}, "--images belongs to --workload");
  if (r.has_shape()) return {shape_of(r)};
  const std::string name = r.workload.empty() ? "ece408" : r.workload;
  const bool cpu = r.common.device == "cpu";
  std::vector<std::int64_t> counts = {!cpu ? 0 : name == "ece408" ? kCpuImages : kCpuBatch};
  if (!r.images.empty()) counts = counts_of(r.images, "--images");
  std::vector<Conv2dSize> layers;
  for (const std::int64_t count : counts)
    for (Conv2dSize& layer : conv2d_workload(name, count)) layers.push_back(std::move(layer));
  return layers;
}

// Rungs of another device are listed beside those that run, but somebody has to run.
void require_runnable(const std::vector<std::string>& rungs, const std::vector<Conv2dPass>& passes,
                      DeviceKind device) {
  if (rungs.empty()) return;
  for (const Conv2dPass pass : passes) {
    const Ladder& ladder = conv2d_ladder(pass);
    for (const Rung& rung : ladder.rungs)
      for (const Kernel& kernel : operator_of(ladder.op).kernels)
        if (kernel.name == rung.kernel && kernel.device == device &&
            std::ranges::find(rungs, rung.name) != rungs.end())
          return;
  }
  if (device == DeviceKind::cuda) reject(Hint{"--device cpu"}, "none of these rungs runs on a GPU");
  const GpuSurvey survey = survey_gpus();
  reject(Hint{survey.gpus.empty() ? "rungs of the CPU: reference, cpu:im2col_gemm, cpu:pixel_lanes"
                                  : "--device cuda"},
         "none of these rungs runs here: they need a GPU{}{}", survey.gpus.empty() ? ": " : "",
         survey.why_not);
}

Conv2dSweep sweep_of_request(const BenchConv2dRequest& r) {
  if (!r.sweep && (!r.blocks.empty() || !r.coarsen.empty()))
    reject(Hint{"add --sweep"}, "--blocks and --coarsen say what --sweep tries");
  Conv2dSweep sweep;
  if (!r.blocks.empty()) sweep.blocks = counts_of(r.blocks, "--blocks");
  if (!r.coarsen.empty()) sweep.coarsens = counts_of(r.coarsen, "--coarsen");
  return sweep;
}

// Charts of several image counts need names of their own.
std::string file_name_of(const BenchConv2dRequest& r, const Conv2dSize& size, const std::string& name) {
  return r.images.find(',') == std::string::npos ? name : fmt::format("{}-{}", name, size.batch);
}

std::vector<std::string> chart_names(const BenchConv2dRequest& r, const std::vector<Conv2dSize>& layers) {
  std::vector<std::string> names;
  for (const Conv2dSize& size : layers) {
    for (const Conv2dPass pass : r.passes())
      names.push_back(file_name_of(r, size, conv2d_chart_name(size, pass)));
    if (r.sweep) names.push_back(file_name_of(r, size, (size.name.empty() ? "layer" : size.name) + "-sweep"));
  }
  return names;
}

// The course's rule holds for its network: what an optimisation does lies inside the time.
bool by_course_rule(const BenchConv2dRequest& r) {
  return !r.has_shape() && (r.workload.empty() || r.workload == "ece408");
}

void require_fit(const Device& device, const Conv2dSize& size, DType dtype) {
  Conv2dSize one = size;
  one.batch = 1;
  const auto bytes = [&](const Conv2dSize& s) {
    const LadderProblem problem = conv2d_ladder_problem(s, Conv2dPass::grad_input, dtype);  // dy and w in
    const double x =
        double(s.batch) * double(s.channels) * double(s.height) * double(s.width) * double(size_of(dtype));
    return double(problem.inputs[0].bytes()) + double(problem.inputs[1].bytes()) + x;
  };
  const auto fitting = static_cast<std::int64_t>(ladder_memory(device) / bytes(one));
  require_memory(
      device, conv2d_ladder_problem(size, Conv2dPass::forward, dtype).name, bytes(size),
      Hint{fitting > 0 ? fmt::format("{} images fit here", fitting) : "smaller images or fewer maps"});
}

// What the tables and JSON are made of.
struct Conv2dResult {
  std::vector<Conv2dClimb> climbs;
  std::vector<std::pair<Conv2dSize, LadderRun>> sweeps;
};

Conv2dResult measure(const BenchConv2dRequest& r, Device& device, const Machine& machine, DType dtype,
                     const std::vector<Conv2dSize>& layers, LadderOptions options) {
  Conv2dResult result;
  const Conv2dSweep sweep = sweep_of_request(r);
  Progress progress("bench conv2d");
  options.zeroed = by_course_rule(r);
  options.progress = [&](const std::string& rung) { progress.stage(rung); };
  for (const Conv2dSize& size : layers) {
    for (const Conv2dPass pass : r.passes()) {
      LadderOptions own = options;
      own.only = conv2d_rungs_in(pass, options.only);
      if (own.only.empty() && !options.only.empty()) continue;  // those named climb another pass
      result.climbs.push_back({size, pass, climb_conv2d(device, machine, size, pass, dtype, own)});
    }
    if (r.sweep) result.sweeps.emplace_back(size, sweep_conv2d(device, machine, size, sweep, options));
  }
  if (!result.climbs.empty() && std::ranges::none_of(result.climbs, [](const Conv2dClimb& c) {
        return c.run.any_timed() || c.run.any_wrong();
      })) {
    const RungResult& first = result.climbs.front().run.rungs.front();
    reject("none of these rungs runs here: {}: {}", first.rung.name, first.reason);
  }
  return result;
}

void add_published_tables(const std::vector<Conv2dClimb>& climbs, BenchOutput& output) {
  std::set<std::int64_t> counts;
  for (const Conv2dClimb& c : climbs)
    if (c.size.name == "conv1") counts.insert(c.size.batch);
  for (const std::int64_t images : counts)
    if (Sheet sheet = course_sheet(climbs, images); sheet.rows() > 0)
      output.tables.push_back(
          {std::move(sheet),
           fmt::format("\nBoth layers, {} images, beside published runs on a Volta GPU\n\n", images),
           "\nA sample is one run; the output is zeroed and the device idle before, and what the rung copies "
           "or "
           "rearranges is inside.\n"});
  if (Sheet sheet = published_layer_sheet(climbs); sheet.rows() > 0)
    output.tables.push_back({std::move(sheet), "\nBeside published times of a Titan X (Maxwell)\n\n", ""});
}

Json conv2d_json(const Conv2dResult& result, const Device& device, const BenchConv2dRequest& r,
                 const BenchOutput& output) {
  Json ladders = Json::array(), sweeps = Json::array(), published = Json::array();
  for (const Conv2dClimb& c : result.climbs) {
    ladders.push_back(ladder_json(c.run));
    ladders.back().update({{"pass", name_of(c.pass)}, {"layer", c.size.name}, {"images", c.size.batch}});
  }
  for (const auto& [size, run] : result.sweeps) sweeps.push_back(sweep_json(run));
  for (const BenchTable& table : output.tables)
    if (table.sheet.name() == "both layers" || table.sheet.name() == "published")
      for (const Json& row : table.sheet.objects()) published.push_back(row);
  return {{"device", device.capabilities().name},
          {"threads", device.capabilities().threads},
          {"precision", r.common.precision},
          {"ladders", ladders},
          {"sweeps", sweeps},
          {"published", published}};
}

std::vector<ChartFile> charts_of(const BenchConv2dRequest& r, const Conv2dResult& result,
                                 const std::string& device) {
  std::vector<ChartFile> files;
  for (const Conv2dClimb& c : result.climbs)
    files.push_back(
        {file_name_of(r, c.size, conv2d_chart_name(c.size, c.pass)),
         svg(ladder_chart(c.run, fmt::format("{}, {}, {}", name_of(c.pass), r.common.precision, device)))});
  for (const auto& [size, run] : result.sweeps) {
    ChartFile file = sweep_chart(run, size, sweep_of_request(r), device);
    file.name = file_name_of(r, size, file.name);
    files.push_back(std::move(file));
  }
  return files;
}

void run_conv2d(const BenchConv2dRequest& r) {
  require_output(r.target, r.common);
  const DType dtype = r.common.device == "cpu" ? r.common.cpu_dtype() : r.common.dtype();
  const std::vector<Conv2dSize> layers = layers_of(r);
  for (const Conv2dSize& size : layers) require_conv2d_size(size);
  const LadderOptions options = ladder_options(r.ladder, conv2d_rungs_of(r.passes()), r.common);
  const Conv2dSweep sweep = sweep_of_request(r);
  require_svg(r.target, chart_names(r, layers));
  const auto device = r.common.open();
  require_runnable(options.only, r.passes(), device->kind());
  require_gpu_counters(*device, options.counters);
  for (const Conv2dSize& size : layers) require_fit(*device, size, dtype);
  const Machine machine = r.common.machine(*device);
  const Conv2dResult result = measure(r, *device, machine, dtype, layers, options);
  BenchOutput output{"bench conv2d", {}, {}, {}};
  bool wrong = false;
  for (const Conv2dClimb& c : result.climbs) {
    add_ladder_tables(
        c.run, device->kind(),
        fmt::format("{}: {} on {}", name_of(c.pass), r.common.precision, device->capabilities().name),
        published_conv2d_sources(), r.common.explain, output);
    wrong = wrong || c.run.any_wrong();
  }
  add_published_tables(result.climbs, output);
  for (const auto& [size, run] : result.sweeps) output.tables.push_back(sweep_table(run, sweep));
  output.json = conv2d_json(result, *device, r, output);
  output.charts = charts_of(r, result, device->capabilities().name);
  finish_bench(output, r.common, r.target, &machine);
  if (wrong) throw Interrupted{1};
}

void add_shape_options(Command conv2d, BenchConv2dRequest& r) {
  conv2d.option("--batch", r.batch, "images of a layer of your own; 32 if none is given");
  conv2d.option("--channels", r.channels, "its input maps; 1");
  conv2d.option("--height", r.height, "rows of its images; 32");
  conv2d.option("--width", r.width, "columns; as many as rows");
  conv2d.option("--maps", r.maps, "its output maps; 16");
  conv2d.option("--kernel", r.kernel, "rows and columns of its window; 3");
  conv2d.option("--stride", r.stride, "steps of the window; 1");
  conv2d.option("--padding", r.padding, "zeros on each side; 0");
  conv2d.option("--groups", r.groups, "groups of channels and maps; 1");
}

}  // namespace

void add_bench_conv2d(Command bench) {
  auto r = std::make_shared<BenchConv2dRequest>();
  Command conv2d =
      bench.verb("conv2d", "convolutions, from one thread for each output to the best kernel, idea by idea");
  add_json(conv2d, r->common);
  conv2d.flag("--wide", r->common.tables.wide, "print all columns of tables; COLUMNS sets another width");
  add_bench_output(conv2d, r->target);
  add_svg_option(conv2d, r->target.svg);
  conv2d.option("--device", r->common.device, "cpu, cuda, or cuda:1 for the second GPU");
  conv2d.option("--precision", r->common.precision,
                "fp32 or fp64; bf16 on some CPUs; on GPUs also tf32, bf16, fp16");
  conv2d.option("--seed", r->common.seed, "seed of the random images and filters");
  conv2d.option("--threads", r->common.threads, "CPU threads; 0: one per core");
  conv2d.option("--workload", r->workload, "ece408, both layers of the course's network, or L1 to L5");
  conv2d.option("--images", r->images, "images of the workload; several numbers: 100,1000,10000");
  add_shape_options(conv2d, *r);
  conv2d.flag("--backward", r->backward, "climb the gradients of input and weights as well");
  add_ladder_options(conv2d, r->ladder, "cuda:naive,cudnn");
  conv2d.flag("--explain", r->common.explain, "say for each rung what changed and whether it helped");
  conv2d.flag("--sweep", r->sweep, "try block sizes and maps a thread, as a table and a heat map");
  conv2d.option("--blocks", r->blocks, "block sizes of the sweep; 8,16,28,32");
  conv2d.option("--coarsen", r->coarsen, "maps a thread of the sweep; 1,2,4");
  conv2d.example("headroom bench conv2d --images 20 --explain");
  conv2d.example(
      "headroom bench conv2d --batch 8 --channels 16 --height 28 --maps 32 --padding 1 --backward");
  conv2d.example("headroom bench conv2d --workload L5 --images 2 --rung cpu:pixel_lanes,cpu:im2col_gemm");
  conv2d.runs([r] { run_conv2d(*r); });
}

}  // namespace headroom::cli
