// The verb data: lists, fetches and makes data sets.
#include "base/json.h"
#include "base/sheet.h"
#include "base/units.h"
#include "cli/options.h"
#include "cli/progress.h"
#include "cli/verbs.h"
#include "data/fetch.h"
#include "data/glyphs.h"
#include "data/idx.h"
#include "data/known_datasets.h"

namespace headroom::cli {
namespace {

struct DataRequest {
  Common common;
  std::string name, data_dir, mirror, folder;
  std::optional<std::int64_t> train_size, test_size, image_size;
  bool zipped = false, force = false;
};

// Whether a set is ready for use; `where` is the place to look in both cases.
struct Found {
  std::string state, where;
};

Found look_for(const DatasetInfo& info, const std::string& dir) {
  if (info.files == "embedded") return {"embedded", "the program itself"};
  if (info.folder.empty()) return {"named", info.files};
  const DatasetFiles files = find_dataset_files(info, dir);
  return files.missing.empty() ? Found{"found", files.folder.string()} : Found{"missing", files.missing};
}

void list(const DataRequest& request) {
  Json all = Json::array();
  using enum Column::Format;
  Sheet sheet("data_sets", {{.key = "data", .title = "data"},
                            {.key = "title", .title = "title", .left = true, .wrap = true, .priority = 1},
                            {.key = "classes", .title = "classes", .format = commas, .priority = 2},
                            {.key = "image", .title = "image", .priority = 3},
                            {.key = "train", .title = "train", .format = commas, .priority = 4},
                            {.key = "test", .title = "test", .format = commas, .priority = 4},
                            {.key = "state", .title = "state", .left = true},
                            {.key = "where", .title = "where", .left = true, .wrap = true}});
  const auto number = [](std::int64_t n) { return n == 0 ? Cell("any") : Cell(n); };
  for (const DatasetInfo& info : known_datasets()) {
    const Found found = look_for(info, request.data_dir);
    const std::string image = info.image.rank() == 0 ? "any" : info.image.str();
    sheet.row({info.name, info.title, number(info.classes), image, number(info.train), number(info.test),
               found.state, found.where});
    Json item = {{"data", info.name},
                 {"title", info.title},
                 {"files", info.files},
                 {"state", found.state},
                 {"where", found.where}};
    if (info.classes > 0) item["classes"] = info.classes;
    if (info.image.rank() > 0) item["image"] = info.image.vector();
    if (info.train > 0) item["train"] = info.train, item["test"] = info.test;
    all.push_back(item);
  }
  if (request.common.json) return print_json({{"data_sets", all}});
  print(sheet.text(request.common.tables.view(true)));
}

class FetchWatcher final : public FetchObserver {
 public:
  void on_present(const std::string& file) override { note(fmt::format("{} is already here\n", file)); }
  void on_start(const std::string& url, std::int64_t resumed_at) override {
    progress_.emplace(resumed_at == 0 ? url
                                      : fmt::format("{} from {}", url, human_bytes(double(resumed_at))));
  }
  void on_bytes(std::int64_t done, std::int64_t of) override {
    if (of > 0 && progress_) progress_->update(done, of, human_bytes(double(done)));
  }
  void on_done(const std::string& file) override {
    progress_.reset();
    note(fmt::format("{} is here\n", file));
  }

 private:
  std::optional<Progress> progress_;
};

void fetch_named(const DataRequest& request) {
  const FetchPlan plan = fetch_plan(request.name, request.data_dir, request.mirror);
  FetchWatcher watcher;
  fetch(plan, watcher);
  if (request.common.json)
    return print_json({{"data", plan.dataset}, {"folder", plan.folder.string()}, {"source", plan.mirror}});
  print(fmt::format("{} is in {}\n", plan.dataset, plan.folder.string()));
}

std::int64_t positive(const std::optional<std::int64_t>& value, std::int64_t otherwise, const char* option) {
  if (value && *value < 1) reject("{} is {}; it must be at least 1", option, *value);
  return value.value_or(otherwise);
}

void make(const DataRequest& request) {
  DataOptions options{.seed = request.common.seed};
  options.train_size = positive(request.train_size, 60000, "--train-size");
  options.test_size = positive(request.test_size, 10000, "--test-size");
  options.image_size = positive(request.image_size, 28, "--image-size");
  if (request.name != "glyphs")
    reject(Hint{"headroom data make glyphs DIR"}, "data set '{}' cannot be made; only glyphs can",
           request.name);
  require_free_idx_folder(request.folder, request.zipped, request.force);  // before the drawing
  const Dataset set = load_dataset("glyphs", options);
  write_idx_folder(request.folder, set, request.zipped, request.force);
  if (request.common.json)
    return print_json({{"data", "idx:" + request.folder},
                       {"train", set.train.count()},
                       {"test", set.test.count()},
                       {"image", set.train.image.vector()}});
  print(fmt::format("{} + {} glyphs of {}x{} pixels are in {}; use them with --data idx:{}\n",
                    with_commas(set.train.count()), with_commas(set.test.count()), set.train.image[1],
                    set.train.image[2], request.folder, request.folder));
}

void add_data_make(Command verb) {
  auto request = std::make_shared<DataRequest>();
  Command made = verb.verb("make", "write a generated data set as files named like MNIST's");
  made.required("name", request->name, "glyphs");
  made.required("folder", request->folder, "where to write");
  made.option("--train-size", request->train_size, "training images (60,000)");
  made.option("--test-size", request->test_size, "test images (10,000)");
  made.option("--image-size", request->image_size, "pixels per side (28)");
  made.option("--seed", request->common.seed, "a different seed draws a different set");
  made.flag("--gzip", request->zipped, "write .gz files");
  made.flag("--force", request->force, "overwrite files of these names");
  add_json(made, request->common);
  made.example("headroom data make glyphs digits --train-size 5000 --test-size 1000");
  made.runs([request] { make(*request); });
}

}  // namespace

void add_data(Command app) {
  Command verb = app.verb("data", "the data sets the program reads, fetches and makes");
  auto request = std::make_shared<DataRequest>();
  Command listed = verb.verb("list", "one line per data set, and its path");
  listed.option("--data-dir", request->data_dir, "folder that holds mnist/ and so on; else $HEADROOM_DATA");
  add_json(listed, request->common);
  add_table_options(listed, request->common.tables);
  listed.example("headroom data list");
  listed.runs([request] { list(*request); });

  auto wanted = std::make_shared<DataRequest>();
  Command fetched = verb.verb("fetch", "download a public data set");
  fetched.required("name", wanted->name, "mnist, fashion-mnist or cifar10");
  fetched.option("--data-dir", wanted->data_dir,
                 "folder to put it under; else $HEADROOM_DATA, else the cache");
  fetched.option("--mirror", wanted->mirror, "address of a folder that holds the published files");
  add_json(fetched, wanted->common);
  fetched.example("headroom data fetch mnist");
  fetched.runs([wanted] { fetch_named(*wanted); });

  add_data_make(verb);
  verb.example("headroom data list");  // last: a verb below would inherit it
}

}  // namespace headroom::cli
