#include "bench/gemm_check.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "ops/cpu/blas.h"
#include "ops/cpu/parallel.h"
#include "ops/gemm/gemm.h"

namespace headroom {
namespace {

using Doubles = std::vector<double>;

std::size_t to_size(std::int64_t n) { return static_cast<std::size_t>(n); }

// Lines whose widened form takes at most 64 MB, of `count` that there are.
std::int64_t lines_at_once(std::int64_t length, std::int64_t count) {
  return std::clamp<std::int64_t>((8 << 20) / length, 1, count);
}

// Lines of `length` results in fp64 that a check keeps.
double lines_kept(std::int64_t length) { return std::max(1.0, 256e6 / (8.0 * double(length))); }

class GemmCheck final : public LadderCheck {
 public:
  GemmCheck(const Problem& problem, const std::vector<HostTensor>& inputs, const Policy& policy,
            double budget)
      : p_(gemm_problem(problem.inputs, problem.attrs)), dtype_(problem.outputs[0].dtype), policy_(policy) {
    if (p_.trans_a || p_.trans_b) fail("the check of gemm takes no transposed operands");
    choose_rows(budget);
    choose_runs(budget);
    const HostTensor* c = p_.adds() ? &inputs[2] : nullptr;
    compute_rows(inputs[0], inputs[1], c);
    size_ = std::max(size_, usual_size(inputs[0], inputs[1]));
    compute_runs(inputs[0], inputs[1], c);
  }

  RungError compare(const std::vector<HostTensor>& outputs) const override {
    const HostTensor& out = outputs.at(0);
    RungError error = compare_rows(out);
    if (error.wrong.empty()) error.wrong = first_wrong_run(out);
    return error;
  }

 private:
  // Of a product of numbers like the first ones of both factors: a few results may happen to be near zero.
  double usual_size(const HostTensor& a, const HostTensor& b) const {
    const std::int64_t sample = 1 << 16;
    const auto mean_square = [&](const HostTensor& tensor, std::int64_t count) {
      Doubles some(to_size(std::min(count, sample)));
      tensor.read(0, std::ssize(some), some.data());
      double squares = 0;
      for (const double x : some) squares += x * x;
      return squares / double(some.size());
    };
    return std::abs(p_.alpha) *
           std::sqrt(double(p_.k) * mean_square(a, p_.m * p_.k) * mean_square(b, p_.k * p_.n));
  }

  double terms() const { return 2 * double(p_.k) + 3; }

  void choose_rows(double budget) {
    const double cost = dtype_ == DType::f64 ? 128 : 1;  // long double is software on some machines
    const double affordable = std::min(budget / cost / (2 * double(p_.n) * double(p_.k)), lines_kept(p_.n));
    const auto count =
        static_cast<std::int64_t>(std::clamp(affordable, std::min(2.0, double(p_.m)), double(p_.m)));
    for (std::int64_t i = 0; i < count; ++i) rows_.push_back(count == 1 ? 0 : i * (p_.m - 1) / (count - 1));
    want_rows_.assign(to_size(count * p_.n), 0.0);
  }

  void choose_runs(double budget) {
    const double affordable =
        std::min(budget / (2 * double(p_.m) * double(p_.k)), lines_kept(std::max(p_.m, p_.k)));
    const auto most = static_cast<std::int64_t>(std::clamp(affordable, 1.0, double(p_.n)));
    width_ = (p_.n + most - 1) / most;
    runs_ = (p_.n + width_ - 1) / width_;
    const Philox random(0xf4e1);
    signs_.assign(to_size(p_.n), 1.0);
    if (width_ > 1)
      for (std::size_t j = 0; j < signs_.size(); ++j) signs_[j] = random.bits(j) & 1 ? 1.0 : -1.0;
  }

  // The row with its signs, run by run.
  void add_up(const double* row, double* to) const {
    for (std::int64_t run = 0; run < runs_; ++run) {
      double sum = 0;
      for (std::int64_t j = run * width_; j < std::min(p_.n, (run + 1) * width_); ++j)
        sum += signs_[to_size(j)] * row[j];
      to[run] = sum;
    }
  }

  void compute_rows(const HostTensor& a, const HostTensor& b, const HostTensor* c) {
    if (dtype_ == DType::f64)
      multiply_rows_wide(a, b);
    else
      multiply_rows(a, b);
    finish_rows(c);
  }

  void multiply_rows(const HostTensor& a, const HostTensor& b) {
    const std::int64_t count = std::ssize(rows_), at_once = lines_at_once(std::max(p_.n, count), p_.k);
    Doubles left(to_size(count * at_once)), right(to_size(at_once * p_.n));
    for (std::int64_t k = 0; k < p_.k; k += at_once) {
      const std::int64_t depth = std::min(at_once, p_.k - k);
      for (std::int64_t i = 0; i < count; ++i)
        a.read(rows_[to_size(i)] * p_.k + k, depth, left.data() + i * depth);
      b.read(k * p_.n, depth * p_.n, right.data());
      blas_gemm(false, false, count, p_.n, depth, p_.alpha, left.data(), depth, right.data(), p_.n, 1.0,
                want_rows_.data(), p_.n);
    }
  }

  // fp64 is compared with more than fp64: the library would judge itself.
  void multiply_rows_wide(const HostTensor& a, const HostTensor& b) {
    parallel_for(std::ssize(rows_), 1, [&](std::int64_t begin, std::int64_t end, int) {
      Doubles left(to_size(p_.k)), right(to_size(p_.n));
      for (std::int64_t i = begin; i < end; ++i) {
        std::vector<long double> sums(to_size(p_.n), 0.0L);
        a.read(rows_[to_size(i)] * p_.k, p_.k, left.data());
        for (std::int64_t k = 0; k < p_.k; ++k) {
          b.read(k * p_.n, p_.n, right.data());
          for (std::size_t j = 0; j < sums.size(); ++j)
            sums[j] += static_cast<long double>(left[to_size(k)]) * right[j];
        }
        for (std::int64_t j = 0; j < p_.n; ++j)
          want_rows_[to_size(i * p_.n + j)] = static_cast<double>(p_.alpha * sums[to_size(j)]);
      }
    });
  }

  void finish_rows(const HostTensor* c) {
    const std::int64_t count = std::ssize(rows_);
    Doubles add(to_size(p_.n));
    double squares = 0;
    for (std::int64_t i = 0; i < count; ++i) {
      if (c != nullptr) c->read(rows_[to_size(i)] * p_.n, p_.n, add.data());
      for (std::int64_t j = 0; j < p_.n; ++j) {
        double& want = want_rows_[to_size(i * p_.n + j)];
        want += p_.beta * add[to_size(j)];
        squares += want * want;
      }
    }
    size_ = std::sqrt(squares / double(want_rows_.size()));
  }

  // A (B x) + beta C x, with x the signs of each run.
  void compute_runs(const HostTensor& a, const HostTensor& b, const HostTensor* c) {
    Doubles right(to_size(p_.k * runs_));
    want_runs_.assign(to_size(p_.m * runs_), 0.0);
    each_row(p_.k, p_.n, [&](std::int64_t k, double* row) {
      b.read(k * p_.n, p_.n, row);
      add_up(row, right.data() + k * runs_);
    });
    if (c != nullptr)
      each_row(p_.m, p_.n, [&](std::int64_t i, double* row) {
        c->read(i * p_.n, p_.n, row);
        add_up(row, want_runs_.data() + i * runs_);
      });
    const std::int64_t at_once = lines_at_once(p_.k, p_.m);
    Doubles left(to_size(at_once * p_.k));
    for (std::int64_t i = 0; i < p_.m; i += at_once) {
      const std::int64_t count = std::min(at_once, p_.m - i);
      a.read(i * p_.k, count * p_.k, left.data());
      blas_gemm(false, false, count, runs_, p_.k, p_.alpha, left.data(), p_.k, right.data(), runs_, p_.beta,
                want_runs_.data() + i * runs_, runs_);
    }
  }

  template <class Body>
  static void each_row(std::int64_t count, std::int64_t length, Body&& body) {
    parallel_for(count, 16, [&](std::int64_t begin, std::int64_t end, int) {
      Doubles row(to_size(length));
      for (std::int64_t i = begin; i < end; ++i) body(i, row.data());
    });
  }

  RungError compare_rows(const HostTensor& out) const {
    RungError error;
    Doubles got(to_size(p_.n));
    double wrong = 0, right = 0, largest = 0;
    for (std::size_t i = 0; i < rows_.size(); ++i) {
      out.read(rows_[i] * p_.n, p_.n, got.data());
      for (std::int64_t j = 0; j < p_.n; ++j) {
        const double want = want_rows_[i * to_size(p_.n) + to_size(j)], is = got[to_size(j)],
                     off = std::abs(is - want),
                     allowed = allowed_error(want, dtype_, policy_, terms(), size_);
        if (!(off <= allowed) && error.wrong.empty())
          error.wrong =
              fmt::format("row {}, column {} is {:.9g}, but fp64 gives {:.9g}; rounding explains {:.2g}",
                          rows_[i], j, is, want, allowed);
        wrong += off * off, right += want * want;
        largest = std::max(largest, off);
      }
    }
    error.frobenius = right > 0 ? std::sqrt(wrong / right) : std::sqrt(wrong);
    error.max = size_ > 0 ? largest / size_ : largest;
    return error;
  }

  // Errors of neighbours are independent: those of a run grow with the root of its width.
  double allowed_of_run(double want) const {
    if (width_ == 1) return allowed_error(want, dtype_, policy_, terms(), size_);
    return std::sqrt(double(width_)) * allowed_error(size_, dtype_, policy_, terms(), size_);
  }

  std::string first_wrong_run(const HostTensor& out) const {
    std::vector<std::string> found(to_size(p_.m));
    each_row(p_.m, p_.n, [&](std::int64_t i, double* row) {
      out.read(i * p_.n, p_.n, row);
      Doubles got(to_size(runs_));
      add_up(row, got.data());
      for (std::int64_t run = 0; run < runs_ && found[to_size(i)].empty(); ++run) {
        const double want = want_runs_[to_size(i * runs_ + run)], allowed = allowed_of_run(want);
        if (std::abs(got[to_size(run)] - want) <= allowed) continue;  // false for NaN
        found[to_size(i)] = fmt::format(
            "row {}, columns {} to {}: their sum with random signs is {:.9g}, but fp64 gives {:.9g}; "
            "rounding "
            "explains {:.2g}",
            i, run * width_, std::min(p_.n, (run + 1) * width_) - 1, got[to_size(run)], want, allowed);
      }
    });
    const auto first = std::ranges::find_if(found, [](const std::string& text) { return !text.empty(); });
    return first == found.end() ? std::string() : *first;
  }

  GemmProblem p_;
  DType dtype_;
  Policy policy_;
  std::vector<std::int64_t> rows_;
  std::int64_t width_ = 1, runs_ = 1;  // columns of a run, and runs of a row
  Doubles signs_, want_rows_, want_runs_;
  double size_ = 0;  // of a result: root mean square of all, or what is usual
};

}  // namespace

std::unique_ptr<LadderCheck> gemm_check(const Problem& problem, const std::vector<HostTensor>& inputs,
                                        const Policy& policy, double budget_flops) {
  return std::make_unique<GemmCheck>(problem, inputs, policy, budget_flops);
}

}  // namespace headroom
