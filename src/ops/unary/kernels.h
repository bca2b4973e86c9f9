#pragma once

// The kernels of one function F of functions.h. F::Forms, where there are any, are told apart by an
// attribute.

#include <algorithm>

#include "ops/cpu/parallel.h"
#include "ops/unary/unary.h"

namespace headroom::unary {

template <class F>
AttributeValues attribute_values(const Attrs& attrs) {
  AttributeValues values = {};
  for (std::size_t i = 0; i < F::kAttributes.size(); ++i)
    values[i] = attrs.real(F::kAttributes[i].name, F::kAttributes[i].fallback);
  return values;
}

template <class F, class T>
auto parameters_of(const Problem& p) {
  return parameters_from<F, T>(attribute_values<F>(p.attrs));
}

// Calls make<Form>() with the form that the attributes choose.
template <class F, class Make>
Launcher with_form(const Attrs& attrs, Make make) {
  if constexpr (F::kForm.name.empty()) {
    return make.template operator()<F>();
  } else {
    const std::string word = attrs.text(F::kForm.name, std::string(F::kForm.words[0]));
    Launcher launcher;
    std::size_t index = 0;
    for_each_type(typename F::Forms{}, [&]<class Form>() {
      if (F::kForm.words[index++] == word) launcher = make.template operator()<Form>();
    });
    return launcher;
  }
}

template <class F>
Launcher reference(const Problem& p, const LaunchContext&) {
  return with_form<F>(p.attrs, [&]<class Form>() {
    return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
      return [k = parameters_of<Form, T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
        for (std::int64_t i = 0; i < n; ++i) a.out<T>(0)[i] = value_at<Form, T>(a.in<T>(0)[i], k);
      };
    });
  });
}

template <class F>
Launcher reference_grad(const Problem& p, const LaunchContext&) {
  return with_form<F>(p.attrs, [&]<class Form>() {
    return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
      return [k = parameters_of<Form, T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
        for (std::int64_t i = 0; i < n; ++i)
          a.out<T>(0)[i] = a.in<T>(0)[i] * slope_at<Form, T>(a.in<T>(1)[i], k);
      };
    });
  });
}

template <class Form, class T>
void map_piece(std::int64_t n, const T* x, T* y, const typename Form::template Parameters<T>& k) {
  const auto careful = [k](Vec<T> v) { return map_vector<Form, T>(v, k); };
  if constexpr (requires(Vec<T> v) { VectorForm<Form>::template simple<T>(v); })
    simd::map_checked(
        n, x, y, [](Vec<T> v) { return VectorForm<Form>::template is_simple<T>(v); },
        [](Vec<T> v) { return VectorForm<Form>::template simple<T>(v); }, careful);
  else
    simd::map<Form::kSpecial == 0 ? 8 : 4>(n, x, y, careful);
}

template <class F>
Launcher vectorized(const Problem& p, const LaunchContext&) {
  return with_form<F>(p.attrs, [&]<class Form>() {
    return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
      return [k = parameters_of<Form, T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
        const T* x = a.in<T>(0);
        T* y = a.out<T>(0);
        constexpr std::int64_t kBlock = simd::kCheckedBlock;
        parallel_for((n + kBlock - 1) / kBlock, kElementwiseGrain / kBlock,
                     [=](std::int64_t begin, std::int64_t end, int) {
                       const std::int64_t from = begin * kBlock;
                       map_piece<Form, T>(std::min(n, end * kBlock) - from, x + from, y + from, k);
                     });
      };
    });
  });
}

template <class F>
Launcher vectorized_grad(const Problem& p, const LaunchContext&) {
  return with_form<F>(p.attrs, [&]<class Form>() {
    return dispatch_float(p.outputs[0].dtype, [&]<class T>() -> Launcher {
      return [k = parameters_of<Form, T>(p), n = p.outputs[0].shape.numel()](const LaunchArgs& a) {
        const T *dy = a.in<T>(0), *v = a.in<T>(1);
        T* dx = a.out<T>(0);
        parallel_for(n, kElementwiseGrain, [=](std::int64_t begin, std::int64_t end, int) {
          simd::map2(end - begin, dy + begin, v + begin, dx + begin,
                     [k](Vec<T> g, Vec<T> x) { return grad_vector<Form, T>(g, x, k); });
        });
      };
    });
  });
}

template <class F>
Launcher cuda_map(const Problem& p, const LaunchContext&) {
  return with_form<F>(p.attrs, [&]<class Form>() {
    return unary_cuda_launcher(index_in<Form>(AllForms{}), attribute_values<Form>(p.attrs), p);
  });
}

}  // namespace headroom::unary
