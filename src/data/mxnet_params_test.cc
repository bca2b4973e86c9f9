#include "data/mxnet_params.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>

#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

template <class T>
std::string little(T value) {
  std::string bytes(sizeof value, '\0');
  for (std::size_t i = 0; i < sizeof value; ++i)
    bytes[i] = static_cast<char>(static_cast<std::uint64_t>(value) >> (8 * i) & 0xFF);
  return bytes;
}
std::string u64(std::uint64_t value) { return little(value); }
std::string u32(std::uint32_t value) { return little(value); }

struct ArrayText {
  std::uint32_t magic = 0xF993FAC9, storage = 0, flag = 0;
  std::vector<std::int64_t> shape = {2, 3};
  std::size_t bytes = 24;
  std::string str() const {
    std::string text = u32(magic) + u32(storage) + u32(static_cast<std::uint32_t>(shape.size()));
    for (const std::int64_t extent : shape) text += little(extent);
    text += u32(1) + u32(0) + u32(flag);
    for (std::size_t i = 0; i < bytes; ++i) text += static_cast<char>(i);
    return text;
  }
};

std::string named(const std::string& name) { return u64(name.size()) + name; }
std::string file_of(const ArrayText& array) {
  return u64(0x112) + u64(0) + u64(2) + array.str() + ArrayText{}.str() + u64(2) + named("arg:w") +
         named("aux:m");
}

TEST(MxnetParams, ReadsArraysAndNames) {
  const TensorFile file = parse_mxnet_params(file_of({.flag = 1, .shape = {3}}), "f");
  ASSERT_EQ(file.tensors.size(), 2u);
  EXPECT_EQ(file.tensors[0].name, "w");
  EXPECT_EQ(file.tensors[0].type, (TensorType{{3}, DType::f64}));
  EXPECT_EQ(file.tensors[1].name, "m");
  EXPECT_EQ(file.tensors[1].type, (TensorType{{2, 3}, DType::f32}));
  EXPECT_EQ(file.tensors[1].bytes[23], std::byte{23});
}

TEST(MxnetParams, RejectsEveryTruncation) {
  const std::string whole = file_of({});
  for (std::size_t length = 0; length < whole.size(); ++length)
    expect_rejected([&] { parse_mxnet_params(whole.substr(0, length), "f"); }, {"f"});
  expect_rejected([&] { parse_mxnet_params(whole + "x", "f"); }, {"f has 1 bytes after"});
}

TEST(MxnetParams, RejectsWhatItDoesNotRead) {
  auto parse = [](std::string bytes) { return [bytes] { parse_mxnet_params(bytes, "f"); }; };
  expect_rejected(parse(u64(0x113) + std::string(64, '\0')), {"f begins with 0x113"});
  expect_rejected(parse(file_of({.magic = 0xF993FACA})), {"array 0 of f begins with 0xf993faca"});
  expect_rejected(parse(file_of({.storage = 1})), {"array 0", "sparsely"});
  expect_rejected(parse(file_of({.flag = 5})), {"array 0", "type 5"});
  expect_rejected(parse(file_of({.shape = {}})), {"0 dimensions"});
  expect_rejected(parse(file_of({.shape = std::vector<std::int64_t>(9, 1)})), {"9 dimensions"});
  expect_rejected(parse(file_of({.shape = {2, -3}})), {"extent 1", "-3"});
  expect_rejected(parse(file_of({.shape = {0, 3}})), {"extent 0"});
  expect_rejected(parse(file_of({.shape = {1LL << 62, 1LL << 62}})), {"cannot hold"});
  expect_rejected(parse(u64(0x112) + u64(0) + u64(1ull << 60) + std::string(40, '\0')), {"announces"});
  const std::string arrays = u64(0x112) + u64(0) + u64(2) + ArrayText{}.str() + ArrayText{}.str();
  expect_rejected(parse(arrays + u64(1) + named("arg:w")), {"2 arrays but 1 names"});
  expect_rejected(parse(arrays + u64(2) + named("arg:w") + named("w")), {"two arrays of the name 'w'"});
  expect_rejected(parse(arrays + u64(2) + named("w") + u64(0)), {"0 letters"});
  expect_rejected(parse(arrays + u64(2) + named("w") + u64(1ull << 40)), {"letters"});
  expect_rejected([] { read_mxnet_params("/nowhere/at/all.params"); }, {"/nowhere/at/all.params"});
}

// Weights published with the convolution course, if present.
TEST(MxnetParams, ReadsTheCoursesWeights) {
  const char* dir = std::getenv("HEADROOM_DATA");
  const auto path = std::filesystem::path(dir != nullptr ? dir : HEADROOM_SOURCE_DIR "/../shared/data") /
                    "ece408/ece408-2019sp.params";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no " << path;
  const TensorFile file = read_mxnet_params(path);
  ASSERT_EQ(file.tensors.size(), 6u);
  std::map<std::string, Shape> shapes;
  for (const NamedTensor& tensor : file.tensors) shapes[tensor.name] = tensor.type.shape;
  EXPECT_EQ(shapes.at("new0_weight"), (Shape{6, 1, 5, 5}));
  EXPECT_EQ(shapes.at("new1_weight"), (Shape{16, 6, 5, 5}));
  EXPECT_EQ(shapes.at("fullyconnected0_weight"), (Shape{140, 5184}));
  EXPECT_EQ(shapes.at("fullyconnected0_bias"), (Shape{140}));
  EXPECT_EQ(shapes.at("fullyconnected1_weight"), (Shape{10, 140}));
  EXPECT_EQ(shapes.at("fullyconnected1_bias"), (Shape{10}));
}

}  // namespace
}  // namespace headroom::testing
