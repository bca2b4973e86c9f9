#pragma once

// All functions of one element. A new one is a struct in a header of functions/, in the list at that header's
// end. A new header is joined to the others here.

#include "ops/unary/functions/exponential.h"
#include "ops/unary/functions/hyperbolic.h"
#include "ops/unary/functions/normal.h"
#include "ops/unary/functions/piecewise.h"
#include "ops/unary/functions/rounding.h"
#include "ops/unary/functions/trigonometric.h"

namespace headroom::unary {

using Functions = Joined<PiecewiseFunctions, ExponentialFunctions, NormalFunctions, RoundingFunctions,
                         TrigonometricFunctions, HyperbolicFunctions>;

namespace detail {
template <class... F>
Joined<typename FormsOf<F>::type...> forms_of(TypeList<F...>);
}  // namespace detail

// The same with gelu's two forms instead of gelu: what GPU kernels are compiled for.
using AllForms = decltype(detail::forms_of(Functions{}));

}  // namespace headroom::unary
