#include "json.h"

#include <array>
#include <charconv>
#include <cmath>

namespace cairn::probe {

namespace {

void append_string(std::string& out, std::string_view text) {
  constexpr std::string_view k_hex = "0123456789abcdef";
  out += '"';
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (code < 0x20) {
      out += "\\u00";
      out += k_hex[code >> 4];
      out += k_hex[code & 15];
    } else {
      out += c;
    }
  }
  out += '"';
}

template <class Number>
void append_number(std::string& out, Number number) {
  std::array<char, 32> digits{};
  const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), number).ptr;
  out.append(digits.data(), end);
}

struct Writer {
  std::string& out;

  void operator()(std::monostate) const { out += "null"; }
  void operator()(bool value) const { out += value ? "true" : "false"; }
  void operator()(std::int64_t value) const { append_number(out, value); }
  void operator()(double value) const {
    if (std::isfinite(value)) {
      append_number(out, value);
    } else {
      out += "null";
    }
  }
  void operator()(const std::string& text) const { append_string(out, text); }
  void operator()(const Json::Array& items) const {
    out += '[';
    for (std::size_t i = 0; i < items.size(); ++i) {
      if (i > 0) out += ", ";
      out += items[i].compact();
    }
    out += ']';
  }
  void operator()(const Json::Object& members) const {
    out += '{';
    for (std::size_t i = 0; i < members.size(); ++i) {
      if (i > 0) out += ", ";
      append_string(out, members[i].first);
      out += ": ";
      out += members[i].second.compact();
    }
    out += '}';
  }
};

}  // namespace

void Json::append(std::string& out) const { std::visit(Writer{out}, value_); }

std::string Json::compact() const {
  std::string out;
  append(out);
  return out;
}

std::string Json::document() const {
  const Object* members = std::get_if<Object>(&value_);
  if (members == nullptr) return compact() + "\n";
  std::string out = "{";
  for (std::size_t i = 0; i < members->size(); ++i) {
    out += i > 0 ? ",\n " : "\n ";
    append_string(out, (*members)[i].first);
    out += ": ";
    const Array* items = std::get_if<Array>(&(*members)[i].second.value_);
    if (items == nullptr || items->empty()) {
      (*members)[i].second.append(out);
      continue;
    }
    out += '[';
    for (std::size_t j = 0; j < items->size(); ++j) {
      out += j > 0 ? ",\n  " : "\n  ";
      (*items)[j].append(out);
    }
    out += "\n ]";
  }
  return out + "\n}\n";
}

}  // namespace cairn::probe
