#include "bench/published_conv2d.h"

namespace headroom {
namespace {

constexpr PublishedConv2d kCourse[] = {
    {"project report", "CPU loops", 10000, 25142.652, 151186.232, 176328.9, "reference"},
    {"project report", "basic GPU, 16x16 blocks", 100, 0.477, 1.654, 2.131, "cuda:naive"},
    {"project report", "basic GPU, 16x16 blocks", 1000, 4.381, 16.349, 20.730, "cuda:naive"},
    {"project report", "basic GPU, 16x16 blocks", 10000, 43.434, 152.497, 195.931, "cuda:naive"},
    {"project report", "the same under nvprof", 10000, 39.462, 146.472, 185.934, "cuda:naive"},
    {"project report", "constant memory + register", 10000, 39.346, 134.163, 173.509,
     "cuda:constant_registers"},
    {"project report", "+ inner loops unrolled", 10000, 30.745, 98.021, 128.766, "cuda:constant_unrolled"},
    {"cuDNN in MXNet", "baseline model", 10000, 0, 0, 44.4, "cudnn"},
    {"cuDNN in MXNet", "another public run", 10000, 0, 0, 39.9, "cudnn"},
    {"public report 1", "basic GPU", 10000, 64.318, 147.558, 211.9, "cuda:naive"},
    {"public report 1", "unroll + shared matmul", 10000, 59.692, 140.799, 200.5, "cuda:unroll_matmul"},
    {"public report 1", "unroll + constant filters", 10000, 174.848, 419.835, 594.7, ""},
    {"public report 1", "shared-memory convolution", 10000, 59.888, 137.068, 197.0, "cuda:shared_tiles"},
    {"public report 2", "basic GPU", 10000, 42.534, 152.912, 195.4, "cuda:naive"},
    {"public report 3", "coarsened 4x4, per layer", 10000, 0, 0, 60, "cuda:per_layer"},
};

constexpr PublishedLayer kLayers[] = {
    {"L1", "fbfft", 57, 76},
    {"L2", "fbfft", 27, 45},
    {"L3", "fbfft", 6, 12},
    {"L4", "fbfft", 2, 4},
    {"L5", "fbfft", 9, 18},
    {"L1", "cuda-convnet2", 36, 103},
    {"L2", "cuda-convnet2", 113, 467},
    {"L3", "cuda-convnet2", 40, 162},
    {"L4", "cuda-convnet2", 4, 15},
    {"L5", "cuda-convnet2", 8, 29},
    {"L1", "cuDNN R2", 56, 139},
    {"L2", "cuDNN R2", 143, 401},
    {"L3", "cuDNN R2", 53, 159},
    {"L4", "cuDNN R2", 6, 19},
    {"L5", "cuDNN R2", 11, 32},
    {"L1", "Caffe", 93, 200},
    {"L2", "Caffe", 136, 405},
    {"L3", "Caffe", 116, 172},
    {"L4", "Caffe", 24, 28},
    {"L5", "Caffe", 27, 30},
    {"L1", "Torch-7", 94, 206},
    {"L2", "Torch-7", 149, 432},
    {"L3", "Torch-7", 123, 178},
    {"L4", "Torch-7", 24, 29},
    {"L5", "Torch-7", 28, 32},
};

constexpr PublishedSource kConvSources[] = {
    {'a', "project report, ECE 408 of fall 2018, a Volta GPU (its CPU for the loops)"},
    {'b', "a public report of the same project"},
    {'c', "another public report"},
};

char source_of(std::string_view who) {
  return who == "project report" ? 'a' : who == "public report 1" ? 'b' : 'c';
}

}  // namespace

std::span<const PublishedConv2d> published_conv2d() { return kCourse; }
std::span<const PublishedSource> published_conv2d_sources() { return kConvSources; }

std::vector<PublishedRung> published_conv2d_rungs(const Conv2dSize& size) {
  std::vector<PublishedRung> list;
  if (size.name != "conv1" && size.name != "conv2") return list;
  for (const PublishedConv2d& p : kCourse) {
    const double ms = size.name == "conv1" ? p.conv1_ms : p.conv2_ms;
    if (p.images == size.batch && ms > 0 && !p.rung.empty())
      list.push_back({std::string(p.rung), ms / 1e3, ms / 1e3, source_of(p.who)});
  }
  return list;
}

std::span<const PublishedLayer> published_layers() { return kLayers; }

}  // namespace headroom
