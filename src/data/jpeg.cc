#include "base/error.h"
#include "data/image.h"

#ifdef HEADROOM_HAS_JPEG
#include <csetjmp>
#include <cstdio>  // jpeglib.h needs it first

#include <jerror.h>
#include <jpeglib.h>
#endif

namespace headroom {

#ifdef HEADROOM_HAS_JPEG

namespace {

// The library reports an error by a function that must not return. It jumps back into decode() below, which
// holds no object with a destructor.
struct ErrorManager {
  jpeg_error_mgr base;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

void jump_back(j_common_ptr info) {
  auto* manager = reinterpret_cast<ErrorManager*>(info->err);
  info->err->format_message(info, manager->message);
  std::longjmp(manager->back, 1);
}

// Level -1 is a warning: the data is damaged, and the library would invent the missing part.
void take_message(j_common_ptr info, int level) {
  const int code = info->err->msg_code;
  const bool harmless = code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM;
  if (level < 0 && !harmless) jump_back(info);
}

void print_nothing(j_common_ptr) {}

struct Target {
  unsigned char* pixels;
  std::size_t row_bytes;
  std::int64_t rows, columns;
  int channels;
};

// Returns false and sets manager.message on error.
bool decode(const unsigned char* bytes, std::size_t count, const Target& target, ErrorManager& manager) {
  jpeg_decompress_struct info{};
  info.err = jpeg_std_error(&manager.base);
  manager.base.error_exit = jump_back;
  manager.base.emit_message = take_message;
  manager.base.output_message = print_nothing;
  if (setjmp(manager.back) != 0) {
    jpeg_destroy_decompress(&info);
    return false;
  }
  jpeg_create_decompress(&info);
  jpeg_mem_src(&info, bytes, static_cast<unsigned long>(count));
  jpeg_read_header(&info, TRUE);
  info.out_color_space = target.channels == 1 ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_start_decompress(&info);
  const bool as_announced = info.output_height == target.rows && info.output_width == target.columns &&
                            info.output_components == target.channels;
  while (as_announced && info.output_scanline < info.output_height) {
    JSAMPROW row = target.pixels + info.output_scanline * target.row_bytes;
    jpeg_read_scanlines(&info, &row, 1);
  }
  if (as_announced) jpeg_finish_decompress(&info);
  jpeg_destroy_decompress(&info);
  if (!as_announced) std::snprintf(manager.message, sizeof manager.message, "two headers that differ");
  return as_announced;
}

}  // namespace

bool has_jpeg() { return true; }

std::vector<std::uint8_t> decode_jpeg(std::string_view bytes, std::string_view where,
                                      const ImageHeader& header) {
  const auto row_bytes = static_cast<std::size_t>(header.size.columns * header.channels);
  std::vector<std::uint8_t> pixels(row_bytes * static_cast<std::size_t>(header.size.rows));
  ErrorManager manager{};
  const Target target{pixels.data(), row_bytes, header.size.rows, header.size.columns, header.channels};
  if (!decode(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(), target, manager))
    reject(Hint{"copy the file again, or take it out of the folder"}, "{} is a damaged JPEG file: {}", where,
           manager.message);
  return pixels;
}

#else

bool has_jpeg() { return false; }

std::vector<std::uint8_t> decode_jpeg(std::string_view, std::string_view where, const ImageHeader&) {
  fail("{}: built without libjpeg", where);
}

#endif

}  // namespace headroom
