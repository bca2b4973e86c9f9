#include "bench/published_perceptron.h"

#include <algorithm>
#include <iterator>

namespace headroom {
namespace {

constexpr PublishedSource kSources[] = {
    {'a', "2024, four Quadro RTX 6000, mean of 10 runs"},
    {'b', "2024, reference of homework 6, Quadro RTX 6000"},
    {'c', "2024, profiled run, two Quadro RTX 6000; 29 ms of it set up"},
    {'d', "report of a 2016-2020 term, GPU not stated"},
    {'e', "report of June 2018, four ranks of the course's cluster"},
    {'f', "report of a 2016-2020 term, K80"},
};

constexpr PublishedTraining kTrainings[] = {
    {"small1", "fp32", "cuda", 4, 0.0187, 0.0024, 'a'},  {"small2", "fp32", "cuda", 4, 0.0091, 0.0166, 'a'},
    {"small3", "fp32", "cuda", 4, 0.166, 0.158, 'a'},    {"medium", "fp32", "cuda", 4, 0.203, 0.075, 'a'},
    {"large", "fp32", "cuda", 4, 0.961, 0.258, 'a'},     {"custom", "fp32", "cuda", 4, 2.140, 0.127, 'a'},
    {"custom", "fp64", "cuda", 4, 1.819, 0.2218, 'a'},   {"custom", "fp32", "cuda", 1, 0, 0.0587, 'b'},
    {"custom", "fp32", "cuda", 2, 0, 0.0845, 'b'},       {"custom", "fp32", "cuda", 4, 0, 0.0982, 'b'},
    {"nsys1", "fp32", "cuda", 2, 0, 0.133391, 'c'},      {"case1", "fp64", "cpu", 4, 116.96, 41.343, 'd'},
    {"case2", "fp64", "cpu", 4, 26.0598, 10.543, 'd'},   {"case3", "fp64", "cpu", 4, 25.2335, 9.834, 'd'},
    {"case1", "fp64", "cuda", 4, 116.96, 106.929, 'd'},  {"case2", "fp64", "cuda", 4, 26.0598, 26.4188, 'd'},
    {"case3", "fp64", "cuda", 4, 25.2335, 2.89346, 'd'}, {"case1", "fp64", "cuda", 4, 126.7, 16.92, 'e'},
    {"case2", "fp64", "cuda", 4, 31.74, 4.71, 'e'},      {"case3", "fp64", "cuda", 4, 9.54, 8.95, 'e'},
    {"case1", "fp64", "cuda", 1, 540.1, 18.48, 'f'},     {"case1", "fp64", "cuda", 2, 540.1, 11.68, 'f'},
    {"case1", "fp64", "cuda", 3, 540.1, 14.88, 'f'},     {"case1", "fp64", "cuda", 4, 540.1, 17.18, 'f'},
    {"case2", "fp64", "cuda", 1, 78.1, 5.41, 'f'},       {"case2", "fp64", "cuda", 2, 78.1, 4.05, 'f'},
    {"case2", "fp64", "cuda", 3, 78.1, 3.88, 'f'},       {"case2", "fp64", "cuda", 4, 78.1, 4.98, 'f'},
    {"case3", "fp64", "cuda", 1, 12.8, 6.56, 'f'},       {"case3", "fp64", "cuda", 2, 12.8, 6.28, 'f'},
    {"case3", "fp64", "cuda", 3, 12.8, 11.51, 'f'},      {"case3", "fp64", "cuda", 4, 12.8, 11.46, 'f'},
};

}  // namespace

std::vector<PublishedTraining> published_trainings(std::string_view of, std::string_view precision,
                                                   std::string_view device, int ranks) {
  std::vector<PublishedTraining> list;
  std::ranges::copy_if(kTrainings, std::back_inserter(list), [&](const PublishedTraining& t) {
    return t.of == of && t.precision == precision && t.device == device && t.ranks == ranks;
  });
  return list;
}

std::span<const PublishedSource> published_sources() { return kSources; }

}  // namespace headroom
