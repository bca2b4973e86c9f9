#include "report/proto_wire.h"

#include <gtest/gtest.h>

#include "report/testing/wire_reader.h"

namespace headroom::testing {
namespace {

TEST(ProtoWriter, WritesTheBytesOfThePublishedExamples) {
  ProtoWriter number, text, inner, nested;
  number.varint(1, 150);
  EXPECT_EQ(number.take(), "\x08\x96\x01");
  text.bytes(2, "testing");
  EXPECT_EQ(text.take(), "\x12\x07testing");
  inner.varint(1, 150);
  nested.message(3, inner);
  EXPECT_EQ(nested.take(), "\x1a\x03\x08\x96\x01");
}

TEST(ProtoWriter, KeepsExtremeValues) {
  ProtoWriter out;
  out.varint(1, ~std::uint64_t{0});
  out.varint(2, 0);
  out.fixed64(3000, 0x8877665544332211);
  out.real(4, -0.125);
  out.bytes(5, std::string(300, 'x'));
  out.fixed32(6, 0x44332211);
  out.real32(7, 0.1f);
  out.packed(8, std::vector{1.0, -2.5});
  const std::string bytes = out.take();
  const WireFields known = {{1, 0}, {2, 0}, {3000, 1}, {4, 1}, {5, 2}, {6, 5}, {7, 5}, {8, 2}};
  const WireMessage read(bytes, known);
  EXPECT_EQ(read.at(1).value, ~std::uint64_t{0});
  EXPECT_EQ(read.at(2).value, 0u);
  EXPECT_EQ(read.at(3000).value, 0x8877665544332211);
  EXPECT_EQ(read.at(4).real(), -0.125);
  EXPECT_EQ(read.at(5).bytes.size(), 300u);
  EXPECT_THROW(WireMessage(bytes, {{1, 0}}), std::runtime_error) << "an unknown field";
  EXPECT_EQ(read.at(6).value, 0x44332211u);
  EXPECT_EQ(read.at(7).real32(), 0.1f);
  EXPECT_EQ(read.at(8).bytes, std::string_view("\0\0\0\0\0\0\xF0\x3F\0\0\0\0\0\0\x04\xC0", 16));
  EXPECT_THROW(WireMessage(std::string_view(bytes).substr(0, 40), known), std::runtime_error) << "cut short";
}

}  // namespace
}  // namespace headroom::testing
