#include "data/image.h"

#include "base/error.h"

namespace headroom {
namespace {

constexpr std::int64_t kWidest = 16384;  // a larger header counts as damage; no memory is allocated
constexpr std::string_view kPngMark("\x89PNG\r\n\x1a\n", 8);

const Hint kAgain{"open it in a viewer; copy it again, convert it, or take it out of the folder"};

int byte(std::string_view bytes, std::size_t at) { return static_cast<unsigned char>(bytes[at]); }

std::int64_t big_endian(std::string_view bytes, std::size_t at, std::size_t count) {
  std::int64_t value = 0;
  for (std::size_t i = 0; i < count; ++i) value = value << 8 | byte(bytes, at + i);
  return value;
}

[[noreturn]] void cut_short(std::string_view where, std::string_view format) {
  reject(kAgain, "{} is a damaged {} file: it ends within its header", where, format);
}

// The first chunk is the header, which has a fixed form.
ImageHeader png_header(std::string_view bytes, std::string_view where) {
  constexpr std::size_t kHeader = 8 + 8 + 13;
  if (bytes.size() < kHeader || bytes.substr(12, 4) != "IHDR") cut_short(where, "PNG");
  const int colour_type = byte(bytes, 25);
  const bool grey = colour_type == 0 || colour_type == 4;
  return {ImageFormat::png, {big_endian(bytes, 20, 4), big_endian(bytes, 16, 4)}, grey ? 1 : 3};
}

bool starts_frame(int marker) {  // SOF0 to SOF15, except the tables in that range
  return marker >= 0xC0 && marker <= 0xCF && marker != 0xC4 && marker != 0xC8 && marker != 0xCC;
}

// Segments with lengths, until the one that starts the frame.
ImageHeader jpeg_header(std::string_view bytes, std::string_view where) {
  for (std::size_t at = 2; at + 4 <= bytes.size();) {
    if (byte(bytes, at) != 0xFF) reject(kAgain, "{} is a damaged JPEG file: no marker at byte {}", where, at);
    const int marker = byte(bytes, at + 1);
    if (marker == 0xFF) {  // a fill byte
      ++at;
      continue;
    }
    if (starts_frame(marker)) {
      if (at + 10 > bytes.size()) break;
      const int channels = byte(bytes, at + 9);
      if (channels != 1 && channels != 3)
        reject(Hint{"convert it to RGB, for instance with: convert FILE -colorspace sRGB OTHER"},
               "{} has {} channels (CMYK?); grey and RGB pictures are read", where, channels);
      return {ImageFormat::jpeg, {big_endian(bytes, at + 5, 2), big_endian(bytes, at + 7, 2)}, channels};
    }
    if (marker == 0xD9 || marker == 0xDA) break;
    at += 2 + static_cast<std::size_t>(big_endian(bytes, at + 2, 2));
  }
  cut_short(where, "JPEG");
}

std::vector<std::uint8_t> planes_of(const std::vector<std::uint8_t>& interleaved, int from, int to) {
  const std::size_t count = interleaved.size() / std::size_t(from);
  std::vector<std::uint8_t> planes(count * std::size_t(to));
  for (std::size_t channel = 0; channel < std::size_t(to); ++channel)
    for (std::size_t i = 0; i < count; ++i)
      planes[channel * count + i] = interleaved[i * std::size_t(from) + (from == 1 ? 0 : channel)];
  return planes;
}

}  // namespace

ImageHeader read_image_header(std::string_view bytes, std::string_view where) {
  ImageHeader header;
  if (bytes.starts_with(kPngMark)) {
    header = png_header(bytes, where);
  } else if (bytes.starts_with("\xFF\xD8\xFF")) {
    header = jpeg_header(bytes, where);
  } else if (bytes.empty()) {
    reject(kAgain, "{} is empty", where);
  } else {
    reject(kAgain, "{} is neither a PNG nor a JPEG file", where);
  }
  const PlaneSize size = header.size;
  if (size.rows < 1 || size.columns < 1 || size.rows > kWidest || size.columns > kWidest)
    reject(kAgain, "{} claims {}x{} pixels; 1 to {} per side are supported", where, size.rows, size.columns,
           kWidest);
  return header;
}

bool can_decode(ImageFormat format) { return format == ImageFormat::png ? has_png() : has_jpeg(); }

Image decode_image(std::string_view bytes, std::string_view where, int channels) {
  const ImageHeader header = read_image_header(bytes, where);
  const bool png = header.format == ImageFormat::png;
  if (!can_decode(header.format))
    reject(Hint{fmt::format("install {} (Debian and Ubuntu) and build again",
                            png ? "libpng-dev" : "libjpeg-dev")},
           "{} is a {} file, but this program was built without {}", where, png ? "PNG" : "JPEG",
           png ? "libpng" : "libjpeg");
  if (header.channels > channels) fail("{} is in colour, but grey was expected", where);
  const auto rows = png ? decode_png(bytes, where, header) : decode_jpeg(bytes, where, header);
  return {header.size, channels, planes_of(rows, header.channels, channels)};
}

}  // namespace headroom
