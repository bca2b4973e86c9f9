#include "profile/cuda/cupti_library.h"

#ifdef HEADROOM_HAS_CUPTI

#include "base/error.h"
#include "device/cuda/library.h"

namespace headroom {
namespace {

constexpr const char* kCuptiInstead =
    "install CUPTI of the CUDA toolkit, or add its folder to LD_LIBRARY_PATH";

// A library of the CUDA toolkit, wherever the toolkit keeps it.
cuda::Library toolkit_library(const std::string& name) {
  std::vector<std::string> names = {name};
  for (const char* folder : {"/usr/local/cuda/lib64/", "/usr/local/cuda/extras/CUPTI/lib64/"})
    names.push_back(folder + name);
  return cuda::Library(names);
}

const cuda::Library& cupti_file() {
  static const cuda::Library library =
      toolkit_library(fmt::format("libcupti.so.{}", CUPTI_API_VERSION / 10000));
  if (!library.loaded())
    throw Error(Blame::run, fmt::format("CUPTI cannot be loaded: {}", library.why_not()),
                Hint{kCuptiInstead});
  return library;
}

Cupti load_cupti() {
  const cuda::Library& library = cupti_file();
  Cupti c;
#define HEADROOM_CUPTI_FIND(name)           \
  if (!library.find(c.name, "cupti" #name)) \
    throw Error(Blame::run, "CUPTI has no function cupti" #name, Hint{kCuptiInstead});
  HEADROOM_CUPTI_CALLS(HEADROOM_CUPTI_FIND)
#undef HEADROOM_CUPTI_FIND
  std::uint32_t version = 0;
  // Records grow with the version: those of an older library are shorter than ours.
  if (c.GetVersion(&version) == CUPTI_SUCCESS && version < CUPTI_API_VERSION)
    throw Error(Blame::run,
                fmt::format("CUPTI has the version {}; this program was built for {} or newer", version,
                            CUPTI_API_VERSION),
                Hint{kCuptiInstead});
  return c;
}

#ifdef HEADROOM_HAS_RANGES
CuptiProfiler load_cupti_profiler() {
  // CUPTI opens this library by its plain name, which finds a loaded one in whatever folder it is.
  static const cuda::Library metrics = toolkit_library("libnvperf_host.so");
  const cuda::Library& library = cupti_file();
  CuptiProfiler c;
#define HEADROOM_CUPTI_FIND(name)           \
  if (!library.find(c.name, "cupti" #name)) \
    throw Error(Blame::run, "CUPTI has no function cupti" #name, Hint{kCuptiInstead});
  HEADROOM_CUPTI_PROFILER_CALLS(HEADROOM_CUPTI_FIND)
  HEADROOM_CUPTI_SAMPLING_CALLS(HEADROOM_CUPTI_FIND)
#undef HEADROOM_CUPTI_FIND
  return c;
}
#endif

}  // namespace

const Cupti& cupti() {
  static const Cupti c = load_cupti();
  return c;
}

#ifdef HEADROOM_HAS_RANGES
const CuptiProfiler& cupti_profiler() {
  static const CuptiProfiler c = load_cupti_profiler();
  return c;
}
#endif

}  // namespace headroom
#endif
