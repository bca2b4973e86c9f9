#include "data/safetensors.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>

#include "base/file.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

template <class T>
NamedTensor tensor(std::string name, Shape shape, std::initializer_list<T> values,
                   DType dtype = dtype_of<T>()) {
  NamedTensor t{std::move(name), {shape, dtype}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.begin());
  t.bytes.assign(bytes, bytes + values.size() * sizeof(T));
  return t;
}

std::string safetensors_file(const std::string& header, const std::string& data) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + data;
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, dtype, shape,
                     offsets);
}

// The exact bytes of the format's description, written by hand.
TEST(Safetensors, WritesThePublishedBytes) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "w.safetensors";
  write_safetensors(path, {{tensor<float>("w", {2}, {1.0f, -2.0f})}, {{"k", "v"}}});
  const std::string header =
      R"({"__metadata__":{"k":"v"},"w":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string padded = header + std::string(80 - header.size(), ' ');
  const std::string length("\x50\0\0\0\0\0\0\0", 8), data("\0\0\x80\x3f\0\0\0\xc0", 8);
  EXPECT_EQ(read_file(path), length + padded + data);
}

TEST(Safetensors, RoundTripsEveryType) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "all.safetensors";
  TensorFile file;
  file.tensors = {tensor<std::uint8_t>("bytes", {3}, {1, 2, 255}),
                  tensor<double>("a.fp64", {1, 2}, {0.1, -1e300}),
                  tensor<float>("b.fp32", {}, {3.5f}),
                  tensor<std::uint16_t>("half", {3}, {0x3C00, 0x7BFF, 1}, DType::f16),
                  tensor<std::uint16_t>("brain", {1}, {0x3F80}, DType::bf16),
                  tensor<std::int64_t>("long", {2}, {-1, std::int64_t{1} << 60}),
                  tensor<std::int32_t>("int", {2, 1, 1}, {-7, 7}),
                  tensor<std::uint8_t>("flag", {2}, {0, 1}, DType::boolean),
                  tensor<float>("empty", {0, 5}, {}),
                  tensor<float>("na\"me/\xC3\xA9", {1}, {1})};
  file.metadata = {{"model", "lenet5"}, {"epoch", "3"}};
  write_safetensors(path, file);
  const TensorFile read = read_safetensors(path);
  EXPECT_EQ(read.metadata, file.metadata);
  ASSERT_EQ(read.tensors.size(), file.tensors.size());
  for (const NamedTensor& want : file.tensors) {
    const auto got = std::find_if(read.tensors.begin(), read.tensors.end(),
                                  [&](const NamedTensor& t) { return t.name == want.name; });
    ASSERT_NE(got, read.tensors.end()) << want.name;
    EXPECT_EQ(got->type, want.type) << want.name;
    EXPECT_EQ(got->bytes, want.bytes) << want.name;
  }
  for (std::size_t i = 1; i < read.tensors.size(); ++i)
    EXPECT_GE(size_of(read.tensors[i - 1].type.dtype), size_of(read.tensors[i].type.dtype));
}

TEST(Safetensors, KeepsTheOrderOfOneType) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "order.safetensors";
  write_safetensors(
      path, {{tensor<float>("z", {1}, {1}), tensor<float>("a", {1}, {2}), tensor<float>("m", {1}, {3})}, {}});
  const TensorFile read = read_safetensors(path);
  ASSERT_EQ(read.tensors.size(), 3u);
  EXPECT_EQ(read.tensors[0].name, "z");
  EXPECT_EQ(read.tensors[2].name, "m");
  EXPECT_TRUE(read.metadata.empty());
}

TEST(Safetensors, TakesAnEmptyFile) {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "none", {});
  EXPECT_TRUE(read_safetensors(folder.path() / "none").tensors.empty());
}

TEST(Safetensors, RefusesToWriteNonsense) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x";
  const auto good = tensor<float>("w", {1}, {1});
  EXPECT_THROW(write_safetensors(path, {{good, good}, {}}), Error);
  EXPECT_THROW(write_safetensors(path, {{tensor<float>("w", {2}, {1})}, {}}), Error);
  EXPECT_THROW(write_safetensors(path, {{tensor<float>("__metadata__", {1}, {1})}, {}}), Error);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST(Safetensors, RejectsEveryTruncation) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "w";
  write_safetensors(path, {{tensor<float>("w", {2}, {1, 2}), tensor<double>("v", {1}, {3})}, {}});
  const std::string whole = read_file(path);
  for (std::size_t n = 0; n < whole.size(); ++n) {
    const auto cut = folder.put("cut", whole.substr(0, n));
    expect_rejected([&] { read_safetensors(cut); }, {cut.string()});
  }
}

TEST(Safetensors, RejectsDamagedHeaders) {
  const TemporaryFolder folder;
  auto expect = [&](const std::string& bytes, std::initializer_list<std::string_view> parts) {
    const auto path = folder.put("bad.safetensors", bytes);
    expect_rejected([&] { read_safetensors(path); }, {path.string()});
    expect_rejected([&] { read_safetensors(path); }, parts);
  };
  auto expect_one = [&](const std::string& one, std::initializer_list<std::string_view> parts) {
    expect(safetensors_file("{" + one + "}", "12345678"), parts);
  };
  expect("", {"truncated"});
  expect("1234567", {"truncated"});
  expect(std::string(8, '\xff') + "{}", {"out of range"});
  expect(safetensors_file("{}", "").replace(0, 1, "\x40"), {"truncated", "64 bytes"});
  expect(safetensors_file("{\"w\":", ""), {"not valid JSON"});
  expect(safetensors_file("", ""), {"header", "is empty"});
  expect(safetensors_file("[1]", ""), {"does not hold a JSON object"});
  expect(safetensors_file("{\"\xff\":1}", ""), {"not valid JSON"});
  expect(safetensors_file(R"({"__metadata__":{"a":1}})", ""), {"metadata 'a'"});
  expect(safetensors_file(R"({"__metadata__":3})", ""), {"metadata"});
  expect(safetensors_file(R"({"w":3})", ""), {"'w'", "not a JSON object"});
  expect(safetensors_file(R"({"w":{"dtype":"F32","shape":[1]}})", "1234"), {"'w'", "data_offsets"});
  expect(safetensors_file(R"({"w":{"dtype":3,"shape":[1],"data_offsets":[0,4]}})", "1234"),
         {"'w'", "dtype 3"});
  expect_one(entry("w", "F8_E4M3", "8", "0,8"), {"'w'", "unknown dtype", "F8_E4M3"});
  expect_one(entry("w", "F32", "3", "0,8"), {"'w'", "takes 12 bytes", "span 8"});
  expect_one(entry("w", "F32", "1", "0,8"), {"'w'", "takes 4 bytes", "span 8"});
  expect_one(entry("w", "F32", "2", "8,0"), {"'w'", "before it begins"});
  expect_one(entry("w", "F32", "2", "4,12"), {"'w'", "byte 12", "holds 8"});
  expect_one(entry("w", "F32", "2", "0,-1"), {"'w'", "data_offsets"});
  expect_one(entry("w", "F32", "2", "0.0,8"), {"'w'", "data_offsets"});
  expect_one(entry("w", "F32", "2", "0,8,8"), {"'w'", "data_offsets"});
  expect_one(entry("w", "F32", "-2", "0,8"), {"'w'", "-2"});
  expect_one(entry("w", "F32", "2.5", "0,8"), {"'w'", "2.5"});
  expect_one(entry("w", "F32", "1,1,1,1,1,1,1,1,2", "0,8"), {"'w'", "9 dimensions"});
  expect_one(entry("w", "F32", "4294967296,4294967296,2", "0,8"), {"'w'", "more than"});
  expect_one(entry("w", "F32", "4611686018427387904,4611686018427387904,0", "0,0"), {"'w'", "more than"});
  expect_one(entry("w", "F32", "1", "4,8"), {"'w'", "gap"});
  expect_one(entry("w", "F32", "1", "0,4"), {"4 bytes after"});
  expect_one(entry("a", "F32", "2", "0,8") + "," + entry("b", "F32", "1", "4,8"), {"'b'", "overlaps"});
}

}  // namespace
}  // namespace headroom::testing
