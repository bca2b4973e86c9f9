#include "data/npy.h"

#include <gtest/gtest.h>

#include <cstring>

#include "base/file.h"
#include "data/testing/bad_input.h"

namespace headroom::testing {
namespace {

template <class T>
NamedTensor tensor(Shape shape, std::initializer_list<T> values, DType dtype = dtype_of<T>()) {
  NamedTensor t{"", {shape, dtype}, {}};
  const auto* bytes = reinterpret_cast<const std::byte*>(values.begin());
  t.bytes.assign(bytes, bytes + values.size() * sizeof(T));
  return t;
}

template <class T>
std::vector<T> values(const NamedTensor& t) {
  std::vector<T> list(t.bytes.size() / sizeof(T));
  std::memcpy(list.data(), t.bytes.data(), t.bytes.size());
  return list;
}

// A file padded like numpy's, with any header.
std::string file_of(const std::string& header, const std::string& data, int version = 1) {
  std::string bytes = "\x93NUMPY";
  bytes += static_cast<char>(version);
  bytes += '\0';
  for (int i = 0; i < (version == 1 ? 2 : 4); ++i)
    bytes += static_cast<char>(header.size() >> (8 * i) & 0xFF);
  return bytes + header + data;
}

std::string header_of(const std::string& descr, const std::string& order, const std::string& shape) {
  return fmt::format("{{'descr': '{}', 'fortran_order': {}, 'shape': {}, }}   \n", descr, order, shape);
}

// The same bytes as numpy.save for array([True, False]).
TEST(Npy, WritesWhatNumpyWrites) {
  const std::string dictionary = "{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }";
  const std::string header = dictionary + std::string(0x76 - dictionary.size() - 1, ' ') + "\n";
  const std::string wanted = std::string("\x93NUMPY\1\0\x76\0", 10) + header + std::string("\1\0", 2);
  EXPECT_EQ(npy_bytes(tensor<std::uint8_t>({2}, {1, 0}, DType::boolean)), wanted);
}

TEST(Npy, RoundTripsEveryType) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "x.npy";
  for (const NamedTensor& t :
       {tensor<double>({1, 2}, {0.1, -1e300}), tensor<float>({}, {3.5f}),
        tensor<std::uint16_t>({3}, {0x3C00, 0x7BFF, 1}, DType::f16),
        tensor<std::int64_t>({2}, {-1, std::int64_t{1} << 60}), tensor<std::int32_t>({2, 1, 1}, {-7, 7}),
        tensor<std::uint8_t>({3}, {1, 2, 255}), tensor<std::uint8_t>({2}, {0, 1}, DType::boolean),
        tensor<std::int8_t>({3}, {1, -2, -128}), tensor<float>({0, 5}, {})}) {
    write_npy(path, t);
    const NamedTensor back = read_npy(path);
    EXPECT_EQ(back.type, t.type);
    EXPECT_EQ(back.bytes, t.bytes) << t.type.shape.str() << " " << name_of(t.type.dtype);
  }
}

// Integers that we only have in a wider type, in both orders of bytes.
TEST(Npy, WidensIntegers) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& type, const std::string& shape, const std::string& data) {
    return read_npy(folder.put("n.npy", file_of(header_of(type, "False", shape), data)));
  };
  const NamedTensor i2 = read("<i2", "(2,)", std::string("\xfe\xff\x01\x02", 4));
  EXPECT_EQ(i2.type, (TensorType{{2}, DType::i32}));
  EXPECT_EQ(values<std::int32_t>(i2), (std::vector<std::int32_t>{-2, 513}));
  EXPECT_EQ(values<std::int32_t>(read(">u2", "(2,)", std::string("\xff\xfe\x01\x02", 4))),
            (std::vector<std::int32_t>{65534, 258}));
  const NamedTensor u4 = read("<u4", "(1,)", std::string("\xff\xff\xff\xff", 4));
  EXPECT_EQ(u4.type, (TensorType{{1}, DType::i64}));
  EXPECT_EQ(values<std::int64_t>(u4), (std::vector<std::int64_t>{4294967295}));
  EXPECT_EQ(values<std::int64_t>(read("<u8", "(1,)", std::string("\x07\0\0\0\0\0\0\0", 8))),
            (std::vector<std::int64_t>{7}));
}

TEST(Npy, WritesNarrowIntegersIfTheyFit) {
  const auto bytes_of = [](std::int32_t second, std::string_view narrow) {
    return npy_bytes(tensor<std::int32_t>({2}, {1, second}), narrow);
  };
  EXPECT_NE(bytes_of(-2, "i2").find("'<i2'"), std::string::npos);
  EXPECT_TRUE(bytes_of(-2, "i2").ends_with(std::string("\n\x01\0\xfe\xff", 5)));
  EXPECT_NE(bytes_of(65535, "u2").find("'<u2'"), std::string::npos);
  EXPECT_NE(bytes_of(65535, "i2").find("'<i4'"), std::string::npos);
  EXPECT_NE(bytes_of(-1, "u2").find("'<i4'"), std::string::npos);
  EXPECT_NE(npy_bytes(tensor<std::int64_t>({1}, {4294967295}), "u4").find("'<u4'"), std::string::npos);
  EXPECT_NE(npy_bytes(tensor<std::int64_t>({1}, {7}), "u8").find("'<u8'"), std::string::npos);
}

TEST(Npy, WritesBfloat16AsFloat32) {
  const TemporaryFolder folder;
  write_npy(folder.path() / "x.npy", tensor<std::uint16_t>({2}, {0x3F80, 0xC000}, DType::bf16));
  const NamedTensor back = read_npy(folder.path() / "x.npy");
  EXPECT_EQ(back.type.dtype, DType::f32);
  EXPECT_EQ(values<float>(back), (std::vector<float>{1, -2}));
}

TEST(Npy, ReadsTheOtherOrderOfBytes) {
  const TemporaryFolder folder;
  const std::string data("\0\0\0\1\0\0\0\2\xff\xff\xff\xff", 12);
  const auto path = folder.put("x.npy", file_of(header_of(">i4", "False", "(3,)"), data));
  EXPECT_EQ(values<std::int32_t>(read_npy(path)), (std::vector<std::int32_t>{1, 2, -1}));
}

TEST(Npy, ReadsColumnsFirst) {
  const TemporaryFolder folder;
  // Element (i, j, k) of 2x3x2 is 100 i + 10 j + k; i varies fastest in the file.
  std::string data;
  for (int k = 0; k < 2; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) data += static_cast<char>(100 * i + 10 * j + k);
  const auto path = folder.put("x.npy", file_of(header_of("|u1", "True", "(2, 3, 2)"), data));
  const NamedTensor t = read_npy(path);
  EXPECT_EQ(t.type.shape, (Shape{2, 3, 2}));
  EXPECT_EQ(values<std::uint8_t>(t),
            (std::vector<std::uint8_t>{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}));
}

TEST(Npy, ReadsLaterVersionsAndOtherWriters) {
  const TemporaryFolder folder;
  const std::string data(16, '\0');
  for (int version : {1, 2, 3})
    EXPECT_EQ(
        read_npy(folder.put("v.npy", file_of(header_of("<f8", "False", "(2,)"), data, version))).type.shape,
        (Shape{2}));
  // Double quotes, another order of keys, Python 2's long integers, no blanks.
  const std::string other = R"({"shape":(2L,1L),"fortran_order":False,"descr":"<f8"})";
  EXPECT_EQ(read_npy(folder.put("o.npy", file_of(other, data))).type.shape, (Shape{2, 1}));
}

TEST(Npy, RefusesWhatItCannotHold) {
  const TemporaryFolder folder;
  auto refuse = [&](const std::string& bytes, std::initializer_list<std::string_view> parts) {
    const auto path = folder.put("bad.npy", bytes);
    expect_rejected([&] { read_npy(path); }, parts);
  };
  const std::string data(8, '\0');
  refuse("", {"bad.npy", "not an .npy"});
  refuse("PK\3\4", {"not an .npy"});
  refuse("\x93NUMPY", {"truncated"});
  refuse(file_of(header_of("<f8", "False", "(1,)"), data, 9), {"version 9"});
  refuse(std::string("\x93NUMPY\1\0\xff\xff{}", 12), {"65535", "2 follow"});
  refuse(file_of(header_of("<c8", "False", "(1,)"), data), {"'<c8'"});
  refuse(file_of(header_of("<i3", "False", "(4,)"), data), {"'<i3'"});
  refuse(file_of(header_of("<u8", "False", "(1,)"), std::string(8, '\xff')),
         {"18446744073709551615", "int64"});
  refuse(file_of("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", data), {"fields"});
  refuse(file_of(header_of("<f4", "False", "(3,)"), data), {"3 fp32", "8 bytes"});
  refuse(file_of(header_of("<f4", "False", "(1,)"), data), {"1 fp32", "8 bytes"});
  refuse(file_of(header_of("<f4", "Maybe", "(2,)"), data), {"fortran_order"});
  refuse(file_of(header_of("<f4", "False", "(-2,)"), data), {"extent"});
  refuse(file_of(header_of("<f4", "False", "(99999999999999999999,)"), data), {"extent"});
  // Products that overflow, with and without an empty axis.
  refuse(file_of(header_of("<f4", "False", "(4294967296, 4294967296, 2)"), data), {"8 bytes"});
  refuse(file_of(header_of("<f4", "False", "(0, 999999999999999999, 999999999999999999)"), ""), {"0 bytes"});
  refuse(file_of(header_of("<f4", "False", "(1,1,1,1,1,1,1,1,2)"), data), {"9 axes"});
  refuse(file_of("{'descr': '<f4', 'shape': (2,)}", data), {"fortran_order"});
  refuse(file_of("{'descr': '<f4', 'fortran_order': False, 'shape': (2,)", data), {"'}'"});
  refuse(file_of("{'descr", data), {"quotes"});
}

}  // namespace
}  // namespace headroom::testing
