#include "report/kernel_names.h"

#include <gtest/gtest.h>

namespace headroom {
namespace {

TEST(KernelNames, DropsSignatureFirst) {
  EXPECT_EQ(short_kernel_name("void add<4>(int, float*)"), "add<4>");
  EXPECT_EQ(short_kernel_name("headroom::relu(float const*, float (*)(int), int)"), "headroom::relu");
  EXPECT_EQ(short_kernel_name("sm90_xmma_gemm_f16f16_tn_n"), "sm90_xmma_gemm_f16f16_tn_n");
  EXPECT_EQ(short_kernel_name("void f<(bool)1>(int)"), "f<(bool)1>");
  EXPECT_EQ(short_kernel_name("Op::operator()(int)"), "Op::operator()");
  EXPECT_EQ(short_kernel_name("(anonymous namespace)::f(int)"), "(anonymous namespace)::f");
}

TEST(KernelNames, KeepsOddNames) {
  for (const char* odd : {"", ")", "(int)", "a(b", "x>y", "<", "operator->", "void "})
    EXPECT_EQ(short_kernel_name(odd), odd);
  for (const char* odd : {"))))", "<<<<", ">>>>", "::::", "a<b<c", "f(((", "f)))"})
    EXPECT_NO_THROW(short_kernel_name(odd, 1)) << odd;
}

TEST(KernelNames, ShortensOnlyAsFarAsNeeded) {
  const char* name =
      "void at::native::elementwise<4, at::native::Fill<float>, at::Array<char*, 1> >(int, "
      "at::native::Fill<float>)";
  EXPECT_EQ(short_kernel_name(name, 100),
            "at::native::elementwise<4, at::native::Fill<float>, at::Array<char*, 1> >");
  EXPECT_EQ(short_kernel_name(name, 70), "at::native::elementwise<4, at::native::Fill<…>, at::Array<…> >");
  EXPECT_EQ(short_kernel_name(name, 50), "elementwise<4, Fill<…>, Array<…> >");
  EXPECT_EQ(short_kernel_name(name, 20), "elementwi…Array<…> >");
}

TEST(KernelNames, KeepsBothEndsOfOneLongWord) {
  EXPECT_EQ(
      short_kernel_name("void cutlass::Kernel2<s1688gemm_128x128_nn>(s1688gemm_128x128_nn::Params)", 24),
      "Kernel2<s16…_128x128_nn>");
  EXPECT_EQ(short_kernel_name("äöüäöüäöüäöü", 6), "äö…äöü") << "characters, not bytes";
  EXPECT_EQ(short_kernel_name("abc", 1), "…");
  EXPECT_EQ(short_kernel_name("abc", 0), "…");
}

TEST(KernelNames, KeepsMembersAndDropsUnnamedNamespaces) {
  EXPECT_EQ(short_kernel_name("a::b::Tile<a::b::Row, 4>::run(int)", 22), "Tile<Row, 4>::run");
  EXPECT_EQ(short_kernel_name("name::A<1>::B::run(int)", 10), "A<1>::run");
  EXPECT_EQ(short_kernel_name("x::(anonymous namespace)::Tile<4>::run(int)", 22), "Tile<4>::run");
  EXPECT_EQ(short_kernel_name("f<&A::operator->, B<int> >(int)", 24), "f<&A::operator->, B<…> >");
}

}  // namespace
}  // namespace headroom
