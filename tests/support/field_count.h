// The fields of an aggregate: how many there are, counted by the compiler, and lists that must name every one of them.
//
// An aggregate of n fields takes up to n initialisers. With `any`, which turns into whatever is asked for,
//   T{any, any, ...}              is well-formed for 0, 1, .. N of them.
// A field that is a struct takes one `any`; one that is an array cannot be made from it, so that its elements take one
// each (their braces are elided), and N exceeds n. Of an array of k elements at position p of these N
//   T{any x p, {any}, any x m}    is well-formed up to m = N - p - k,
// for any other field up to m = N - p - 1, or not at all.
// Valid: every field can be left out and can be made from one value of its own type.
#pragma once

#include <cstddef>
#include <type_traits>
#include <utility>

namespace cairn::testing {
namespace counting {

struct Any {
  template <class T>
  operator T() const;  // of expressions that are never evaluated
};
template <std::size_t>
using AnyAt = Any;

template <class T, std::size_t... Each>
consteval bool takes(std::index_sequence<Each...>) {
  return requires { T{AnyAt<Each>{}...}; };
}
// And one more, whatever it is that an empty pair of braces makes.
template <class T, std::size_t... Each>
consteval bool takes_empty_behind(std::index_sequence<Each...>) {
  return requires { T{AnyAt<Each>{}..., {}}; };
}
template <class T, std::size_t... Before, std::size_t... Behind>
consteval bool takes_braced(std::index_sequence<Before...>, std::index_sequence<Behind...>) {
  return requires { T{AnyAt<Before>{}..., {Any{}}, AnyAt<Behind>{}...}; };
}

template <class T, std::size_t N = 0>
consteval std::size_t initialisers() {
  if constexpr (takes<T>(std::make_index_sequence<N + 1>{}))
    return initialisers<T, N + 1>();
  else
    return N;
}

// Initialisers of `all` that the field at position `p` takes: all but the `behind` that may follow its braces.
template <class T, std::size_t All, std::size_t P, std::size_t Behind = All - P - 1>
consteval std::size_t width() {
  if constexpr (takes_braced<T>(std::make_index_sequence<P>{}, std::make_index_sequence<Behind>{}))
    return All - P - Behind;
  else if constexpr (Behind > 0)
    return width<T, All, P, Behind - 1>();
  else
    return 1;
}

template <class T, std::size_t All, std::size_t P = 0>
consteval std::size_t fields_from() {
  if constexpr (P >= All)
    return 0;
  else
    return 1 + fields_from<T, All, P + width<T, All, P>()>();
}

template <auto Value>
struct Constant {};
template <auto First, auto... Others>
consteval bool differs_from() {
  return (!std::is_same_v<Constant<First>, Constant<Others>> && ...);
}
template <auto... None>
requires(sizeof...(None) == 0) consteval bool all_different() { return true; }
template <auto First, auto... Others>
consteval bool all_different() {
  return differs_from<First, Others...>() && all_different<Others...>();
}

}  // namespace counting

template <class T>
requires std::is_aggregate_v<T>
consteval std::size_t field_count() {
  constexpr std::size_t all = counting::initialisers<T>();
  static_assert(!counting::takes_empty_behind<T>(std::make_index_sequence<all>{}),
                "a field cannot be made from one value of its type: the count would stop before it");
  return counting::fields_from<T, all>();
}

// Whether pointers to members of T name every field once.
template <class T, auto... Members>
consteval bool names_every_field() {
  return sizeof...(Members) == field_count<T>() && counting::all_different<Members...>();
}

}  // namespace cairn::testing
