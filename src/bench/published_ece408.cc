#include "bench/published_ece408.h"

#include <algorithm>
#include <iterator>

#include "base/text.h"

namespace headroom {
namespace {

// Fall 2018 ran on Volta GPUs, MXNet 1.3 and CUDA 9.2. A sum without its parts is one whose source does not
// say which layer took what.
constexpr PublishedEce408 kPublished[] = {
    {"2017fa", 2'000, "", "own", "course, 'high' weights", 0, 0, 0, 0.8625},
    {"2017fa", 10'000, "", "library", "course", 0, 0, 0, 0.8673},
    {"2017fa", 10'000, "", "own", "course, 'high' weights", 0, 0, 0, 0.8562},

    {"2018sp", 10, "", "own", "course", 0, 0, 0, 1},
    {"2018sp", 100, "", "own", "course", 0, 0, 0, 0.88},
    {"2018sp", 10'000, "", "library", "course", 0, 0, 0, 0.8444},
    {"2018sp", 10'000, "", "own", "course", 0, 0, 0, 0.8451},

    {"2018fa", 100, "", "own", "course", 0, 0, 0, 0.85},
    {"2018fa", 100, "cuda", "own", "team report, basic kernel", 0.477, 1.654, 2.131},
    {"2018fa", 1'000, "", "own", "course", 0, 0, 0, 0.827},
    {"2018fa", 1'000, "cuda", "own", "team report, basic kernel", 4.381, 16.349, 20.730},
    {"2018fa", 10'000, "", "library", "course", 0, 0, 0, 0.8177},
    {"2018fa", 10'000, "", "own", "course", 0, 0, 0, 0.8171},
    {"2018fa", 10'000, "cpu", "library", "team report", 0, 0, 0, 0, 13.18},
    {"2018fa", 10'000, "cpu", "library", "report 1", 0, 0, 0, 0, 14.19},
    {"2018fa", 10'000, "cpu", "library", "report 2", 0, 0, 0, 0, 13.14},
    {"2018fa", 10'000, "cpu", "own", "course, sample output", 21'480, 101'930, 123'410},
    {"2018fa", 10'000, "cpu", "own", "team report, loops", 25'142.652, 151'186.232, 176'328.884, 0, 179.77},
    {"2018fa", 10'000, "cpu", "own", "another report", 0, 0, 0, 0, 185.15},
    {"2018fa", 10'000, "cuda", "library", "team report, cuDNN", 0, 0, 44.4, 0, 5.01},
    {"2018fa", 10'000, "cuda", "library", "another report, cuDNN", 0, 0, 39.9},
    {"2018fa", 10'000, "cuda", "library", "another report", 0, 0, 0, 0, 4.62},
    {"2018fa", 10'000, "cuda", "library", "another report", 0, 0, 0, 0, 5.80},
    {"2018fa", 10'000, "cuda", "own", "team report, basic kernel", 43.434, 152.497, 195.931, 0, 4.48},
    {"2018fa", 10'000, "cuda", "own", "team report, constant memory", 39.346, 134.163, 173.509},
    {"2018fa", 10'000, "cuda", "own", "team report, + unrolled loops", 30.745, 98.021, 128.766},
    {"2018fa", 10'000, "cuda", "own", "report 1, basic kernel", 64.318, 147.558, 211.876},
    {"2018fa", 10'000, "cuda", "own", "report 1, unroll + matmul", 59.692, 140.799, 200.491},
    {"2018fa", 10'000, "cuda", "own", "report 1, constant memory", 174.848, 419.835, 594.683},
    {"2018fa", 10'000, "cuda", "own", "report 1, shared memory", 59.888, 137.068, 196.956},
    {"2018fa", 10'000, "cuda", "own", "report 2, basic kernel", 42.534, 152.912, 195.446},
    {"2018fa", 10'000, "cuda", "own", "report 3, final, 'about'", 0, 0, 60},

    {"2019sp", 100, "", "own", "course", 0, 0, 0, 0.84},
    {"2019sp", 1'000, "", "own", "course", 0, 0, 0, 0.852},
    {"2019sp", 10'000, "", "own", "course", 0, 0, 0, 0.8397},
    {"2019sp", 10'000, "cpu", "own", "course, sample output", 2'506.844, 7'662.763, 10'169.607},
    {"2019sp", 10'000, "cuda", "own", "best report, basic kernel", 9.252, 19.331, 28.583},
    {"2019sp", 10'000, "cuda", "own", "best report, three ideas", 3.560, 12.878, 16.438},
    {"2019sp", 10'000, "cuda", "own", "best report, final, fp16", 1.053, 1.509, 2.562},

    {"2019fa", 100, "", "own", "course", 0, 0, 0, 0.76},
    {"2019fa", 1'000, "", "own", "course", 0, 0, 0, 0.767},
    {"2019fa", 10'000, "", "library", "course", 0, 0, 0, 0.8154},
    {"2019fa", 10'000, "", "own", "course", 0, 0, 0, 0.7653},
    {"2019fa", 10'000, "cpu", "own", "course, sample output", 10'906.517, 58'887.046, 69'793.563},
    {"2019fa", 10'000, "cuda", "own", "reports, the fastest", 0, 0, 69},
    {"2019fa", 10'000, "cuda", "own", "reports, the slowest", 0, 0, 105},

    {"2020fa", 100, "", "own", "course", 0, 0, 0, 0.86},
    {"2020fa", 1'000, "", "own", "course", 0, 0, 0, 0.886},
    {"2020fa", 10'000, "", "own", "course", 0, 0, 0, 0.8714},
    {"2020fa", 10'000, "cpu", "own", "course, sample output", 74'253.3, 213'714, 287'967.3},
    {"2020fa", 10'000, "cuda", "own", "2021, a correct basic kernel", 0, 0, 170},
    {"2020fa", 10'000, "cuda", "own", "2021, full marks", 0, 0, 70},
    {"2020fa", 10'000, "cuda", "own", "2024, full marks", 0, 0, 65},
};

}  // namespace

std::vector<PublishedEce408> published_ece408(std::string_view term, std::int64_t images) {
  std::vector<PublishedEce408> rows;
  std::ranges::copy_if(kPublished, std::back_inserter(rows),
                       [&](const PublishedEce408& row) { return row.term == term && row.images == images; });
  return rows;
}

std::string ece408_term(std::string_view model) {
  constexpr std::string_view kName = "ece408", kTerm = "term=", kClasses = "classes=";
  const std::size_t colon = model.find(':');
  if (model.substr(0, colon) != kName) return {};
  std::string term = "2018fa";
  if (colon == std::string_view::npos) return term;
  for (const std::string& option : split(model.substr(colon + 1), ',')) {
    if (option.starts_with(kTerm)) term = option.substr(kTerm.size());
    if (option.starts_with(kClasses) && option != "classes=10") return {};
  }
  return term;
}

}  // namespace headroom
