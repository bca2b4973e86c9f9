#include "ops/cast/convert_all.h"

namespace headroom {
namespace cast_reference_cc {
namespace {

Launcher prepare_all(const Problem& p, const LaunchContext&) {
  return dispatch_float(p.inputs[0].dtype, [&]<class From>() {
    return dispatch_float(p.outputs[0].dtype, [&]<class To>() -> Launcher {
      std::vector<std::int64_t> sizes;
      for (const TensorType& type : p.inputs) sizes.push_back(type.shape.numel());
      return [sizes, scale = static_cast<From>(p.attrs.real("scale", 1))](const LaunchArgs& a) {
        for (std::size_t t = 0; t < sizes.size(); ++t)
          for (std::int64_t i = 0; i < sizes[t]; ++i)
            a.out<To>(t)[i] = static_cast<To>(a.in<From>(t)[i] * scale);
      };
    });
  });
}

}  // namespace
}  // namespace cast_reference_cc

Kernel cast_reference() {
  return {.name = "reference", .accepts = casts::accepts, .prepare = casts::convert_all<false>};
}
Kernel cast_all_reference() {
  using namespace cast_reference_cc;
  return {.name = "reference", .prepare = prepare_all};
}

}  // namespace headroom
