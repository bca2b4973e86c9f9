// Published totals of whole networks, to the last integer, as `model show` prints them.
#include <gtest/gtest.h>

#include "support/program.h"

namespace headroom::testing {
namespace {

struct Published {
  const char* model;
  std::int64_t parameters;
  double forward_flops, convolution_flops;
};

// Multiply-adds count two; sums of biases, comparisons and activations are no part of the tables.
constexpr Published kPublished[] = {
    {"ece408:term=2018fa", 2'815'830, 31'299'872, 25'697'952},
    {"ece408:term=2019sp", 729'860, 3'590'320, 2'136'000},
    {"ece408:term=2019fa", 3'238'710, 21'186'080, 14'724'000},
    {"ece408:term=2020fa", 36'482, 9'825'408, 9'759'232},
    {"lenet-caffe", 431'080, 4'586'000, 3'776'000},
    {"lenet5", 61'706, 833'040, 811'200},
    {"mlp:hidden=64", 50'890, 101'632, 0},
    {"mlp:hidden=512", 407'050, 813'056, 0},
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
  }
}

TEST_F(CliModel, ABatchMultipliesWorkAndNotWeights) {
  const Json one = succeed_json({"model", "show", "lenet-caffe"}),
             many = succeed_json({"model", "show", "lenet-caffe", "--batch", "10"});
  EXPECT_EQ(many.at("flops"), 10 * one.at("flops").get<double>());
  EXPECT_EQ(many.at("parameters"), one.at("parameters"));
  EXPECT_LT(many.at("bytes"), 10 * one.at("bytes").get<double>()) << "weights are read once";
}

}  // namespace
}  // namespace headroom::testing
