#include "base/in_parallel.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

namespace headroom {

void in_parallel(std::size_t tasks, const std::function<void(std::size_t)>& task) {
  std::atomic<std::size_t> next = 0;
  std::vector<std::exception_ptr> errors(tasks);
  const auto work = [&] {
    for (std::size_t i = next++; i < tasks; i = next++) {
      try {
        task(i);
      } catch (...) {
        errors[i] = std::current_exception();
      }
    }
  };
  {
    const std::size_t cores = std::max(1u, std::thread::hardware_concurrency());
    std::vector<std::jthread> helpers;
    for (std::size_t i = 1; i < std::min(cores, tasks); ++i) helpers.emplace_back(work);
    work();
  }
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace headroom
