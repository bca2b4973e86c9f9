#include "inject/cuda/loaded_cupti.h"

#include <dlfcn.h>
#include <link.h>

#include <string_view>

#include "base/error.h"

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

void* cupti_file(std::string& why_not) {
  static std::string reason;
  static void* const library = open_cupti(reason);
  why_not = reason;
  return library;
}

#ifdef HEADROOM_HAS_RANGES
// CUPTI opens these by their plain names: they are beside it, not always where the loader looks.
void open_beside(const void* function) {
  Dl_info info{};
  if (::dladdr(function, &info) == 0 || info.dli_fname == nullptr) return;
  const std::string path = info.dli_fname;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  for (const char* name : {"libnvperf_host.so", "libnvperf_target.so"})
    if (!folder.empty()) ::dlopen((folder + name).c_str(), RTLD_NOW | RTLD_GLOBAL);
}
#endif

template <class Function>
bool find(void* library, Function*& function, const char* name, std::string& why_not) {
  function = reinterpret_cast<Function*>(::dlsym(library, name));
  if (function == nullptr) why_not = std::string("it has no function ") + name;
  return function != nullptr;
}

}  // namespace

const Cupti* loaded_cupti(std::string& why_not) {
  static Cupti cupti;
  void* const library = cupti_file(why_not);
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

namespace headroom {

const Cupti& cupti() {
  std::string why_not;
  const Cupti* const loaded = inject::loaded_cupti(why_not);
  if (loaded == nullptr) throw Error(Blame::run, "CUPTI cannot be used: " + why_not, Hint{});
  return *loaded;
}

#ifdef HEADROOM_HAS_RANGES
const CuptiProfiler& cupti_profiler() {
  static const CuptiProfiler loaded = [] {
    std::string why_not;
    CuptiProfiler found;
    void* const library = inject::cupti_file(why_not);
#define HEADROOM_CUPTI_FIND(name)                                                       \
  if (library == nullptr || !inject::find(library, found.name, "cupti" #name, why_not)) \
    throw Error(Blame::run, "CUPTI cannot count: " + why_not, Hint{});
    HEADROOM_CUPTI_PROFILER_CALLS(HEADROOM_CUPTI_FIND)
#undef HEADROOM_CUPTI_FIND
    inject::open_beside(reinterpret_cast<const void*>(found.ProfilerInitialize));
    return found;
  }();
  return loaded;
}
#endif

}  // namespace headroom
