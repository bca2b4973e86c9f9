#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "data/resize.h"

namespace headroom {

enum class ImageFormat { png, jpeg };

// The header of a picture, read from the bytes without any library.
struct ImageHeader {
  ImageFormat format = ImageFormat::png;
  PlaneSize size;
  int channels = 0;  // 1 grey, 3 colour; alpha is not counted
};

// A decoded picture, channel by channel.
struct Image {
  PlaneSize size;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
};

// Rejects bytes that are neither PNG nor JPEG, or incomplete; `where` names the file in messages.
ImageHeader read_image_header(std::string_view bytes, std::string_view where);

// Decodes to grey (1) or red, green, blue (3). Grey becomes three equal channels; colour does not become
// grey. Rejects formats whose library this build lacks, and names the package.
Image decode_image(std::string_view bytes, std::string_view where, int channels);

// The library side, in png.cc and jpeg.cc: interleaved rows of header.channels, or the reason why not.
bool can_decode(ImageFormat format);
std::vector<std::uint8_t> decode_png(std::string_view bytes, std::string_view where,
                                     const ImageHeader& header);
std::vector<std::uint8_t> decode_jpeg(std::string_view bytes, std::string_view where,
                                      const ImageHeader& header);
bool has_png();
bool has_jpeg();

}  // namespace headroom
