#include "ops/cuda/fastest.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <map>
#include <memory>
#include <mutex>

#include "base/error.h"
#include "device/cuda/check.h"
#include "ops/cuda/launch.h"

namespace headroom::cuda {
namespace {

constexpr int kTimed = 5;
constexpr float kHopeless = 4;  // times the best so far: once is enough to know

class Clock {
 public:
  Clock() {
    HEADROOM_CUDA_CHECK(cudaEventCreate(&begin_));
    HEADROOM_CUDA_CHECK(cudaEventCreate(&end_));
  }
  ~Clock() {
    cudaEventDestroy(begin_);
    cudaEventDestroy(end_);
  }
  Clock(const Clock&) = delete;
  Clock& operator=(const Clock&) = delete;

  // Milliseconds of one launch. The first loads code and does not count; a way far behind the best is run no
  // more than needed to see that: some take a thousand times as long.
  float milliseconds(const Launcher& way, const LaunchArgs& args, float best) const {
    way(args);
    const float once = timed(way, args, 1);
    return once > kHopeless * best ? once : timed(way, args, kTimed) / kTimed;
  }

 private:
  float timed(const Launcher& way, const LaunchArgs& args, int runs) const {
    const cudaStream_t stream = stream_of(args);
    HEADROOM_CUDA_CHECK(cudaEventRecord(begin_, stream));
    for (int i = 0; i < runs; ++i) way(args);
    HEADROOM_CUDA_CHECK(cudaEventRecord(end_, stream));
    HEADROOM_CUDA_CHECK(cudaEventSynchronize(end_));
    float milliseconds = 0;
    HEADROOM_CUDA_CHECK(cudaEventElapsedTime(&milliseconds, begin_, end_));
    return milliseconds;
  }

  cudaEvent_t begin_ = nullptr, end_ = nullptr;
};

// Milliseconds of one launch of each way, infinite for those that fail; throws where all do.
std::vector<float> times_of(const std::vector<Way>& ways, const LaunchArgs& args) {
  const Clock clock;
  std::vector<float> times(ways.size(), std::numeric_limits<float>::infinity());
  float best = std::numeric_limits<float>::infinity();
  for (std::size_t i = 0; i < ways.size(); ++i) try {
      times[i] = clock.milliseconds(ways[i].run, args, best);
      best = std::min(best, times[i]);
    } catch (const Error&) {
      cudaGetLastError();  // or the next launch of ours would be blamed
      if (i + 1 == ways.size() && best == std::numeric_limits<float>::infinity()) throw;
    }
  return times;
}

void note(const std::string& key, const std::vector<Way>& ways, const std::vector<float>& times,
          std::size_t best) {
  const char* file = std::getenv("HEADROOM_TIMED_WAYS");
  if (file == nullptr) return;
  std::string line = fmt::format("{}\t{} {:.4f}", key, ways[best].name, times[best]);
  for (std::size_t i = 0; i < ways.size(); ++i)
    if (i != best) line += fmt::format(", {} {:.4f}", ways[i].name, times[i]);
  std::ofstream(file, std::ios::app) << line << "\n";
}

// One for each problem and device of the process.
struct Race {
  std::string key;
  std::vector<Way> ways;  // the fastest alone once it is known
  std::mutex mutex;

  void run(const LaunchArgs& args) {
    const std::lock_guard lock(mutex);
    if (ways.size() > 1 && !is_captured(args)) {
      if (const char* way = std::getenv("HEADROOM_WAY")) return take(std::strtoull(way, nullptr, 10), args);
      const std::vector<float> times = times_of(ways, args);
      const auto best =
          static_cast<std::size_t>(std::min_element(times.begin(), times.end()) - times.begin());
      note(key, ways, times, best);
      ways = {ways[best]};
    }
    ways[0].run(args);
  }

  // The way of this number, counted round, or the next one that works: so that tests reach each of them.
  void take(std::size_t number, const LaunchArgs& args) {
    std::rotate(ways.begin(), ways.begin() + static_cast<std::ptrdiff_t>(number % ways.size()), ways.end());
    for (; ways.size() > 1; ways.erase(ways.begin())) try {
        ways[0].run(args);
        ways.resize(1);
        return;
      } catch (const Error&) {
        cudaGetLastError();
      }
    ways[0].run(args);
  }

  static bool is_captured(const LaunchArgs& args) {
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    HEADROOM_CUDA_CHECK(cudaStreamIsCapturing(stream_of(args), &status));
    return status != cudaStreamCaptureStatusNone;
  }
};

}  // namespace

Launcher fastest(const std::string& key, const std::function<std::vector<Way>()>& ways) {
  static std::recursive_mutex mutex;  // a way may hold a race of its own
  // Never destroyed: the driver may be gone before statics are.
  static auto& races = *new std::map<std::pair<int, std::string>, std::shared_ptr<Race>>;
  int device = 0;
  HEADROOM_CUDA_CHECK(cudaGetDevice(&device));
  const std::lock_guard lock(mutex);
  std::shared_ptr<Race>& race = races[{device, key}];
  if (race == nullptr) {
    auto fresh = std::make_shared<Race>();
    fresh->key = key;
    fresh->ways = ways();
    if (fresh->ways.empty()) fail("no way to compute {}", key);
    race = std::move(fresh);
  }
  return [race](const LaunchArgs& args) { race->run(args); };
}

}  // namespace headroom::cuda
