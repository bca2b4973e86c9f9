#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace headroom {

// A folder per class, named for it, sorted by name; PNG and JPEG files in each. If DIR has the folders train
// and test, they are the two splits; otherwise every tenth picture of a class is for testing. The splits
// interleave the classes, so that their first items include every class. Colour if any picture is. Uses
// image_size, image_width, resize and the sizes of `options`.
Dataset read_image_folder(const std::filesystem::path& folder, const DataOptions& options);

// Every picture of such a folder as test images for a network that learned `data`, whose class names must
// include those of the folder. Pictures get the size and the channels of that data; colour becomes grey by
// the weights of television (ITU-R BT.601).
Split read_outside_images(const std::filesystem::path& folder, const Dataset& data, ResizeRule rule);

}  // namespace headroom
