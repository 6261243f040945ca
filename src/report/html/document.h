// A result document as its page sees it: figures and texts by their JSON pointers, as markup.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

namespace cairn::report::html {

using Json = nlohmann::ordered_json;

// How a figure is shown.
using Form = std::string (*)(double);

// (value - less) / over, each by its pointer; what is empty is left out.
struct Figure {
  std::string value;
  std::string less = {};
  std::string over = {};
};

class Document {
 public:
  explicit Document(const Json& root) : root_(root) {}

  const Json& root() const { return root_; }
  // Null pointer where nothing is there, or null.
  const Json* find(const std::string& path) const;
  bool has(const std::string& path) const { return find(path) != nullptr; }
  std::size_t size(const std::string& path) const;
  double number(const std::string& path) const;  // 0 where there is none
  bool flag(const std::string& path) const;
  std::string string(const std::string& path) const;  // as it is; empty where there is none
  std::string text(const std::string& path) const;    // as markup
  std::vector<std::string> texts(const std::string& path) const;

  double number(const Figure& figure) const;
  // Marked as the figure that it is; "-" where a part of it is not there.
  std::string show(const Figure& figure, Form form) const;
  std::string show(const std::string& path, Form form) const { return show(Figure{.value = path}, form); }
  // The attributes that say so, each after a blank, for elements of pictures.
  static std::string marks(const Figure& figure);

 private:
  const Json& root_;
};

// The pointer of what is below `path`.
std::string below(const std::string& path, std::string_view key);
std::string below(const std::string& path, std::size_t place);

// Forms.
std::string as_time(double seconds);
std::string as_bytes(double bytes);
std::string as_rate(double per_second);
std::string as_count(double count);        // 1,234
std::string as_large_count(double count);  // 70.6 B
std::string as_percent(double ratio);
std::string as_whole_percent(double ratio);
std::string as_more(double ratio);           // +3.2 %
std::string as_change(double ratio);         // +3.2 %, -3.2 %
std::string as_time_change(double seconds);  // +3.2 ms, -3.2 ms
std::string as_flop(double flop);
std::string as_flop_rate(double flop_per_s);
std::string as_byte_rate(double bytes_per_s);
std::string as_frequency(double hertz);
std::string as_dollars(double usd);
std::string as_energy(double joule);
std::string as_days(double seconds);
std::string as_factor(double ratio);  // 1.23
std::string as_elasticity(double value);

}  // namespace cairn::report::html
