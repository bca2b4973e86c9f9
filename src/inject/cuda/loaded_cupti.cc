#include "inject/cuda/loaded_cupti.h"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

namespace headroom::inject {
namespace {

// Until CUDA 12 versions counted releases; records have the fields we read since the first of CUDA 12.
constexpr std::uint32_t kOldestCupti = 18;

std::string path_of_loaded() {
  std::string path;
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void* found) {
        const std::string_view name = info->dlpi_name != nullptr ? info->dlpi_name : "";
        if (name.find("libcupti.so") == std::string_view::npos) return 0;
        *static_cast<std::string*>(found) = name;
        return 1;
      },
      &path);
  return path;
}

void* open_cupti(std::string& why_not) {
  const std::string name = "libcupti.so." + std::to_string(CUPTI_API_VERSION / 10000);
  for (const std::string& path : {path_of_loaded(), name, "/usr/local/cuda/lib64/" + name,
                                  "/usr/local/cuda/extras/CUPTI/lib64/" + name}) {
    if (path.empty()) continue;
    if (void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return library;
    if (const char* words = ::dlerror(); why_not.empty() && words != nullptr) why_not = words;
  }
  return nullptr;
}

template <class Function>
bool find(void* library, Function*& function, const char* name, std::string& why_not) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) why_not = std::string("it has no function ") + name;
  return function != nullptr;
}

}  // namespace

const Cupti* loaded_cupti(std::string& why_not) {
  static Cupti cupti;
  void* const library = open_cupti(why_not);
  if (library == nullptr) return nullptr;
#define HEADROOM_CUPTI_FIND(name) \
  if (!find(library, cupti.name, "cupti" #name, why_not)) return nullptr;
  HEADROOM_CUPTI_CALLS(HEADROOM_CUPTI_FIND)
#undef HEADROOM_CUPTI_FIND
  std::uint32_t version = 0;
  if (cupti.GetVersion(&version) != CUPTI_SUCCESS || version < kOldestCupti) {
    why_not = "its version is " + std::to_string(version) + ", which is too old";
    return nullptr;
  }
  return &cupti;
}

}  // namespace headroom::inject
