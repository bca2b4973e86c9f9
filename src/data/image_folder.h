#pragma once

#include <filesystem>

#include "data/dataset.h"

namespace headroom {

// A folder for each class, named for it, in the order of their names; PNG and JPEG files in each. Where DIR
// has the folders train and test they are the two splits; else every tenth picture of a class is for testing.
// The splits go round the classes, so that their beginnings hold every class. Colour if any picture is. Takes
// image_size, image_width, resize and the sizes of `options`.
Dataset read_image_folder(const std::filesystem::path& folder, const DataOptions& options);

}  // namespace headroom
