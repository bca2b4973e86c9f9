#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>

namespace headroom {

// Bytes so far and in total (0 if unknown).
using DownloadProgress = std::function<void(std::int64_t done, std::int64_t of)>;

bool can_download();  // true if this build knows libcurl, and it is here

// Fetches the URL into `part`, continuing after the bytes `part` already holds if the server supports it.
// Received bytes stay there if the connection breaks. Errors blame the run, in one sentence without a hint.
// Rejects a source that sends more than `limit` bytes, and removes what it sent.
void download(const std::string& url, const std::filesystem::path& part, std::int64_t limit,
              const DownloadProgress& progress);

}  // namespace headroom
