#pragma once

#include <iterator>
#include <span>
#include <string_view>

namespace headroom {

// Source files embedded in the program; cmake/embed.cmake writes the definitions.
struct EmbeddedFile {
  std::string_view name, text;
};

std::span<const EmbeddedFile> embedded_machines();     // machines/*.json
std::span<const EmbeddedFile> embedded_recipes();      // recipes/*.json
std::span<const EmbeddedFile> embedded_time_models();  // time-models/*.json
std::span<const EmbeddedFile> embedded_web();          // web/*, and d3.min.js where it is installed

}  // namespace headroom
