#include "cli/axes.h"

#include <algorithm>

#include "base/text.h"

namespace headroom::cli {
namespace {

struct AxisKind {
  std::string name;  // without dashes
  std::string help;
  void (*set)(const std::string& value, RunRequest& request, Common& common);
  bool on_off = false;
};

std::int64_t whole(const std::string& value, const char* option) { return parse_int(value, option); }

bool is_on(const std::string& value, const char* option) {
  if (value != "on" && value != "off")
    reject(Hint{fmt::format("write {} on,off", option)}, "{} is '{}'; it must be on or off", option, value);
  return value == "on";
}

const std::vector<AxisKind>& axis_kinds() {
  using R = RunRequest;
  using C = Common;
  using S = const std::string;
  static const std::vector<AxisKind> kinds = {
      {"device", "cpu, cuda or cuda:1; a list compares them", [](S& v, R&, C& c) { c.device = v; }},
      {"precision", "fp32 or fp64, on GPUs also tf32, bf16, fp16; or a list",
       [](S& v, R&, C& c) { c.precision = v; }},
      {"optimizer", "one or a list, with settings: sgd,adam:beta1=0.9,epsilon=1e-8",
       [](S& v, R& r, C&) { r.optimizer = v; }},
      {"schedule", "of the learning rate, one or a list: constant,cosine",
       [](S& v, R& r, C&) { r.schedule = v; }},
      {"lr", "learning rate, or a list: 0.01,0.05,0.1",
       [](S& v, R& r, C&) { r.lr = parse_double(v, "--lr"); }},
      {"momentum", "momentum of gradient descent, or a list",
       [](S& v, R& r, C&) { r.momentum = parse_double(v, "--momentum"); }},
      {"l2", "L2 penalty on weights, or a list", [](S& v, R& r, C&) { r.l2 = parse_double(v, "--l2"); }},
      {"hidden", "hidden units of mlp, or a list: 64,256",
       [](S& v, R& r, C&) { r.hidden = whole(v, "--hidden"); }},
      {"image-size", "resize the images to SxS, or to HxW; or a list: 28,48,64",
       [](S& v, R& r, C&) { r.image_size = v; }},
      {"batch", "images per step, or a list", [](S& v, R& r, C&) { r.batch = whole(v, "--batch"); }},
      {"epochs", "passes over the training images, or a list",
       [](S& v, R& r, C&) { r.epochs = whole(v, "--epochs"); }},
      {"train-size", "use only the first N training images, or a list",
       [](S& v, R& r, C&) { r.train_size = whole(v, "--train-size"); }},
      {"loader-threads", "threads that prepare batches, or a list",
       [](S& v, R& r, C&) {
         r.loader_threads =
             static_cast<int>(std::clamp<std::int64_t>(whole(v, "--loader-threads"), -1, 1 << 20));
       }},
      {"resident", "on GPUs: keep the images in GPU memory: on, off or on,off",
       [](S& v, R& r, C&) { r.feed.resident = is_on(v, "--resident"); }, true},
      {"pinned", "stream from pinned host memory: on, off or on,off",
       [](S& v, R& r, C&) { r.feed.pinned = is_on(v, "--pinned"); }, true},
      {"overlap", "copy the next batch during the computation: on, off or on,off",
       [](S& v, R& r, C&) { r.feed.overlap = is_on(v, "--overlap"); }, true},
  };
  return kinds;
}

}  // namespace

Axes::Axes() : lists_(axis_kinds().size()) {}

void Axes::add_options(Command verb) {
  for (std::size_t i = 0; i < lists_.size(); ++i)
    verb.replace("--" + axis_kinds()[i].name, lists_[i], axis_kinds()[i].help);
}

std::vector<std::string> Axes::option_names() const {
  std::vector<std::string> names;
  for (const AxisKind& kind : axis_kinds()) names.push_back("--" + kind.name);
  return names;
}

std::vector<GridAxis> Axes::given() const {
  std::vector<GridAxis> axes;
  for (std::size_t i = 0; i < lists_.size(); ++i)
    if (!lists_[i].empty())
      axes.push_back({axis_kinds()[i].name, parse_values(lists_[i], "--" + axis_kinds()[i].name)});
  return axes;
}

void apply(const GridRow& row, RunRequest& request, Common& common) {
  for (const AxisKind& kind : axis_kinds())
    if (const std::string* value = value_of(row, kind.name)) kind.set(*value, request, common);
}

std::vector<std::string> words_of(const GridRow& row) {
  std::vector<std::string> words;
  for (const AxisKind& kind : axis_kinds()) {
    const std::string* value = value_of(row, kind.name);
    if (value == nullptr) continue;
    if (kind.on_off) {
      words.push_back((*value == "on" ? "--" : "--no-") + kind.name);
    } else {
      words.push_back("--" + kind.name);
      words.push_back(*value);
    }
  }
  return words;
}

std::vector<std::string> varied(const std::vector<GridAxis>& axes) {
  std::vector<std::string> names;
  for (const GridAxis& axis : axes)
    if (axis.values.size() > 1) names.push_back(axis.name);
  return names;
}

std::string label_of(const GridRow& row, const std::vector<std::string>& names) {
  GridRow shown;
  for (const Setting& setting : row)
    if (std::ranges::find(names, setting.name) != names.end()) shown.push_back(setting);
  return shown.empty() ? "all" : to_text(shown);
}

}  // namespace headroom::cli
