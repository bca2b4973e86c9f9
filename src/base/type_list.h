#pragma once

#include <cstddef>
#include <type_traits>

namespace headroom {

// A list of types. Code that must do something for each of them expands the list, so that a new type is
// added in one place.
template <class... Types>
struct TypeList {
  static constexpr std::size_t kSize = sizeof...(Types);
};

namespace detail {

template <class... Lists>
struct Join;
template <>
struct Join<> {
  using type = TypeList<>;
};
template <class... A>
struct Join<TypeList<A...>> {
  using type = TypeList<A...>;
};
template <class... A, class... B, class... Rest>
struct Join<TypeList<A...>, TypeList<B...>, Rest...> : Join<TypeList<A..., B...>, Rest...> {};

}  // namespace detail

// The types of several lists, one list after the other.
template <class... Lists>
using Joined = typename detail::Join<Lists...>::type;

// The place of T in the list; the size of the list where T is not in it.
template <class T, class... Types>
constexpr std::size_t index_in(TypeList<Types...>) {
  std::size_t index = 0;
  const bool found = ((std::is_same_v<T, Types> || (++index, false)) || ...);
  return found ? index : sizeof...(Types);
}

// Calls visit.operator()<T>() for each type of the list, in order.
template <class... Types, class Visit>
constexpr void for_each_type(TypeList<Types...>, Visit visit) {
  (visit.template operator()<Types>(), ...);
}

}  // namespace headroom
