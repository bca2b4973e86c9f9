#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headroom/attrs.h"

namespace headroom {

// Rows and columns. One number means both.
struct Pair {
  std::int64_t h = 1, w = 1;
  Pair(std::int64_t both)
      : h(both), w(both) {}  // NOLINT(google-explicit-constructor): `.kernel = 5` is meant to work
  Pair(std::int64_t rows, std::int64_t columns) : h(rows), w(columns) {}
};

// Padding of a window: a number for each side, or the padding that keeps the size.
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
  std::string
      activation;    // "", "relu", "sigmoid", "tanh", "relu6", "leaky_relu", "elu", "gelu", "hard_swish"
  std::string init;  // "": fan_in; or he, he_fan_out, xavier, orthonormal, normal, uniform, constant
  double init_scale = 0.01;  // the deviation (normal), bound (uniform) or value (constant)
  double init_bias = 0;      // the first value of every bias
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
  std::string activation, init;  // as for Convolution
  double init_scale = 0.01, init_bias = 0;
};

struct BatchNorm {
  double epsilon = 1e-5;
  double momentum = 0.1;  // weight of the newest batch in the running statistics
  std::string activation;
  double init_scale =
      1;  // first value of the scale; 0: a residual branch that ends here adds nothing at first
};

struct LayerNorm {
  std::int64_t axis = 1;  // over this axis and all after it; axis 0 is the batch, -1 the last
  double epsilon = 1e-5;
  std::string activation;
};

// y = x / (bias + alpha / size * sum of squares over `size` neighbouring channels) ^ beta.
struct LocalResponseNorm {
  std::int64_t size = 5;
  double alpha = 1e-4, beta = 0.75, bias = 1;
};

// Multi-head attention of a sequence to itself, with the projections before and after it.
struct Attention {
  std::int64_t heads = 1;
  bool causal = false;  // no token sees a later one
  bool bias = true;
  std::string init;  // as for Convolution
  double init_scale = 0.01;
  double out_init_scale = 0;  // of the output projection; 0: init_scale
};

// Layers of cells that carry a state from one step of a sequence to the next.
struct Recurrent {
  std::int64_t hidden = 0;  // cells in each direction
  std::int64_t layers = 1;  // each reads the sequence of the one before
  bool bidirectional = false;
  bool bias = true;
  std::string output = "sequence";  // or "last": the states after the last step of each direction
  std::string activation;           // rnn alone: "", "tanh" or "relu"
  bool reset_after = true;          // gru alone: r (R h + b) as in PyTorch; false: R (r h) + b
  double init_scale = 0;            // bound of the first weights, which are uniform; 0: 1 / sqrt(hidden)
};

// The quantity that training minimises.
inline constexpr const char* kCrossEntropy = "cross_entropy";     // of the logits and the label
inline constexpr const char* kSquaredError = "squared_error";     // mean square of outputs less one-hot label
inline constexpr const char* kReconstruction = "reconstruction";  // mean square of outputs less inputs
inline constexpr const char* kRegression = "regression";          // the same, less the targets of the data
inline constexpr const char* kMultiLabel = "multi_label";  // binary cross entropy: any number of labels apply

// One layer of a network: a type, a name, its inputs and its options, named as in net.json.
struct Layer {
  std::string type, name;
  std::vector<std::string> from;  // empty: the previous layer
  Attrs options;
};

class ImportedGraph;

// A network as a list of layers, without batch, precision or device. It holds the same as a net.json.
class Net {
 public:
  Net(std::string net_name, std::vector<std::int64_t> item)
      : name(std::move(net_name)), input(std::move(item)) {}

  // A layer reads the previous layer unless reads() names another. An empty name is made from the type.

  // Windows over images.
  Net& conv2d(const std::string& layer, const Convolution& options);
  Net& max_pool(const std::string& layer, const Pool& options);
  Net& avg_pool(const std::string& layer, const Pool& options);
  Net& global_max_pool(const std::string& layer = {});
  Net& global_avg_pool(const std::string& layer = {});
  Net& adaptive_max_pool(const std::string& layer, Pair output);  // windows follow from the output size
  Net& adaptive_avg_pool(const std::string& layer, Pair output);

  // Dense.
  Net& linear(const std::string& layer, const Linear& options);

  // Normalisation and regularisation.
  Net& batch_norm(const std::string& layer, const BatchNorm& options = {});
  Net& layer_norm(const std::string& layer, const LayerNorm& options = {});
  Net& lrn(const std::string& layer, const LocalResponseNorm& options = {});
  // The difference to a Gaussian mean of the neighbourhood, divided by its Gaussian deviation. kernel: odd.
  Net& local_contrast_norm(const std::string& layer, std::int64_t kernel = 9);
  Net& dropout(const std::string& layer, double rate);  // active in training only

  // Functions of each element; softmax and log_softmax: of the last axis. function() adds any function of
  // docs/net-json.md by its name, these and the others.
  Net& function(const std::string& type, const std::string& layer = {}, const Attrs& options = {});
  Net& relu(const std::string& layer = {});
  Net& leaky_relu(const std::string& layer = {}, double alpha = 0.01);
  Net& elu(const std::string& layer = {}, double alpha = 1);
  Net& gelu(const std::string& layer = {}, const std::string& approximate = "none");  // or "tanh"
  Net& hard_swish(const std::string& layer = {});
  Net& sigmoid(const std::string& layer = {});
  Net& tanh(const std::string& layer = {});
  Net& softmax(const std::string& layer = {});
  Net& log_softmax(const std::string& layer = {});
  Net& exp(const std::string& layer = {});
  Net& sqrt(const std::string& layer = {});
  Net& clip(const std::string& layer, double min, double max);
  Net& threshold(const std::string& layer, double threshold, double value);  // x > threshold ? x : value

  // Element by element, on two earlier layers of the same shape.
  Net& add(const std::string& layer, const std::string& a, const std::string& b);
  Net& sub(const std::string& layer, const std::string& a, const std::string& b);
  Net& mul(const std::string& layer, const std::string& a, const std::string& b);
  Net& div(const std::string& layer, const std::string& a, const std::string& b);

  // These change the shape, not the values. Shapes and axes are of one item, without the batch dimension.
  Net& flatten(const std::string& layer = {});
  Net& reshape(const std::string& layer, const std::vector<std::int64_t>& shape);
  Net& transpose(const std::string& layer, const std::vector<std::int64_t>& axes);
  Net& concat(const std::string& layer, const std::vector<std::string>& parts, std::int64_t axis = 0);
  Net& pad(const std::string& layer, const Padding& by,
           const std::string& mode = "constant");                                         // edge, reflect
  Net& resize(const std::string& layer, Pair size, const std::string& mode = "nearest");  // bilinear

  // Sequences: items of time x width. The first such layer reads tokens, which are integers.
  Net& embedding(const std::string& layer, std::int64_t tokens, std::int64_t width);
  Net& positions(const std::string& layer = {});    // adds a learned vector at each position
  Net& class_token(const std::string& layer = {});  // puts a learned vector first
  Net& attention(const std::string& layer, const Attention& options);
  Net& lstm(const std::string& layer, const Recurrent& options);
  Net& gru(const std::string& layer, const Recurrent& options);
  Net& rnn(const std::string& layer, const Recurrent& options);
  Net& take_token(const std::string& layer, std::int64_t index = 0);
  Net& mean_tokens(const std::string& layer = {});
  Net& unembedding(const std::string& layer, const std::string& table);  // scores from an embedding's weights

  // The layer just added reads this earlier layer, or "input", instead of the previous layer.
  Net& reads(const std::string& earlier);

  Net& append(Layer layer);  // any type; options named as in net.json; checks type, options and names

  std::string name;
  std::vector<std::int64_t> input;  // one item of a batch: channels, height, width; or one number
  std::vector<Layer> layers;
  std::string loss = kCrossEntropy;
  std::shared_ptr<const ImportedGraph> imported;  // set if read from another format: no layers then
};

// Read and write net.json. Errors name the layer, the option and the nearest known name.
Net read_net(const std::string& path);
Net parse_net(const std::string& json, const std::string& origin);
std::string to_json_text(const Net& net);

// `spec` is a zoo name with options ("mlp:hidden=512"), the path of a net.json, or the path of an ONNX file.
// Values for the open dimensions of an ONNX file may follow its path ("bert.onnx:sequence=128").
Net find_net(const std::string& spec);

}  // namespace headroom
