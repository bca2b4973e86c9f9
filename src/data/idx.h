#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "data/dataset.h"

namespace headroom {

// The IDX format of the handwritten-digit files: big-endian magic, extents, then bytes. Gzipped or plain,
// with any file name.
struct IdxImages {
  std::int64_t count = 0, height = 0, width = 0;
  std::vector<std::uint8_t> pixels;
};

IdxImages read_idx_images(const std::filesystem::path& path);
std::vector<std::uint8_t> read_idx_labels(const std::filesystem::path& path, int classes);

// Both files of a split; rejects counts that differ.
Split read_idx_split(const std::filesystem::path& images, const std::filesystem::path& labels, int classes);

// The two files of a one-channel split, in the published format.
std::string idx_image_bytes(const Split& split);
std::string idx_label_bytes(const Split& split);

// The four files of a set, each written completely or not at all, gzipped on request. Rejects a folder that
// already holds such files, unless `force` allows to overwrite them. Files of the other form (plain or
// gzipped) are always rejected, because a reader could not know which ones to use.
void require_free_idx_folder(const std::filesystem::path& folder, bool zipped, bool force);
void write_idx_folder(const std::filesystem::path& folder, const Dataset& set, bool zipped,
                      bool force = false);

// For parsing without a file; `where` names the source in error messages.
IdxImages parse_idx_images(std::string_view bytes, std::string_view where);
std::vector<std::uint8_t> parse_idx_labels(std::string_view bytes, std::string_view where, int classes);

}  // namespace headroom
