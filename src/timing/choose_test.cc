#include "timing/choose.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ops/operator.h"
#include "ops/testing/harness.h"

namespace headroom {
namespace {

// A model that knows one kernel as fast, and the others as slow.
class OneIsFast final : public TimeModel {
 public:
  explicit OneIsFast(std::string kernel) : kernel_(std::move(kernel)) {}
  std::string_view name() const override { return "test"; }
  Basis basis() const override { return Basis::assumed; }
  StepTime time(const Step& step, const Machine&, const Target&) const override {
    return {.seconds = step.kernel->name == kernel_ ? 1e-3 : 2e-3};
  }
  bool knows(const Step& step, const Machine&, const Target&) const override {
    return unknown.empty() || step.kernel->name != unknown;
  }
  Factors run_factors(double, double) const override { return {}; }
  std::string unknown;

 private:
  std::string kernel_;
};

struct Convolution {
  Problem problem =
      testing::problem_of(operator_of("conv2d"), {.inputs = {{8, 4, 16, 16}, {8, 4, 3, 3}}}, DType::f32);
  Target target = cpu_capabilities();
  std::vector<const Kernel*> rivals = rival_kernels(problem, target);
};

TEST(PredictedBest, TakesTheKernelWithTheLeastTime) {
  const Convolution c;
  ASSERT_GE(c.rivals.size(), 2u);
  for (const Kernel* kernel : c.rivals) {
    EXPECT_NE(kernel->name, "reference");
    const OneIsFast model{std::string(kernel->name)};
    const Choice choice = predicted_best({}, model)(c.problem, c.target);
    EXPECT_EQ(choice.kernel, kernel);
    EXPECT_NE(choice.why.find("least predicted time"), std::string::npos) << choice.why;
  }
}

TEST(PredictedBest, NeitherChoosesWhatItDoesNotKnowNorOverrulesTheUser) {
  const Convolution c;
  const Kernel* listed = first_that_accepts(c.problem, c.target).kernel;
  const Kernel* other = c.rivals[0] == listed ? c.rivals[1] : c.rivals[0];
  OneIsFast model{std::string(other->name)};
  EXPECT_EQ(predicted_best({}, model)(c.problem, c.target).kernel, other);
  model.unknown = other->name;
  EXPECT_EQ(predicted_best({}, model)(c.problem, c.target).kernel, listed);
  model.unknown.clear();
  const Chooser by_name = forced({{"conv2d", std::string(c.rivals[0]->name)}});
  EXPECT_EQ(predicted_best({}, model, by_name)(c.problem, c.target).kernel, c.rivals[0]);
}

// A model that predicts the second rival to be a little faster, and is less sure of it.
class Unsure final : public TimeModel {
 public:
  Unsure(const Kernel* guessed, double doubt) : guessed_(guessed), doubt_(doubt) {}
  std::string_view name() const override { return "test"; }
  Basis basis() const override { return Basis::calibrated; }
  StepTime time(const Step& step, const Machine&, const Target&) const override {
    if (step.kernel == guessed_) return {.seconds = 1.0e-3, .low = 0.5e-3, .high = doubt_ * 1.0e-3};
    return {.seconds = 1.2e-3, .low = 1.1e-3, .high = 1.3e-3};
  }
  Factors run_factors(double, double) const override { return {}; }

 private:
  const Kernel* guessed_;
  double doubt_;
};

TEST(PredictedBest, DoesNotTakeAGuessForATimeKnownWell) {
  const Convolution c;
  EXPECT_EQ(predicted_best({}, Unsure(c.rivals[1], 4))(c.problem, c.target).kernel, c.rivals[0]);
  EXPECT_EQ(predicted_best({}, Unsure(c.rivals[1], 1.1))(c.problem, c.target).kernel, c.rivals[1]);
}

TEST(PredictedBest, KeepsTheChoiceOfTheListUnlessAnotherIsClearlyFaster) {
  const Convolution c;
  struct Close final : TimeModel {
    std::string_view name() const override { return "test"; }
    Basis basis() const override { return Basis::calibrated; }
    StepTime time(const Step& step, const Machine&, const Target&) const override {
      return {.seconds = step.kernel == own ? 1e-3 : share * 1e-3};
    }
    bool knows(const Step& step, const Machine&, const Target&) const override {
      return known || step.kernel != own;
    }
    Factors run_factors(double, double) const override { return {}; }
    const Kernel* own = nullptr;
    double share = 1;
    bool known = true;
  } model;
  const auto picked = [&] {
    const Chooser list = [&](const Problem&, const Target&) {
      return Choice{model.own, "first that accepts", {}};
    };
    return predicted_best({}, model, list)(c.problem, c.target);
  };
  model.own = c.rivals.back(), model.share = 0.97;
  EXPECT_EQ(picked().kernel, model.own);
  EXPECT_NE(picked().why.find("as in the list"), std::string::npos) << picked().why;
  model.share = 0.9;
  EXPECT_NE(picked().kernel, model.own);
  model.known = false;
  EXPECT_EQ(picked().kernel, model.own) << "whose time is not known";
  // The list may choose one that is not among the first that accept: it is compared all the same.
  for (const Kernel& kernel : operator_of("conv2d").kernels)
    if (std::ranges::find(c.rivals, &kernel) == c.rivals.end() && kernel.device == DeviceKind::cpu)
      model.own = &kernel, model.known = true, model.share = 2;
  ASSERT_EQ(std::ranges::find(c.rivals, model.own), c.rivals.end());
  EXPECT_EQ(picked().kernel, model.own);
}

TEST(AnyRival, IsTheSameForTheSameSeed) {
  const Convolution c;
  std::set<const Kernel*> drawn;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    EXPECT_EQ(any_rival(seed)(c.problem, c.target).kernel, any_rival(seed)(c.problem, c.target).kernel);
    drawn.insert(any_rival(seed)(c.problem, c.target).kernel);
  }
  EXPECT_GE(drawn.size(), 2u);
}

}  // namespace
}  // namespace headroom
