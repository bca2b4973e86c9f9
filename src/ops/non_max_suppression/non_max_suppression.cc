#include "ops/non_max_suppression/non_max_suppression.h"

#include <algorithm>
#include <cmath>

#include "ops/cpu/parallel.h"
#include "ops/expect.h"
#include "ops/non_max_suppression/overlap.h"

namespace headroom {
namespace non_max_suppression_cc {
namespace {

constexpr std::string_view kName = "non_max_suppression";

std::vector<TensorType> infer(const std::vector<TensorType>& in, const Attrs& attrs) {
  expect_inputs(kName, in, 5);
  for (std::size_t i : {0u, 1u, 3u, 4u}) {
    expect_float(kName, in[i]);
    if (in[i].dtype != in[0].dtype) reject("{}: its floats are of different types", kName);
  }
  const Shape &boxes = in[0].shape, &scores = in[1].shape;
  if (boxes.rank() != 3 || scores.rank() != 3 || boxes[2] != 4 || boxes[0] != scores[0] ||
      boxes[1] != scores[2])
    reject(Hint{"boxes are [N, B, 4], scores [N, C, B]"}, "{}: boxes {} and scores {}", kName, boxes.str(),
           scores.str());
  if (in[2].dtype != DType::i64 || in[2].shape.numel() != 1 || in[3].shape.numel() != 1 ||
      in[4].shape.numel() != 1)
    reject("{}: its limits are one int64 and two floats", kName);
  const std::int64_t bound = attrs.integer("bound");
  if (bound < 1 || bound > boxes[1]) reject("{}: a bound of {} for {} boxes", kName, bound, boxes[1]);
  return {{{scores[0] * scores[1] * bound, 3}, DType::i64}, {Shape{}, DType::i64}};
}

// At least one comparison for each box and class.
Cost cost(const Problem& p) {
  Cost c = traffic(p);
  c.other = static_cast<double>(p.inputs[1].shape.numel());
  return c;
}

template <class T>
struct Limits {
  std::int64_t most;
  T overlap, score;
  bool all_scores;
};

template <class T>
Limits<T> limits_of(const NmsSizes& s, const LaunchArgs& a) {
  const T overlap = *a.in<T>(3), score = *a.in<T>(4);
  if (!(overlap >= 0 && overlap <= 1))
    throw Error(Blame::request, fmt::format("{}: an overlap of {} is not between 0 and 1", kName, overlap));
  const std::int64_t most = std::clamp(*a.in<std::int64_t>(2), std::int64_t{0}, s.bound);
  return {most, overlap, score, std::isinf(score) && score < 0};
}

template <class T>
Box<T> box_at(const NmsSizes& s, const T* boxes, std::int64_t i) {
  const T* b = boxes + 4 * i;
  return corners_of(b[0], b[1], b[2], b[3], s.center);
}

// The rows of one image and class, written to where the image and class would stand if all lists were full.
struct List {
  std::int64_t image, kind;
  std::int64_t* rows;
  std::int64_t size = 0;
};

// Picks a box unless it overlaps one that was picked before.
template <class T>
void consider(const NmsSizes& s, const T* boxes, T overlap, std::int64_t candidate, List& list) {
  const Box<T> box = box_at(s, boxes, candidate);
  for (std::int64_t k = 0; k < list.size; ++k)
    if (overlaps(box, box_at(s, boxes, list.rows[3 * k + 2]), overlap)) return;
  std::int64_t* row = list.rows + 3 * list.size++;
  row[0] = list.image, row[1] = list.kind, row[2] = candidate;
}

template <class T>
bool is_before(const T* scores, std::int64_t i, std::int64_t j) {
  return scores[i] > scores[j] || (!(scores[i] < scores[j]) && i < j);
}

// Moves the lists together, in order.
void join(const NmsSizes& s, const std::int64_t* sizes, std::int64_t* rows, std::int64_t* count) {
  std::int64_t all = 0;
  for (std::int64_t l = 0; l < s.lists(); ++l) {
    std::copy_n(rows + 3 * l * s.bound, 3 * sizes[l], rows + 3 * all);
    all += sizes[l];
  }
  std::fill(rows + 3 * all, rows + 3 * s.lists() * s.bound, std::int64_t{0});
  *count = all;
}

// Each box in turn, found by its score: the definition.
Launcher reference(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = nms_sizes(p)](const LaunchArgs& a) {
      const Limits<T> limits = limits_of<T>(s, a);
      auto* sizes = static_cast<std::int64_t*>(a.workspace);
      for (std::int64_t l = 0; l < s.lists(); ++l) {
        const T* scores = a.in<T>(1) + l * s.boxes;
        const T* boxes = a.in<T>(0) + l / s.classes * s.boxes * 4;
        List list{l / s.classes, l % s.classes, a.out<std::int64_t>(0) + 3 * l * s.bound};
        std::int64_t last = -1;
        while (list.size < limits.most) {
          std::int64_t best = -1;
          for (std::int64_t i = 0; i < s.boxes; ++i) {
            if (!counts(scores[i], limits.score, limits.all_scores)) continue;
            if (last >= 0 && !is_before(scores, last, i)) continue;
            if (best < 0 || is_before(scores, i, best)) best = i;
          }
          if (best < 0) break;
          consider(s, boxes, limits.overlap, best, list);
          last = best;
        }
        sizes[l] = list.size;
      }
      join(s, sizes, a.out<std::int64_t>(0), a.out<std::int64_t>(1));
    };
  });
}

std::size_t reference_workspace(const Problem& p, const Target&) {
  return static_cast<std::size_t>(nms_sizes(p).lists()) * sizeof(std::int64_t);
}

// Sorts the candidates of each image and class first. Threads share the lists.
Launcher sorted(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.inputs[0].dtype, [&]<class T>() -> Launcher {
    return [s = nms_sizes(p)](const LaunchArgs& a) {
      const Limits<T> limits = limits_of<T>(s, a);
      auto* sizes = static_cast<std::int64_t*>(a.workspace);
      std::int64_t* orders = sizes + s.lists();
      parallel_for(s.lists(), 1, [&](std::int64_t begin, std::int64_t end, int) {
        for (std::int64_t l = begin; l < end; ++l) {
          const T* scores = a.in<T>(1) + l * s.boxes;
          const T* boxes = a.in<T>(0) + l / s.classes * s.boxes * 4;
          std::int64_t *order = orders + l * s.boxes, *last = order;
          for (std::int64_t i = 0; i < s.boxes; ++i)
            if (counts(scores[i], limits.score, limits.all_scores)) *last++ = i;
          std::sort(order, last, [&](std::int64_t i, std::int64_t j) { return is_before(scores, i, j); });
          List list{l / s.classes, l % s.classes, a.out<std::int64_t>(0) + 3 * l * s.bound};
          for (; order < last && list.size < limits.most; ++order)
            consider(s, boxes, limits.overlap, *order, list);
          sizes[l] = list.size;
        }
      });
      join(s, sizes, a.out<std::int64_t>(0), a.out<std::int64_t>(1));
    };
  });
}

std::size_t workspace(const Problem& p, const Target&) {
  const NmsSizes s = nms_sizes(p);
  return static_cast<std::size_t>(s.lists() * (s.boxes + 1)) * sizeof(std::int64_t);
}

std::size_t cuda_workspace(const Problem& p, const Target&) {
  const NmsSizes s = nms_sizes(p);
  return static_cast<std::size_t>(s.lists()) * (sizeof(std::int64_t) + static_cast<std::size_t>(s.boxes));
}

// Boxes and scores of few whole numbers: ties, equal boxes, boxes without an area.
std::vector<Case> cases() {
  struct Trial {
    Tier tier;
    std::int64_t images, classes, boxes, most, bound;
    double overlap, score;
  };
  std::vector<Case> list;
  for (const Trial& t : std::vector<Trial>{{Tier::ci, 1, 1, 1, 1, 1, 0.5, 0},
                                           {Tier::ci, 1, 1, 7, 3, 3, 0.3, 1},
                                           {Tier::ci, 2, 3, 20, 5, 5, 0.45, 2},
                                           {Tier::ci, 2, 3, 20, 2, 20, 0.21, -1e9},
                                           {Tier::ci, 1, 2, 9, 0, 4, 0.5, 0},
                                           {Tier::smoke, 3, 5, 300, 40, 40, 0.51, 1},
                                           {Tier::perf, 1, 80, 8400, 100, 100, 0.45, 3}})
    for (std::int64_t center : {0, 1})
      list.push_back({.tier = t.tier,
                      .inputs = {{t.images, t.boxes, 4}, {t.images, t.classes, t.boxes}, {1}, {1}, Shape{}},
                      .attrs = {{"bound", t.bound}, {"center_point_box", center}},
                      .fills = {{Fill::Kind::digit, 9},
                                {Fill::Kind::digit, 50},
                                {Fill::Kind::constant, double(t.most)},
                                {Fill::Kind::constant, t.overlap},
                                {Fill::Kind::constant, t.score}},
                      .dtypes = {{}, {}, DType::i64}});
  return list;
}

}  // namespace
}  // namespace non_max_suppression_cc

NmsSizes nms_sizes(const Problem& p) {
  const Shape& scores = p.inputs[1].shape;
  return {.images = scores[0],
          .classes = scores[1],
          .boxes = scores[2],
          .bound = p.attrs.integer("bound"),
          .center = p.attrs.integer("center_point_box") == 1};
}

std::vector<Operator> non_max_suppression_operators() {
  using namespace non_max_suppression_cc;
  return {{.schema = {.name = std::string(kName), .infer = infer, .cost = cost},
           .kernels = {{.name = "cuda:blocks",
                        .device = DeviceKind::cuda,
                        .accepts = accepts_cuda_floats,
                        .prepare = HEADROOM_CUDA(prepare_non_max_suppression_cuda),
                        .workspace = cuda_workspace},
                       {.name = "cpu:sorted", .prepare = sorted, .workspace = workspace},
                       {.name = "reference", .prepare = reference, .workspace = reference_workspace}},
           .cases = cases(),
           .exact = true}};
}

}  // namespace headroom
