#include <algorithm>

#include "base/text.h"
#include "cli/bench.h"
#include "cli/bench_perceptron_report.h"
#include "cli/progress.h"
#include "cli/signals.h"
#include "comm/world.h"

namespace headroom::cli {
namespace {

struct BenchPerceptronRequest {
  Common common;
  ParallelOptions parallel;
  std::string precisions = "fp32,fp64", ranks, data_dir;
  std::vector<std::string> cases;
  int rounds = 1;
  bool quick = false;
  BenchTarget target;
};

// The first N ranks, which train while the others wait.
class Team {
 public:
  Team(int size, bool by_layers) : size_(size) {
    World& world = World::instance();
    member_ = world.rank() < size;
    ranks_ = world.communicator().split(member_ ? 0 : 1);
    alone_ = make_self_communicator();
    (by_layers ? distribution_.model_parts : distribution_.data_parts) = size;
    (by_layers ? distribution_.model_index : distribution_.data_index) = world.rank();
  }
  int size() const { return size_; }
  bool member() const { return member_; }
  Groups& groups(Device& device, bool nccl) {
    Communicator* exchange = ranks_.get();
    if (device.kind() == DeviceKind::cuda) {
      if (!on_device_) on_device_ = World::instance().for_device(device, *ranks_, nccl);
      exchange = on_device_.get();
    }
    const bool by_layers = distribution_.model_parts > 1;
    groups_ = std::make_unique<Groups>(distribution_, *ranks_, by_layers ? *alone_ : *exchange,
                                       by_layers ? *exchange : *alone_);
    return *groups_;
  }

 private:
  int size_;
  bool member_;
  Distribution distribution_;
  std::unique_ptr<Communicator> ranks_, on_device_, alone_;
  std::unique_ptr<Groups> groups_;
};

std::vector<const PerceptronCase*> cases_of(const BenchPerceptronRequest& r) {
  std::vector<const PerceptronCase*> list;
  if (r.quick && !r.cases.empty())
    reject(Hint{"give only one of the two"}, "--quick and named cases exclude each other");
  for (const std::string& name : r.cases) list.push_back(&find_perceptron_case(name));
  if (!list.empty()) return list;
  for (const PerceptronCase& c : perceptron_cases())
    if (c.usual && (c.quick || !r.quick)) list.push_back(&c);
  return list;
}

std::vector<std::string> precisions_of(const BenchPerceptronRequest& r) {
  std::vector<std::string> list = split(r.precisions, ',');
  const std::vector<std::string> known = {"fp32", "fp64"};
  for (const std::string& p : list)
    if (std::ranges::find(known, p) == known.end())
      reject(nearest(p, known), "--precision: the course uses float and double (fp32, fp64), not '{}'", p);
  return list;
}

// Team sizes, up to the number of ranks.
std::vector<int> team_sizes(const BenchPerceptronRequest& r, int ranks) {
  std::vector<int> sizes;
  if (r.ranks.empty())
    for (int k = 1; k <= ranks; ++k) sizes.push_back(k);
  for (const std::string& text : r.ranks.empty() ? std::vector<std::string>{} : split(r.ranks, ',')) {
    const std::int64_t k = parse_int(text, "--ranks");
    if (k < 1) reject("--ranks has {}; a run needs at least 1", k);
    if (k <= ranks) sizes.push_back(static_cast<int>(k));
  }
  if (sizes.empty())
    reject(Hint{fmt::format("start it with mpirun -n {}", split(r.ranks, ',').front())},
           "--ranks is {}, but {} started", r.ranks,
           ranks == 1 ? "only one rank was" : fmt::format("{} ranks were", ranks));
  return sizes;
}

class Bench {
 public:
  explicit Bench(const BenchPerceptronRequest& r) : r_(r), common_(r.common), ranks_(parallel(r), common_) {}

  void run() {
    std::vector<const PerceptronCase*> cases;
    std::vector<std::string> precisions;
    ranks_.agree([&] {
      require_rounds(r_.rounds);
      if (const std::string& way = r_.parallel.parallel; !way.empty() && way != "data" && way != "model")
        reject(nearest(way, std::vector<std::string>{"data", "model"}),
               "--parallel: unknown way to split the work '{}'", way);
      cases = cases_of(r_), precisions = precisions_of(r_);
      sizes_ = team_sizes(r_, ranks_.size());
      cpu_ = open_device("cpu", common_.threads);
      if (common_.device != "cpu") gpu_ = common_.open();
    });
    for (const int k : sizes_) teams_.emplace_back(k, r_.parallel.parallel == "model");
    require_output(r_.target, common_);
    PerceptronReport report(common_.threads);
    {
      Progress progress("bench");
      for (const PerceptronCase* c : cases)
        for (const std::string& precision : precisions) run_case(*c, precision, report, progress);
    }
    double failed = report.failed() ? 1 : 0;
    World::instance().communicator().all_reduce(&failed, 1, Reduction::max);
    if (ranks_.first())
      finish_bench({"bench perceptron", {report.table()}, report.json()}, common_, r_.target, nullptr);
    if (failed > 0) throw Interrupted{1};
  }

 private:
  // The first rank reads for all, as in the course.
  static ParallelOptions parallel(const BenchPerceptronRequest& r) {
    ParallelOptions options = r.parallel;
    options.shard = "scatter";
    return options;
  }

  void run_case(const PerceptronCase& which, const std::string& precision, PerceptronReport& report,
                Progress& progress) {
    RunRequest request;
    request.recipe = which.recipe, request.data_dir = r_.data_dir;
    Common common = common_;
    common.precision = precision, common.device = "cpu";
    std::optional<RunSetup> resolved;
    Dataset data;
    ranks_.agree([&] { resolved = resolve(request, common); });
    RunSetup& setup = *resolved;
    ranks_.agree([&] { data = load_data(setup, false, &ranks_); });
    const Split test = std::move(data.test);
    data.test = {};
    const PerceptronTask task{setup.net, setup.train, &data, which.tested ? &test : nullptr};
    auto options = [&](Device& device) {
      common.device = device.kind() == DeviceKind::cpu ? "cpu" : common_.device;
      EngineOptions engine = common.engine_options(setup.kernels);
      engine.update = setup.update;
      return engine;
    };
    progress.line(fmt::format("{} {}: {} images, batch {}, {} epoch{}", which.name, precision,
                              with_commas(data.train.count()), setup.train.batch, setup.train.epochs,
                              setup.train.epochs == 1 ? "" : "s"));
    TrainedPerceptron serial;
    World::instance().communicator().barrier();  // no rank uses the data any more
    if (ranks_.first())
      for (int round = which.quick ? -1 : 0; round < 1; ++round)
        serial = train_perceptron(task, *cpu_, options(*cpu_));
    World::instance().communicator().barrier();
    for (Device* device : {cpu_.get(), gpu_.get()}) {
      if (device == nullptr) continue;
      const std::string on = device->kind() == DeviceKind::cpu ? "cpu" : "cuda";
      for (Team& team : teams_) {
        PerceptronRow row{which, setup, data.train.count(), precision, on, team.size(), serial, {}, {},
                          {},    {}};
        if (team.member()) train_on(team, task, *device, options(*device), row);
        if (ranks_.first()) {
          row.errors = array_errors(row.trained.arrays, serial.arrays);
          row.verdict = judge(which, common.dtype(), setup.recipe->published, row.trained, row.errors);
          report.add(row);
        }
        World::instance().communicator().barrier();
      }
    }
  }

  // A case may take only milliseconds, most of it first touches of memory, so one run before is not timed.
  void train_on(Team& team, const PerceptronTask& task, Device& device, EngineOptions options,
                PerceptronRow& row) {
    options.groups = &team.groups(device, r_.parallel.nccl);
    const TimedBody training = [&](int) -> std::vector<double> {
      row.trained = train_perceptron(task, device, options);
      return {row.trained.seconds};  // of the slowest rank: all ranks take the same number of samples
    };
    row.seconds = sample_in_turn({.warm_ups = row.of.quick ? 1 : 0,
                                  .min_samples = r_.rounds,
                                  .max_samples = r_.rounds,
                                  .repeats = 1},
                                 {training})
                      .front();
  }

  const BenchPerceptronRequest& r_;
  Common common_;
  RankRun ranks_;
  std::vector<int> sizes_;
  std::unique_ptr<Device> cpu_, gpu_;
  std::vector<Team> teams_;
};

}  // namespace

void add_bench_perceptron(Command verb) {
  auto r = std::make_shared<BenchPerceptronRequest>();
  r->common.threads = 1;
  Command perceptron =
      verb.verb("perceptron", "a course's graded cases: serial, on ranks, on GPUs, with its pass criteria");
  perceptron.option("case", r->cases,
                    "small1, nsys1, case3, 2021-case3, …; all but 2021's and 2023's if none");
  add_json(perceptron, r->common);
  add_table_options(perceptron, r->common.tables);
  add_bench_output(perceptron, r->target);
  perceptron.flag("--quick", r->quick, "only cases that take at most a second");
  perceptron.option("--precision", r->precisions, "fp32, fp64 or both");
  perceptron.option("--ranks", r->ranks, "under mpirun: numbers of ranks, as 1,2,4; else all up to its -n");
  perceptron.option("--parallel", r->parallel.parallel,
                    "under mpirun: data splits every batch, model splits the layers' units");
  perceptron.option("--device", r->common.device, "cuda adds rows for GPUs, one rank each");
  perceptron.option("--threads", r->common.threads, "CPU threads of the serial run and of each rank");
  perceptron.option("--data-dir", r->data_dir, "folder that holds mnist/; else $HEADROOM_DATA");
  perceptron.option("--rounds", r->rounds, "number of training runs; the median counts");
  perceptron.flag("--nccl,!--no-nccl", r->parallel.nccl,
                  "exchange between GPUs by NCCL if each rank has its own, or by MPI");
  perceptron.example("headroom bench perceptron --quick");
  perceptron.example("mpirun -n 4 headroom bench perceptron case3 nsys1 --precision fp64 --ranks 1,2,4");
  perceptron.runs_on_ranks([r] { Bench(*r).run(); });
}

}  // namespace headroom::cli
