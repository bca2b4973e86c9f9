// Probes of one or two layers, of the sizes that networks have.
#include "base/text.h"
#include "bench/probe_draw.h"

namespace headroom {
namespace {

constexpr double kMaxLayerFlops = 6e10;    // of a forward pass: a millisecond of a large GPU in fp32
constexpr double kMaxLayerValues = 1.2e8;  // of the images that a layer reads or writes
constexpr std::int64_t kMaxLayerWeights = 24'000'000;  // the host draws them one by one
constexpr std::size_t kSpreads = 4;

// Numbers from 0 to 1 for the sizes of one probe. Those of probes in a row fill all of that range evenly, in
// every extent and in all together: multiples of the powers of a root of x^5 = x + 1.
class Spreading {
 public:
  Spreading(std::uint64_t number, Draw& draw) : number_(number), draw_(draw) {}
  double next() {
    constexpr double kRoot = 1.1673039782614187;
    const double at = 0.5 + double(number_) / std::pow(kRoot, double(++used_));
    return used_ <= kSpreads ? at - std::floor(at) : draw_.uniform();
  }
  // As likely to be in one octave as in another; a multiple of `unit` where there is one.
  std::int64_t size(double low, double high, std::int64_t unit = 1) {
    const double x = low * std::pow(std::max(1.0, high / low), next());
    return std::max<std::int64_t>(unit, std::llround(x) / unit * unit);
  }
  std::int64_t one_of(const std::vector<std::int64_t>& list) {
    const auto at = static_cast<std::size_t>(next() * double(list.size()));
    return list[std::min(at, list.size() - 1)];
  }

 private:
  std::uint64_t number_;
  Draw& draw_;
  std::size_t used_ = 0;
};

struct LayerShape {
  std::int64_t in = 64, maps = 64, kernel = 3, stride = 1, pixels = 28, groups = 1;
  std::int64_t out_pixels() const { return (pixels + stride - 1) / stride; }
  double flops() const {
    return 2.0 * double(out_pixels() * out_pixels() * maps) * double(in / groups * kernel * kernel);
  }
  double values() const { return double(pixels * pixels * in) + double(out_pixels() * out_pixels() * maps); }
};

// Images, as many as are neither too much work nor too much memory; up to `most`. Rather many: it is the long
// steps that a network's time is made of.
std::int64_t layer_batch(Spreading& spread, const LayerShape& shape, double most) {
  const double fitting = std::min(kMaxLayerFlops / shape.flops(), kMaxLayerValues / shape.values());
  const double few = 1 - spread.next();
  return std::max<std::int64_t>(1, std::llround(std::pow(std::min(most, fitting), 1 - few * few)));
}

// A norm before the convolution, so that the gradient of its input is asked for; then what may follow one.
Probe convolution_probe(const char* name, const LayerShape& s, std::int64_t batch, std::uint64_t number,
                        Draw& draw) {
  Net net(name, {s.in, s.pixels, s.pixels});
  net.batch_norm("before", {.activation = "relu"});
  const bool normed = draw.below(2) == 0;
  net.conv2d("conv", {.maps = s.maps,
                      .kernel = s.kernel,
                      .stride = s.stride,
                      .pad = s.kernel / 2,
                      .groups = s.groups,
                      .bias = !normed,
                      .activation = normed ? "" : "relu"});
  if (normed) net.batch_norm("norm", {.activation = "relu"});
  if (normed && s.in == s.maps && s.stride == 1) net.add("sum", "norm", "before").relu("relu");
  if (!normed && s.out_pixels() >= 6) {
    const std::int64_t window = draw.one_of<std::int64_t>({2, 3, 3}), step = draw.often() ? 2 : 1;
    if (draw.often())
      net.max_pool("pool", {.kernel = window, .stride = step});
    else
      net.avg_pool("pool", {.kernel = window, .stride = step});
  }
  net.global_avg_pool("gap").linear("out", {.units = draw.size(10, 1000)});
  return numbered(std::move(net), number, 0, false, batch);
}

const std::vector<std::int64_t> kPictures = {7, 14, 28, 56, 112, 224};

Probe usual_convolution(std::uint64_t number, Spreading& spread, Draw& draw, std::int64_t kernel) {
  LayerShape s{.kernel = kernel};
  s.pixels = spread.one_of(kPictures);
  const double most = kernel == 1 ? 2048 : 512;
  s.in = spread.size(16, most, 16), s.maps = draw.below(3) == 0 ? s.in : spread.size(16, most, 16);
  s.stride = s.pixels >= 14 && draw.below(4) == 0 ? 2 : 1;
  return convolution_probe("convolution", s, layer_batch(spread, s, 128), number, draw);
}

Probe grouped_convolution(std::uint64_t number, Spreading& spread, Draw& draw) {
  LayerShape s{.kernel = draw.one_of<std::int64_t>({3, 3, 5})};
  s.pixels = spread.one_of(kPictures), s.in = s.maps = spread.size(32, 1024, 32);
  s.groups = draw.often() ? s.in : draw.one_of<std::int64_t>({2, 4, 32});
  s.stride = s.pixels >= 14 && draw.below(3) == 0 ? 2 : 1;
  return convolution_probe("grouped", s, layer_batch(spread, s, 128), number, draw);
}

// As networks begin: few channels, large windows; and small networks for small pictures and many of them.
Probe first_layers(std::uint64_t number, Spreading& spread, Draw& draw) {
  const bool photos = draw.below(2) == 0;
  LayerShape s{.in = draw.one_of<std::int64_t>({1, 3, 3}),
               .kernel = draw.one_of<std::int64_t>({3, 5, 7, 11})};
  s.pixels = photos ? draw.one_of<std::int64_t>({96, 224, 224}) : spread.size(24, 96, 4);
  s.maps = photos ? spread.size(24, 96, 8) : spread.size(4, 64);
  s.stride = photos ? draw.one_of<std::int64_t>({1, 2, 2, 4}) : 1;
  const std::int64_t batch = layer_batch(spread, s, photos ? 128 : 4096);
  Net net("first layers", {s.in, s.pixels, s.pixels});
  net.conv2d("conv1", {.maps = s.maps, .kernel = s.kernel, .stride = s.stride, .activation = "relu"});
  net.max_pool("pool1", {.kernel = 2, .stride = 2});
  net.conv2d(
      "conv2",
      {.maps = 2 * s.maps, .kernel = draw.one_of<std::int64_t>({1, 3, 5}), .activation = draw.activation()});
  if (draw.below(3) == 0) net.lrn("lrn");
  net.max_pool("pool2", {.kernel = 2, .stride = 2});
  if (photos) net.global_avg_pool("gap");
  net.linear("hidden", {.units = draw.size(32, 256, 4), .activation = "relu"});
  return numbered(net.linear("out", {.units = 10}), number, 0, false, batch);
}

Probe linear_layers(std::uint64_t number, Spreading& spread, Draw& draw) {
  const std::int64_t in = spread.size(64, 8192, 16), batch = spread.size(1, 4096);
  const std::int64_t units = std::min(spread.size(256, 8192, 16), kMaxLayerWeights / in / 16 * 16);
  Net net("linear layers", {in});
  net.linear("hidden", {.units = units, .activation = draw.activation()});
  if (units <= 2048) net.linear("second", {.units = spread.size(64, 4096, 16), .activation = "relu"});
  if (draw.often()) net.dropout("dropout", 0.5);
  return numbered(net.linear("out", {.units = draw.one_of<std::int64_t>({10, 100, 1000})}), number, 0, false,
                  batch);
}

}  // namespace

Probe draw_layer_probe(std::uint64_t number) {
  // Eight of them, so that each meets every one of three precisions that take turns.
  const std::uint64_t turn = number / 8, kind = number % 8;
  Draw draw(number, 73);
  Spreading spread(turn + 997 * kind, draw);  // each kind from another place
  switch (kind) {
    case 1:
    case 4:
      return linear_layers(number, spread, draw);
    case 2:
      return usual_convolution(number, spread, draw, 1);
    case 3:
    case 7:
      return first_layers(number, spread, draw);
    case 5:
      return usual_convolution(number, spread, draw, draw.one_of<std::int64_t>({3, 3, 5}));
    case 6:
      return grouped_convolution(number, spread, draw);
    default:
      return usual_convolution(number, spread, draw, 3);
  }
}

}  // namespace headroom
