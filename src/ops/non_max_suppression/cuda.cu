#include "ops/cuda/index.cuh"
#include "ops/non_max_suppression/cuda.h"
#include "ops/non_max_suppression/overlap.h"

namespace headroom::cuda {
namespace {

template <class T>
__device__ inline Box<Compute<T>> box_at(const T* boxes, std::int64_t i, bool center) {
  const T* b = boxes + 4 * i;
  return corners_of(widen(b[0]), widen(b[1]), widen(b[2]), widen(b[3]), center);
}

template <class C>
struct Candidate {
  long long box;  // -1: none
  C score;
};

template <class C>
__device__ inline bool is_before(const Candidate<C>& a, const Candidate<C>& b) {
  if (a.box < 0 || b.box < 0) return a.box >= 0;
  return a.score > b.score || (!(a.score < b.score) && a.box < b.box);
}

// The best candidate of the block, in every thread.
template <class C>
__device__ Candidate<C> best_of_block(Candidate<C> mine) {
  __shared__ Candidate<C> all[kThreads];
  __syncthreads();  // an earlier result may still be read
  all[threadIdx.x] = mine;
  for (int half = kThreads / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half && is_before(all[threadIdx.x + half], all[threadIdx.x]))
      all[threadIdx.x] = all[threadIdx.x + half];
  }
  __syncthreads();
  return all[0];
}

// A block for each image and class: finds the best box that is left, picks it, and marks what it overlaps. A
// box that an earlier pick overlaps is marked by then, so that every best one may be picked.
template <class T>
__global__ void __launch_bounds__(kThreads)
    pick(NmsShape s, const T* all_boxes, const T* all_scores, const std::int64_t* given_most,
         const T* given_overlap, const T* given_score, std::int64_t* rows, std::int64_t* sizes,
         unsigned char* gone) {
  using C = Compute<T>;
  const std::int64_t list = blockIdx.x, image = list / s.classes;
  const T *boxes = all_boxes + image * s.boxes * 4, *scores = all_scores + list * s.boxes;
  const C overlap = widen(*given_overlap), score = widen(*given_score);
  const bool all = isinf(score) && score < C{0};
  const std::int64_t most = *given_most < s.bound ? *given_most : s.bound;
  unsigned char* marks = gone + list * s.boxes;
  for (std::int64_t i = threadIdx.x; i < s.boxes; i += kThreads)
    marks[i] = counts(widen(scores[i]), score, all) ? 0 : 1;
  std::int64_t size = 0;
  for (; size < most; ++size) {
    Candidate<C> mine{-1, C{0}};
    for (std::int64_t i = threadIdx.x; i < s.boxes; i += kThreads)
      if (const Candidate<C> next{i, widen(scores[i])}; marks[i] == 0 && is_before(next, mine)) mine = next;
    const Candidate<C> best = best_of_block(mine);
    if (best.box < 0) break;
    const Box<C> box = box_at(boxes, best.box, s.center);
    for (std::int64_t i = threadIdx.x; i < s.boxes; i += kThreads)
      if (i == best.box || overlaps(box_at(boxes, i, s.center), box, overlap)) marks[i] = 1;
    if (threadIdx.x != 0) continue;
    std::int64_t* row = rows + 3 * (list * s.bound + size);
    row[0] = image, row[1] = list % s.classes, row[2] = best.box;
  }
  if (threadIdx.x == 0) sizes[list] = size;
}

// Moves the lists together, in order: each goes to a place before its own, or stays.
__global__ void __launch_bounds__(kThreads)
    join(NmsShape s, const std::int64_t* sizes, std::int64_t* rows, std::int64_t* count) {
  std::int64_t all = 0;
  for (std::int64_t l = 0; l < s.images * s.classes; ++l) {
    const std::int64_t from = 3 * l * s.bound, n = 3 * sizes[l];
    for (std::int64_t begin = 0; begin < n; begin += kThreads) {
      const std::int64_t i = begin + threadIdx.x;
      const std::int64_t element = i < n ? rows[from + i] : 0;
      __syncthreads();
      if (i < n) rows[3 * all + i] = element;
      __syncthreads();
    }
    all += sizes[l];
  }
  for (std::int64_t i = 3 * all + threadIdx.x; i < 3 * s.images * s.classes * s.bound; i += kThreads)
    rows[i] = 0;
  if (threadIdx.x == 0) *count = all;
}

}  // namespace

void non_max_suppression(DType dtype, const NmsShape& s, const NmsTensors& t, void* workspace,
                         cudaStream_t stream) {
  const std::int64_t lists = s.images * s.classes;
  auto* sizes = static_cast<std::int64_t*>(workspace);
  auto* gone = reinterpret_cast<unsigned char*>(sizes + lists);
  dispatch_floats(dtype, [&]<class T>() {
    pick<<<blocks_for(lists, 1), kThreads, 0, stream>>>(
        s, static_cast<const T*>(t.boxes), static_cast<const T*>(t.scores), t.most,
        static_cast<const T*>(t.overlap), static_cast<const T*>(t.score), t.rows, sizes, gone);
    HEADROOM_CUDA_LAUNCHED();
  });
  join<<<1, kThreads, 0, stream>>>(s, sizes, t.rows, t.count);
  HEADROOM_CUDA_LAUNCHED();
}

}  // namespace headroom::cuda
