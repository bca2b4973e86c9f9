#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "headroom/attrs.h"

namespace headroom {

// Rows and columns, or the same for both.
struct Pair {
  std::int64_t h = 1, w = 1;
  Pair(std::int64_t both)
      : h(both), w(both) {}  // NOLINT(google-explicit-constructor): `.kernel = 5` is meant to work
  Pair(std::int64_t rows, std::int64_t columns) : h(rows), w(columns) {}
};

// Padding of a window: explicit on each side, or what keeps the size.
struct Padding {
  std::int64_t top = 0, left = 0, bottom = 0, right = 0;
  std::string same;  // "same_upper" or "same_lower" instead of numbers
  Padding() = default;
  Padding(std::int64_t all)
      : top(all), left(all), bottom(all), right(all) {}  // NOLINT(google-explicit-constructor)
  Padding(std::int64_t t, std::int64_t l, std::int64_t b, std::int64_t r)
      : top(t), left(l), bottom(b), right(r) {}
};

struct Convolution {
  std::int64_t maps = 0;
  Pair kernel = 1, stride = 1, dilation = 1;
  Padding pad;
  std::int64_t groups = 1;
  bool bias = true;
  std::string activation;  // "", "relu", "sigmoid", "tanh", "leaky_relu", "elu", "gelu", "hard_swish"
};

struct Pool {
  Pair kernel = 2;
  Pair stride = 0;  // 0: the kernel's size
  Padding pad;
  Pair dilation = 1;
  bool ceil_mode = false;
  bool count_include_pad = true;  // mean only
};

struct Linear {
  std::int64_t units = 0;
  bool bias = true;
  std::string activation;
};

struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;  // share of the newest batch in the running statistics
  std::string activation;
};

// What training makes smaller.
inline constexpr const char* kCrossEntropy = "cross_entropy";     // of the logits and the label
inline constexpr const char* kSquaredError = "squared_error";     // mean square of outputs less one-hot label
inline constexpr const char* kReconstruction = "reconstruction";  // mean square of outputs less inputs

// One layer of a network: a type, a name, what it reads and its options under the names net.json uses.
struct Layer {
  std::string type, name;
  std::vector<std::string> from;  // empty: the layer before
  Attrs options;
};

// A network as a list of layers, without batch, precision or device. The same thing as a net.json.
class Net {
 public:
  Net(std::string net_name, std::vector<std::int64_t> item)
      : name(std::move(net_name)), input(std::move(item)) {}

  Net& conv2d(const std::string& layer, const Convolution& options);
  Net& max_pool(const std::string& layer, const Pool& options);
  Net& avg_pool(const std::string& layer, const Pool& options);
  Net& linear(const std::string& layer, const Linear& options);
  Net& batch_norm(const std::string& layer, const BatchNorm& options = {});
  Net& dropout(const std::string& layer, double rate);
  Net& global_avg_pool(const std::string& layer = {});
  Net& concat(const std::string& layer, const std::vector<std::string>& parts);  // along the channels
  Net& relu(const std::string& layer = {});
  Net& sigmoid(const std::string& layer = {});
  Net& tanh(const std::string& layer = {});
  Net& softmax(const std::string& layer = {});
  Net& flatten(const std::string& layer = {});
  Net& add(const std::string& layer, const std::string& a,
           const std::string& b);  // sum of two earlier layers
  Net& append(Layer layer);        // checks type, options and names; an empty name is made from the type

  std::string name;
  std::vector<std::int64_t> input;  // one item of a batch: channels, height, width; or one number
  std::vector<Layer> layers;
  std::string loss = kCrossEntropy;
};

// net.json, read and written. Errors name the layer, the option and the nearest known name.
Net read_net(const std::string& path);
Net parse_net(const std::string& json, const std::string& origin);
std::string to_json_text(const Net& net);

// A zoo name with options ("mlp:hidden=512") or the path of a net.json.
Net find_net(const std::string& spec);

}  // namespace headroom
