#include "options.h"

#include <algorithm>
#include <charconv>

#include "catalogue.h"

namespace cairn::probe {

namespace {

std::string known_groups() {
  std::string text;
  for (const std::string_view group : groups()) text += (text.empty() ? "" : ",") + std::string(group);
  return text;
}

std::vector<std::string> parse_groups(const std::string& text) {
  std::vector<std::string> out;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t end = std::min(text.find(',', begin), text.size());
    const std::string group = text.substr(begin, end - begin);
    if (std::find(groups().begin(), groups().end(), group) == groups().end())
      throw UsageError("--only: unknown group '" + group + "' (known: " + known_groups() + ")");
    out.push_back(group);
    begin = end + 1;
  }
  return out;
}

int parse_device(const std::string& text) {
  int device = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), device);
  if (error != std::errc() || end != text.data() + text.size() || device < 0)
    throw UsageError("--device: '" + text + "' is not a GPU's number (0, 1, ...)");
  return device;
}

void set_value(Options& options, const std::string& option, const std::string& value) {
  if (option == "-o" || option == "--output") {
    options.output = value;
  } else if (option == "--only") {
    options.only = parse_groups(value);
  } else if (option == "--device") {
    options.device = parse_device(value);
  } else if (value == "cold" || value == "warm") {
    options.cache = value;
  } else {
    throw UsageError("--cache: '" + value + "' is neither cold nor warm");
  }
}

}  // namespace

Options parse_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string option = arguments[i];
    if (option == "--quick" || option == "--list" || option == "-h" || option == "--help") {
      (option == "--quick" ? options.quick : option == "--list" ? options.list : options.help) = true;
      continue;
    }
    const std::size_t equals = option.starts_with("--") ? option.find('=') : std::string::npos;
    const bool attached = equals != std::string::npos;
    const std::string value = attached ? option.substr(equals + 1) : "";
    if (attached) option.resize(equals);
    if (option != "-o" && option != "--output" && option != "--only" && option != "--cache" && option != "--device")
      throw UsageError("unknown argument '" + arguments[i] + "' (see --help)");
    if (!attached && ++i == arguments.size()) throw UsageError(option + ": its value is missing");
    const std::string& given = attached ? value : arguments[i];
    if (given.empty()) throw UsageError(option + ": its value is missing");
    set_value(options, option, given);
  }
  return options;
}

std::string help_text() {
  return "cairn-probe [OPTIONS]: measures the kernels, memories, launches, host link and collectives of one machine "
         "and\n"
         "writes one JSON document cairn.measurement/1 to stdout.\n"
         "  -o, --output FILE    write the document there\n"
         "  --only GROUP[,...]   of " +
         known_groups() +
         "\n"
         "  --quick              fewer shapes and shorter runs\n"
         "  --cache cold|warm    operands rotated through more than the L2 holds (default), or the same each time\n"
         "  --device N           the GPU to measure (default 0); collectives use all visible ones\n"
         "  --list               print what would be measured, one row a line; needs no GPU\n"
         "  -h, --help           print this\n"
         "Exit codes: 0 measured; 1 a wrong result, or nothing measured; 2 usage; 3 output; 4 no GPU; 70 the GPU "
         "failed\n"
         "midway; 130 interrupted. The document is written in the last two cases too.\n";
}

}  // namespace cairn::probe
