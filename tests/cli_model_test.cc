// Published totals of whole networks, exact to the last integer, as `model show` prints them.
#include <gtest/gtest.h>

#include <sys/resource.h>

#include "base/json.h"
#include "support/program.h"

namespace headroom::testing {
namespace {

struct Published {
  const char* model;
  std::int64_t parameters;
  double forward_flops, convolution_flops;
};

// A multiply-add counts as two; the tables do not include bias sums, comparisons and activations.
constexpr Published kPublished[] = {
    {"ece408:term=2018fa", 2'815'830, 31'299'872, 25'697'952},
    {"ece408:term=2019sp", 729'860, 3'590'320, 2'136'000},
    {"ece408:term=2019fa", 3'238'710, 21'186'080, 14'724'000},
    {"ece408:term=2020fa", 36'482, 9'825'408, 9'759'232},
    {"lenet-caffe", 431'080, 4'586'000, 3'776'000},
    {"lenet5", 61'706, 833'040, 811'200},
    {"mlp:hidden=64", 50'890, 101'632, 0},
    {"mlp:hidden=512", 407'050, 813'056, 0},
    {"alexnet", 61'100'840, 1'428'376'960, 1'311'133'056},
    {"overfeat", 145'920'872, 5'602'807'808, 5'342'957'568},
    {"vgg:depth=11", 132'863'336, 15'218'180'096, 14'970'912'768},
    {"vgg:depth=16", 138'357'544, 30'940'528'640, 30'693'261'312},
    {"vgg:depth=19", 143'667'240, 39'264'124'928, 39'016'857'600},
    {"googlenet", 6'998'552, 3'165'343'744, 3'163'295'744},
    {"resnet:depth=50,version=1", 25'557'032, 7'715'946'496, 7'711'850'496},
    {"resnet:depth=50,version=1.5", 25'557'032, 8'178'368'512, 8'174'272'512},
    {"resnet:depth=50,version=1.5,stem=cifar", 23'520'842, 2'595'659'776, 2'595'618'816},
};

struct CliModel : ProgramTest {};

TEST_F(CliModel, ShowsThePublishedTotals) {
  for (const Published& p : kPublished) {
    SCOPED_TRACE(p.model);
    const Json json = succeed_json({"model", "show", p.model});
    EXPECT_EQ(json.at("parameters"), p.parameters);
    EXPECT_EQ(json.at("flops"), p.forward_flops);
    EXPECT_EQ(json.at("macs"), p.forward_flops / 2);
    double convolutions = 0, shares = 0;
    for (const Json& layer : json.at("layers")) {
      if (layer.at("operators").get<std::string>().starts_with("conv2d"))
        convolutions += layer.at("flops").get<double>();
      shares += layer.at("share_percent").get<double>();
    }
    EXPECT_EQ(convolutions, p.convolution_flops);
    EXPECT_NEAR(shares, 100, 1e-9);
    const Json conv = json.at("kinds").value("conv2d", Json{{"flops", 0.0}, {"share_percent", 0.0}});
    EXPECT_EQ(conv.at("flops"), p.convolution_flops);
    EXPECT_NEAR(conv.at("share_percent").get<double>(), 100 * p.convolution_flops / p.forward_flops, 1e-9);
  }
}

TEST_F(CliModel, ABatchMultipliesWorkAndNotWeights) {
  const Json one = succeed_json({"model", "show", "lenet-caffe"}),
             many = succeed_json({"model", "show", "lenet-caffe", "--batch", "10"});
  EXPECT_EQ(many.at("flops"), 10 * one.at("flops").get<double>());
  EXPECT_EQ(many.at("parameters"), one.at("parameters"));
  EXPECT_LT(many.at("bytes"), 10 * one.at("bytes").get<double>()) << "weights are read once";
}

TEST_F(CliModel, PrintsTheShareOfConvolutions) {
  const std::string text = succeed({"model", "show", "vgg:depth=19"}).out;
  EXPECT_NE(
      text.find("products   16 conv2d, 39,016,857,600 FLOPs, 99.37 %; 3 linear, 247,267,328 FLOPs, 0.63 %\n"),
      std::string::npos)
      << text;
}

double child_cpu_seconds() {
  rusage use{};
  ::getrusage(RUSAGE_CHILDREN, &use);
  auto seconds = [](const timeval& t) { return double(t.tv_sec) + 1e-6 * double(t.tv_usec); };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

struct TimingCliModel : ProgramTest {};

// CPU time of the whole process, which has one thread: equals the wall time on an idle machine.
// Nothing but the plan is made: no weight is drawn, no memory of the network's size touched. Measured beside
// a small network in the same run, so that a slow machine gives the same answer.
TEST_F(TimingCliModel, LargeNetworksAreShownInAMoment) {
  auto seconds = [&](const char* model) {
    double best = 1e9;
    for (int i = 0; i < 5; ++i) {
      const double before = child_cpu_seconds();
      succeed({"model", "show", model});
      best = std::min(best, child_cpu_seconds() - before);
    }
    return best;
  };
  const double small = seconds("lenet5");
  for (const char* model : {"resnet:depth=50", "resnet:depth=101", "googlenet"})
    EXPECT_LT(seconds(model), 4 * small) << model;
}

}  // namespace
}  // namespace headroom::testing
