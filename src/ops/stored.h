#pragma once

#include "base/dtype.h"

namespace headroom {

// Calls f.operator()<T>() with the C++ type an element is stored as: for operators that move elements and
// never look at them, so that they take every type there is.
template <class F>
decltype(auto) dispatch_stored(DType dtype, F&& f) {
  switch (dtype) {
    case DType::f64:
      return f.template operator()<double>();
    case DType::f32:
      return f.template operator()<float>();
    case DType::i64:
      return f.template operator()<std::int64_t>();
    case DType::i32:
      return f.template operator()<std::int32_t>();
    case DType::i8:
      return f.template operator()<std::int8_t>();
    case DType::f16:
    case DType::bf16:
      return f.template operator()<std::uint16_t>();
    default:
      return f.template operator()<std::uint8_t>();
  }
}

}  // namespace headroom
