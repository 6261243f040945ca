// What `cairn attention --lengths` answers: JSON (cairn.attention-batch/1) key by key, and text.
#include <algorithm>
#include <numeric>
#include <utility>

#include "cairn/core/json_text.h"
#include "cairn/core/printable.h"
#include "cairn/report/attention.h"
#include "described.h"
#include "run_words.h"
#include "text_report.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

using attention::BatchAnswer;
using sequence::RankGroup;

constexpr const char* k_attention_batch_schema = "cairn.attention-batch/1";

const Described<RankGroup>& rank_group_keys() {
  static const Described<RankGroup> keys{
      {"ranks", count("that share each of its sequences"), &RankGroup::ranks},
      {"sequences", described(list_of(count()), "places in `lengths`, from 0"), &RankGroup::sequences},
      {"time_s", amount("s of all its sequences, one after another"),
       [](const RankGroup& group) { return core::to_seconds(group.time); }}};
  return keys;
}

template <class Batch>
Key<Batch> batch_time() {
  return {"time_s", amount("s of the batch"), [](const Batch& of) { return core::to_seconds(of.time); }};
}
template <class Batch>
Key<Batch> batch_bound() {
  return {"lower_bound_s", amount("s that no such assignment goes below"),
          [](const Batch& of) { return core::to_seconds(of.lower_bound); }};
}
template <class Batch>
Key<Batch> batch_exact() {
  return {"exact", flag("whether no such assignment is faster"), &Batch::exact};
}

const Described<sequence::GroupedBatch>& grouped_batch_keys() {
  using Batch = sequence::GroupedBatch;
  static const Described<Batch> keys{batch_time<Batch>(),
                                     batch_bound<Batch>(),
                                     batch_exact<Batch>(),
                                     {"groups", described(list_of(rank_group_keys().schema()), "side by side"),
                                      [](const Batch& of) { return rank_group_keys().list(of.groups); }}};
  return keys;
}

const Described<sequence::WavedBatch>& waved_batch_keys() {
  using Batch = sequence::WavedBatch;
  static const Described<Batch> keys{
      batch_time<Batch>(),
      batch_bound<Batch>(),
      batch_exact<Batch>(),
      {"waves", described(list_of(list_of(rank_group_keys().schema())), "one after another, of groups side by side"),
       [](const Batch& of) {
         Json all = Json::array();
         for (const std::vector<RankGroup>& wave : of.waves) all.push_back(rank_group_keys().list(wave));
         return all;
       }}};
  return keys;
}

struct BatchDocument {
  const AttentionBatch& of;
  const BatchAnswer& answer() const { return of.answer; }
};

const Described<BatchDocument>& attention_batch_keys() {
  const auto fitted = [](const char* what) { return amount(what); };
  static const Described<BatchDocument> keys{
      {"schema", text(), [](const auto&) { return k_attention_batch_schema; }},
      {"tool", tool(), [](const auto& all) { return made_by(all.of.tool); }},
      {"cluster", text("its name"), [](const auto& all) { return all.of.cluster; }},
      {"accelerator", text("its name"), [](const auto& all) { return all.of.accelerator; }},
      {"kernel", text("that computes attention"), [](const auto& all) { return all.of.kernel; }},
      {"ranks", count("of the pool"), [](const auto& all) { return all.answer().ranks; }},
      {"tokens_per_rank", count("that a rank has memory for"),
       [](const auto& all) { return all.answer().tokens_per_rank; }},
      {"lengths", described(list_of(count()), "tokens of each sequence"),
       [](const auto& all) { return all.answer().lengths; }},
      {"fitted",
       described(object({{"quadratic_s", fitted("s per token squared, of one rank")},
                         {"linear_s", fitted("s per token, of one rank")},
                         {"exchanged_bytes", fitted("B per token of all all-to-alls")},
                         {"circulated_bytes", fitted("B per token of keys and values in a ring")},
                         {"ring_bytes_per_s", fitted("B/s from neighbour to neighbour")}}),
                 "costs, from the times of single sequences"),
       [](const auto& all) {
         const sequence::GroupCosts& groups = all.answer().group_costs;
         const sequence::RingCosts& ring = all.answer().ring_costs;
         return Json{{"quadratic_s", groups.work.quadratic},
                     {"linear_s", groups.work.linear},
                     {"exchanged_bytes", groups.exchanged.base()},
                     {"circulated_bytes", ring.circulated.base()},
                     {"ring_bytes_per_s", ring.rate.base()}};
       }},
      {"groups", described(grouped_batch_keys().schema(), "groups of several degrees that split heads (FlexSP)"),
       [](const auto& all) { return grouped_batch_keys().json(all.answer().groups); }},
      {"one_degree", or_null(described(grouped_batch_keys().schema(), "the best of one degree; null: none has room")),
       [](const auto& all) {
         const auto& best = all.answer().one_degree;
         return best ? grouped_batch_keys().json(*best) : Json();
       }},
      {"waves", described(waved_batch_keys().schema(), "rings as long as each sequence needs (HDP, ByteScale)"),
       [](const auto& all) { return waved_batch_keys().json(all.answer().waves); }},
      {"one_ring", or_null(described(waved_batch_keys().schema(), "the best of one ring length; null: none has room")),
       [](const auto& all) {
         const auto& best = all.answer().one_ring;
         return best ? waved_batch_keys().json(*best) : Json();
       }},
      {"assumptions", assumption_list(), [](const auto& all) { return all.answer().assumptions; }},
      {"warnings", warning_list(), [](const auto& all) { return all.answer().warnings; }}};
  return keys;
}

}  // namespace
}  // namespace schema

namespace {

constexpr std::size_t k_batch_groups = 6;  // of a list, without --full

class BatchText : TextReport {
 public:
  BatchText(const AttentionBatch& of, const TextStyle& style)
      : TextReport(style.color), of_(of), answer_(of.answer), full_(style.full) {}

  std::string make() {
    const auto& lengths = answer_.lengths;
    const auto [least, most] = std::minmax_element(lengths.begin(), lengths.end());
    const std::int64_t tokens = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    std::pair<const char*, core::Picoseconds> best{"Groups of several degrees", answer_.groups.time};
    const auto take = [&](const char* name, core::Picoseconds batch) {
      if (batch < best.second) best = {name, batch};
    };
    if (answer_.one_degree && answer_.one_degree->time == best.second) best.first = "Groups of one degree";
    take("Rings of several lengths", answer_.waves.time);
    if (answer_.one_ring) take("Rings of one length", answer_.one_ring->time);
    line("{}: {} for the batch", best.first, time(best.second));
    out_ += wrapped(
        fmt::format("{} of {} to {} tokens, {} in all, on {} ranks with room for {} each; {}, {} ({})",
                    counted(static_cast<std::int64_t>(lengths.size()), "sequence", "sequences"), grouped(*least),
                    grouped(*most), grouped(tokens), answer_.ranks, grouped(answer_.tokens_per_rank), of_.kernel,
                    core::printable(of_.cluster), core::printable(of_.accelerator)),
        "", "  ");
    line("");
    heading("Groups of several degrees, heads split (FlexSP)", answer_.groups,
            answer_.one_degree ? std::optional(answer_.one_degree->time) : std::nullopt);
    groups(answer_.groups.groups, "");
    heading("Rings as long as sequences need (HDP, ByteScale)", answer_.waves,
            answer_.one_ring ? std::optional(answer_.one_ring->time) : std::nullopt);
    for (std::size_t i = 0; i < answer_.waves.waves.size(); ++i)
      if (full_ || i == 0) groups(answer_.waves.waves[i], fmt::format("wave {}: ", i + 1));
    if (!full_ && answer_.waves.waves.size() > 1) line("  {} more waves: --full", answer_.waves.waves.size() - 1);
    if (full_)
      for (const auto* all : {&answer_.warnings, &answer_.assumptions})
        for (const std::string& each : *all) out_ += wrapped(each, "  ", "  ");
    return std::move(out_);
  }

 private:
  static std::string time(core::Picoseconds value) { return seconds(core::to_seconds(value)); }

  template <class Batch>
  void heading(const char* what, const Batch& batch, std::optional<core::Picoseconds> one) {
    const std::string against =
        one ? fmt::format(", {:.2f} x as fast as the best single degree ({})",
                          static_cast<double>(*one) / static_cast<double>(std::max<core::Picoseconds>(batch.time, 1)),
                          time(*one))
            : std::string(", and no single degree has room");
    out_ += wrapped(
        fmt::format("{}: {}{}; {}", what, time(batch.time), against,
                    batch.exact ? "the least there is" : fmt::format("within {} of the least", percent(batch.gap()))),
        "", "  ");
  }

  void groups(const std::vector<sequence::RankGroup>& all, const std::string& start) {
    const std::size_t shown = full_ ? all.size() : std::min(all.size(), k_batch_groups);
    for (std::size_t i = 0; i < shown; ++i) {
      std::int64_t tokens = 0;
      for (const std::int64_t sequence : all[i].sequences)
        tokens += answer_.lengths[static_cast<std::size_t>(sequence)];
      line("  {}{:>4} {:<6} {:>10}  {:>3} {} of {} tokens", start, all[i].ranks, all[i].ranks == 1 ? "rank" : "ranks",
           time(all[i].time), all[i].sequences.size(), all[i].sequences.size() == 1 ? "sequence" : "sequences",
           grouped(tokens));
    }
    if (shown < all.size()) line("  {} more groups: --full", all.size() - shown);
  }

  const AttentionBatch& of_;
  const attention::BatchAnswer& answer_;
  bool full_;
};

}  // namespace

std::string json(const AttentionBatch& of, int indent) {
  return core::json_text(attention_batch_keys().json({.of = of}), indent);
}
std::string text(const AttentionBatch& of, const TextStyle& style) { return BatchText(of, style).make(); }

std::string attention_batch_schema() {
  return core::json_text(document(k_attention_batch_schema, attention_batch_keys().schema()), k_schema_indent);
}

}  // namespace cairn::report
