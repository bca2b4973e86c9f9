#include "cli/compare_kernels.h"

#include <algorithm>
#include <csignal>
#include <filesystem>

#include "cli/compare_kernels_report.h"
#include "cli/counts.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "cli/verbs.h"
#include "cli/weights_file.h"
#include "models/onnx/imported.h"
#include "train/program.h"

namespace headroom::cli {
namespace {

constexpr std::int64_t kCourseSizes[] = {100, 1'000, 10'000};

Common with_kind(Common common, const char* kind) {
  common.kernels.push_back(fmt::format("conv2d={}", kind));
  return common;
}

void require_comparable(const RunRequest& request, const Common& common,
                        const CompareKernelsRequest& compare) {
  require_output({compare.csv, request.files}, common);
  if (request.weights.empty() && !is_onnx_name(request.model))
    reject(Hint{"headroom train ... --save FILE makes one"}, "eval needs trained weights: --weights FILE");
  for (const std::string& kernel : common.kernels)
    if (kernel.starts_with("conv2d="))
      reject(Hint{"leave --kernel conv2d=… out"},
             "--kernel {} and --compare-kernels exclude each other: both choose the convolutions", kernel);
}

// The numbers of images to compare, in the user's order, or the course's as far as the data goes.
std::vector<std::int64_t> sizes_of(const CompareKernelsRequest& compare, std::int64_t available,
                                   std::int64_t fixed) {
  std::vector<std::int64_t> sizes;
  if (compare.images.empty()) {
    for (const std::int64_t n : kCourseSizes)
      if (n < available && n >= fixed) sizes.push_back(n);
    if (sizes.size() < std::size(kCourseSizes)) sizes.push_back(std::min(available, kCourseSizes[2]));
  } else {
    sizes = parse_counts(compare.images, "--images");
  }
  for (const std::int64_t n : sizes) {
    if (n < 1) reject("--images has {}; it must be at least 1", n);
    if (n > available)
      reject(Hint{"take fewer, or another data set"}, "--images has {}, but the data has {} test images", n,
             available);
    if (n < fixed)
      reject(Hint{fmt::format("take at least {}", fixed)},
             "--images has {}, but the network has a fixed batch of {}", n, fixed);
  }
  return sizes;
}

// The command that evaluates the same network plainly: our own command line, with another size and kind.
std::vector<std::string> plain_command(std::int64_t images, std::int64_t batch, const char* kind) {
  static const std::vector<std::string> flags = {"--compare-kernels", "--json", "--csv", "--wide",
                                                 "--summary"};
  static const std::vector<std::string> options = {"--images", "--test-size", "--batch", "--record",
                                                   "--sort",   "--top",       "--width"};
  const std::vector<std::string>& typed = command_line();
  std::vector<std::string> words = {std::filesystem::read_symlink("/proc/self/exe").string()};
  for (std::size_t i = 1; i < typed.size(); ++i) {
    const std::string name = typed[i].substr(0, typed[i].find('='));
    if (std::ranges::find(flags, name) != flags.end()) continue;
    if (std::ranges::find(options, name) == options.end())
      words.push_back(typed[i]);
    else if (name == typed[i])
      ++i;  // its value is the next word
  }
  for (const std::string& word :
       {std::string("--test-size"), std::to_string(images), std::string("--batch"), std::to_string(batch),
        std::string("--kernel"), fmt::format("conv2d={}", kind)})
    words.push_back(word);
  return words;
}

EndedProcess run_plainly(const ComparedSize& size, const char* kind, const HeldSignals& signals) {
  const std::vector<std::string> words = plain_command(size.images, size.batch, kind);
  ChildProcess child(words, signals, true);
  child.wait(signals, {});
  const EndedProcess ended = child.collect();
  if (ended.signal == SIGINT || ended.signal == SIGTERM || ended.signal == SIGHUP)
    throw Interrupted{ended.code};
  if (ended.code != 0)
    throw Error(Blame::run,
                fmt::format("evaluating {} images with --kernel conv2d={} ended with exit code {}",
                            size.images, kind, ended.code),
                Hint{fmt::format("headroom {} says why", fmt::join(words.begin() + 1, words.end(), " "))});
  return ended;
}

// What both kinds of measurement share. Checked before anything is timed.
struct Comparison {
  RunSetup setup;
  std::unique_ptr<Device> device;
  Dataset data;
  ComparedKernels result;
};

// Rejects what cannot be compared, by plans alone: neither weights nor memory are needed yet.
void require_convolutions(const RunSetup& setup, const Device& device, const Common& common,
                          std::int64_t batch) {
  for (const char* kind : kConvolutionKinds) {
    const EngineOptions options = with_kind(common, kind).engine_options(setup.kernels);
    const Target target = target_of(device.capabilities(), options);
    if (convolutions_of(build(setup.net, build_request(options, target, Mode::eval, batch)).plan).empty())
      reject(Hint{"lenet5, ece408 and the networks for photographs have some: headroom model list"},
             "model '{}' has no convolution to compare", setup.net.name);
  }
}

Comparison prepare_comparison(const RunRequest& request, const Common& common,
                              const CompareKernelsRequest& compare) {
  Comparison c{.setup = resolve(request, common), .device = common.open(), .data = {}, .result = {}};
  const std::int64_t fixed = fixed_batch(c.setup.net);
  require_convolutions(c.setup, *c.device, common, fixed > 0 ? fixed : c.setup.train.batch);
  c.data = load_data(c.setup, true);
  // The course runs all images as one batch. A CPU is faster with batches that stay in its caches.
  const bool whole = c.device->kind() != DeviceKind::cpu && !request.batch;
  for (const std::int64_t n : sizes_of(compare, c.data.test.count(), fixed)) {
    const std::int64_t batch = fixed > 0 ? fixed : whole ? n : std::min(c.setup.train.batch, n);
    c.result.sizes.push_back({.images = n, .batch = batch, .programs = {}, .passes = {}});
  }
  const Capabilities& here = c.device->capabilities();
  c.result.model = c.setup.spec().empty() ? c.setup.net.name : c.setup.spec();
  c.result.data = c.setup.data, c.result.device = here.name, c.result.threads = here.threads;
  c.result.precision = common.precision;
  return c;
}

std::unique_ptr<Engine> engine_of(const Comparison& c, const Common& common, const char* kind) {
  auto engine = std::make_unique<Engine>(c.setup.net, *c.device,
                                         with_kind(common, kind).engine_options(c.setup.kernels));
  engine->ready(Mode::eval, c.result.sizes.front().batch);
  return engine;
}

}  // namespace

void add_compare_kernels_options(Command verb, CompareKernelsRequest& compare) {
  verb.flag("--compare-kernels", compare.on,
            "a library's convolutions beside our own: op times, accuracy, use of the whole program");
  verb.option("--images", compare.images,
              "with --compare-kernels: numbers of test images; 100,1000,10000 by default");
  verb.flag("--csv", compare.csv, "with --compare-kernels: print the tables as comma-separated values");
}

void compare_kernels(const RunRequest& request, const Common& common, const CompareKernelsRequest& compare) {
  require_comparable(request, common, compare);
  std::optional<Comparison> prepared;
  std::unique_ptr<Engine> library;
  Progress progress("eval");
  {
    const HeldSignals signals;  // before any thread of the device begins
    prepared = prepare_comparison(request, common, compare);
    Comparison& c = *prepared;
    library = engine_of(c, common, kConvolutionKinds[0]);
    if (!request.weights.empty()) load(*library, request.weights);
    for (ComparedSize& size : c.result.sizes)
      for (const char* kind : kConvolutionKinds) {
        progress.stage(fmt::format("whole program, {} images, {}", size.images, kind));
        size.programs.push_back(run_plainly(size, kind, signals));
      }
  }
  Comparison& c = *prepared;
  const auto own = engine_of(c, common, kConvolutionKinds[1]);
  copy_weights(*library, *own);
  for (ComparedSize& size : c.result.sizes) {
    progress.stage(fmt::format("op times, {} images", size.images));
    size.passes = time_convolutions({library.get(), own.get()}, first_images(c.data.test, size.images),
                                    c.setup.train.preprocess, size.batch);
  }
  finish_bench(compared_output(c.result), common, {compare.csv, request.files}, nullptr);
}

}  // namespace headroom::cli
