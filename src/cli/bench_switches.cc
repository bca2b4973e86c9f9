#include "bench/switches.h"

#include "base/json.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/host_memory.h"
#include "bench/random_batch.h"
#include "cli/bench.h"
#include "cli/progress.h"
#include "cli/ranks.h"
#include "comm/world.h"
#include "models/layers.h"
#include "models/onnx/imported.h"
#include "models/zoo.h"

namespace headroom::cli {
namespace {

struct BenchSwitchesRequest {
  Common common;
  ParallelOptions parallel;
  BenchTarget target;
  std::string model;
  std::int64_t batch = 0, images = 0;
  int rounds = 3;

  std::vector<SwitchWorkload> workloads(DeviceKind device) const;
};

std::vector<SwitchWorkload> BenchSwitchesRequest::workloads(DeviceKind device) const {
  if (batch < 0) reject("--batch is {}; it must be at least 1", batch);
  if (images < 0) reject("--images is {}; it must be at least 1", images);
  std::vector<SwitchWorkload> list = usual_switch_workloads(device);
  if (model.empty()) {
    if (batch > 0 || images > 0)
      reject(Hint{"--model mlp:hidden=512 --batch 100 --images 1000"}, "--batch and --images need --model");
    return list;
  }
  SwitchWorkload one = list.front();
  one.model = model;
  const Net net = find_net(model);
  const std::int64_t fixed = fixed_batch(net);  // set by some files
  if (fixed > 0 || batch > 0) one.batch = fixed > 0 ? fixed : batch;
  one.images = images > 0 ? images : 5 * one.batch;
  if (one.images < one.batch)
    reject(Hint{"take a smaller --batch"}, "--images is {}, fewer than the batch of {}", one.images,
           one.batch);
  if (fixed > 0 && one.images % fixed != 0)
    reject(Hint{fmt::format("take --images {}", one.images / fixed * fixed)},
           "--images is {}, not a multiple of the batch of {} set by {}", one.images, fixed, model);
  const double bytes = double(Shape(net.input).numel()) * (double(one.images) + double(one.batch));
  if (bytes > usable_host_bytes() / 2)
    reject(Hint{"take fewer --images, or a smaller --batch"},
           "{} images and a batch of {} take {}; {} are free", one.images, one.batch, human_bytes(bytes),
           human_bytes(usable_host_bytes()));
  require_random_batch(net);
  if (reads_tokens(net))
    reject(Hint{"take a network for images: headroom model list"},
           "model '{}' reads text, but the switches are timed on random images", net.name);
  return {one};
}

bool is_missed(const SwitchTiming& t) { return t.setting.kind == SwitchSetting::Kind::all_but; }

Json switches_json(const std::vector<std::vector<SwitchTiming>>& blocks, const SwitchesHere& here,
                   const Device& device) {
  Json list = Json::array(), hidden = Json::object(), absent = Json::array();
  for (const std::vector<SwitchTiming>& timings : blocks) {
    for (const SwitchTiming& t : timings) {
      Json on = Json::array();
      for (const Switch which : t.setting.on) on.push_back(info_of(which).key);
      list.push_back({{"model", t.of.model},
                      {"batch", t.of.batch},
                      {"images", t.of.images},
                      {"ranks", t.ranks},
                      {"setting", t.setting.name()},
                      {"on", on},
                      {"feed", t.feed},
                      {"epoch_ms", t.epoch_s * 1e3},
                      {"images_per_s", t.images_per_s()},
                      {"gain_over_nothing", t.gain()}});
      if (is_missed(t)) list.back()["times_slower_without"] = t.epoch_s / t.base_s;
    }
    if (const double share = hidden_share(timings); share >= 0) hidden[timings.front().of.model] = share;
  }
  for (const auto& [which, reason] : here.why_not)
    absent.push_back({{"switch", info_of(which).key}, {"why_not", reason}});
  return {{"device", device.capabilities().name},
          {"threads", device.capabilities().threads},
          {"timings", list},
          {"copy_hidden", hidden},
          {"not_runnable", absent}};
}

std::string switches_notes(const std::vector<std::vector<SwitchTiming>>& blocks, const SwitchesHere& here) {
  std::string text =
      "\nGain: times as fast as nothing. Without it: times slower than with it, all others on.\n";
  for (const Switch which : here.runnable) {
    const SwitchInfo& info = info_of(which);
    text += fmt::format("{:<9} {}; off: {}\n", info.key, info.on, info.off);
  }
  std::map<std::string, std::string> reasons;
  for (const auto& [which, reason] : here.why_not)
    reasons[reason] += (reasons[reason].empty() ? "" : ", ") + std::string(info_of(which).key);
  for (const auto& [reason, keys] : reasons) text += fmt::format("Not runnable here: {}: {}\n", keys, reason);
  for (const std::vector<SwitchTiming>& timings : blocks)
    if (const double share = hidden_share(timings); share >= 0)
      text += fmt::format("{}, {}: {:.0f} % of the copying is hidden by overlapping\n",
                          timings.front().of.model, counted(timings.front().ranks, "rank"), 100 * share);
  return text;
}

BenchTable switches_table(const std::vector<std::vector<SwitchTiming>>& blocks, const SwitchesHere& here) {
  using enum Column::Format;
  Sheet sheet("switches", {{.key = "model", .title = "model"},
                           {.key = "batch", .title = "batch", .priority = 2},
                           {.key = "ranks", .title = "ranks"},
                           {.key = "setting", .title = "on", .left = true},
                           {.key = "feed", .title = "batches come", .left = true, .priority = 1},
                           {.key = "epoch_ms", .title = "epoch ms", .unit = "ms"},
                           {.key = "images_per_s", .title = "images/s", .format = commas},
                           {.key = "gain_over_nothing", .title = "gain", .format = hundredths},
                           {.key = "times_slower_without", .title = "without it", .format = hundredths}});
  for (const std::vector<SwitchTiming>& timings : blocks) {
    if (sheet.rows() > 0) sheet.rule();
    for (const SwitchTiming& t : timings)
      sheet.row({t.of.model, t.of.batch, std::int64_t{t.ranks}, t.setting.name(), t.feed, t.epoch_s * 1e3,
                 t.images_per_s(), t.gain(), is_missed(t) ? Cell(t.epoch_s / t.base_s) : Cell()});
  }
  return {sheet, "", switches_notes(blocks, here)};
}

// First the first rank alone, while the others wait; then all ranks together.
void run_switches(const BenchSwitchesRequest& r) {
  Common common = r.common;
  RankRun ranks(r.parallel, common);
  std::unique_ptr<Device> device;
  std::vector<SwitchWorkload> workloads;
  ranks.agree([&] {
    require_rounds(r.rounds);
    require_output(r.target, common);
    device = common.open();
    workloads = r.workloads(device->kind());
    for (const SwitchWorkload& w : workloads)
      if (w.batch < ranks.size())
        reject(Hint{"take a larger --batch"}, "a batch of {} cannot be split among {} ranks", w.batch,
               ranks.size());
    if (!common.kernels.empty())
      reject(Hint{"leave --kernel out"}, "--kernel: the kernels are one of the switches");
  });
  std::vector<std::vector<SwitchTiming>> blocks;
  {
    Progress progress("bench");
    SwitchBench bench{.options = common.engine_options(), .rounds = r.rounds};
    bench.progress = [&](const std::string& stage) {
      if (ranks.first()) progress.line(stage);
    };
    for (const SwitchWorkload& workload : workloads) {
      bench.options.groups = nullptr;
      if (ranks.first()) blocks.push_back(bench_switches(*device, workload, bench));
      if (!ranks.several()) continue;
      World::instance().communicator().barrier();
      bench.options.groups = ranks.groups(*device);
      blocks.push_back(bench_switches(*device, workload, bench));
    }
  }
  if (!ranks.first()) return;
  const SwitchesHere here = switches_here(device->capabilities(), ranks.size());
  finish_bench({"bench switches", {switches_table(blocks, here)}, switches_json(blocks, here, *device)},
               common, r.target, nullptr);
}

}  // namespace

void add_bench_switches(Command verb) {
  auto r = std::make_shared<BenchSwitchesRequest>();
  Command switches =
      verb.verb("switches", "training epochs with each improvement alone, without it, and with all of them");
  add_run_options(switches, r->common, Explains::no);
  add_bench_output(switches, r->target);
  switches.option("--model", r->model,
                  "train this network instead of the perceptron and one of convolutions");
  switches.option("--batch", r->batch, "with --model: images per step");
  switches.option("--images", r->images, "with --model: images per epoch");
  switches.option("--rounds", r->rounds, "epochs per setting; the best counts");
  switches.flag("--nccl,!--no-nccl", r->parallel.nccl,
                "exchange between GPUs by NCCL if each rank has its own, or by MPI");
  switches.example("headroom bench switches --device cuda");
  switches.example("mpirun -n 2 headroom bench switches --model mlp:hidden=512 --batch 200");
  switches.runs_on_ranks([r] { run_switches(*r); });
}

}  // namespace headroom::cli
