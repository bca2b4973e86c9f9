#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace headroom {

// Bytes so far and in all (0 while unknown).
using DownloadProgress = std::function<void(std::int64_t done, std::int64_t of)>;

bool can_download();  // whether libcurl was there when this was built

// Fetches the URL into `part`, going on from what `part` already holds where the server can do that. What has
// arrived stays there when the connection breaks. Errors blame the run, in one sentence without a hint.
void download(const std::string& url, const std::filesystem::path& part, const DownloadProgress& progress);

}  // namespace headroom
