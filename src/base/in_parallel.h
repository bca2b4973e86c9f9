#pragma once

#include <cstddef>
#include <functional>

namespace headroom {

// Runs the tasks on all cores. An exception does not stop the other tasks; the first is thrown again.
void in_parallel(std::size_t tasks, const std::function<void(std::size_t)>& task);

}  // namespace headroom
