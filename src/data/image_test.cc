#include "data/image.h"

#include <gtest/gtest.h>

#include "data/testing/bad_input.h"
#include "data/testing/pictures.h"

namespace headroom::testing {
namespace {

using Bytes = std::vector<std::uint8_t>;

#define NEEDS(format) \
  if (!can_decode(ImageFormat::format)) GTEST_SKIP() << "built without the library for " #format

TEST(Png, IsReadChannelByChannel) {
  NEEDS(png);
  const Bytes pixels = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};  // 2 x 3 of RGB
  const Image image = decode_image(png(2, 3, 3, pixels), "f", 3);
  EXPECT_EQ(image.size, (PlaneSize{2, 3}));
  EXPECT_EQ(image.pixels, (Bytes{1, 4, 7, 10, 13, 16, 2, 5, 8, 11, 14, 17, 3, 6, 9, 12, 15, 18}));
}

TEST(Png, GreyStaysGreyOrBecomesThreeEqualChannels) {
  NEEDS(png);
  const std::string file = png(1, 3, 1, {0, 128, 255});
  EXPECT_EQ(read_image_header(file, "f").channels, 1);
  EXPECT_EQ(decode_image(file, "f", 1).pixels, (Bytes{0, 128, 255}));
  EXPECT_EQ(decode_image(file, "f", 3).pixels, (Bytes{0, 128, 255, 0, 128, 255, 0, 128, 255}));
}

TEST(Png, TransparentPixelsAreBlack) {
  NEEDS(png);
  EXPECT_EQ(decode_image(png(1, 2, 2, {200, 255, 200, 0}), "f", 1).pixels, (Bytes{200, 0}));
  EXPECT_EQ(decode_image(png(1, 2, 4, {9, 8, 7, 255, 9, 8, 7, 0}), "f", 3).pixels, (Bytes{9, 0, 8, 0, 7, 0}));
}

TEST(Jpeg, IsReadGreyAndColoured) {
  NEEDS(jpeg);
  const Image grey = decode_image(grey_jpeg(), "f", 1);
  ASSERT_EQ(grey.size, (PlaneSize{6, 10}));
  for (int row = 0; row < 6; ++row)
    for (int column = 0; column < 10; ++column)
      EXPECT_NEAR(grey.pixels[std::size_t(row * 10 + column)], 20 + 20 * column, 6) << row << "," << column;
  const Image colour = decode_image(colour_jpeg(), "f", 3);
  ASSERT_EQ(colour.size, (PlaneSize{8, 8}));
  EXPECT_NEAR(colour.pixels[0], 200, 6);
  EXPECT_NEAR(colour.pixels[64], 40, 6);
  EXPECT_NEAR(colour.pixels[64 + 63], 160, 6);
  EXPECT_NEAR(colour.pixels[128 + 30], 60, 6);
}

// Every truncation and every changed byte must end in a refusal or in a picture, without a crash.
void damage_everywhere(const std::string& whole, int channels) {
  ::testing::internal::CaptureStderr();
  for (std::size_t length = 0; length < whole.size(); ++length)
    expect_rejected([&] { decode_image(whole.substr(0, length), "f.x", channels); }, {"f.x"});
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string changed = whole;
    changed[at] = static_cast<char>(changed[at] ^ 0x5A);
    try {
      const ImageHeader header = read_image_header(changed, "f.x");
      if (header.size.rows * header.size.columns < 1 << 20) decode_image(changed, "f.x", 3);
    } catch (const Error& e) {
      EXPECT_NE(std::string(e.what()).find("f.x"), std::string::npos) << e.what();
    }
  }
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
}

TEST(Png, DamageIsNamedAndNothingIsPrinted) {
  NEEDS(png);
  const std::string whole = png(4, 4, 1, Bytes(16, 9));
  // The closing chunk has 12 bytes; libpng does not need it once the picture is complete.
  damage_everywhere(whole.substr(0, whole.size() - 12), 1);
  std::string wrong_sum = png(4, 4, 1, Bytes(16, 9));
  wrong_sum[wrong_sum.size() - 14] ^= 1;  // the sum of the picture's data
  expect_rejected([&] { decode_image(wrong_sum, "a/b.png", 1); }, {"a/b.png", "damaged PNG"});
}

TEST(Jpeg, DamageIsNamedAndNothingIsPrinted) {
  NEEDS(jpeg);
  const std::string whole = grey_jpeg();
  damage_everywhere(whole.substr(0, whole.size() - 2), 1);
  expect_rejected([&] { decode_image(whole.substr(0, 150), "a/b.jpg", 1); }, {"a/b.jpg", "damaged JPEG"});
}

TEST(Images, HeadersAreToldWithoutLibraries) {
  EXPECT_EQ(read_image_header(png(2, 5, 3, Bytes(30)), "f").size, (PlaneSize{2, 5}));
  EXPECT_EQ(read_image_header(grey_jpeg(), "f").size, (PlaneSize{6, 10}));
  EXPECT_EQ(read_image_header(colour_jpeg(), "f").channels, 3);
  expect_rejected([] { read_image_header("", "f"); }, {"f is empty"});
  expect_rejected([] { read_image_header("GIF89a", "f"); }, {"f is neither"});
  std::string huge = png(2, 2, 1, Bytes(4));
  huge[16] = 0x7F;
  expect_rejected([&] { read_image_header(huge, "f"); }, {"f claims", "16384"});
  std::string cmyk = colour_jpeg();
  cmyk[cmyk.find("\xFF\xC0") + 9] = 4;
  expect_rejected([&] { read_image_header(cmyk, "f"); }, {"f has 4 channels"});
}

}  // namespace
}  // namespace headroom::testing
