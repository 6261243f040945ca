// Any bytes give rows or a ConfigurationError; never a crash, never another exception.
#include <random>
#include <string>
#include <vector>

#include "cairn/core/diagnostics.h"
#include "cairn/measure/read.h"
#include "catch.h"
#include "measure/nccl_log.h"
#include "measure/samples.h"

namespace cairn::measure {
namespace {

class Mutator {
 public:
  explicit Mutator(std::uint64_t seed) : random_(seed) {}

  std::string mutate(std::string text) {
    const std::size_t changes = 1 + below(5);
    for (std::size_t i = 0; i < changes && !text.empty(); ++i) change(text);
    return text;
  }

 private:
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }

  void change(std::string& text) {
    static const std::vector<std::string> k_words{
        "nan", "-1",   "1e999", "99999999999999999999", "0", "\"", ",", "\n", "{", "}", "[", "null", "#", ":", "(ms)",
        "\0x", "\xFF", "-0.0"};
    const std::size_t at = below(text.size());
    switch (below(6)) {
      case 0:
        text[at] = static_cast<char>(below(256));
        break;
      case 1:
        text.erase(at, 1 + below(16));
        break;
      case 2:
        text.insert(at, k_words[below(k_words.size())]);
        break;
      case 3:
        text.resize(at);
        break;
      case 4:
        text.insert(at, text.substr(below(text.size()), 1 + below(64)));
        break;
      default:
        std::swap(text[at], text[below(text.size())]);
    }
  }

  std::mt19937_64 random_;
};

}  // namespace

TEST_CASE("readers survive any mutation of their samples", "[measure][fuzz]") {
  const std::string samples[] = {
      test::nccl_text(),
      test::nccl_json(),
      test::kernel_table(),
      test::collective_table(),
      test::probe_json(),
      test::log_of({}, {.prefix = "[1,0]<stdout>:", .messages = test::LogDecoration::Messages::inside_rows})};
  constexpr int k_rounds = 3000;
  int refused = 0, read = 0;
  for (std::size_t i = 0; i < std::size(samples); ++i) {
    Mutator mutator(20261121 + i);
    for (int round = 0; round < k_rounds; ++round) {
      const std::string text = mutator.mutate(samples[i]);
      try {
        const MeasurementFile file = parse_measurements(text, "all_reduce_perf.txt");
        for (const Measurement& row : file.rows) {
          REQUIRE(row.time.median_s > 0.0);
          REQUIRE(row.bytes >= 0.0);
        }
        ++read;
      } catch (const core::ConfigurationError& error) {
        REQUIRE(!error.diagnostics().empty());
        ++refused;
      }
    }
  }
  // Both happen: the mutations are neither harmless nor hopeless.
  CHECK(refused > 1000);
  CHECK(read > 1000);
}

}  // namespace cairn::measure
