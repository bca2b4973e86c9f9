#include "bench/probes.h"

#include <algorithm>
#include <vector>

#include "base/text.h"
#include "bench/probe_draw.h"

namespace headroom {
namespace {

std::string name(const char* what, int i) { return fmt::format("{}{}", what, i); }

Net perceptron(Draw& draw) {
  Net net("perceptron", {draw.size(32, 4096, 8)});
  const int layers = 1 + static_cast<int>(draw.below(3));
  for (int i = 0; i < layers; ++i)
    net.linear(name("hidden", i), {.units = draw.size(16, 4096, 8), .activation = draw.activation()});
  return net.linear("out", {.units = draw.size(2, 1000)});
}

// Images become smaller on the way, maps more.
Net plain_convnet(Draw& draw) {
  const bool large = draw.often();
  std::int64_t size = large ? draw.size(64, 224, 8) : draw.size(20, 64, 4);
  Net net("convnet", {draw.one_of<std::int64_t>({1, 3, 3}), size, size});
  std::int64_t maps = draw.size(4, large ? 96 : 48, 4);
  const int layers = 2 + static_cast<int>(draw.below(4));
  for (int i = 0; i < layers; ++i) {
    const std::int64_t kernel = std::min<std::int64_t>(
        i == 0 ? draw.one_of<std::int64_t>({3, 5, 7, 11}) : draw.one_of<std::int64_t>({1, 3, 3, 3, 5}), size);
    const std::int64_t stride = i == 0 && large ? draw.one_of<std::int64_t>({1, 2, 4}) : 1;
    const std::int64_t pad = draw.often() ? kernel / 2 : 0;
    net.conv2d(
        name("conv", i),
        {.maps = maps, .kernel = kernel, .stride = stride, .pad = pad, .activation = draw.activation()});
    size = (size + 2 * pad - kernel) / stride + 1;
    if (i == 0 && draw.below(4) == 0) net.lrn("lrn");
    if (size >= 8 && draw.often()) {
      const std::int64_t window = draw.one_of<std::int64_t>({2, 2, 3});
      if (draw.often())
        net.max_pool(name("pool", i), {.kernel = window, .stride = 2});
      else
        net.avg_pool(name("pool", i), {.kernel = window, .stride = 2});
      size = (size - window) / 2 + 1;
    }
    maps = std::min<std::int64_t>(512, maps * draw.one_of<std::int64_t>({1, 2, 2}));
  }
  if (draw.often())
    net.linear("hidden", {.units = draw.size(32, 1024, 8), .activation = draw.activation()});
  else
    net.global_avg_pool("gap");
  if (draw.often()) net.dropout("dropout", 0.5);
  return net.linear("out", {.units = draw.size(5, 1000)});
}

// Convolution, normalisation, activation, and a sum with what came in.
Net residual_convnet(Draw& draw) {
  std::int64_t size = draw.size(14, 112, 7), maps = draw.size(8, 128, 8);
  Net net("residual", {3, size, size});
  net.conv2d("stem", {.maps = maps, .kernel = 3, .pad = 1, .bias = false})
      .batch_norm("stem_norm", {.activation = "relu"});
  std::string last = "stem_norm";
  const int blocks = 1 + static_cast<int>(draw.below(3));
  for (int i = 0; i < blocks; ++i) {
    const std::int64_t inner = draw.often() ? maps : std::max<std::int64_t>(4, maps / 4);
    const std::int64_t stride = size >= 14 && draw.below(2) == 0 ? 2 : 1, out = maps * (stride == 2 ? 2 : 1);
    net.conv2d(name("a", i), {.maps = inner, .kernel = 1, .bias = false}).reads(last);
    net.batch_norm(name("a_norm", i), {.activation = "relu"});
    net.conv2d(name("b", i), {.maps = inner, .kernel = 3, .stride = stride, .pad = 1, .bias = false});
    net.batch_norm(name("b_norm", i), {.activation = "relu"});
    net.conv2d(name("c", i), {.maps = out, .kernel = 1, .bias = false}).batch_norm(name("c_norm", i));
    std::string other = last;
    if (out != maps || stride != 1) {
      net.conv2d(name("d", i), {.maps = out, .kernel = 1, .stride = stride, .bias = false}).reads(last);
      net.batch_norm(name("d_norm", i));
      other = name("d_norm", i);
    }
    net.add(name("sum", i), name("c_norm", i), other).relu(name("relu", i));
    last = name("relu", i), maps = out, size = (size + stride - 1) / stride;
  }
  return net.global_avg_pool("gap").linear("out", {.units = draw.size(5, 1000)});
}

Net parallel_branches(Draw& draw) {
  const std::int64_t size = draw.size(7, 56, 7);
  Net net("branches", {draw.size(16, 256, 16), size, size});
  std::string last = "input";
  const int blocks = 1 + static_cast<int>(draw.below(2));
  for (int i = 0; i < blocks; ++i) {
    const std::int64_t maps = draw.size(16, 192, 16);
    net.conv2d(name("one", i), {.maps = maps, .kernel = 1, .activation = "relu"}).reads(last);
    net.conv2d(name("reduce", i), {.maps = maps / 2, .kernel = 1, .activation = "relu"}).reads(last);
    net.conv2d(name("three", i), {.maps = maps, .kernel = 3, .pad = 1, .activation = "relu"});
    net.conv2d(name("thin", i),
               {.maps = std::max<std::int64_t>(4, maps / 8), .kernel = 1, .activation = "relu"})
        .reads(last);
    net.conv2d(name("five", i), {.maps = maps / 4, .kernel = 5, .pad = 2, .activation = "relu"});
    net.max_pool(name("pool", i), {.kernel = 3, .stride = 1, .pad = 1}).reads(last);
    net.conv2d(name("after", i), {.maps = maps / 4, .kernel = 1, .activation = "relu"});
    net.concat(name("join", i), {name("one", i), name("three", i), name("five", i), name("after", i)});
    last = name("join", i);
  }
  return net.global_avg_pool("gap").linear("out", {.units = draw.size(5, 1000)});
}

Net depthwise_convnet(Draw& draw) {
  const std::int64_t size = draw.size(14, 112, 7);
  std::int64_t maps = draw.size(8, 128, 8);
  Net net("depthwise", {3, size, size});
  net.conv2d("stem", {.maps = maps, .kernel = 3, .stride = 2, .pad = 1, .activation = "relu"});
  const int blocks = 1 + static_cast<int>(draw.below(3));
  for (int i = 0; i < blocks; ++i) {
    net.conv2d(name("depth", i), {.maps = maps,
                                  .kernel = draw.one_of<std::int64_t>({3, 3, 5}),
                                  .pad = 1,
                                  .groups = maps,
                                  .bias = false});
    net.batch_norm(name("depth_norm", i), {.activation = "relu"});
    maps = std::min<std::int64_t>(512, maps * 2);
    net.conv2d(name("point", i), {.maps = maps, .kernel = 1, .bias = false})
        .batch_norm(name("point_norm", i), {.activation = "relu"});
  }
  return net.global_avg_pool("gap").linear("out", {.units = draw.size(5, 1000)});
}

// Patches of an image as tokens.
Net attention_net(Draw& draw) {
  const std::int64_t patch = draw.one_of<std::int64_t>({4, 8, 16}), side = draw.size(4, 14),
                     heads = draw.one_of<std::int64_t>({2, 4, 8}),
                     width = heads * draw.one_of<std::int64_t>({16, 32, 64});
  Net net("tokens", {3, patch * side, patch * side});
  net.conv2d("patches", {.maps = width, .kernel = patch, .stride = patch});
  net.reshape("rows", {width, side * side}).transpose("tokens", {1, 0}).positions("positions");
  std::string last = "positions";
  const int blocks = 1 + static_cast<int>(draw.below(2));
  for (int i = 0; i < blocks; ++i) {
    net.layer_norm(name("norm_a", i), {.axis = -1}).reads(last);
    net.attention(name("attention", i), {.heads = heads});
    net.add(name("sum_a", i), name("attention", i), last);
    net.layer_norm(name("norm_b", i), {.axis = -1});
    net.linear(name("wide", i), {.units = 4 * width, .activation = "gelu"});
    net.linear(name("narrow", i), {.units = width});
    net.add(name("sum_b", i), name("narrow", i), name("sum_a", i));
    last = name("sum_b", i);
  }
  return net.mean_tokens("mean").linear("out", {.units = draw.size(5, 1000)});
}

Net small_perceptron(Draw& draw) {
  Net net("small perceptron", {draw.size(2, 1024, 4)});
  const int layers = 1 + static_cast<int>(draw.below(6));
  for (int i = 0; i < layers; ++i)
    net.linear(name("hidden", i), {.units = draw.size(2, 256, 4), .activation = draw.activation()});
  return net.linear("out", {.units = draw.size(1, 100)});
}

// One hidden layer and a few classes: some GPUs take the whole training step at once.
Net two_layer_perceptron(Draw& draw) {
  Net net("small two-layer perceptron", {draw.often() ? draw.size(128, 1024, 4) : 784});
  net.linear("hidden", {.units = draw.size(16, 256, 4),
                        .activation = draw.one_of<std::string>({"relu", "tanh", "sigmoid"})});
  return net.linear("out", {.units = draw.one_of<std::int64_t>({2, 10, 10, 16})});
}

Net small_convnet(Draw& draw) {
  std::int64_t size = draw.size(8, 40, 4), maps = draw.size(1, 24, 4);
  Net net("small convnet", {draw.one_of<std::int64_t>({1, 1, 3}), size, size});
  const int layers = 1 + static_cast<int>(draw.below(4));
  for (int i = 0; i < layers && size >= 3; ++i) {
    const std::int64_t kernel = std::min<std::int64_t>(draw.one_of<std::int64_t>({1, 3, 3, 4, 5}), size),
                       stride = draw.one_of<std::int64_t>({1, 1, 2}), pad = draw.often() ? kernel / 2 : 0;
    net.conv2d(
        name("conv", i),
        {.maps = maps, .kernel = kernel, .stride = stride, .pad = pad, .activation = draw.activation()});
    size = (size + 2 * pad - kernel) / stride + 1;
    if (size >= 4 && draw.often()) {
      if (draw.often())
        net.max_pool(name("pool", i), {.kernel = 2, .stride = 2});
      else
        net.avg_pool(name("pool", i), {.kernel = 2, .stride = 2});
      size = (size - 2) / 2 + 1;
    }
    maps = std::min<std::int64_t>(64, maps * draw.one_of<std::int64_t>({1, 2, 2}));
  }
  if (draw.often()) net.linear("hidden", {.units = draw.size(4, 128, 4), .activation = draw.activation()});
  return net.linear("out", {.units = draw.size(1, 100)});
}

using Make = Net (*)(Draw&);
constexpr Make kKinds[] = {perceptron,        plain_convnet, residual_convnet,  plain_convnet,
                           parallel_branches, perceptron,    depthwise_convnet, plain_convnet,
                           residual_convnet,  attention_net};

}  // namespace

Probe draw_probe(std::uint64_t number) {
  Draw draw(number);
  Net net = kKinds[number % std::size(kKinds)](draw);
  const double size = draw.uniform();
  return numbered(std::move(net), number, size, draw.often(), 0);
}

Probe draw_small_probe(std::uint64_t number) {
  Draw draw(number, 72);
  // Most take microseconds and cost little; some are as large as others.
  const std::uint64_t kind = number % 8;
  if (kind == 1 || kind == 2 || kind == 4)
    return numbered(two_layer_perceptron(draw), number, 0, false, draw.size(draw.often() ? 1024 : 32, 4096));
  const Make make = kind == 6   ? perceptron
                    : kind == 7 ? kKinds[number / 8 % std::size(kKinds)]
                    : kind == 0 ? small_perceptron
                                : small_convnet;
  Net net = make(draw);
  const std::int64_t most = kind >= 6 ? 8 : draw.below(2) == 0 ? 32 : 512;
  const std::int64_t batch = draw.below(3) == 0 ? 1 : draw.size(1, most);
  return numbered(std::move(net), number, 0, false, batch);
}

// Small ones first: a busy machine then has timings, whatever the next ones take.
ProbeTurns::ProbeTurns(bool on_gpu)
    : kinds_(on_gpu ? std::vector<Kind>{{draw_small_probe, 0.12}, {draw_layer_probe, 0.7}, {draw_probe, 0.18}}
                    : std::vector<Kind>{{draw_small_probe, 0.25}, {draw_probe, 0.75}}) {}

// The kind that is furthest behind its share.
ProbeTurns::Turn ProbeTurns::next() {
  const auto behind = [](const Kind& kind) { return kind.seconds / kind.share; };
  last_ = static_cast<std::size_t>(std::ranges::min_element(kinds_, {}, behind) - kinds_.begin());
  Kind& kind = kinds_[last_];
  const std::uint64_t number = kind.next++;
  return {kind.draw(number), number};
}

void ProbeTurns::took(double seconds) { kinds_[last_].seconds += seconds; }

}  // namespace headroom
