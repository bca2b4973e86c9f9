// Net's functions, one per layer type: they convert C++ options to net.json options.
#include "headroom/net.h"

namespace headroom {
namespace {

using Ints = std::vector<std::int64_t>;

void set_pair(Attrs& attrs, const char* name, const Pair& pair) { attrs.set(name, Ints{pair.h, pair.w}); }

void set_padding(Attrs& attrs, const Padding& pad) {
  if (!pad.same.empty())
    attrs.set("auto_pad", pad.same);
  else if (pad.top || pad.left || pad.bottom || pad.right)
    attrs.set("pads", Ints{pad.top, pad.left, pad.bottom, pad.right});
}

Attrs pool_options(const Pool& o) {
  Attrs attrs;
  set_pair(attrs, "kernel", o.kernel);
  if (o.stride.h != 0) set_pair(attrs, "strides", o.stride);
  set_padding(attrs, o.pad);
  if (o.dilation.h != 1 || o.dilation.w != 1) set_pair(attrs, "dilations", o.dilation);
  if (o.ceil_mode) attrs.set("ceil_mode", std::int64_t{1});
  return attrs;
}

// Options common to all layers with weights.
template <class Options>
void set_weights(Attrs& attrs, const Options& o) {
  if (!o.bias) attrs.set("bias", std::int64_t{0});
  if (!o.activation.empty()) attrs.set("activation", o.activation);
  if (o.init_bias != 0) attrs.set("init_bias", o.init_bias);
  if (o.init.empty()) return;
  attrs.set("init", o.init);
  if (o.init == "normal" || o.init == "uniform" || o.init == "constant")
    attrs.set("init_scale", o.init_scale);
}

Layer plain(const char* type, const std::string& name) { return {type, name, {}, {}}; }

// Options of another cell are set, too: append refuses them by name.
Layer recurrent(const char* type, const std::string& name, const Recurrent& o) {
  Attrs attrs{{"hidden", o.hidden}};
  if (o.layers != 1) attrs.set("layers", o.layers);
  if (o.bidirectional) attrs.set("bidirectional", std::int64_t{1});
  if (!o.bias) attrs.set("bias", std::int64_t{0});
  if (o.output != "sequence") attrs.set("output", o.output);
  if (!o.activation.empty()) attrs.set("activation", o.activation);
  if (!o.reset_after) attrs.set("reset_after", std::int64_t{0});
  if (o.init_scale != 0) attrs.set("init_scale", o.init_scale);
  return {type, name, {}, attrs};
}

}  // namespace

Net& Net::lstm(const std::string& layer, const Recurrent& o) { return append(recurrent("lstm", layer, o)); }
Net& Net::gru(const std::string& layer, const Recurrent& o) { return append(recurrent("gru", layer, o)); }
Net& Net::rnn(const std::string& layer, const Recurrent& o) { return append(recurrent("rnn", layer, o)); }

Net& Net::conv2d(const std::string& layer, const Convolution& o) {
  Attrs attrs{{"maps", o.maps}};
  set_pair(attrs, "kernel", o.kernel);
  if (o.stride.h != 1 || o.stride.w != 1) set_pair(attrs, "strides", o.stride);
  set_padding(attrs, o.pad);
  if (o.dilation.h != 1 || o.dilation.w != 1) set_pair(attrs, "dilations", o.dilation);
  if (o.groups != 1) attrs.set("groups", o.groups);
  set_weights(attrs, o);
  return append({"conv2d", layer, {}, attrs});
}

Net& Net::max_pool(const std::string& layer, const Pool& o) {
  return append({"max_pool", layer, {}, pool_options(o)});
}

Net& Net::avg_pool(const std::string& layer, const Pool& o) {
  Attrs attrs = pool_options(o);
  if (!o.count_include_pad) attrs.set("count_include_pad", std::int64_t{0});
  return append({"avg_pool", layer, {}, attrs});
}

Net& Net::linear(const std::string& layer, const Linear& o) {
  Attrs attrs{{"units", o.units}};
  set_weights(attrs, o);
  return append({"linear", layer, {}, attrs});
}

Net& Net::batch_norm(const std::string& layer, const BatchNorm& o) {
  Attrs attrs{{"epsilon", o.epsilon}, {"momentum", o.momentum}};
  if (!o.activation.empty()) attrs.set("activation", o.activation);
  if (o.init_scale != 1) attrs.set("init_scale", o.init_scale);
  return append({"batch_norm", layer, {}, attrs});
}

Net& Net::dropout(const std::string& layer, double rate) {
  return append({"dropout", layer, {}, {{"rate", rate}}});
}

Net& Net::concat(const std::string& layer, const std::vector<std::string>& parts, std::int64_t axis) {
  Attrs attrs;
  if (axis != 0) attrs.set("axis", axis);
  return append({"concat", layer, parts, attrs});
}

Net& Net::layer_norm(const std::string& layer, const LayerNorm& o) {
  Attrs attrs{{"axis", o.axis}, {"epsilon", o.epsilon}};
  if (!o.activation.empty()) attrs.set("activation", o.activation);
  return append({"layer_norm", layer, {}, attrs});
}

Net& Net::lrn(const std::string& layer, const LocalResponseNorm& o) {
  return append(
      {"lrn", layer, {}, {{"size", o.size}, {"alpha", o.alpha}, {"beta", o.beta}, {"bias", o.bias}}});
}

Net& Net::local_contrast_norm(const std::string& layer, std::int64_t kernel) {
  return append({"local_contrast_norm", layer, {}, {{"kernel", kernel}}});
}

Net& Net::adaptive_max_pool(const std::string& layer, Pair output) {
  return append({"adaptive_max_pool", layer, {}, {{"output", Ints{output.h, output.w}}}});
}

Net& Net::adaptive_avg_pool(const std::string& layer, Pair output) {
  return append({"adaptive_avg_pool", layer, {}, {{"output", Ints{output.h, output.w}}}});
}

Net& Net::reshape(const std::string& layer, const std::vector<std::int64_t>& shape) {
  return append({"reshape", layer, {}, {{"shape", shape}}});
}

Net& Net::transpose(const std::string& layer, const std::vector<std::int64_t>& axes) {
  return append({"transpose", layer, {}, {{"axes", axes}}});
}

Net& Net::pad(const std::string& layer, const Padding& by, const std::string& mode) {
  Attrs attrs{{"pads", Ints{by.top, by.left, by.bottom, by.right}}};
  if (mode != "constant") attrs.set("mode", mode);
  return append({"pad", layer, {}, attrs});
}

Net& Net::resize(const std::string& layer, Pair size, const std::string& mode) {
  Attrs attrs{{"size", Ints{size.h, size.w}}};
  if (mode != "nearest") attrs.set("mode", mode);
  return append({"resize", layer, {}, attrs});
}

Net& Net::function(const std::string& type, const std::string& layer, const Attrs& options) {
  return append({type, layer, {}, options});
}

Net& Net::leaky_relu(const std::string& layer, double alpha) {
  return append({"leaky_relu", layer, {}, {{"alpha", alpha}}});
}
Net& Net::elu(const std::string& layer, double alpha) {
  return append({"elu", layer, {}, {{"alpha", alpha}}});
}
Net& Net::gelu(const std::string& layer, const std::string& approximate) {
  return append({"gelu", layer, {}, {{"approximate", approximate}}});
}
Net& Net::clip(const std::string& layer, double min, double max) {
  return append({"clip", layer, {}, {{"min", min}, {"max", max}}});
}
Net& Net::threshold(const std::string& layer, double threshold, double value) {
  return append({"threshold", layer, {}, {{"threshold", threshold}, {"value", value}}});
}

Net& Net::global_max_pool(const std::string& layer) { return append(plain("global_max_pool", layer)); }
Net& Net::global_avg_pool(const std::string& layer) { return append(plain("global_avg_pool", layer)); }
Net& Net::relu(const std::string& layer) { return append(plain("relu", layer)); }
Net& Net::hard_swish(const std::string& layer) { return append(plain("hard_swish", layer)); }
Net& Net::sigmoid(const std::string& layer) { return append(plain("sigmoid", layer)); }
Net& Net::tanh(const std::string& layer) { return append(plain("tanh", layer)); }
Net& Net::softmax(const std::string& layer) { return append(plain("softmax", layer)); }
Net& Net::log_softmax(const std::string& layer) { return append(plain("log_softmax", layer)); }
Net& Net::exp(const std::string& layer) { return append(plain("exp", layer)); }
Net& Net::sqrt(const std::string& layer) { return append(plain("sqrt", layer)); }
Net& Net::flatten(const std::string& layer) { return append(plain("flatten", layer)); }

Net& Net::add(const std::string& layer, const std::string& a, const std::string& b) {
  return append({"add", layer, {a, b}, {}});
}
Net& Net::sub(const std::string& layer, const std::string& a, const std::string& b) {
  return append({"sub", layer, {a, b}, {}});
}
Net& Net::mul(const std::string& layer, const std::string& a, const std::string& b) {
  return append({"mul", layer, {a, b}, {}});
}
Net& Net::div(const std::string& layer, const std::string& a, const std::string& b) {
  return append({"div", layer, {a, b}, {}});
}

Net& Net::embedding(const std::string& layer, std::int64_t tokens, std::int64_t width) {
  return append({"embedding", layer, {}, {{"tokens", tokens}, {"width", width}}});
}
Net& Net::positions(const std::string& layer) { return append(plain("positions", layer)); }
Net& Net::class_token(const std::string& layer) { return append(plain("class_token", layer)); }
Net& Net::attention(const std::string& layer, const Attention& o) {
  Attrs attrs{{"heads", o.heads}};
  if (o.causal) attrs.set("causal", std::int64_t{1});
  if (!o.bias) attrs.set("bias", std::int64_t{0});
  if (!o.init.empty()) attrs.set("init", o.init), attrs.set("init_scale", o.init_scale);
  if (o.out_init_scale != 0) attrs.set("out_init_scale", o.out_init_scale);
  return append({"attention", layer, {}, attrs});
}
Net& Net::take_token(const std::string& layer, std::int64_t index) {
  return append({"take_token", layer, {}, {{"index", index}}});
}
Net& Net::mean_tokens(const std::string& layer) { return append(plain("mean_tokens", layer)); }
Net& Net::unembedding(const std::string& layer, const std::string& table) {
  return append({"unembedding", layer, {}, {{"table", table}}});
}

}  // namespace headroom
