#include "cairn/hardware/formats.h"

#include <algorithm>

namespace cairn::hardware {

const config::Choices<numerics::Format>& format_choices() {
  using numerics::Format;
  static const config::Choices<Format> choices = [] {
    config::Choices<Format> all;
    for (const Format format :
         {Format::fp64, Format::fp32, Format::tf32, Format::bf16, Format::fp16, Format::fp8_e4m3, Format::fp8_e5m2,
          Format::fp8_block, Format::fp8_block_2d, Format::mxfp8, Format::nvfp4, Format::int8}) {
      all.emplace_back(numerics::name(format), format);
    }
    return all;
  }();
  return choices;
}

std::optional<numerics::Format> find_format(std::string_view text) {
  const auto& choices = format_choices();
  const auto found =
      std::find_if(choices.begin(), choices.end(), [text](const auto& choice) { return choice.first == text; });
  if (found == choices.end()) return std::nullopt;
  return found->second;
}

std::string format_names() {
  std::string names;
  for (const auto& [text, format] : format_choices()) names.append(names.empty() ? "" : " ").append(text);
  return names;
}

}  // namespace cairn::hardware
