#include "base/error.h"
#include "data/image.h"

#ifdef HEADROOM_HAS_PNG
#include <png.h>
#endif

namespace headroom {

#ifdef HEADROOM_HAS_PNG

bool has_png() { return true; }

// The simplified interface handles its own jumps and messages. It frees its memory when it fails.
std::vector<std::uint8_t> decode_png(std::string_view bytes, std::string_view where,
                                     const ImageHeader& header) {
  const Hint again{"copy the file again, or take it out of the folder"};
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  if (png_image_begin_read_from_memory(&image, bytes.data(), bytes.size()) == 0)
    reject(again, "{} is a damaged PNG file: {}", where, image.message);
  image.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;  // 16-bit pictures are sRGB unless they say linear
  image.format = header.channels == 1 ? PNG_FORMAT_GRAY : PNG_FORMAT_RGB;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(image));
  const png_color black{0, 0, 0};  // background of transparent pixels
  if (png_image_finish_read(&image, &black, pixels.data(), 0, nullptr) == 0) {
    const std::string why = image.message;
    png_image_free(&image);
    reject(again, "{} is a damaged PNG file: {}", where, why);
  }
  return pixels;
}

#else

bool has_png() { return false; }

std::vector<std::uint8_t> decode_png(std::string_view, std::string_view where, const ImageHeader&) {
  fail("{}: built without libpng", where);
}

#endif

}  // namespace headroom
