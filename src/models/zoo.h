#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "headroom/net.h"

namespace headroom {

// Options after a zoo name: "mlp:hidden=512,activation=relu".
class ModelOptions {
 public:
  ModelOptions(std::string_view model, std::string_view text);
  std::int64_t integer(const std::string& name, std::int64_t fallback);
  std::vector<std::int64_t> integers(const std::string& name,
                                     std::vector<std::int64_t> fallback);  // "256x128"
  double real(const std::string& name, double fallback);
  bool flag(const std::string& name, bool fallback);  // on or off
  std::string choice(const std::string& name,
                     const std::vector<std::string>& allowed);  // the first is the default
  void require_all_used() const;  // an option that nothing has read is a user's mistake

 private:
  const std::string* take(const std::string& name);
  std::string model_;
  std::map<std::string, std::string> values_;
  std::vector<std::string> known_;
};

// How to train a model by default.
struct TrainDefaults {
  std::int64_t batch = 64, epochs = 1;
  double lr = 0.05, momentum = 0.9;
  double weight_decay = 0;  // through the gradient; the reported loss is that of the data alone
  std::string optimizer = "sgd", schedule = "constant";
  double warmup = 0;        // share of the run
  double clip_norm = 0;     // of all gradients together; 0: any
  std::string pixels = "";  // "raw" or "scaled" if the model is meant for it; else the data set's default
  std::string resize = "";  // how images of another size are made to fit; empty: they are refused
};

struct ZooEntry {
  std::string name, title, options;
  Net (*make)(ModelOptions& options);
  TrainDefaults defaults;
  // Options that the data decides unless the user does: "channels", "input" (the number of values), "image"
  // (the sides of an image, under the name input), "classes", "data" (images or text).
  std::vector<std::string> from_data;
};

const std::vector<ZooEntry>& zoo();
TrainDefaults train_defaults(std::string_view spec);  // defaults of a net.json if the name is not in the zoo

// The same spec with the options that the data decides, unless the user set them.
std::string fitted_to(const std::string& spec, const std::vector<std::int64_t>& image, std::int64_t classes);

// The same spec, for text if the network has a form for it, unless the user set its option data.
std::string fitted_to_text(const std::string& spec);

// The same spec with one option set: ("mlp:hidden=512", "hidden", "64") -> "mlp:hidden=64".
std::string with_option(std::string_view spec, const std::string& name, const std::string& value);

Net make_mlp(ModelOptions& options);
Net make_lenet5(ModelOptions& options);
Net make_lenet_caffe(ModelOptions& options);
Net make_ece408(ModelOptions& options);
Net make_autoencoder(ModelOptions& options);
Net make_rnn(ModelOptions& options);

}  // namespace headroom
