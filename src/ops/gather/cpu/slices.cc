// Forward: a copy of each slice, the beginnings of the next ones asked for early.
#include <algorithm>
#include <cstring>

#include "ops/expect.h"
#include "ops/gather/indices.h"
#include "ops/stored.h"

namespace headroom {
namespace gather_cpu_slices_cc {
namespace {

// One copy per index, in the order of the output.
template <class T, class I>
void copy_slices(const GatherSizes& g, const T* data, const I* indices, T* out) {
  constexpr std::int64_t kWorthACall = 16;
  constexpr std::int64_t kAhead = 4;  // rows of a table lie anywhere: their beginnings are asked for early
  parallel_for(g.outer * g.count, kElementwiseGrain / g.inner + 1,
               [&](std::int64_t begin, std::int64_t end, int) {
                 std::int64_t o = begin / g.count, i = begin % g.count;
                 const auto bytes = static_cast<std::size_t>(g.inner) * sizeof(T);
                 for (std::int64_t s = begin; s < end; ++s) {
                   if (i + kAhead < g.count) {
                     const auto* soon = reinterpret_cast<const char*>(
                         data + (o * g.extent + row_of(g, indices[i + kAhead])) * g.inner);
                     for (std::size_t b = 0; b < std::min<std::size_t>(bytes, 256); b += 64)
                       __builtin_prefetch(soon + b);
                   }
                   const T* from = data + (o * g.extent + row_of(g, indices[i])) * g.inner;
                   if (g.inner >= kWorthACall)
                     std::memcpy(out + s * g.inner, from, bytes);
                   else
                     for (std::int64_t c = 0; c < g.inner; ++c) out[s * g.inner + c] = from[c];
                   if (++i == g.count) {
                     i = 0;
                     ++o;
                   }
                 }
               });
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = gather_sizes(p)](const LaunchArgs& a) {
        check_indices(g, a.in<I>(1));
        copy_slices(g, a.in<T>(0), a.in<I>(1), a.out<T>(0));
      };
    });
  });
}

Verdict accepts(const Problem&, const Target&) { return accept(); }

}  // namespace
}  // namespace gather_cpu_slices_cc

Kernel gather_cpu_slices() {
  using namespace gather_cpu_slices_cc;
  return {.name = "cpu:slices", .accepts = accepts, .prepare = prepare};
}

}  // namespace headroom
