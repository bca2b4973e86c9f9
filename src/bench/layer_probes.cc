// Probes of one or two layers, of the sizes that networks have.
#include "base/text.h"
#include "bench/probe_draw.h"

namespace headroom {
namespace {

constexpr double kMaxLayerFlops = 6e10;    // of a forward pass: a millisecond of a large GPU in fp32
constexpr double kMaxLayerValues = 1.2e8;  // of the images that a layer reads or writes
constexpr std::int64_t kMaxLayerWeights = 24'000'000;  // the host draws them one by one
constexpr std::size_t kSpreads = 4, kStacked = 3;
constexpr double kManyImages = 1024;
constexpr std::int64_t kWideMaps = 512;  // of convolutions that are not 1x1

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
  // As people choose channels, units and batches: a power of two, or half as much again; sometimes between
  // these. Others leave tiles and vectors of products half empty, and are slower.
  std::int64_t usual(double low, double high) {
    return rounded(low * std::pow(std::max(1.0, high / low), next()));
  }
  std::int64_t rounded(double x) {
    const double octave = std::exp2(std::floor(std::log2(x))), part = draw_.often() ? 0.5 : 0.25;
    return std::max<std::int64_t>(1, std::llround(octave * (1 + part * std::floor((x / octave - 1) / part))));
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

double fitting_images(const std::vector<LayerShape>& shapes) {
  double flops = 0, values = 0;
  for (const LayerShape& shape : shapes) flops += shape.flops(), values += shape.values();
  return std::min(kMaxLayerFlops / flops, kMaxLayerValues / values);
}

// Images, as many as are neither too much work nor too much memory; up to `most`. Rather many: it is the long
// steps that a network's time is made of. One in five has one image or two.
std::int64_t layer_batch(Spreading& spread, const std::vector<LayerShape>& shapes, double most, Draw& draw) {
  const double few = 1 - spread.next();
  if (draw.below(5) == 0) most = 2;
  const double images = std::max(1.0, std::pow(std::min(most, fitting_images(shapes)), 1 - few * few));
  return draw.often() ? spread.rounded(images) : std::llround(images);
}

// A convolution, and what follows it.
struct StackedLayer {
  LayerShape shape;
  bool normed = false;
  std::int64_t pool = 0;  // the side of its window; 0: none
  std::int64_t pixels() const { return pool > 0 ? (shape.out_pixels() - pool) / 2 + 1 : shape.out_pixels(); }
};

std::vector<StackedLayer> stack_on(LayerShape s, bool pooled, Spreading& spread, Draw& draw) {
  std::vector<StackedLayer> stack;
  while (stack.size() < (pooled ? 1 : kStacked)) {
    StackedLayer layer{.shape = s, .normed = draw.below(2) == 0 && !pooled};
    if (!layer.normed && s.out_pixels() >= 6 && (draw.often() || pooled))
      layer.pool = draw.one_of<std::int64_t>({2, 2, 3});
    stack.push_back(layer);
    const std::int64_t kernel = s.maps > kWideMaps ? 1 : draw.one_of<std::int64_t>({1, 3, 3, 5});
    s = {.in = s.maps,
         .maps = draw.below(3) == 0 ? s.maps : spread.usual(16, kernel == 1 ? 2 * kWideMaps : kWideMaps),
         .kernel = kernel,
         .stride = layer.pixels() >= 14 && draw.below(6) == 0 ? 2 : 1,
         .pixels = layer.pixels()};
  }
  return stack;
}

// Several convolutions share what a network costs to build. The norm before them is for the gradient of the
// first one's input, which is asked for then.
Probe convolution_probe(const char* name, const LayerShape& first, bool pooled, std::uint64_t number,
                        Spreading& spread, Draw& draw) {
  std::vector<LayerShape> shapes;
  const std::vector<StackedLayer> stack = stack_on(first, pooled, spread, draw);
  for (const StackedLayer& layer : stack) shapes.push_back(layer.shape);
  // Steps that pool their results are for many images.
  const std::int64_t batch = pooled && draw.often()
                                 ? spread.rounded(std::clamp(fitting_images(shapes), 1.0, kManyImages))
                                 : layer_batch(spread, shapes, 128, draw);
  Net net(name, {first.in, first.pixels, first.pixels});
  net.batch_norm("before", {.activation = "relu"});
  std::string last = "before";
  for (std::size_t i = 0; i < stack.size(); ++i) {
    const auto& [s, normed, pool] = stack[i];
    const auto called = [&](const char* what) { return fmt::format("{}{}", what, i); };
    net.conv2d(called("conv"), {.maps = s.maps,
                                .kernel = s.kernel,
                                .stride = s.stride,
                                .pad = s.kernel / 2,
                                .groups = s.groups,
                                .bias = !normed,
                                .activation = normed ? "" : "relu"});
    std::string now = called("conv");
    if (normed) net.batch_norm(now = called("norm"), {.activation = "relu"});
    if (normed && s.in == s.maps && s.stride == 1)
      net.add(called("sum"), now, last).relu(now = called("relu"));
    if (pool > 0 && draw.below(4) > 0)
      net.max_pool(now = called("pool"), {.kernel = pool, .stride = 2});
    else if (pool > 0)
      net.avg_pool(now = called("pool"), {.kernel = pool, .stride = 2});
    last = now;
  }
  net.global_avg_pool("gap").linear("out", {.units = draw.size(10, 1000)});
  return numbered(std::move(net), number, 0, false, batch);
}

const std::vector<std::int64_t> kPictures = {7, 14, 28, 56, 112, 224};

Probe usual_convolution(std::uint64_t number, Spreading& spread, Draw& draw, std::int64_t kernel) {
  LayerShape s{.kernel = kernel};
  s.pixels = spread.one_of(kPictures);
  const double most = kernel == 1 ? 4 * kWideMaps : kWideMaps;
  s.in = spread.usual(16, most), s.maps = draw.below(3) == 0 ? s.in : spread.usual(16, most);
  s.stride = s.pixels >= 14 && draw.below(4) == 0 ? 2 : 1;
  return convolution_probe("convolution", s, false, number, spread, draw);
}

// Large pictures, few channels and a pool, which an evaluation makes one step of.
Probe pooled_convolution(std::uint64_t number, Spreading& spread, Draw& draw) {
  LayerShape s{.kernel = draw.one_of<std::int64_t>({1, 3, 3, 3, 5})};
  s.pixels = spread.one_of({28, 56, 112, 224});
  s.in = spread.usual(3, 32), s.maps = spread.usual(16, 192);
  return convolution_probe("pooled convolution", s, true, number, spread, draw);
}

Probe grouped_convolution(std::uint64_t number, Spreading& spread, Draw& draw) {
  LayerShape s{.kernel = draw.one_of<std::int64_t>({3, 3, 5})};
  s.pixels = spread.one_of(kPictures), s.in = s.maps = spread.size(32, 1024, 32);
  s.groups = draw.often() ? s.in : draw.one_of<std::int64_t>({2, 4, 32});
  s.stride = s.pixels >= 14 && draw.below(3) == 0 ? 2 : 1;
  return convolution_probe("grouped", s, false, number, spread, draw);
}

// Convolutions of several windows and a pool that moves by one, side by side.
Probe branched_layers(std::uint64_t number, Spreading& spread, Draw& draw) {
  const std::int64_t pixels = spread.one_of({7, 14, 28, 28}), in = spread.usual(64, 512);
  const std::int64_t maps = spread.usual(64, 256), thin = std::max<std::int64_t>(16, maps / 8);
  const std::int64_t batch = layer_batch(spread,
                                         {{.in = in, .maps = 2 * maps, .kernel = 1, .pixels = pixels},
                                          {.in = maps / 2, .maps = maps, .kernel = 3, .pixels = pixels}},
                                         128, draw);
  Net net("branched layers", {in, pixels, pixels});
  net.batch_norm("before", {.activation = "relu"});
  const auto branch = [&](const char* name, std::int64_t count, std::int64_t kernel) {
    net.conv2d(name, {.maps = count, .kernel = kernel, .pad = kernel / 2, .activation = "relu"});
  };
  branch("one", maps, 1);
  net.conv2d("reduce", {.maps = maps / 2, .kernel = 1, .activation = "relu"}).reads("before");
  branch("three", maps, 3);
  net.conv2d("thin", {.maps = thin, .kernel = 1, .activation = "relu"}).reads("before");
  branch("five", 2 * thin, 5);
  net.max_pool("pool", {.kernel = 3, .stride = 1, .pad = 1}).reads("before");
  branch("after", 2 * thin, 1);
  net.concat("join", {"one", "three", "five", "after"});
  net.max_pool("last", {.kernel = 3, .stride = 2}).global_avg_pool("gap");
  return numbered(net.linear("out", {.units = draw.size(10, 1000)}), number, 0, false, batch);
}

// As networks for photographs begin: few channels, large windows, strides.
Probe photo_layers(std::uint64_t number, Spreading& spread, Draw& draw) {
  LayerShape s{.in = draw.one_of<std::int64_t>({1, 3, 3, 3}),
               .maps = spread.usual(16, 96),
               .kernel = draw.one_of<std::int64_t>({3, 3, 5, 7, 11}),
               .stride = draw.one_of<std::int64_t>({1, 2, 2, 4}),
               .pixels = draw.one_of<std::int64_t>({96, 224, 224})};
  const LayerShape second{.in = s.maps,
                          .maps = 2 * s.maps,
                          .kernel = draw.one_of<std::int64_t>({1, 3, 5}),
                          .pixels = s.out_pixels() / 2};
  const std::int64_t batch = layer_batch(spread, {s, second}, 128, draw);
  Net net("photo layers", {s.in, s.pixels, s.pixels});
  net.conv2d("conv1", {.maps = s.maps,
                       .kernel = s.kernel,
                       .stride = s.stride,
                       .pad = draw.often() ? s.kernel / 2 : 0,
                       .activation = "relu"});
  if (draw.below(3) == 0) net.lrn("lrn");
  net.max_pool("pool1", {.kernel = draw.one_of<std::int64_t>({2, 3}), .stride = 2});
  net.conv2d("conv2", {.maps = second.maps, .kernel = second.kernel, .activation = draw.activation()});
  net.max_pool("pool2", {.kernel = 2, .stride = 2}).global_avg_pool("gap");
  return numbered(net.linear("out", {.units = 10}), number, 0, false, batch);
}

// The side of what two convolutions with their pools leave of a picture.
constexpr std::int64_t kMaxLastWindow = 16;
std::int64_t left_of(const LayerShape& first, const LayerShape& second, std::int64_t pad, bool pooled) {
  const std::int64_t between = (first.pixels + 2 * pad - first.kernel + 1) / 2;
  const std::int64_t last = between + 2 * pad - second.kernel + 1;
  return pooled ? last / 2 : last;
}

// Whole networks for small pictures, and many of those: thin convolutions, each with its pool.
Probe picture_layers(std::uint64_t number, Spreading& spread, Draw& draw) {
  // Kernels of small images refuse the large ones, or do not pay there.
  const bool large = draw.below(3) == 0;
  LayerShape s{.in = draw.one_of<std::int64_t>({1, 1, 3}),
               .maps = spread.size(4, 48, draw.often() ? 2 : 1),
               .kernel = draw.one_of<std::int64_t>({3, 5, 5, 7}),
               .pixels = spread.size(large ? 64 : 24, large ? 112 : 64, draw.often() ? 4 : 1)};
  const LayerShape second{.in = s.maps,
                          .maps = s.maps * draw.one_of<std::int64_t>({1, 2, 2, 3}),
                          .kernel = draw.one_of<std::int64_t>({3, 5, s.kernel}),
                          .pixels = s.pixels / 2};
  const std::int64_t batch = layer_batch(spread, {s, second}, 4096, draw);
  const std::int64_t pad = draw.often() ? 0 : s.kernel / 2;
  Net net("picture layers", {s.in, s.pixels, s.pixels});
  const std::string activation = draw.activation();
  net.conv2d("conv1", {.maps = s.maps, .kernel = s.kernel, .pad = pad, .activation = activation});
  net.max_pool("pool1", {.kernel = 2, .stride = 2});
  net.conv2d("conv2", {.maps = second.maps,
                       .kernel = second.kernel,
                       .pad = pad,
                       .activation = draw.often() ? activation : ""});
  const bool pooled = draw.often();
  if (pooled) net.max_pool("pool2", {.kernel = 2, .stride = 2});
  // Small ones end in a convolution whose window is all that is left of the picture: a product.
  const std::int64_t left = left_of(s, second, pad, pooled);
  if (left <= kMaxLastWindow)
    net.conv2d("conv3", {.maps = draw.size(32, 256, 4), .kernel = left, .activation = activation});
  else
    net.linear("hidden", {.units = draw.size(32, 256, 4), .activation = activation});
  return numbered(net.linear("out", {.units = 10}), number, 0, false, batch);
}

// Of a few rows, or of up to thousands.
Probe linear_layers(std::uint64_t number, Spreading& spread, Draw& draw, bool many) {
  const double low = many ? 64 : 1, high = many ? 4096 : 256;
  const std::int64_t batch = draw.often() ? spread.usual(low, high) : spread.size(low, high);
  const std::int64_t side = draw.size(4, 7);
  // Units of a layer before it, or the pixels of all maps.
  const std::int64_t in = draw.below(2) == 0 ? spread.usual(64, 8192) : side * side * spread.usual(8, 512);
  const std::int64_t units = std::min(spread.usual(64, 8192), kMaxLayerWeights / in / 16 * 16);
  Net net("linear layers", {in});
  net.linear("hidden", {.units = units, .activation = draw.activation()});
  if (units <= 2048) net.linear("second", {.units = spread.usual(64, 4096), .activation = "relu"});
  if (draw.often()) net.dropout("dropout", 0.5);
  return numbered(net.linear("out", {.units = draw.one_of<std::int64_t>({10, 100, 1000})}), number, 0, false,
                  batch);
}

}  // namespace

Probe draw_layer_probe(std::uint64_t number) {
  // Thirteen of them, so that each meets every one of the precisions that take turns.
  const std::uint64_t turn = number / kLayerKinds, kind = number % kLayerKinds;
  Draw draw(number, 73);
  Spreading spread(turn + 997 * kind, draw);  // each kind from another place
  switch (kind) {
    case 1:
    case 4:
    case 11:
      return linear_layers(number, spread, draw, kind != 4);
    case 2:
    case 10:
      return usual_convolution(number, spread, draw, 1);
    case 3:
    case 8:
    case 9:
      return picture_layers(number, spread, draw);
    case 5:
      return pooled_convolution(number, spread, draw);
    case 6:
      return turn % 2 == 0 ? branched_layers(number, spread, draw)
                           : grouped_convolution(number, spread, draw);
    case 7:
      return photo_layers(number, spread, draw);
    default:
      return usual_convolution(number, spread, draw, draw.one_of<std::int64_t>({3, 3, 3, 5}));
  }
}

}  // namespace headroom
