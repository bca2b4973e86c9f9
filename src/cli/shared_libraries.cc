#include "cli/shared_libraries.h"

#include <dlfcn.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "base/error.h"
#include "base/file.h"
#include "base/text.h"

namespace headroom::cli {
namespace {

namespace fs = std::filesystem;

bool is_file(const std::string& path) {
  std::error_code error;
  return fs::is_regular_file(path, error);
}

// The loader's cache holds names and paths as plain text, each terminated by a zero byte.
const std::string& loader_cache() {
  static const std::string bytes = [] {
    try {
      return read_file("/etc/ld.so.cache");
    } catch (const Error&) {
      return std::string();
    }
  }();
  return bytes;
}

std::string in_loader_cache(const std::string& name) {
  const std::string& bytes = loader_cache();
  const std::string end = "/" + name + '\0';
  for (std::size_t at = 0; (at = bytes.find(end, at)) != std::string::npos; ++at) {
    const std::size_t before = bytes.rfind('\0', at);
    const std::size_t begin = before == std::string::npos ? 0 : before + 1;
    if (const std::string path = bytes.substr(begin, at + end.size() - 1 - begin); is_file(path)) return path;
  }
  return {};
}

}  // namespace

std::string find_shared_library(const std::string& name) {
  if (const char* folders = std::getenv("LD_LIBRARY_PATH"))
    for (const std::string& folder : split(folders, ':'))
      if (!folder.empty() && is_file(folder + "/" + name)) return folder + "/" + name;
  if (const std::string path = in_loader_cache(name); !path.empty()) return path;
  for (const char* folder : {"/lib/", "/usr/lib/", "/lib64/", "/usr/lib64/"})
    if (is_file(folder + name)) return folder + name;
  return {};
}

std::string why_not_loaded(const std::string& path) {
  if (::dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL) != nullptr) return {};
  const char* words = ::dlerror();
  return words == nullptr ? "the loader refused it" : words;
}

}  // namespace headroom::cli
