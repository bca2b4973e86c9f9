#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace headroom {

bool is_gzip(std::string_view bytes);  // by its first two bytes

// Inflates a whole gzip file held in memory, all of its members. `where` names it in error messages; more
// than `limit` bytes of output are rejected, so that a damaged or hostile file cannot fill the memory.
std::string gunzip(std::string_view bytes, std::string_view where, std::int64_t limit);

// The first bytes of the inflated file, at most `count`; fewer if it is shorter or damaged.
std::string gunzip_start(std::string_view bytes, std::size_t count);

// One gzip member of these bytes.
std::string gzip(std::string_view bytes);

}  // namespace headroom
