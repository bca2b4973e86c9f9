#pragma once

// libcurl, loaded on first use: it brings two dozen other libraries, and loading those takes a program longer
// than everything else it does before its first command.

#include <curl/curl.h>

#include <string>

namespace headroom {

struct CurlLibrary {
  decltype(&::curl_global_init) global_init = nullptr;
  decltype(&::curl_easy_init) init = nullptr;
  decltype(&::curl_easy_setopt) set = nullptr;  // variadic: long, curl_off_t or a pointer, as the option says
  decltype(&::curl_easy_perform) perform = nullptr;
  decltype(&::curl_easy_getinfo) info = nullptr;
  decltype(&::curl_easy_cleanup) cleanup = nullptr;
  decltype(&::curl_easy_strerror) text = nullptr;
  std::string why_not;  // empty if it is there and started
};
const CurlLibrary& curl_library();

}  // namespace headroom
