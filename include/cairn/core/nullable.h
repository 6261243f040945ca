// Figures of a JSON document that may be absent: null then.
#pragma once

#include <functional>
#include <optional>

namespace cairn::core {

template <class Json, class T>
Json nullable(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

// A figure of `of`, an optional or a pointer; null where that is.
template <class Json, class Of, class Figure>
Json nullable(const Of& of, Figure figure) {
  return of ? Json(std::invoke(figure, *of)) : Json();
}

}  // namespace cairn::core
