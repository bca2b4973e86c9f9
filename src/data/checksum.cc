#include "data/checksum.h"

#include <zlib.h>

namespace headroom {

std::uint32_t checksum(std::string_view bytes, std::uint32_t before) {
  if (bytes.empty()) return before;  // for a null address zlib returns the initial value
  return static_cast<std::uint32_t>(
      crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

std::uint32_t checksum_of(const Dataset& data) {
  std::uint32_t sum = 0;
  auto add = [&](const auto& list) {
    sum = checksum({reinterpret_cast<const char*>(list.data()), list.size() * sizeof(*list.data())}, sum);
  };
  for (const Split* split : {&data.train, &data.test})
    add(split->pixels), add(split->labels), add(split->values), add(split->text);
  return sum;
}

}  // namespace headroom
