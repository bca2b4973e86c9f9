#include "ops/recurrent/recurrent.h"

#include <gtest/gtest.h>

#include "ops/testing/harness.h"

namespace headroom {
namespace recurrent_test {

Problem make(const char* op, std::vector<Shape> shapes, Attrs attrs, DType dtype = DType::f32) {
  Problem p{.op = op, .inputs = {}, .outputs = {}, .attrs = std::move(attrs)};
  for (const Shape& shape : shapes) p.inputs.push_back({shape, dtype});
  p.outputs = schema_of(op).infer(p.inputs, p.attrs);
  return p;
}

const Attr kFive{std::int64_t{5}};
const Attr kBoth{std::string("bidirectional")};

TEST(Recurrent, OutputsAreThoseOfOnnx) {
  const Problem lstm = make("lstm", {{7, 2, 3}, {1, 20, 3}, {1, 20, 5}, {1, 40}}, {{"hidden_size", kFive}});
  EXPECT_EQ(lstm.outputs, (std::vector<TensorType>{{{7, 1, 2, 5}}, {{1, 2, 5}}, {{1, 2, 5}}}));
  const Problem gru =
      make("gru", {{7, 2, 3}, {2, 15, 3}, {2, 15, 5}}, {{"hidden_size", kFive}, {"direction", kBoth}});
  EXPECT_EQ(gru.outputs, (std::vector<TensorType>{{{7, 2, 2, 5}}, {{2, 2, 5}}}));
}

TEST(Recurrent, CostIsThatOfTheGatesProducts) {
  const Problem p = make("lstm", {{7, 2, 3}, {1, 20, 3}, {1, 20, 5}}, {{"hidden_size", kFive}});
  const Cost c = schema_of("lstm").cost(p);
  EXPECT_EQ(c.multiply_add, 7 * 2 * (2 * 20 * (3 + 5) + 4 * 5));
  EXPECT_EQ(c.special, 7 * 2 * 5 * 5);
  EXPECT_EQ(c.bytes(), 4 * (42 + 60 + 100 + 70 + 10 + 10));
}

// Made by torch.nn.GRU and LSTM of one cell, all weights 0.5, biases 0.25, over 1 and -1.
TEST(Recurrent, OneCellAsPytorchHasIt) {
  using testing::Values;
  const auto last = [](const char* op, std::int64_t gates) {
    const Problem p =
        make(op, {{2, 1, 1}, {1, gates, 1}, {1, gates, 1}, {1, 2 * gates}},
             {{"hidden_size", std::int64_t{1}}, {"linear_before_reset", std::int64_t{1}}}, DType::f64);
    const auto g = static_cast<std::size_t>(gates);
    const std::vector<Values> in = {{1, -1}, Values(g, 0.5), Values(g, 0.5), Values(2 * g, 0.25)};
    std::vector<double> y;
    for (const Kernel& kernel : testing::kernels_here(operator_of(op)))
      y.push_back(testing::run_kernel(kernel, p, in).outputs[1][0]);
    for (double other : y) EXPECT_NEAR(other, y[0], 1e-12) << op;
    return y[0];
  };
  EXPECT_NEAR(last("lstm", 4), 0.20925963419923976, 1e-6);
  EXPECT_NEAR(last("gru", 3), 0.07134311868253268, 1e-6);
  EXPECT_NEAR(last("rnn", 1), 0.3633994843890525, 1e-6);
}

TEST(Recurrent, RejectsBadRequests) {
  const Attrs five{{"hidden_size", kFive}};
  EXPECT_THROW(make("lstm", {{7, 2, 3}, {1, 20, 3}}, five), Error);
  EXPECT_THROW(make("lstm", {{7, 2, 3}, {1, 15, 3}, {1, 20, 5}}, five), Error);
  EXPECT_THROW(make("gru", {{7, 2, 3}, {1, 15, 3}, {1, 15, 4}}, five), Error);
  EXPECT_THROW(make("gru", {{7, 3}, {1, 15, 3}, {1, 15, 5}}, five), Error);
  EXPECT_THROW(make("gru", {{7, 2, 3}, {1, 15, 3}, {1, 15, 5}, {1, 15}}, five), Error);
  EXPECT_THROW(make("gru", {{7, 2, 3}, {1, 15, 3}, {1, 15, 5}}, {}), Error);
  EXPECT_THROW(make("lstm", {{7, 2, 3}, {1, 20, 3}, {1, 20, 5}, {1, 2, 5}},
                    {{"hidden_size", kFive}, {"initial", std::int64_t{1}}}),
               Error);
  EXPECT_THROW(make("rnn", {{7, 2, 3}, {1, 5, 3}, {1, 5, 5}},
                    {{"hidden_size", kFive}, {"activation", std::string("sine")}}),
               Error);
  EXPECT_THROW(make("gru", {{7, 2, 3}, {1, 15, 3}, {1, 15, 5}},
                    {{"hidden_size", kFive}, {"direction", std::string("back")}}),
               Error);
}

}  // namespace recurrent_test
}  // namespace headroom
