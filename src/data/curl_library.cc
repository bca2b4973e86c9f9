#ifdef HEADROOM_HAS_CURL
#include "data/curl_library.h"

#include <dlfcn.h>

namespace headroom {
namespace {

constexpr const char* kName = "libcurl.so.4";

CurlLibrary load() {
  CurlLibrary curl;
  void* const handle = ::dlopen(kName, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) {
    curl.why_not = ::dlerror();
    return curl;
  }
  const auto find = [&](auto& function, const char* name) {
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(handle, name));
    if (function == nullptr) curl.why_not = std::string(kName) + " has no " + name;
  };
  find(curl.global_init, "curl_global_init");
  find(curl.init, "curl_easy_init");
  find(curl.set, "curl_easy_setopt");
  find(curl.perform, "curl_easy_perform");
  find(curl.info, "curl_easy_getinfo");
  find(curl.cleanup, "curl_easy_cleanup");
  find(curl.text, "curl_easy_strerror");
  if (curl.why_not.empty() && curl.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
    curl.why_not = "libcurl cannot start";
  return curl;
}

}  // namespace

const CurlLibrary& curl_library() {
  static const CurlLibrary library = load();
  return library;
}

}  // namespace headroom
#endif
