#include <cstdio>
#include <memory>

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include "context.h"

namespace cairn::cli {

void set_verbosity(const CommonArguments& common) {
  auto sink = std::make_shared<spdlog::sinks::stderr_sink_st>();
  auto logger = std::make_shared<spdlog::logger>("cairn", sink);
  logger->set_pattern("cairn: %v");
  logger->set_level(common.quiet ? spdlog::level::err : common.verbose ? spdlog::level::info : spdlog::level::warn);
  spdlog::set_default_logger(std::move(logger));
}

void say(const std::string& text) { spdlog::info("{}", text); }
void warn(const std::string& text) { spdlog::warn("warning: {}", text); }

void print(const std::vector<core::Diagnostic>& diagnostics) {
  for (const core::Diagnostic& each : diagnostics) remark(each.to_string());
}

void remark(std::string_view line) {
  std::fwrite(line.data(), 1, line.size(), stderr);
  std::fputc('\n', stderr);
}

}  // namespace cairn::cli
