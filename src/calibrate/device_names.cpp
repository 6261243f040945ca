#include <algorithm>
#include <cctype>

#include "cairn/calibrate/calibrate.h"
#include "cairn/config/fields.h"
#include "cairn/config/read.h"

namespace cairn::calibrate {
namespace {

struct DeviceNames {
  std::vector<std::pair<std::string, std::vector<std::string>>> names = {};
};

void describe(config::Fields& f, DeviceNames& x) {
  std::int64_t version = 1;
  f.count("version", version, {.required = true, .minimum = 1, .maximum = 1});
  f.map("names", x.names, {.doc = "accelerator -> names it is reported by", .required = true},
        [](config::Value& v, std::vector<std::string>& names) { v.texts(names); });
}

constexpr std::string_view k_maker = "nvidia";

// "NVIDIA H100 80GB HBM3" and "h100-80gb-hbm3" are one name.
std::string plain(std::string_view name) {
  std::string result;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) result += static_cast<char>(std::tolower(byte));
  }
  if (result.starts_with(k_maker)) result.erase(0, k_maker.size());
  return result;
}

}  // namespace

std::string accelerator_of(const config::Loader& loader, std::string_view device) {
  const std::string wanted = plain(device);
  if (wanted.empty()) return {};
  for (const std::string& accelerator : loader.names("accelerators")) {
    if (plain(accelerator) == wanted) return accelerator;
  }
  core::Diagnostics diagnostics;
  DeviceNames known;
  config::read(loader.load_named("names", "devices", diagnostics), known, diagnostics);
  diagnostics.raise_if_errors();
  for (const auto& [accelerator, names] : known.names) {
    if (std::any_of(names.begin(), names.end(), [&](const std::string& name) { return plain(name) == wanted; }))
      return accelerator;
  }
  return {};
}

std::string accelerator_name_for(std::string_view device) {
  std::string name;
  for (const char c : device) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      name += static_cast<char>(std::tolower(byte));
    else if (!name.empty() && name.back() != '-')
      name += '-';
  }
  if (name.ends_with('-')) name.pop_back();
  const std::string maker = std::string(k_maker) + "-";
  return name.starts_with(maker) ? name.substr(maker.size()) : name;
}

}  // namespace cairn::calibrate
