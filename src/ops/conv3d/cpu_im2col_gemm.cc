// Convolution over volumes as matrix products. The output of an image is cut into slabs of whole slices. The
// windows of a slab are unrolled to a matrix with one column for each output, small enough to stay in a cache
// until the library has multiplied it. Threads take whole slabs; each has a matrix, and a weight gradient, of
// its own.
#include "ops/conv2d/cpu/unroll.h"
#include "ops/conv3d/conv3d.h"
#include "ops/cpu/gemm.h"
#include "ops/cpu/parallel.h"

namespace headroom {
namespace conv3d_cpu_im2col_gemm_cc {
namespace {

constexpr std::int64_t kSlabElements = std::int64_t{1} << 18;  // of the unrolled matrix: 1 MiB of fp32

struct Slab {
  std::int64_t begin, end;  // slices of the output
};

// One tap at stride one without padding: the input already is the unrolled matrix.
bool is_pointwise(const Conv3d& c) {
  const auto plain = [](const WindowAxis& a) {
    return a.kernel == 1 && a.stride == 1 && a.pad + a.pad_end == 0;
  };
  return plain(c.window.depth) && plain(c.window.rows) && plain(c.window.columns);
}

std::int64_t slices_of_slab(const Conv3d& c) {
  return std::clamp<std::int64_t>(kSlabElements / (c.depth() * c.window.output_plane()), 1,
                                  c.window.depth.output);
}

std::int64_t matrix_elements(const Conv3d& c) {
  return is_pointwise(c) ? 0 : c.depth() * slices_of_slab(c) * c.window.output_plane();
}

// Walks the rows of one channel in a slab's matrix: visit(row of the matrix, row of the input or -1, valid
// columns, offset).
template <class Visit>
void each_unrolled_row(const Conv3d& c, const Slab& slab, std::int64_t channel, Visit&& visit) {
  const Window3d& w = c.window;
  std::int64_t row = channel * w.taps() * (slab.end - slab.begin) * w.rows.output;
  for (std::int64_t tap = 0; tap < w.taps(); ++tap) {
    const std::int64_t kd = tap / (w.rows.kernel * w.columns.kernel), kw = tap % w.columns.kernel,
                       kh = tap / w.columns.kernel % w.rows.kernel;
    const std::int64_t offset = kw * w.columns.dilation - w.columns.pad;
    const ColumnRange valid = columns_inside(w.columns.output, w.columns.input, w.columns.stride, offset);
    for (std::int64_t od = slab.begin; od < slab.end; ++od) {
      const std::int64_t id = w.depth.source(od, kd);
      for (std::int64_t oh = 0; oh < w.rows.output; ++oh, ++row) {
        const std::int64_t ih = w.rows.source(oh, kh);
        const std::int64_t from =
            id < 0 || ih < 0 ? -1 : ((channel * w.depth.input + id) * w.rows.input + ih) * w.columns.input;
        visit(row * w.columns.output, from, valid, offset);
      }
    }
  }
}

template <class T>
void unroll_slab(const Conv3d& c, const Slab& slab, const T* x, T* matrix) {
  const std::int64_t width = c.window.columns.output, stride = c.window.columns.stride;
  parallel_for(c.group_channels(), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t k = begin; k < end; ++k)
      each_unrolled_row(c, slab, k,
                        [&](std::int64_t to, std::int64_t from, ColumnRange valid, std::int64_t offset) {
                          T* row = matrix + to;
                          if (from < 0) return std::fill(row, row + width, T{0}), void();
                          std::fill(row, row + valid.begin, T{0});
                          std::fill(row + valid.end, row + width, T{0});
                          const T* source = x + from + offset;
                          if (stride == 1)
                            std::memcpy(row + valid.begin, source + valid.begin,
                                        std::size_t(valid.end - valid.begin) * sizeof(T));
                          else
                            for (std::int64_t i = valid.begin; i < valid.end; ++i)
                              row[i] = source[i * stride];
                        });
  });
}

// The transpose of unroll_slab: every element of the matrix is added to the input it came from.
template <class T>
void roll_up_slab(const Conv3d& c, const Slab& slab, const T* matrix, T* x) {
  const std::int64_t stride = c.window.columns.stride;
  parallel_for(c.group_channels(), 1, [&](std::int64_t begin, std::int64_t end, int) {
    for (std::int64_t k = begin; k < end; ++k)
      each_unrolled_row(c, slab, k,
                        [&](std::int64_t from, std::int64_t to, ColumnRange valid, std::int64_t offset) {
                          if (to < 0) return;
                          for (std::int64_t i = valid.begin; i < valid.end; ++i)
                            x[to + offset + i * stride] += matrix[from + i];
                        });
  });
}

template <class T>
struct SlabProducts {
  Conv3d c;
  bool pointwise = false;
  std::int64_t slices = 1, slabs = 1, matrix = 0;

  explicit SlabProducts(const Conv3d& conv)
      : c(conv),
        pointwise(is_pointwise(c)),
        slices(slices_of_slab(c)),
        slabs((c.window.depth.output + slices - 1) / slices),
        matrix(matrix_elements(c)) {}

  std::int64_t group_input() const { return c.group_channels() * c.window.inputs(); }
  std::int64_t group_output() const { return c.group_maps() * c.window.outputs(); }
  std::int64_t group_weights() const { return c.group_maps() * c.depth(); }
  Slab slab(std::int64_t i) const { return {i * slices, std::min((i + 1) * slices, c.window.depth.output)}; }
  std::int64_t columns(const Slab& s) const { return (s.end - s.begin) * c.window.output_plane(); }
  std::int64_t first_column(const Slab& s) const { return s.begin * c.window.output_plane(); }

  // The unrolled matrix of a slab of one group, and the length of its rows in memory.
  std::pair<const T*, std::int64_t> unrolled(const Slab& s, const T* x, T* scratch) const {
    if (pointwise) return {x + first_column(s), c.window.inputs()};
    unroll_slab(c, s, x, scratch);
    return {scratch, columns(s)};
  }

  void forward(const T* x, const T* w, const T* bias, T* y, T* scratch) const {
    parallel_for(c.batch * c.groups * slabs, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t i = begin; i < end; ++i) {
        const std::int64_t part = i / slabs, group = part % c.groups;
        const Slab s = slab(i % slabs);
        const auto [b, ldb] = unrolled(s, x + part * group_input(), scratch + thread * matrix);
        T* out = y + part * group_output() + first_column(s);
        gemm(false, false, c.group_maps(), columns(s), c.depth(), T{1}, w + group * group_weights(),
             c.depth(), b, ldb, T{0}, out, c.window.outputs());
        if (bias == nullptr) continue;
        for (std::int64_t m = 0; m < c.group_maps(); ++m)
          for (std::int64_t j = 0; j < columns(s); ++j)
            out[m * c.window.outputs() + j] += bias[group * c.group_maps() + m];
      }
    });
  }

  // Windows of two slabs may overlap: a thread takes whole images.
  void input_gradient(const T* dy, const T* w, T* dx, T* scratch) const {
    parallel_for(c.batch * c.groups, 1, [&](std::int64_t begin, std::int64_t end, int thread) {
      for (std::int64_t part = begin; part < end; ++part) {
        T* x = dx + part * group_input();
        if (!pointwise) std::fill(x, x + group_input(), T{0});
        for (std::int64_t i = 0; i < slabs; ++i) {
          const Slab s = slab(i);
          T* target = pointwise ? x + first_column(s) : scratch + thread * matrix;
          gemm(true, false, c.depth(), columns(s), c.group_maps(), T{1},
               w + part % c.groups * group_weights(), c.depth(), dy + part * group_output() + first_column(s),
               c.window.outputs(), T{0}, target, pointwise ? c.window.inputs() : columns(s));
          if (!pointwise) roll_up_slab(c, s, target, x);
        }
      }
    });
  }

  void weight_gradient(const T* x, const T* dy, T* dw, T* scratch, int threads) const {
    T* partial = scratch + threads * matrix;  // threads x weights
    const int used = inside_team() ? 1 : threads;
    run_team(used, [&](int thread) {
      T* own = partial + thread * c.weights();
      std::fill(own, own + c.weights(), T{0});
      const std::int64_t items = c.batch * c.groups * slabs;
      for (std::int64_t i = items * thread / used; i < items * (thread + 1) / used; ++i) {
        const std::int64_t part = i / slabs;
        const Slab s = slab(i % slabs);
        const auto [b, ldb] = unrolled(s, x + part * group_input(), scratch + thread * matrix);
        gemm(false, true, c.group_maps(), c.depth(), columns(s), T{1},
             dy + part * group_output() + first_column(s), c.window.outputs(), b, ldb, T{1},
             own + part % c.groups * group_weights(), c.depth());
      }
    });
    parallel_for(c.weights(), kElementwiseGrain, [&](std::int64_t begin, std::int64_t end, int) {
      for (std::int64_t i = begin; i < end; ++i) {
        T sum = partial[i];
        for (int t = 1; t < used; ++t) sum += partial[t * c.weights() + i];
        dw[i] = sum;
      }
    });
  }
};

std::size_t slab_workspace(const Problem& p, const Target& target) {
  const Conv3d c = parse_conv3d(p);
  const std::int64_t partial = p.op == "conv3d_grad_weight" ? c.weights() : 0;
  return static_cast<std::size_t>(target.device.threads * (matrix_elements(c) + partial)) *
         size_of(p.outputs[0].dtype);
}

// A slab's matrix stays in a cache: beside the least, only those parts of the input that slabs share move.
Work slab_work(const Problem& p, const Target& target) {
  const Conv3d c = parse_conv3d(p);
  Work work = least_work(p, target);
  const std::int64_t slices = slices_of_slab(c);
  work.with("cpu.gemm", ordinary_unit(p.outputs[0].dtype),
            {c.group_maps(), slices * c.window.output_plane(), c.depth()});
  const std::int64_t slabs = (c.window.depth.output + slices - 1) / slices;
  const std::int64_t items = c.batch * c.groups * (p.op == "conv3d_grad_input" ? 1 : slabs);
  if (items > 1 || p.op == "conv3d_grad_weight") work.main().blocks = items;
  return work;
}

Launcher prepare_slabs(const Problem& p, const LaunchContext& context) {
  return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return [products = SlabProducts<T>(parse_conv3d(p)), op = p.op,
            threads = context.target.device.threads](const LaunchArgs& a) {
      T* scratch = static_cast<T*>(a.workspace);
      if (op == "conv3d_grad_input")
        return products.input_gradient(a.in<T>(0), a.in<T>(1), a.out<T>(0), scratch);
      if (op == "conv3d_grad_weight")
        return products.weight_gradient(a.in<T>(0), a.in<T>(1), a.out<T>(0), scratch, threads);
      products.forward(a.in<T>(0), a.in<T>(1), products.c.bias ? a.in<T>(2) : nullptr, a.out<T>(0), scratch);
    };
  });
}

}  // namespace
}  // namespace conv3d_cpu_im2col_gemm_cc

Kernel conv3d_cpu_im2col_gemm() {
  using namespace conv3d_cpu_im2col_gemm_cc;
  return {.name = "cpu:im2col_gemm",
          .work = slab_work,
          .prepare = prepare_slabs,
          .workspace = slab_workspace,
          .vendor = true};
}

}  // namespace headroom
