#include <cstdio>
#include <memory>

#include <fmt/format.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "cairn/core/printable.h"
#include "context.h"

namespace cairn::cli {

void set_verbosity(const CommonArguments& common) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
  auto logger = std::make_shared<spdlog::logger>("cairn", sink);
  logger->set_pattern("cairn: %v");
  logger->set_level(common.quiet ? spdlog::level::err : common.verbose ? spdlog::level::info : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

void say(const std::string& text) { spdlog::info("{}", core::printable(text)); }
void note(const std::string& text) { spdlog::warn("{}", core::printable(text)); }
void warn(const std::string& text) { spdlog::warn("warning: {}", core::printable(text)); }

void remark(std::string_view line) {
  const std::string shown = core::printable(line);
  std::fwrite(shown.data(), 1, shown.size(), stderr);
  std::fputc('\n', stderr);
}

}  // namespace cairn::cli
