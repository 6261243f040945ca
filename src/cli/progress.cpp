#include "progress.h"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

#include "cairn/core/printable.h"

namespace cairn::cli {
namespace {

constexpr std::size_t k_width = 20;
constexpr std::chrono::milliseconds k_apart{100};

}  // namespace

std::string progress_text(std::string_view what, std::size_t done, std::size_t of) {
  const std::size_t filled = of == 0 ? k_width : k_width * done / of;
  return fmt::format("{} {:#<{}}{:.<{}} {} of {}", what, "", filled, "", k_width - filled, done, of);
}

ProgressLine::ProgressLine(const CommonArguments& common)
    : wanted_(!common.quiet && isatty(STDERR_FILENO) == 1), next_(std::chrono::steady_clock::now() + k_apart) {}

void ProgressLine::show(std::string_view what, std::size_t done, std::size_t of) {
  if (!wanted_) return;
  const auto now = std::chrono::steady_clock::now();
  if (now < next_) return;
  next_ = now + k_apart;
  std::fputs(("\r" + core::printable(progress_text(what, done, of)) + "\x1b[K").c_str(), stderr);
  std::fflush(stderr);
  shown_ = true;
}

void ProgressLine::clear() {
  if (!shown_) return;
  std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  shown_ = false;
}

}  // namespace cairn::cli
