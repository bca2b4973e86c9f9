#include <algorithm>

#include "ops/expect.h"
#include "ops/gather/indices.h"
#include "ops/stored.h"

namespace headroom {
namespace gather_reference_cc {
namespace {

Verdict accepts(const Problem& p, const Target& target) {
  return p.op == "gather" ? accept() : accepts_cpu_floats(p, target);
}

Launcher prepare(const Problem& p, const LaunchContext&) {
  return dispatch_stored(p.outputs[0].dtype, [&]<class T>() -> Launcher {
    return dispatch_labels(p.inputs[1].dtype, [&]<class I>() -> Launcher {
      return [g = gather_sizes(p), grad = p.op == "gather_grad"](const LaunchArgs& a) {
        const I* indices = a.in<I>(1);
        check_indices(g, indices);
        if (grad) std::fill_n(a.out<T>(0), g.outer * g.extent * g.inner, T{0});
        for (std::int64_t o = 0; o < g.outer; ++o)
          for (std::int64_t i = 0; i < g.count; ++i)
            for (std::int64_t c = 0; c < g.inner; ++c) {
              const std::int64_t there = (o * g.extent + row_of(g, indices[i])) * g.inner + c,
                                 here = (o * g.count + i) * g.inner + c;
              if (grad)
                a.out<T>(0)[there] = static_cast<T>(a.out<T>(0)[there] + a.in<T>(0)[here]);
              else
                a.out<T>(0)[here] = a.in<T>(0)[there];
            }
      };
    });
  });
}

}  // namespace
}  // namespace gather_reference_cc

Kernel gather_reference() {
  using namespace gather_reference_cc;
  return {.name = "reference", .accepts = accepts, .prepare = prepare};
}

}  // namespace headroom
