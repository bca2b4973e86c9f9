// Small recurrent networks of the zoo compared with PyTorch's numbers: results, every gradient, ten steps.
#include "golden/network.h"

namespace headroom::testing {
namespace {

class GoldenRecurrent : public ::testing::TestWithParam<std::string> {};

TEST_P(GoldenRecurrent, LogitsLossGradientsSteps) {
  const Json golden = golden_json("recurrent");
  for (DType dtype : {DType::f64, DType::f32}) {
    SCOPED_TRACE(name_of(dtype));
    expect_golden_network(golden["networks"][GetParam()], dtype);
  }
}

INSTANTIATE_TEST_SUITE_P(All, GoldenRecurrent,
                         ::testing::Values("lstm", "gru", "plain", "lstm_text", "gru_text", "plain_text"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace headroom::testing
