// Parameters and FLOPs of the networks for photographs, exact to the last integer: published tables layer by
// layer, published totals, and an independent closed form for other options.
#include <gtest/gtest.h>

#include <functional>
#include <map>

#include "models/zoo.h"
#include "plan/plan.h"
#include "plan/testing/small_net.h"
#include "train/program.h"

namespace headroom {
namespace {

struct Counts {
  std::int64_t parameters = 0;
  double forward = 0, backward = 0;
};
using Layers = std::map<std::string, Counts>;

// A normalisation counts with the convolution before it; its multiply-adds are not products.
std::string owner(std::string layer) {
  if (layer.ends_with("_bn")) layer.resize(layer.size() - 3);
  return layer;
}

bool is_product(const std::string& op) {
  for (const char* name : {"conv2d", "linear", "matmul"})
    if (op.starts_with(name)) return true;
  return false;
}

// Per image, for one training step.
Layers counts_of(const std::string& model, std::int64_t batch = 1) {
  const Program p = make_program(find_net(model), {.mode = Mode::train, .batch = batch});
  const Plan plan = make_plan(p.graph, {Mode::train, batch, DType::f32, cpu_capabilities(2)});
  EXPECT_EQ(testing::find_overwrite(plan), "") << model;
  Layers layers;
  for (const Step& step : plan.steps) {
    const Node& node = plan.graph.node(step.node);
    if (!is_product(node.op)) continue;
    const double flops = step.cost.multiply_add / static_cast<double>(batch);
    for (const std::string& layer : {owner(node.layer), std::string("total")})
      (step.phase == Phase::forward ? layers[layer].forward : layers[layer].backward) += flops;
  }
  for (ValueId id : plan.graph.with_role(Role::parameter))
    for (const std::string& layer : {owner(plan.graph.value(id).layer), std::string("total")})
      layers[layer].parameters += plan.graph.value(id).type.shape.numel();
  return layers;
}

struct Row {
  const char* layer;
  std::int64_t parameters;
  double forward;
};

void expect_rows(Layers& layers, const std::vector<Row>& rows) {
  for (const Row& row : rows) {
    EXPECT_EQ(layers[row.layer].parameters, row.parameters) << row.layer;
    EXPECT_EQ(layers[row.layer].forward, row.forward) << row.layer;
  }
}

// Weight gradients cost as much as the layer; input gradients cost the same again, except in the first layer.
void expect_backward(Layers& layers, const std::string& first) {
  for (const auto& [layer, counts] : layers) {
    if (layer != "total") {
      EXPECT_EQ(counts.backward, (layer == first ? 1 : 2) * counts.forward) << layer;
    }
  }
}

TEST(ConvNetCosts, PublishedTotals) {
  const std::map<std::string, Counts> published = {
      {"alexnet", {61'100'840, 1'428'376'960, 2'716'200'320}},
      {"overfeat", {145'920'872, 5'602'807'808, 10'987'048'960}},
      {"vgg:depth=11", {132'863'336, 15'218'180'096, 30'262'951'936}},
      {"vgg:depth=16", {138'357'544, 30'940'528'640, 61'707'649'024}},
      {"vgg:depth=19", {143'667'240, 39'264'124'928, 78'354'841'600}},
      {"googlenet", {6'998'552, 3'165'343'744, 6'094'659'584}},
      {"googlenet:output=relu", {6'998'552, 3'165'343'744, 6'094'659'584}},
      {"resnet:depth=50,version=1", {25'557'032, 7'715'946'496, 15'195'865'088}},
      {"resnet:depth=50,version=1.5", {25'557'032, 8'178'368'512, 16'120'709'120}},
      {"resnet:depth=50,version=1.5,stem=cifar", {23'520'842, 2'595'659'776, 5'187'780'608}},
  };
  for (const auto& [model, want] : published)
    for (std::int64_t batch : {1, 3}) {
      SCOPED_TRACE(fmt::format("{} batch {}", model, batch));
      Layers layers = counts_of(model, batch);
      EXPECT_EQ(layers["total"].parameters, want.parameters);
      EXPECT_EQ(layers["total"].forward, want.forward);
      EXPECT_EQ(layers["total"].backward, want.backward);
      expect_backward(layers, model.starts_with("vgg") ? "conv1_1" : "conv1");
    }
}

// Parameter counts from the authors and from common weight files.
TEST(ConvNetCosts, PublishedParameters) {
  const std::map<std::string, std::int64_t> published = {
      {"vgg:depth=13", 133'047'848},
      {"vgg:depth=16,bn=on", 138'365'992},
      {"resnet:depth=18", 11'689'512},
      {"resnet:depth=34", 21'797'672},
      {"resnet:depth=101", 44'549'160},
      {"resnet:depth=152", 60'192'808},
      {"squeezenet:version=1.0", 1'248'424},
      {"squeezenet:version=1.1", 1'235'496},
      {"mobilenet", 3'504'872},
      {"mobilenet:version=1", 4'231'976},
      {"mobilenet:width=0.75", 2'636'424},
      {"mobilenet:width=1.4", 6'108'776},
      {"resnet:depth=18,stem=cifar", 11'173'962},
  };
  for (const auto& [model, parameters] : published)
    EXPECT_EQ(counts_of(model)["total"].parameters, parameters) << model;
}

TEST(ConvNetCosts, AlexNetByLayer) {
  Layers layers = counts_of("alexnet");
  expect_rows(layers, {{"conv1", 23'296, 140'553'600},
                       {"conv2", 307'392, 447'897'600},
                       {"conv3", 663'936, 224'280'576},
                       {"conv4", 884'992, 299'040'768},
                       {"conv5", 590'080, 199'360'512},
                       {"fc6", 37'752'832, 75'497'472},
                       {"fc7", 16'781'312, 33'554'432},
                       {"fc8", 4'097'000, 8'192'000}});
  EXPECT_EQ(layers.size(), 9u);
}

TEST(ConvNetCosts, OverFeatByLayer) {
  Layers layers = counts_of("overfeat");
  expect_rows(layers, {{"conv1", 34'944, 218'566'656},
                       {"conv2", 614'656, 707'788'800},
                       {"conv3", 1'180'160, 339'738'624},
                       {"conv4", 4'719'616, 1'358'954'496},
                       {"conv5", 9'438'208, 2'717'908'992},
                       {"fc6", 113'249'280, 226'492'416},
                       {"fc7", 12'587'008, 25'165'824},
                       {"fc8", 4'097'000, 8'192'000}});
  EXPECT_EQ(layers.size(), 9u);
}

// Models A, D and E share their common layers: a layer is a function of its stage and position.
TEST(ConvNetCosts, VggByLayer) {
  const std::vector<Row> rows = {{"conv1_1", 1'792, 173'408'256},       {"conv1_2", 36'928, 3'699'376'128},
                                 {"conv2_1", 73'856, 1'849'688'064},    {"conv2_2", 147'584, 3'699'376'128},
                                 {"conv3_1", 295'168, 1'849'688'064},   {"conv3_2", 590'080, 3'699'376'128},
                                 {"conv3_3", 590'080, 3'699'376'128},   {"conv3_4", 590'080, 3'699'376'128},
                                 {"conv4_1", 1'180'160, 1'849'688'064}, {"conv4_2", 2'359'808, 3'699'376'128},
                                 {"conv4_3", 2'359'808, 3'699'376'128}, {"conv4_4", 2'359'808, 3'699'376'128},
                                 {"conv5_1", 2'359'808, 924'844'032},   {"conv5_2", 2'359'808, 924'844'032},
                                 {"conv5_3", 2'359'808, 924'844'032},   {"conv5_4", 2'359'808, 924'844'032},
                                 {"fc6", 102'764'544, 205'520'896},     {"fc7", 16'781'312, 33'554'432},
                                 {"fc8", 4'097'000, 8'192'000}};
  const std::map<std::string, std::size_t> layers_of = {{"11", 11}, {"13", 13}, {"16", 16}, {"19", 19}};
  for (const auto& [depth, count] : layers_of) {
    SCOPED_TRACE(depth);
    Layers layers = counts_of("vgg:depth=" + depth);
    EXPECT_EQ(layers.size(), count + 1);
    std::vector<Row> here;
    for (const Row& row : rows)
      if (layers.count(row.layer)) here.push_back(row);
    EXPECT_EQ(here.size(), count);
    expect_rows(layers, here);
  }
}

TEST(ConvNetCosts, GoogLeNetByLayer) {
  Layers layers = counts_of("googlenet");
  expect_rows(layers, {{"conv1", 9'472, 236'027'904},
                       {"conv2r", 4'160, 25'690'112},
                       {"conv2", 110'784, 693'633'024},
                       {"3a_1x1", 12'352, 19'267'584},
                       {"3a_3x3_reduce", 18'528, 28'901'376},
                       {"3a_3x3", 110'720, 173'408'256},
                       {"3a_5x5_reduce", 3'088, 4'816'896},
                       {"3a_5x5", 12'832, 20'070'400},
                       {"3a_pool_proj", 6'176, 9'633'792},
                       {"3b_5x5", 76'896, 120'422'400},
                       {"4a_1x1", 92'352, 36'126'720},
                       {"4b_3x3", 226'016, 88'510'464},
                       {"4c_5x5_reduce", 12'312, 4'816'896},
                       {"4d_3x3_reduce", 73'872, 28'901'376},
                       {"4e_pool_proj", 67'712, 26'492'928},
                       {"5a_3x3", 461'120, 45'158'400},
                       {"5b_5x5", 153'728, 15'052'800},
                       {"fc", 1'025'000, 2'048'000}});
  const std::map<std::string, std::pair<std::int64_t, double>> modules = {
      {"3a", {163'696, 256'098'304}}, {"3b", {388'736, 608'534'528}},   {"4a", {376'176, 147'216'384}},
      {"4b", {449'160, 175'816'704}}, {"4c", {510'104, 199'700'480}},   {"4d", {605'376, 237'031'424}},
      {"4e", {868'352, 339'992'576}}, {"5a", {1'043'456, 102'158'336}}, {"5b", {1'444'080, 141'395'968}}};
  for (const auto& [module, want] : modules) {
    std::int64_t parameters = 0;
    double flops = 0;
    int count = 0;
    for (const auto& [layer, counts] : layers)
      if (layer.starts_with(module + "_"))
        parameters += counts.parameters, flops += counts.forward, count += counts.parameters > 0;
    EXPECT_EQ(parameters, want.first) << module;
    EXPECT_EQ(flops, want.second) << module;
    EXPECT_EQ(count, 6) << module;
  }
}

struct Residual {
  const char* layers;  // "conv3_2 a" to "conv3_4 a" as stage, first and last block, part
  std::int64_t parameters;
  double v1, v15;
};

TEST(ConvNetCosts, ResNet50ByLayer) {
  const std::vector<Residual> table = {
      {"conv1", 9'536, 236'027'904, 236'027'904},
      {"2 1 1 shortcut", 16'896, 102'760'448, 102'760'448},
      {"2 1 1 a", 4'224, 25'690'112, 25'690'112},
      {"2 1 1 b", 36'992, 231'211'008, 231'211'008},
      {"2 1 1 c", 16'896, 102'760'448, 102'760'448},
      {"2 2 3 a", 16'512, 102'760'448, 102'760'448},
      {"2 2 3 b", 36'992, 231'211'008, 231'211'008},
      {"2 2 3 c", 16'896, 102'760'448, 102'760'448},
      {"3 1 1 shortcut", 132'096, 205'520'896, 205'520'896},
      {"3 1 1 a", 33'024, 51'380'224, 205'520'896},
      {"3 1 1 b", 147'712, 231'211'008, 231'211'008},
      {"3 1 1 c", 66'560, 102'760'448, 102'760'448},
      {"3 2 4 a", 65'792, 102'760'448, 102'760'448},
      {"3 2 4 b", 147'712, 231'211'008, 231'211'008},
      {"3 2 4 c", 66'560, 102'760'448, 102'760'448},
      {"4 1 1 shortcut", 526'336, 205'520'896, 205'520'896},
      {"4 1 1 a", 131'584, 51'380'224, 205'520'896},
      {"4 1 1 b", 590'336, 231'211'008, 231'211'008},
      {"4 1 1 c", 264'192, 102'760'448, 102'760'448},
      {"4 2 6 a", 262'656, 102'760'448, 102'760'448},
      {"4 2 6 b", 590'336, 231'211'008, 231'211'008},
      {"4 2 6 c", 264'192, 102'760'448, 102'760'448},
      {"5 1 1 shortcut", 2'101'248, 205'520'896, 205'520'896},
      {"5 1 1 a", 525'312, 51'380'224, 205'520'896},
      {"5 1 1 b", 2'360'320, 231'211'008, 231'211'008},
      {"5 1 1 c", 1'052'672, 102'760'448, 102'760'448},
      {"5 2 3 a", 1'049'600, 102'760'448, 102'760'448},
      {"5 2 3 b", 2'360'320, 231'211'008, 231'211'008},
      {"5 2 3 c", 1'052'672, 102'760'448, 102'760'448},
      {"fc", 2'049'000, 4'096'000, 4'096'000},
  };
  for (bool late : {false, true}) {
    Layers layers = counts_of(late ? "resnet:version=1.5" : "resnet:version=1");
    std::size_t seen = 1;  // the total
    for (const Residual& row : table) {
      int stage = 0, first = 1, last = 1;
      char part[16] = "";
      const bool block = std::sscanf(row.layers, "%d %d %d %15s", &stage, &first, &last, part) == 4;
      for (int i = block ? first : 1; i <= (block ? last : 1); ++i) {
        const std::string layer = block ? fmt::format("conv{}_{}_{}", stage, i, part) : row.layers;
        EXPECT_EQ(layers[layer].parameters, row.parameters) << layer;
        EXPECT_EQ(layers[layer].forward, late ? row.v15 : row.v1) << layer;
        ++seen;
      }
    }
    EXPECT_EQ(layers.size(), seen) << "no layer beyond the table";
  }
}

// A second description of the same networks, by sizes only: the totals of a chain of windows.
struct Sum {
  std::int64_t channels, rows, columns;
  std::int64_t parameters = 0;
  double flops = 0;

  static std::int64_t after(std::int64_t n, std::int64_t k, std::int64_t s, std::int64_t p, bool up = false) {
    const std::int64_t room = n + 2 * p - k + (up ? s - 1 : 0);
    return room / s + 1;
  }
  // extra: parameters per map beside the weights: 1 for a bias, 2 for a normalisation.
  Sum& conv(std::int64_t maps, std::int64_t k, std::int64_t s = 1, std::int64_t p = 0, std::int64_t extra = 1,
            std::int64_t groups = 1) {
    rows = after(rows, k, s, p), columns = after(columns, k, s, p);
    parameters += maps * (channels / groups) * k * k + extra * maps;
    flops += 2.0 * double(maps) * double(channels / groups) * double(k * k) * double(rows) * double(columns);
    channels = maps;
    return *this;
  }
  Sum& pool(std::int64_t k, std::int64_t s, std::int64_t p = 0, bool up = false) {
    rows = after(rows, k, s, p, up), columns = after(columns, k, s, p, up);
    return *this;
  }
  Sum& mean() {
    rows = columns = 1;
    return *this;
  }
  Sum& fc(std::int64_t units) {
    const std::int64_t in = channels * rows * columns;
    parameters += units * in + units;
    flops += 2.0 * double(units) * double(in);
    channels = units, rows = columns = 1;
    return *this;
  }
  Sum branch() const { return {channels, rows, columns}; }
  void join(const Sum& other) { parameters += other.parameters, flops += other.flops; }
};

void expect_sum(const std::string& model, const Sum& want) {
  SCOPED_TRACE(model);
  Layers layers = counts_of(model, 2);
  EXPECT_EQ(layers["total"].parameters, want.parameters);
  EXPECT_EQ(layers["total"].forward, want.flops);
}

void bottleneck(Sum& s, std::int64_t maps, std::int64_t stride, bool late, bool project) {
  Sum shortcut = s.branch();
  if (project) shortcut.conv(4 * maps, 1, stride, 0, 2);
  s.conv(maps, 1, late ? 1 : stride, 0, 2).conv(maps, 3, late ? stride : 1, 1, 2).conv(4 * maps, 1, 1, 0, 2);
  if (project) {
    EXPECT_EQ(shortcut.rows, s.rows);
  }
  s.join(shortcut);
}

void basic(Sum& s, std::int64_t maps, std::int64_t stride, bool project) {
  Sum shortcut = s.branch();
  if (project) shortcut.conv(maps, 1, stride, 0, 2);
  s.conv(maps, 3, stride, 1, 2).conv(maps, 3, 1, 1, 2);
  s.join(shortcut);
}

Sum resnet(Sum s, const std::vector<int>& blocks, bool deep, bool late, bool cifar, std::int64_t classes) {
  cifar ? s.conv(64, 3, 1, 1, 2) : s.conv(64, 7, 2, 3, 2).pool(3, 2, 1);
  for (std::size_t stage = 0; stage < 4; ++stage)
    for (int i = 0; i < blocks[stage]; ++i) {
      const std::int64_t maps = 64 << stage, stride = stage > 0 && i == 0 ? 2 : 1;
      const bool project = i == 0 && (deep || stage > 0);
      deep ? bottleneck(s, maps, stride, late, project) : basic(s, maps, stride, project);
    }
  return s.mean().fc(classes);
}

TEST(ConvNetCosts, OtherSizesByClosedForm) {
  const std::vector<int> of50 = {3, 4, 6, 3}, of18 = {2, 2, 2, 2}, of101 = {3, 4, 23, 3},
                         of152 = {3, 8, 36, 3};
  expect_sum("resnet:depth=18,stem=cifar", resnet({3, 32, 32}, of18, false, false, true, 10));
  expect_sum("resnet:depth=18,input=64,channels=1,classes=7",
             resnet({1, 64, 64}, of18, false, false, false, 7));
  expect_sum("resnet:depth=34", resnet({3, 224, 224}, of50, false, false, false, 1000));
  expect_sum("resnet:depth=34,version=1.5", resnet({3, 224, 224}, of50, false, false, false, 1000));
  expect_sum("resnet:depth=101,input=97x131", resnet({3, 97, 131}, of101, true, false, false, 1000));
  expect_sum("resnet:depth=152,version=1.5,input=1", resnet({3, 1, 1}, of152, true, true, false, 1000));
  expect_sum("resnet:stem=cifar,version=1,classes=3", resnet({3, 32, 32}, of50, true, false, true, 3));

  Sum alex{1, 64, 100};
  alex.conv(64, 11, 4, 2).pool(3, 2).conv(192, 5, 1, 2).pool(3, 2).conv(384, 3, 1, 1).conv(256, 3, 1, 1);
  expect_sum("alexnet:input=64x100,channels=1,classes=10",
             alex.conv(256, 3, 1, 1).pool(3, 2).fc(4096).fc(4096).fc(10));
  Sum half{3, 224, 224};  // half of everything, and a dropout, which costs nothing here
  half.conv(32, 11, 4, 2).pool(3, 2).conv(96, 5, 1, 2).pool(3, 2).conv(192, 3, 1, 1).conv(128, 3, 1, 1);
  expect_sum("alexnet:width=0.5,dropout=0.5,activation=relu",
             half.conv(128, 3, 1, 1).pool(3, 2).fc(2048).fc(2048).fc(1000));

  Sum over{3, 80, 80};
  over.conv(96, 11, 4).pool(2, 2).conv(256, 5).pool(2, 2).conv(512, 3, 1, 1).conv(1024, 3, 1, 1);
  expect_sum("overfeat:input=80", over.conv(1024, 3, 1, 1).pool(2, 2).fc(3072).fc(4096).fc(1000));

  for (std::int64_t extra : {1, 3}) {  // a bias; with batch normalisation also scale and shift
    Sum vgg{3, 32, 32};
    for (std::int64_t maps : {64, 128, 256, 512, 512})
      vgg.conv(maps, 3, 1, 1, extra).conv(maps, 3, 1, 1, extra).pool(2, 2);
    expect_sum(fmt::format("vgg:depth=13,input=32,classes=10,bn={}", extra == 1 ? "off" : "on"),
               vgg.fc(4096).fc(4096).fc(10));
  }
}

Sum inception(Sum s, std::int64_t one, std::int64_t r3, std::int64_t three, std::int64_t r5,
              std::int64_t five, std::int64_t pool) {
  Sum a = s.branch(), b = s.branch(), c = s.branch(), d = s.branch();
  for (const Sum& part : {a.conv(one, 1), b.conv(r3, 1).conv(three, 3, 1, 1),
                          c.conv(r5, 1).conv(five, 5, 1, 2), d.pool(3, 1, 1).conv(pool, 1)})
    s.join(part);
  s.channels = one + three + five + pool;
  return s;
}

TEST(ConvNetCosts, GoogLeNetByClosedForm) {
  Sum s{3, 75, 90};
  s.conv(64, 7, 2, 3).pool(3, 2, 1).conv(64, 1).conv(192, 3, 1, 1).pool(3, 2, 1);
  s = inception(inception(s, 64, 96, 128, 16, 32, 32), 128, 128, 192, 32, 96, 64).pool(3, 2, 1);
  s = inception(inception(s, 192, 96, 208, 16, 48, 64), 160, 112, 224, 24, 64, 64);
  s = inception(inception(s, 128, 128, 256, 24, 64, 64), 112, 144, 288, 32, 64, 64);
  s = inception(s, 256, 160, 320, 32, 128, 128).pool(3, 2, 1);
  s = inception(inception(s, 256, 160, 320, 32, 128, 128), 384, 192, 384, 48, 128, 128);
  expect_sum("googlenet:input=75x90,classes=12", s.mean().fc(12));
}

Sum squeezenet(Sum s, bool first, std::int64_t classes) {
  first ? s.conv(96, 7, 2) : s.conv(64, 3, 2);
  s.pool(3, 2, 0, true);
  const std::int64_t squeeze[] = {16, 16, 32, 32, 48, 48, 64, 64};
  for (int i = 0; i < 8; ++i) {
    s.conv(squeeze[i], 1);
    Sum one = s.branch(), three = s.branch();
    s.join(one.conv(4 * squeeze[i], 1));
    s.join(three.conv(4 * squeeze[i], 3, 1, 1));
    s.channels = 8 * squeeze[i];
    if (first ? i == 2 || i == 6 : i == 1 || i == 3) s.pool(3, 2, 0, true);
  }
  return s.conv(classes, 1);
}

TEST(ConvNetCosts, SqueezeNetByClosedForm) {
  expect_sum("squeezenet", squeezenet({3, 224, 224}, true, 1000));
  expect_sum("squeezenet:version=1.1,input=70,classes=10,dropout=0", squeezenet({3, 70, 70}, false, 10));
  expect_sum("squeezenet:version=1.0,input=21x46,channels=1", squeezenet({1, 21, 46}, true, 1000));
}

Sum mobilenet(Sum s, std::int64_t classes) {
  s.conv(32, 3, 2, 1, 2);
  const std::int64_t groups[][4] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                                    {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
  for (const auto& g : groups)
    for (std::int64_t i = 0; i < g[2]; ++i) {
      const std::int64_t wide = g[0] * s.channels;
      if (g[0] > 1) s.conv(wide, 1, 1, 0, 2);
      s.conv(wide, 3, i == 0 ? g[3] : 1, 1, 2, wide).conv(g[1], 1, 1, 0, 2);
    }
  return s.conv(1280, 1, 1, 0, 2).mean().fc(classes);
}

TEST(ConvNetCosts, MobileNetByClosedForm) {
  expect_sum("mobilenet", mobilenet({3, 224, 224}, 1000));
  expect_sum("mobilenet:version=2,input=33x50,classes=5,channels=1", mobilenet({1, 33, 50}, 5));
  EXPECT_EQ(counts_of("mobilenet")["total"].forward, 2 * 300'774'272.0) << "300 M multiply-adds";
}

}  // namespace
}  // namespace headroom
