// Objects of result documents, each key described once: its name, its schema and its value. Document and schema are both
// made of that, so that neither says what the other does not.
//
//   const Described<LocalityRow> row{{"fast", words("of fast memory"), &LocalityRow::fast},
//                                    {"ratio", or_null(ratio("...")), [](const auto& row) { return nullable(row.ratio()); }}};
//   row.schema(), row.json(answer.locality[0])
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <utility>
#include <vector>

#include "cairn/core/nullable.h"
#include "cairn/core/time.h"
#include "cairn/report/run.h"
#include "schema_parts.h"

namespace cairn::report::schema {

template <class... Of>
Json nullable(const Of&... of) {
  return core::nullable<Json>(of...);
}

// A time of `of`, an optional or a pointer, in seconds; null where that is.
template <class Of, class Time>
Json seconds_of(const Of& of, Time time) {
  return nullable(of, [&](const auto& found) { return core::to_seconds(std::invoke(time, found)); });
}

inline Json made_by(const Tool& tool) { return Json{{"version", tool.version}, {"build", tool.build}}; }

template <class T>
struct Key {
  template <class Value>
  Key(const char* key, Json what, Value of) : name(key), schema(std::move(what)), value(std::move(of)) {}
  // Documents leave it out where it is null.
  Key left_out() && {
    always = false;
    return std::move(*this);
  }
  // The schema lists it behind another than documents do; columns of tables follow the schema.
  Key listed_behind(const char* other) && {
    behind = other;
    return std::move(*this);
  }

  const char* name;
  Json schema;
  std::function<Json(const T&)> value;
  bool always = true;
  const char* behind = nullptr;
};

template <class T>
class Described {
 public:
  Described(std::initializer_list<Key<T>> keys) : keys_(keys) {}

  Json schema() const {
    std::vector<const Key<T>*> listed;
    for (const Key<T>& key : keys_)
      if (key.behind == nullptr) listed.push_back(&key);
    for (const Key<T>& key : keys_)
      if (key.behind != nullptr) listed.insert(place_behind(listed, key.behind), &key);
    Json result = object({});
    for (const Key<T>* key : listed) {
      result["properties"][key->name] = key->schema;
      if (key->always) result["required"].push_back(key->name);
    }
    return result;
  }

  Json json(const T& of) const {
    Json result = Json::object();
    for (const Key<T>& key : keys_) {
      Json value = key.value(of);
      if (key.always || !value.is_null()) result[key.name] = std::move(value);
    }
    return result;
  }

  template <class Range>
  Json list(const Range& all) const {
    Json result = Json::array();
    for (const T& each : all) result.push_back(json(each));
    return result;
  }

 private:
  static auto place_behind(std::vector<const Key<T>*>& listed, std::string_view other) {
    const auto found = std::find_if(listed.begin(), listed.end(), [&](const auto* key) { return key->name == other; });
    CAIRN_ASSERT(found != listed.end());
    return found + 1;
  }
  std::vector<Key<T>> keys_;
};

}  // namespace cairn::report::schema
