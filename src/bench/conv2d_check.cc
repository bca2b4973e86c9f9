#include "bench/conv2d_check.h"

#include <algorithm>
#include <cmath>

#include "bench/conv2d_lines.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace {

class Conv2dCheck final : public LadderCheck {
 public:
  Conv2dCheck(const Problem& problem, const std::vector<HostTensor>& inputs, const Policy& policy,
              double budget)
      : lines_(problem, inputs), dtype_(problem.outputs.at(0).dtype), policy_(policy) {
    constexpr double kMaxBytes = 512e6;  // of results kept in fp64
    const double most =
        std::min(budget / std::max(lines_.line_flops(), 1.0), kMaxBytes / (8.0 * double(lines_.length())));
    const auto count = static_cast<std::int64_t>(std::clamp(most, 1.0, double(lines_.lines())));
    const std::int64_t width = (lines_.lines() + count - 1) / count;
    all_ = {lines_.runs(width), {}};
    all_.want = lines_.results(all_.runs);
    if (width > 1) {
      some_.runs = lines_.some_lines(std::clamp<std::int64_t>(count / 8, 2, 16));
      some_.want = lines_.results(some_.runs);
    }
    const std::vector<double>& single = width > 1 ? some_.want : all_.want;
    double squares = 0, results = 0;  // windows that see padding alone say nothing about the others
    for (const double want : single)
      if (want != 0) squares += want * want, ++results;
    size_ = std::sqrt(squares / std::max(results, 1.0));
  }

  RungError compare(const std::vector<HostTensor>& outputs) const override {
    if (some_.runs.empty()) return compared(outputs.at(0), all_);
    RungError error = compared(outputs.at(0), some_);
    if (error.wrong.empty()) error.wrong = compared(outputs.at(0), all_).wrong;
    return error;
  }

 private:
  struct Expected {
    std::vector<Conv2dLines::Run> runs;
    std::vector<double> want;  // of each run, one after the other
  };
  struct Part {  // of one run
    double wrong = 0, right = 0, largest = 0;
    std::string first_wrong;
  };

  RungError compared(const HostTensor& out, const Expected& expected) const {
    std::vector<Part> parts(expected.runs.size());
    parallel_for(std::ssize(parts), 1, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t r = begin; r < end; ++r)
        parts[static_cast<std::size_t>(r)] = compared_run(out, expected.runs[static_cast<std::size_t>(r)],
                                                          expected.want.data() + r * lines_.length());
    });
    RungError error;
    double wrong = 0, right = 0, largest = 0;
    for (const Part& part : parts) {
      wrong += part.wrong, right += part.right, largest = std::max(largest, part.largest);
      if (error.wrong.empty()) error.wrong = part.first_wrong;
    }
    error.frobenius = right > 0 ? std::sqrt(wrong / right) : std::sqrt(wrong);
    error.max = size_ > 0 ? largest / size_ : largest;
    return error;
  }

  Part compared_run(const HostTensor& out, const Conv2dLines::Run& run, const double* want) const {
    const auto length = static_cast<std::size_t>(lines_.length());
    std::vector<double> got(length), line(length);
    for (std::int64_t i = run.first; i < run.first + run.count; ++i) {
      out.read(i * lines_.length(), lines_.length(), line.data());
      for (std::size_t k = 0; k < length; ++k) got[k] += lines_.sign(i) * line[k];
    }
    Part part;
    for (std::size_t k = 0; k < length; ++k) {
      const double off = std::abs(got[k] - want[k]), allowed = allowed_of(run, want[k]);
      if (!(off <= allowed) && part.first_wrong.empty())  // false for NaN
        part.first_wrong = told(run, static_cast<std::int64_t>(k), got[k], want[k], allowed);
      part.wrong += off * off, part.right += want[k] * want[k];
      part.largest = std::max(part.largest, off);
    }
    return part;
  }

  // Errors of different lines are independent: those of a sum grow with the root of its length.
  double allowed_of(const Conv2dLines::Run& run, double want) const {
    if (run.count == 1) return allowed_error(want, dtype_, policy_, lines_.terms(), size_);
    return std::sqrt(double(run.count)) * allowed_error(size_, dtype_, policy_, lines_.terms(), size_);
  }

  std::string told(const Conv2dLines::Run& run, std::int64_t element, double got, double want,
                   double allowed) const {
    const std::string where = lines_.name(run.first, element);
    if (run.count == 1)
      return fmt::format("{} is {:.9g}, but fp64 gives {:.9g}; rounding explains {:.2g}", where,
                         lines_.sign(run.first) * got, lines_.sign(run.first) * want, allowed);
    return fmt::format(
        "{} {} to {}{}: their sum with random signs is {:.9g}, but fp64 gives {:.9g}; rounding explains "
        "{:.2g}",
        lines_.line_word(), run.first, run.first + run.count - 1, where.substr(where.find(':')), got, want,
        allowed);
  }

  Conv2dLines lines_;
  DType dtype_;
  Policy policy_;
  Expected all_, some_;  // `some_` only where the lines of `all_` are sums
  double size_ = 0;      // root mean square of the results that are not zero
};

}  // namespace

std::unique_ptr<LadderCheck> conv2d_check(const Problem& problem, const std::vector<HostTensor>& inputs,
                                          const Policy& policy, double budget_flops) {
  return std::make_unique<Conv2dCheck>(problem, inputs, policy, budget_flops);
}

}  // namespace headroom
