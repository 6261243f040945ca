#include "html/document.h"

#include <cmath>

#include <fmt/format.h>

#include "amounts.h"
#include "picture_text.h"
#include "text_report.h"

namespace cairn::report::html {
namespace {

// A pointer as the value of an attribute.
std::string pointer_mark(std::string_view name, const std::string& path) {
  if (path.empty()) return {};
  std::string escaped;
  for (const char c : path) escaped += c == '%' ? std::string("%25") : c == ' ' ? "%20" : std::string(1, c);
  return fmt::format(" data-{}=\"{}\"", name, xml_text(escaped));
}

}  // namespace

const Json* Document::find(const std::string& path) const {
  const Json::json_pointer pointer(path);
  if (!root_.contains(pointer)) return nullptr;
  const Json& value = root_.at(pointer);
  return value.is_null() ? nullptr : &value;
}

std::size_t Document::size(const std::string& path) const {
  const Json* value = find(path);
  return value == nullptr ? 0 : value->size();
}

double Document::number(const std::string& path) const {
  const Json* value = find(path);
  return value == nullptr ? 0.0 : value->get<double>();
}

bool Document::flag(const std::string& path) const {
  const Json* value = find(path);
  return value != nullptr && value->get<bool>();
}

std::string Document::string(const std::string& path) const {
  const Json* value = find(path);
  return value == nullptr ? std::string() : value->get<std::string>();
}

std::string Document::text(const std::string& path) const { return xml_text(string(path)); }

std::vector<std::string> Document::texts(const std::string& path) const {
  const Json* value = find(path);
  return value == nullptr ? std::vector<std::string>() : value->get<std::vector<std::string>>();
}

double Document::number(const Figure& figure) const {
  double value = number(figure.value);
  if (!figure.less.empty()) value -= number(figure.less);
  if (!figure.over.empty()) value /= number(figure.over);
  return value;
}

std::string Document::show(const Figure& figure, Form form) const {
  for (const std::string* path : {&figure.value, &figure.less, &figure.over})
    if (!path->empty() && !has(*path)) return "-";
  const double value = number(figure);
  if (!std::isfinite(value)) return "-";
  return fmt::format("<span{}>{}</span>", marks(figure), xml_text(form(value)));
}

std::string Document::marks(const Figure& figure) {
  return pointer_mark("value", figure.value) + pointer_mark("less", figure.less) + pointer_mark("over", figure.over);
}

std::string below(const std::string& path, std::string_view key) {
  return (Json::json_pointer(path) / std::string(key)).to_string();
}
std::string below(const std::string& path, std::size_t place) { return fmt::format("{}/{}", path, place); }

std::string as_time(double seconds) { return report::seconds(seconds); }
std::string as_bytes(double bytes) { return report::bytes(bytes); }
std::string as_rate(double per_second) { return report::rate(per_second); }
std::string as_count(double count) {
  constexpr double k_most = 1e15;  // is a whole number
  return std::abs(count) < k_most ? grouped(std::llround(count)) : core::format_count(count);
}
std::string as_large_count(double count) { return core::format_count(count); }
std::string as_percent(double ratio) { return report::percent(ratio); }
std::string as_whole_percent(double ratio) { return report::percent(ratio, 0); }
std::string as_more(double ratio) { return "+" + report::percent(ratio); }
std::string as_change(double ratio) { return (ratio < 0.0 ? "-" : "+") + report::percent(std::abs(ratio)); }
std::string as_time_change(double seconds) { return (seconds < 0.0 ? "-" : "+") + report::seconds(std::abs(seconds)); }
std::string as_flop(double flop) { return core::format(core::Flops::from_base(flop)); }
std::string as_flop_rate(double flop_per_s) { return core::format(core::FlopsPerSecond::from_base(flop_per_s)); }
std::string as_byte_rate(double bytes_per_s) { return core::format(core::BytesPerSecond::from_base(bytes_per_s)); }
std::string as_frequency(double hertz) { return core::format(core::Hertz::from_base(hertz)); }
std::string as_dollars(double usd) { return core::format(core::Dollars::from_base(usd)); }
std::string as_energy(double joule) { return report::energy(joule); }
std::string as_days(double seconds) { return report::days(seconds); }
std::string as_factor(double ratio) { return fmt::format("{:.2f}", ratio); }
std::string as_elasticity(double value) { return fmt::format("{:+.4f}", value); }

}  // namespace cairn::report::html
