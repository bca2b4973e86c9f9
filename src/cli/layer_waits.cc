#include "cli/layer_waits.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/json.h"
#include "base/sheet.h"
#include "base/text.h"
#include "base/units.h"
#include "bench/layer_waits.h"
#include "bench/random_batch.h"
#include "cli/weights_file.h"
#include "report/sampling.h"
#include "train/evaluate.h"

namespace headroom::cli {
namespace {

Json seconds_json(const Spread& s) {
  return {{"median", s.median}, {"p10", s.p10}, {"p90", s.p90}, {"samples", s.samples}};
}
Json seconds_json(const Sampled& s) {
  Json json = seconds_json(static_cast<const Spread&>(s));
  json["dropped"] = s.dropped, json["settled"] = s.settled;
  return json;
}

// One batch on the device: random, or the first test images.
class TimedBatch {
 public:
  TimedBatch(Engine& engine, RunSetup& setup, const Dataset* data) {
    const std::int64_t batch = setup.train.batch;
    const Program& program = engine.ready(Mode::eval, batch).program;
    if (data == nullptr) {
      random_.emplace(engine.device(), program, batch);
      return;
    }
    require_labels(engine, program, data->test);
    FeedOptions how;
    how.resident = false;
    feed_ =
        make_feed(engine.device(), data->test, loader_options(engine, setup.train.preprocess, batch), how);
    read_ = feed_->next();
  }
  const void* images() const { return random_ ? random_->image(0) : read_->images; }
  const std::int32_t* labels() const { return random_ ? random_->label(0) : read_->labels; }

 private:
  std::optional<RandomBatch> random_;
  std::unique_ptr<Feed> feed_;
  const DeviceBatch* read_ = nullptr;
};

Json reading_json(const LayerWaits& r) {
  Json layers = Json::array();
  for (const WaitedLayer& l : r.layers)
    layers.push_back(
        {{"layer", l.layer}, {"operators", l.operators}, {"synchronized_s", seconds_json(l.seconds)}});
  return {
      {"whole_s", seconds_json(r.whole_s)},
      {"step_by_step_s", seconds_json(r.queued_s)},
      {"layers", layers},
      {"sum_s", seconds_json(r.sum_s)},
      {"sum_of_medians_s", r.medians_s()},
      {"synchronizations", r.layers.size()},
      {"empty_step", {{"synchronized_s", seconds_json(r.empty_s)}, {"in_a_row_s", seconds_json(r.in_row_s)}}},
      {"overhead_per_synchronization_s", r.wait_s()},
      {"overhead_s", r.waits() * r.wait_s()},
      {"corrected_sum_s", r.corrected_s()},
      {"remaining_s", r.remaining_s()},
      {"remaining_percent", 100 * r.remaining_s() / r.whole_s.median}};
}

Sheet waits_sheet(const LayerWaits& r) {
  using enum Column::Format;
  Sheet sheet("layers",
              {{.key = "layer", .title = "layer"},
               {.key = "operators", .title = "operators", .left = true, .priority = 2},
               {.key = "synchronized_us", .title = "synchronised us", .unit = "us", .format = tenths},
               {.key = "p10_us", .title = "p10", .unit = "us", .format = tenths, .priority = 1},
               {.key = "p90_us", .title = "p90", .unit = "us", .format = tenths, .priority = 1},
               {.key = "share_percent", .title = "share %", .unit = "%", .format = hundredths}});
  for (const WaitedLayer& l : r.layers)
    sheet.row({l.layer, l.operators, 1e6 * l.seconds.median, 1e6 * l.seconds.p10, 1e6 * l.seconds.p90,
               100 * l.seconds.median / r.medians_s()});
  return sheet;
}

void print_reading(const LayerWaits& r, bool one_launch, const TableView& view) {
  print(waits_sheet(r).text(view));
  auto line = [](const std::string& what, double seconds, const std::string& more) {
    const std::string value = (seconds < 0 ? "-" : "") + human_seconds(std::abs(seconds));
    print(fmt::format("{:<34} {:>8}{}{}\n", what, value, more.empty() ? "" : "  ", more));
  };
  auto range = [](const Spread& s) {
    return fmt::format("{} to {}", human_seconds(s.p10), human_seconds(s.p90));
  };
  print("\n");
  line(fmt::format("sum of {}, with a wait after each",
                   counted(static_cast<std::int64_t>(r.layers.size()), "layer")),
       r.sum_s.median,
       fmt::format("{}, {:.2f} times the whole", range(r.sum_s), r.sum_s.median / r.whole_s.median));
  line("what waiting adds", r.waits() * r.wait_s(),
       fmt::format("{} each: an empty step takes {}, {} in a row without waiting", human_seconds(r.wait_s()),
                   human_seconds(r.empty_s.median), human_seconds(r.in_row_s.median)));
  line("sum, corrected", r.corrected_s(), "");
  line("whole network, one wait", r.whole_s.median, range(r.whole_s) + (one_launch ? ", one launch" : ""));
  if (one_launch) line("the same, launched step by step", r.queued_s.median, range(r.queued_s));
  line("what remains", r.remaining_s(),
       fmt::format("{:+.1f} % of the whole", 100 * r.remaining_s() / r.whole_s.median));
  print(sampling_note({r.whole_s, r.queued_s, r.sum_s, r.empty_s, r.in_row_s}));
}

}  // namespace

void add_layer_waits_options(Command verb, LayerWaitsRequest& sync) {
  verb.flag("--sync-layers", sync.on,
            "time a whole forward pass and the sum of its layers, waiting for each");
  verb.flag("--random", sync.random, "with --sync-layers: random images (the default without --data)");
  verb.option("--samples", sync.samples, "with --sync-layers: passes to time");
}

void time_layer_waits(const RunRequest& request, const Common& common, const LayerWaitsRequest& sync) {
  if (sync.random && !request.data.empty())
    reject(Hint{"give only one of the two"}, "--random and --data exclude each other");
  if (sync.samples < 1 || sync.samples > 100'000)
    reject("--samples is {}; it must lie between 1 and 100000", sync.samples);
  require_tables(common.tables, waits_sheet({}));
  RunSetup setup = resolve(request, common);
  const auto device = common.open();
  std::optional<Dataset> data;
  if (!request.data.empty()) {
    data = load_data(setup, true);
    setup.train.batch = std::min(setup.train.batch, std::max<std::int64_t>(1, data->test.count()));
  } else if (reads_tokens(setup.net)) {
    reject(Hint{"--data text:FILE"}, "model '{}' reads tokens, so it cannot be timed on random images",
           setup.net.name);
  }
  Engine engine(setup.net, *device, common.engine_options(setup.kernels));
  const Engine::Ready& ready = engine.ready(Mode::eval, setup.train.batch);
  if (!request.weights.empty()) load(engine, request.weights);
  if (common.explain) note(ready.explain());
  const TimedBatch batch(engine, setup, data ? &*data : nullptr);
  const LayerWaits reading =
      time_layers(engine, setup.train.batch, batch.images(), batch.labels(), sync.samples);
  const std::string images = data ? setup.data : "random images";
  if (common.json) {
    Json json = reading_json(reading);
    json["model"] = setup.model;
    json["data"] = images;
    json["batch"] = setup.train.batch;
    json["precision"] = common.precision;
    json["device"] = device->capabilities().name;
    json["threads"] = device->capabilities().threads;
    json["one_launch"] = engine.queues() && common.capture;
    return print_json(json);
  }
  print(fmt::format("{} on {}, batch {}, {}, {}, forward pass, {}\n\n", setup.model, images,
                    setup.train.batch, common.precision, device->capabilities().name,
                    counted(sync.samples, "sample")));
  print_reading(reading, engine.queues() && common.capture, common.tables.layers());
}

}  // namespace headroom::cli
