// Convolution as matrix products: each image is unrolled to a matrix with one column per output position, and
// a product follows. Threads take whole images; each has an unrolled matrix of its own. Weight
// gradients are added up in pieces of the batch.
#include "ops/conv2d/cpu/multiply.h"
#include "ops/conv2d/cpu/unroll.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace conv2d_cpu_im2col_gemm_cc {
namespace {

// The transpose of unroll: every element of the matrix is added back to the pixel it came from.
template <class T>
void roll_up(const Conv2d& c, const T* matrix, T* image) {
  const std::int64_t stride = c.window.stride.w;
  std::fill(image, image + c.group_channels() * c.input_plane(), T{0});
  for_each_unrolled_row(c, 0, c.group_channels(),
                        [&](std::int64_t from, std::int64_t to, ColumnRange valid, std::int64_t offset) {
                          if (to < 0) return;
                          for (std::int64_t i = valid.begin; i < valid.end; ++i)
                            image[to + offset + i * stride] += matrix[from + i];
                        });
}

template <class T, bool kLibrary>
struct Im2col {
  Conv2d c;
  std::int64_t matrix = 0;  // elements of one thread's unrolled matrix

  std::int64_t group_input() const { return c.group_channels() * c.input_plane(); }
  std::int64_t group_output() const { return c.group_maps() * c.output_plane(); }
  std::int64_t group_weights() const { return c.group_maps() * c.depth(); }

  // The unrolled matrix of one group of one image; the image itself where nothing needs unrolling.
  const T* columns(const T* x, T* scratch) const {
    if (c.is_pointwise()) return x;
    unroll(c, x, scratch);
    return scratch;
  }

  void forward(const T* x, const T* w, const T* bias, T* y, T* scratch) const {
    parallel_for(c.batch, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t i = begin * c.groups; i < end * c.groups; ++i) {
        const std::int64_t group = i % c.groups;
        T* out = y + i * group_output();
        multiply<kLibrary>(false, false, c.group_maps(), c.output_plane(), c.depth(), T{1},
                           w + group * group_weights(), c.depth(),
                           columns(x + i * group_input(), scratch + thread * matrix), c.output_plane(), T{0},
                           out, c.output_plane(), finish(bias ? bias + group * c.group_maps() : nullptr));
      }
    });
  }

  AfterGemm<T> finish(const T* bias) const {
    if (bias == nullptr && c.activation == Activation::none) return {};
    return [bias, activation = c.activation](std::int64_t map, std::int64_t, std::int64_t pixels, T* to) {
      if (bias != nullptr)
        for (std::int64_t i = 0; i < pixels; ++i) to[i] += bias[map];
      apply_activation(activation, pixels, to, to);
    };
  }

  void input_gradient(const T* dy, const T* w, T* dx, T* scratch) const {
    parallel_for(c.batch, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t i = begin * c.groups; i < end * c.groups; ++i) {
        T* image = dx + i * group_input();
        T* target = c.is_pointwise() ? image : scratch + thread * matrix;
        multiply<kLibrary>(true, false, c.depth(), c.output_plane(), c.group_maps(), T{1},
                           w + i % c.groups * group_weights(), c.depth(), dy + i * group_output(),
                           c.output_plane(), T{0}, target, c.output_plane());
        if (!c.is_pointwise()) roll_up(c, target, image);
      }
    });
  }

  // A product that is worth many threads; also where there are few images. The number of threads does not
  // decide: it would decide how sums are rounded.
  bool one_by_one() const {
    constexpr double kFlopOfImage = 8e6;
    constexpr std::int64_t kFewImages = 4;
    return c.batch < kFewImages || 2.0 * double(group_weights() * c.output_plane()) >= kFlopOfImage;
  }
  // Otherwise images form pieces with sums of their own, as many on any number of threads.
  std::int64_t pieces() const { return std::min<std::int64_t>(c.batch, 16); }

  // All threads at one image after the other: sums in one order.
  void weight_gradient(const T* x, const T* dy, T* dw, T* scratch) const {
    if (c.batch == 0) std::fill(dw, dw + c.weights(), T{0});
    for (std::int64_t i = 0; i < c.batch * c.groups; ++i) {
      const T *const image = x + i * group_input(), *matrix_of_image = image;
      if (!c.is_pointwise()) {
        parallel_for(
            c.group_channels(), kElementwiseGrain / (c.taps() * c.output_plane() + 1) + 1,
            [&](std::int64_t begin, std::int64_t end, int) { unroll(c, begin, end, image, scratch, T{0}); });
        matrix_of_image = scratch;
      }
      multiply<kLibrary>(false, true, c.group_maps(), c.depth(), c.output_plane(), T{1},
                         dy + i * group_output(), c.output_plane(), matrix_of_image, c.output_plane(),
                         i < c.groups ? T{0} : T{1}, dw + i % c.groups * group_weights(), c.depth());
    }
  }

  void weight_gradient_by_images(const T* x, const T* dy, T* dw, T* scratch) const {
    const std::int64_t count = pieces();
    T* partial = scratch;  // pieces x weights, before the matrices of the threads
    parallel_for(count, 1, [&](std::int64_t first, std::int64_t last, int thread) {
      T* const unrolled = partial + count * c.weights() + thread * matrix;
      for (std::int64_t piece = first; piece < last; ++piece) {
        T* own = partial + piece * c.weights();
        const std::int64_t begin = c.batch * piece / count, end = c.batch * (piece + 1) / count;
        for (std::int64_t i = begin * c.groups; i < end * c.groups; ++i)
          multiply<kLibrary>(
              false, true, c.group_maps(), c.depth(), c.output_plane(), T{1}, dy + i * group_output(),
              c.output_plane(), columns(x + i * group_input(), unrolled), c.output_plane(),
              i < (begin + 1) * c.groups ? T{0} : T{1}, own + i % c.groups * group_weights(), c.depth());
      }
    });
    parallel_for(c.weights(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        T sum = partial[i];
        for (std::int64_t piece = 1; piece < count; ++piece) sum += partial[piece * c.weights() + i];
        dw[i] = sum;
      }
    });
  }
};

std::size_t workspace(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  const std::int64_t matrix = c.is_pointwise() ? 0 : c.depth() * c.output_plane();
  const int threads = target.device.threads;
  const Im2col<float, false> im2col{c};
  const bool weights = p.op == "conv2d_grad_weight", all_at_one = weights && im2col.one_by_one();
  const std::int64_t sums = weights && !all_at_one ? im2col.pieces() * c.weights() : 0;
  return static_cast<std::size_t>(all_at_one ? matrix : threads * matrix + sums) *
         size_of(p.outputs[0].dtype);
}

Work work(const Problem& p, const Target& target) {
  const Conv2d c = parse_conv2d(p);
  Work work = least_work(p, target);
  const auto element = double(size_of(p.outputs[0].dtype));
  if (!c.is_pointwise())  // the unrolled matrix is written once and read once
    work.add_bytes(2 * element * double(c.batch) * double(c.groups) * double(c.depth()) *
                   double(c.output_plane()));
  work.with("cpu.gemm", ordinary_unit(p.outputs[0].dtype), {c.group_maps(), c.output_plane(), c.depth()});
  // One image alone is shared out by the product, and so are gradients of weights, one image after the other.
  const bool one_by_one = p.op == "conv2d_grad_weight" ? Im2col<float, false>{c}.one_by_one() : c.batch == 1;
  if (!one_by_one) work.main().blocks = c.batch;
  return work;
}

template <bool kLibrary>
Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    const Conv2d c = parse_conv2d(p);
    const Im2col<T, kLibrary> im2col{c, c.is_pointwise() ? 0 : c.depth() * c.output_plane()};
    return [im2col, op = p.op](const LaunchArgs& a) {
      T* scratch = static_cast<T*>(a.workspace);
      if (op == "conv2d_grad_input")
        return im2col.input_gradient(a.in<T>(0), a.in<T>(1), a.out<T>(0), scratch);
      if (op == "conv2d_grad_weight")
        return im2col.one_by_one()
                   ? im2col.weight_gradient(a.in<T>(0), a.in<T>(1), a.out<T>(0), scratch)
                   : im2col.weight_gradient_by_images(a.in<T>(0), a.in<T>(1), a.out<T>(0), scratch);
      im2col.forward(a.in<T>(0), a.in<T>(1), im2col.c.bias ? a.in<T>(2) : nullptr, a.out<T>(0), scratch);
    };
  });
}

}  // namespace
}  // namespace conv2d_cpu_im2col_gemm_cc

Kernel conv2d_cpu_im2col_gemm() {
  using namespace conv2d_cpu_im2col_gemm_cc;
  return {.name = "cpu:im2col_gemm", .work = work, .prepare = prepare<false>, .workspace = workspace};
}

Kernel conv2d_cpu_im2col_blas() {
  using namespace conv2d_cpu_im2col_gemm_cc;
  return {.name = "cpu:im2col_blas",
          .work = work,
          .prepare = prepare<true>,
          .workspace = workspace,
          .vendor = true};
}

}  // namespace headroom
