// A small search whose journal lies in a text, and what is the same answer.
#pragma once

#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/core/diagnostics.h"
#include "cairn/experiment/experiment.h"
#include "cairn/search/journal.h"
#include "cairn/search/search.h"
#include "catch.h"
#include "support/shipped.h"

namespace cairn::search_tests {

inline constexpr const char* k_of = R"({"experiment": "mine"})";

// Over the layouts of Llama 3.1 8B.
class SmallSearch {
 public:
  SmallSearch() : loaded_(experiment::load(files_, "llama3-8b-fsdp-dgx-h100", {"training.global_batch=32"})) {
    parts_ = experiment::load_parts(loaded_, files_);
    subject_ = search::subject_of(parts_, loaded_.experiment.training);
    core::Diagnostics problems;
    space_ = search::read_space(
        config::parse_text(
            "space: {tp: [1, 2, 4], pp: [1, 2], micro_batch: divisors, recompute: [none, attention, full],\n"
            "        zero: [0, 1, 3], overlap.dp: [true, false]}",
            config::Syntax::yaml, "space.yaml", problems),
        loaded_.experiment.strategy, subject_);
  }

  const search::Space& space() const { return space_; }
  search::Request request(std::size_t threads = 1) const { return request(threads, space_); }
  search::Request request(std::size_t threads, const search::Space& space) const {
    return {.settings = loaded_.experiment,
            .parts = parts_,
            .space = space,
            .subject = subject_,
            .exhaustive = exhaustive,
            .contention = false,
            .threads = threads,
            .of = k_of};
  }

  // Ends after so many looks at whether to.
  search::Answer run(std::size_t looks, bool with_journal = true, std::size_t threads = 1,
                     search::Wire* wire = nullptr) {
    std::atomic<std::size_t> looked = 0;
    search::Journal journal(k_of, text, "journal", [this](std::string_view line) { text += line; });
    text.resize(journal.whole_bytes());
    journal.begin();
    search::Request asked = request(threads);
    asked.journal = with_journal ? &journal : nullptr;
    asked.wire = wire;
    asked.stop = [&looked, looks] { return ++looked > looks; };
    return search::search(asked);
  }

  std::string text;
  bool exhaustive = false;

 private:
  config::Loader files_ = testing::shipped();
  experiment::LoadedExperiment loaded_;
  experiment::Parts parts_;
  search::Subject subject_;
  search::Space space_;
};

inline constexpr std::size_t k_never = 1000000000;

inline void same(const search::Answer& a, const search::Answer& b) {
  CHECK(a.complete == b.complete);
  CHECK(a.points == b.points);
  CHECK(a.evaluated == b.evaluated);
  CHECK(a.collapsed == b.collapsed);
  CHECK(a.counts == b.counts);
  CHECK(a.certificate == b.certificate);
  CHECK(a.verdict.lower_bound == b.verdict.lower_bound);
  const auto plans = [](const std::vector<search::Plan>& x, const std::vector<search::Plan>& y) {
    REQUIRE(x.size() == y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      CHECK(x[i].point == y[i].point);
      CHECK(x[i].time == y[i].time);
      CHECK(x[i].memory_bytes == y[i].memory_bytes);
      CHECK(x[i].settings == y[i].settings);
    }
  };
  plans(a.top, b.top);
  plans(a.pareto, b.pareto);
  REQUIRE(a.refusals.size() == b.refusals.size());
  for (std::size_t i = 0; i < a.refusals.size(); ++i) {
    CHECK(a.refusals[i].reason == b.refusals[i].reason);
    CHECK(a.refusals[i].count == b.refusals[i].count);
    CHECK(a.refusals[i].nearest == b.refusals[i].nearest);
    CHECK(a.refusals[i].settings == b.refusals[i].settings);
    CHECK(a.refusals[i].lacking_bytes == b.refusals[i].lacking_bytes);
  }
}

}  // namespace cairn::search_tests
