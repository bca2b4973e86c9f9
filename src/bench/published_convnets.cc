#include "bench/published_convnets.h"

namespace headroom {
namespace {

constexpr PublishedTime kTimes[] = {
    {"alexnet", "cuDNN R4 fp32", 27, 53, 81},
    {"overfeat", "cuDNN R4 fp32", 94, 174, 268},
    {"vgg:depth=11", "cuDNN R4 fp32", 162, 366, 529},
    {"googlenet", "cuDNN R4 fp32", 130, 340, 470},
    {"alexnet", "neon fp32", 28, 58, 87},
    {"overfeat", "neon fp32", 69, 141, 211},
    {"vgg:depth=11", "neon fp32", 103, 217, 320},
    {"googlenet", "neon fp32", 84, 186, 270},
    {"alexnet", "cuDNN R4 fp16", 25, 46, 71},
    {"overfeat", "cuDNN R4 fp16", 86, 156, 242},
    {"vgg:depth=11", "cuDNN R4 fp16", 140, 331, 471},
    {"googlenet", "cuDNN R4 fp16", 112, 349, 462},
    {"alexnet", "neon fp16", 25, 52, 78},
    {"overfeat", "neon fp16", 58, 118, 176},
    {"vgg:depth=11", "neon fp16", 82, 171, 254},
    {"googlenet", "neon fp16", 72, 157, 230},
    {"alexnet", "TensorFlow", 26, 55, 81},
    {"overfeat", "TensorFlow", 90, 189, 279},
    {"vgg:depth=11", "TensorFlow", 158, 382, 540},
    {"googlenet", "TensorFlow", 135, 310, 445},
    {"alexnet", "Caffe", 121, 203, 324},
    {"overfeat", "Caffe", 355, 468, 823},
    {"vgg:depth=11", "Caffe", 323, 745, 1068},
    {"googlenet", "Caffe", 786, 1148, 1935},
};

constexpr PublishedCode kCode[] = {
    {"alexnet", "neon", 70, 26},      {"alexnet", "Torch", 100, 66},      {"googlenet", "neon", 92, 40},
    {"googlenet", "Torch", 100, 100}, {"overfeat", "neon", 63, 30},       {"overfeat", "Torch", 100, 69},
    {"vgg:depth=11", "neon", 67, 33}, {"vgg:depth=11", "Torch", 100, 98},
};

}  // namespace

std::span<const PublishedTime> published_times() { return kTimes; }
std::span<const PublishedCode> published_code() { return kCode; }

}  // namespace headroom
