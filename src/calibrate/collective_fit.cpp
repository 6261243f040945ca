// Messages inside one domain. Both forms of transfer.h are fitted; the three protocols as
//   a2 = a1 (1 + r2), a3 = a2 (1 + r3), B1 = f1 B3, B2 = f2 B3
// with priors of the width seen over accelerators: the few sizes of one protocol leave its line free otherwise.
#include <algorithm>
#include <array>
#include <map>

#include <fmt/format.h>

#include "cairn/core/quantile.h"
#include "cairn/cost/transfer.h"
#include "families.h"

namespace cairn::calibrate {
namespace {

using cost::Collective;
using cost::DomainFit;

constexpr double k_crossover = 10.0;  // sharper or softer (8 to 16) describes the public samples equally well

// Times of equal messages are repeats: their median is what is fitted.
struct Sizes {
  std::vector<double> bytes = {};
  std::vector<double> seconds = {};
};
Sizes medians(const Rows& rows) {
  std::map<double, std::vector<double>> repeats;
  for (const measure::Measurement* row : rows) repeats[row->bytes].push_back(row->time.median_s);
  Sizes sizes;
  for (const auto& [bytes, times] : repeats) {
    sizes.bytes.push_back(bytes);
    sizes.seconds.push_back(core::quantile(times, 0.5));
  }
  return sizes;
}

bool is_integer(std::string_view type) { return type.starts_with("int") || type.starts_with("uint"); }

// One curve has one origin. Sources differ in level by several percent (firmware, library, switch settings), so the one
// with the most rows speaks. Integers are reduced by other means than the floating-point numbers of training (never in
// the switch; 15 % slower at 64 MiB on eight H100): they count only where nothing else was measured.
Rows of_one_origin(const Rows& rows, Collective collective) {
  const bool reduces = collective == Collective::all_reduce || collective == Collective::reduce_scatter;
  const bool floating = std::any_of(rows.begin(), rows.end(), [](const auto* row) { return !is_integer(row->type); });
  std::map<std::string, Rows> sources;
  for (const measure::Measurement* row : rows)
    if (!reduces || !floating || !is_integer(row->type)) sources[row->source].push_back(row);
  return std::max_element(sources.begin(), sources.end(),
                          [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); })
      ->second;
}

using FreeTransfer = std::vector<FreeParameter<DomainFit>>;

std::vector<FitParameter> line_parameters(double link) {
  return {{"low_latency", 10 * k_us, 0.5 * k_us, 200 * k_us, 1.0},
          {"middle_latency / low_latency - 1", 0.2, 0.01, 5.0, 0.28},
          {"simple_latency / middle_latency - 1", 1.6, 0.01, 10.0, 0.16},
          {"simple_bandwidth", 0.75 * link, 0.02 * link, 2.0 * link, 0.12},
          {"low_bandwidth / simple_bandwidth", 0.03, 0.001, 0.5, 0.32},
          {"middle_bandwidth / simple_bandwidth", 0.5, 0.05, 2.0, 0.2}};
}
constexpr std::size_t k_line_parameters = 6;

// Values of line_parameters(), and behind them of what else is free.
DomainFit three_protocols(DomainFit fit, const FreeTransfer& others, std::span<const double> v) {
  const double a2 = v[0] * (1.0 + v[1]);
  fit.protocols = {{{v[0], v[4] * v[3]}, {a2, v[5] * v[3]}, {a2 * (1.0 + v[2]), v[3]}}};
  return with_values(fit, others, v.subspan(k_line_parameters));
}

// As it is written: to four digits.
void round_lines(DomainFit& fit) {
  for (cost::ProtocolLine& line : fit.protocols) line = {rounded(line.latency_s), rounded(line.bandwidth)};
}

using Build = DomainFit (*)(DomainFit, const FreeTransfer& free, std::span<const double>);

FamilyProblem problem_of(const Sizes& sizes, std::vector<FitParameter> parameters) {
  FamilyProblem problem{.parameters = std::move(parameters),
                        .measured_s = sizes.seconds,
                        .groupings = {{}},
                        .grouped_by = "decades of the message size"};
  for (const double bytes : sizes.bytes) problem.groupings[0].push_back(decade(std::max(1.0, bytes)));
  return problem;
}

// Prices `sizes` by cost with one measured rank count.
auto price_with(const Sizes& sizes, const DomainFit& empty, double link, cost::TransferForm form, Build build,
                const FreeTransfer& free) {
  return [&sizes, empty, link, form, build, &free](std::span<const double> values, std::span<const std::size_t> which,
                                                   std::span<double> seconds) {
    cost::TransferLaws laws{
        .domain = {.link_bandwidth = link, .fits = {build(empty, free, values)}, .crossover_exponent = k_crossover},
        .form = form};
    const cost::TransferLinks links{.intra = {.bandwidth = link}};
    const cost::GroupBinding group{.size = empty.ranks, .ranks_per_domain = empty.ranks};
    for (std::size_t i = 0; i < which.size(); ++i)
      seconds[i] = cost::transfer_time(empty.collective, sizes.bytes[which[i]], group, links, laws).total_s;
  };
}

FamilyResult fit_one(DomainFit fit, const Sizes& sizes, double link, Result& result) {
  const FreeTransfer short_form = free_numbers(cost::k_short_form_numbers, {FreeWhen::short_form}, link);
  FamilyProblem brief = problem_of(sizes, parameters_of(short_form));
  brief.groupings.clear();
  brief.price = price_with(sizes, fit, link, cost::TransferForm::short_form, with_values<DomainFit>, short_form);
  fit = with_values(fit, short_form, fit_family(brief).values);

  const FreeTransfer others = free_numbers(cost::k_protocol_form_numbers, {FreeWhen::protocol_form}, link);
  std::vector<FitParameter> parameters = line_parameters(link);
  for (const FitParameter& each : parameters_of(others)) parameters.push_back(each);
  FamilyProblem full = problem_of(sizes, std::move(parameters));
  full.price = price_with(sizes, fit, link, cost::TransferForm::three_protocols, three_protocols, others);
  FamilyFit found = fit_family(full);
  for (const double bytes : sizes.bytes) widen(found.record.ranges, "bytes", bytes);
  fit = three_protocols(fit, others, found.values);
  round_lines(fit);
  fit.fit = found.record;

  FamilyResult family{.kind = std::string(cost::measured_name(fit.collective)),
                      .type = fmt::format("{} ranks", fit.ranks),
                      .parameters = {{"low_latency", fit.protocols[0].latency_s},
                                     {"low_bandwidth", fit.protocols[0].bandwidth},
                                     {"middle_latency", fit.protocols[1].latency_s},
                                     {"middle_bandwidth", fit.protocols[1].bandwidth},
                                     {"simple_latency", fit.protocols[2].latency_s},
                                     {"simple_bandwidth", fit.protocols[2].bandwidth}},
                      .at_bound = found.at_bound,
                      .record = found.record,
                      .left_out_errors = found.left_out_errors};
  for (const auto& each : others) family.parameters.emplace_back(each.fit.name, fit.*each.member);
  std::vector<DomainFit>& fits = result.calibration.transfers.domain.fits;
  std::erase_if(fits,
                [&](const DomainFit& each) { return each.collective == fit.collective && each.ranks == fit.ranks; });
  fits.push_back(std::move(fit));
  return family;
}

}  // namespace

std::optional<Collective> collective_of(std::string_view kind) {
  const auto found = std::find_if(cost::k_measured.begin(), cost::k_measured.end(), [&](Collective each) {
    std::string written(cost::measured_name(each));  // measurements write all_reduce
    std::replace(written.begin(), written.end(), '-', '_');
    return written == kind;
  });
  return found == cost::k_measured.end() ? std::nullopt : std::optional(*found);
}

void fit_collectives(const Rows& rows, Result& result) {
  std::map<std::pair<Collective, std::int64_t>, Rows> groups;
  for (const measure::Measurement* row : rows) {
    if (row->ranks < 2 || row->bytes <= 0.0)
      result.drop(fmt::format("{} of no bytes or one rank", row->kind), 1);
    else
      groups[{*collective_of(row->kind), row->ranks}].push_back(row);
  }
  cost::DomainLaws& laws = result.calibration.transfers.domain;
  Rows used;
  for (const auto& [key, measured] : groups) {
    const DomainFit empty{.collective = key.first, .ranks = key.second};
    const Rows group = of_one_origin(measured, empty.collective);
    result.drop(fmt::format("{} of {} ranks of other sources or of integers", cost::measured_name(empty.collective),
                            key.second),
                measured.size() - group.size());
    const Sizes sizes = medians(group);
    const std::string type = fmt::format("{} ranks", key.second);
    if (laws.link_bandwidth <= 0.0) {
      result.families.push_back(
          too_few(std::string(cost::measured_name(empty.collective)), type, sizes.bytes.size(), k_least_sizes));
      result.families.back().skipped = "the base states no transfers.link_bandwidth, which bandwidths are relative to";
      result.families.back().remedy = "state it in a copy of the base, and name the copy with --base";
    } else if (sizes.bytes.size() < k_least_sizes) {
      result.families.push_back(
          too_few(std::string(cost::measured_name(empty.collective)), type, sizes.bytes.size(), k_least_sizes));
      *result.families.back().skipped += " message sizes";
    } else {
      result.families.push_back(fit_one(empty, sizes, laws.link_bandwidth, result));
      used.insert(used.end(), group.begin(), group.end());
    }
  }
  if (used.empty()) return;
  laws.crossover_exponent = k_crossover;
  result.calibration.transfer_provenance = measured_by(used);
  std::stable_sort(laws.fits.begin(), laws.fits.end(), [](const DomainFit& a, const DomainFit& b) {
    return std::pair(a.collective, a.ranks) < std::pair(b.collective, b.ranks);
  });
}

}  // namespace cairn::calibrate
