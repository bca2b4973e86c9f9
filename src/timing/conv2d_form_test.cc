#include <gtest/gtest.h>

#include <algorithm>

#include "base/testing/bad_input.h"
#include "base/text.h"
#include "timing/conv2d_algorithms.h"
#include "timing/forms.h"
#include "timing/timing_rows.h"

namespace headroom {
namespace {

using Kind = Conv2dAlgorithm::Kind;

constexpr const char* kHeader = "batch,cin,cout,kernel,size,stride,pad,dilation,groups,pass\n";

TimingRow conv_row(const std::string& cells) {
  return rows_of(parse_timing_table(kHeader + cells + "\n", "t"), conv2d_form(), false).front();
}

bool offers(const std::string& cells, Kind kind, bool folded = false) {
  return std::ranges::any_of(conv2d_algorithms(conv2d_call(conv_row(cells)), false),
                             [&](const Conv2dAlgorithm& a) { return a.kind == kind && a.folded == folded; });
}

double conv_seconds(const std::string& cells) {
  const auto prepared = conv2d_form().prepare(conv_row(cells), find_machine("v100-pcie"), {});
  return fastest(*prepared, starting_values(conv2d_form().constants("fp32"))).seconds;
}

std::string conv_choice(const std::string& cells) {
  const auto prepared = conv2d_form().prepare(conv_row(cells), find_machine("v100-pcie"), {});
  const auto constants = starting_values(conv2d_form().constants("fp32"));
  return prepared->explain(fastest(*prepared, constants).candidate, constants).choice;
}

TEST(Conv2dForm, FillsInColumnsThatATableLacks) {
  const TimingTable table = parse_timing_table("batch,cin,cout,kernel,size\n2,8,16,3,10\n", "t");
  EXPECT_EQ(&form_of(table), &conv2d_form());
  const Conv2dCall call = conv2d_call(rows_of(table, conv2d_form(), false).front());
  EXPECT_EQ(call.out_h, 8);
  EXPECT_EQ(call.out_w, 8);
  EXPECT_EQ(call.stride, 1);
  EXPECT_EQ(call.groups, 1);
  EXPECT_EQ(call.pass, Conv2dCall::Pass::kForward);
}

TEST(Conv2dForm, OffersOnlyAlgorithmsThatSuitTheCall) {
  EXPECT_TRUE(offers("8,64,64,3,56,1,1,1,1,forward", Kind::kFusedWinograd));
  EXPECT_TRUE(offers("8,64,64,3,56,1,1,1,1,forward", Kind::kUnfusedWinograd));
  EXPECT_TRUE(offers("8,64,64,3,56,1,1,1,1,weight_gradient", Kind::kUnfusedWinograd));
  EXPECT_FALSE(offers("8,64,64,3,56,1,1,1,1,weight_gradient", Kind::kFusedWinograd));
  EXPECT_FALSE(offers("8,64,64,3,56,2,1,1,1,forward", Kind::kFusedWinograd));
  EXPECT_FALSE(offers("8,64,64,3,56,1,2,2,1,forward", Kind::kFusedWinograd));
  EXPECT_FALSE(offers("8,64,64,5,56,1,2,1,1,forward", Kind::kFusedWinograd));
  EXPECT_TRUE(offers("8,64,64,5,56,2,2,1,1,forward", Kind::kFusedWinograd, true));
  EXPECT_TRUE(offers("8,64,64,1,56,1,0,1,1,forward", Kind::kGemm));
  EXPECT_FALSE(offers("8,64,64,1,56,1,0,1,1,forward", Kind::kFft));
  EXPECT_FALSE(offers("8,64,64,3,56,1,1,1,1,forward", Kind::kGemm));
  EXPECT_TRUE(offers("8,64,64,11,56,1,5,1,1,forward", Kind::kFft));
  EXPECT_FALSE(offers("8,64,64,40,56,1,0,1,1,forward", Kind::kFft));
  EXPECT_TRUE(offers("8,64,64,3,56,1,1,1,64,forward", Kind::kDepthwise));
  EXPECT_FALSE(offers("8,64,64,3,56,1,1,1,64,forward", Kind::kFusedWinograd));
  EXPECT_TRUE(offers("8,64,64,3,56,1,1,1,4,forward", Kind::kImplicitGemm));
}

TEST(Conv2dForm, ChoosesAsALibraryWould) {
  EXPECT_NE(conv_choice("64,256,256,3,28,1,1,1,1,forward").find("Winograd"), std::string::npos);
  EXPECT_EQ(conv_choice("64,256,64,1,56,1,0,1,1,forward").find("GEMM"), 0u);
  EXPECT_EQ(conv_choice("32,512,512,3,28,1,1,1,512,forward").find("depthwise"), 0u);
  // It is bound by memory, so it stays within a few times its floor.
  const auto depthwise =
      conv2d_form().prepare(conv_row("64,256,256,3,112,1,1,1,256,forward"), find_machine("v100-pcie"), {});
  EXPECT_LT(fastest(*depthwise, starting_values(conv2d_form().constants("fp32"))).seconds,
            4 * depthwise->floor());
  EXPECT_EQ(conv_choice("64,128,128,3,56,2,1,1,1,forward").find("implicit GEMM"), 0u);
}

TEST(Conv2dForm, WorkSetsTheOrderOfTimes) {
  const double plain = conv_seconds("64,256,256,3,28,1,1,1,1,forward");
  EXPECT_LT(conv_seconds("64,256,256,3,28,1,1,1,256,forward"), plain / 2);
  EXPECT_LT(conv_seconds("64,256,256,3,28,2,1,1,1,forward"), plain);
  EXPECT_LT(conv_seconds("32,256,256,3,28,1,1,1,1,forward"), plain);
  EXPECT_LT(conv_seconds("64,256,256,1,28,1,0,1,1,forward"), plain);
  // Dilated kernels do the same work without Winograd.
  EXPECT_GT(conv_seconds("64,256,256,3,28,1,2,2,1,forward"), plain);
}

// The gradient by the image of an unstrided layer is the layer with its channels exchanged.
TEST(Conv2dForm, DataGradientMirrorsTheForwardPass) {
  EXPECT_DOUBLE_EQ(conv_seconds("64,96,256,3,28,1,1,1,1,data_gradient"),
                   conv_seconds("64,256,96,3,28,1,1,1,1,forward"));
  // A stride leaves as many multiplications as forward, not stride^2 times as many.
  const double forward = conv_seconds("64,256,256,3,56,2,1,1,1,forward");
  EXPECT_NEAR(conv_seconds("64,256,256,3,56,2,1,1,1,data_gradient") / forward, 1, 0.3);
}

// 2x2 weights over a large batch: without a split reduction one multiprocessor would do all.
TEST(Conv2dForm, WeightGradientSplitsLongReductions) {
  EXPECT_NE(conv_choice("256,64,64,3,56,2,1,1,1,weight_gradient").find("split"), std::string::npos);
  EXPECT_LT(conv_seconds("256,64,64,3,56,2,1,1,1,weight_gradient"),
            4 * conv_seconds("256,64,64,3,56,2,1,1,1,forward"));
}

TEST(Conv2dForm, RejectsWhatIsNoConvolutionByItsLine) {
  const auto expect = [&](const std::string& cells, std::initializer_list<std::string_view> parts) {
    testing::expect_rejected([&] { conv_row(cells); }, parts);
  };
  expect("8,64,64,3,56,1,1,1,3,forward", {"line 2", "3 groups", "64"});
  expect("8,64,64,7,4,1,1,1,1,forward", {"line 2", "reaches over 7"});
  expect("8,64,64,3,56,0,1,1,1,forward", {"line 2", "'stride' is 0"});
  expect("8,64.5,64,3,56,1,1,1,1,forward", {"line 2", "'cin' is 64.5"});
  expect("8,64,64,3,56,1,1,1,1,backward", {"line 2", "'pass' is 'backward'", "weight_gradient"});
  expect("8,0,64,3,56,1,1,1,1,forward", {"line 2", "'cin' is 0"});
  testing::expect_rejected(
      [&] {
        rows_of(parse_timing_table("batch,cin,cout,kernel,size,dtype\n1,1,1,1,1,int4\n", "t"), conv2d_form(),
                false);
      },
      {"line 2", "int4"});
}

}  // namespace
}  // namespace headroom
