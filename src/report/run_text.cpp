#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/core/printable.h"
#include "cairn/numerics/format.h"
#include "cairn/report/run.h"
#include "interval_words.h"
#include "run_words.h"
#include "text_report.h"

namespace cairn::report {
namespace {

constexpr std::size_t k_indent = 14;       // columns before an answer
constexpr std::size_t k_bar_width = 26;    // columns of a bar at 100 %
constexpr std::size_t k_short_bar = 18;    // the same beside a longer remark
constexpr std::size_t k_remedies = 10;     // shown
constexpr std::size_t k_price_lines = 10;  // most expensive pieces shown
constexpr std::size_t k_name_width = 27;
constexpr std::size_t k_shape_width = 29;
constexpr std::size_t k_class_width = 15;
constexpr std::size_t k_unit_width = 19;
constexpr double k_hidden_share = 0.0005;  // terms below 0.05 % of the step are added up in one line

struct Term {
  std::string_view name;
  double time_s;
  std::string_view meaning;
};

// Everything there is to say.
class RunText : private TextReport {
 public:
  RunText(const Run& run, const TextStyle& style) : TextReport(style.color), run_(run), figures_(figures(run)) {}

  std::string write() {
    title();
    answer();
    out_ += wrapped(limit(run_.result.prediction).sentence, "  ", "  ");
    measured();
    remedies();
    causes();
    times();
    units();
    prices();
    floors();
    exchange();
    memory();
    bounds();
    notes();
    return std::move(out_);
  }

 private:
  void paragraph(std::string_view text) { out_ += wrapped(text, "", ""); }
  void heading(std::string_view name, std::string_view remark = {}) {
    line("");
    line("{}  {}", paint_.bold(name), paint_.dim(remark));
  }

  const predict::Prediction& prediction() const { return run_.result.prediction; }

  void title() {
    line("{}", paint_.bold(run_name(run_)));
    paragraph(machine_words(run_));
    paragraph(plan_words(run_));
  }

  void measured() {
    if (run_.measured == nullptr) return;
    heading(measured_words(*run_.measured), "single facts, each by a run, and what is then left");
    if (!run_.measured->tried) line("  the step has more work than is run again");
    for (const contrast::Fact& fact : run_.measured->facts)
      out_ += wrapped(fmt::format("{}: {}", fact_words(fact, run_.measured->measured), joined(fact.settings)), "  ",
                      "    ");
  }

  void answer() {
    const predict::MemoryReport& m = prediction().memory;
    line("");
    line("  {:<12}{}{} tokens/s, {} per GPU", "step time", paint_.bold(fmt::format("{:<22}", seconds(figures_.time_s))),
         rate(figures_.tokens_per_s), rate(figures_.tokens_per_s_per_gpu));
    line("  {:<12}{}of {} {}; causal {}, executed (HFU) {}", "MFU",
         paint_.bold(fmt::format("{:<22}", percent(figures_.mfu))), core::format(run_.job.peak().rate),
         numerics::name(run_.job.peak().format), percent(figures_.mfu_causal), percent(figures_.hfu));
    const std::string used = fmt::format("{:<22}", fmt::format("{} of {}", bytes(m.device_peak), bytes(m.capacity)));
    if (prediction().fits)
      line("  {:<12}{}{}, {} to spare on the fullest GPU", "memory", paint_.bold(used),
           predict::tight(m) ? paint_.bad("fits tightly") : paint_.good("fits"), bytes(m.headroom()));
    else if (m.headroom() >= 0.0)
      line("  {:<12}{}{}", "memory", paint_.bold(used),
           paint_.bad("the host's memory or drives do not hold what is offloaded"));
    else
      line("  {:<12}{}{}, {} too much on stage {}", "memory", paint_.bold(used), paint_.bad("does not fit"),
           bytes(-m.headroom()), m.peak_stage);
    if (figures_.usd_per_step || figures_.joule_per_step) cost();
    intervals();
  }

  // How sure time and memory are, and by what.
  void intervals() {
    const experiment::RunIntervals& all = run_.result.intervals;
    if (!all.none.empty()) return line("  {:<12}{}", "how sure", paint_.dim(all.none));
    const predict::MemoryReport& m = prediction().memory;
    const std::string indent(k_indent, ' ');
    if (all.time) {
      const std::string step = seconds(figures_.time_s);
      out_ += wrapped(fmt::format("step time {}{}, by {}", step, range_words(step, figures_.time_s, time_range(run_)),
                                  basis_words(*all.time)),
                      fmt::format("  {:<12}", "how sure"), indent);
    }
    if (all.memory) {
      const std::string peak = bytes(m.device_peak);
      const std::optional<double> share = share_that_fits(run_);
      out_ += wrapped(fmt::format("memory {}{}{}, by {}", peak, range_words(peak, m.device_peak, memory_range(run_)),
                                  share ? fmt::format(", fits in {}", share_words(*share)) : std::string(),
                                  basis_words(*all.memory)),
                      indent, indent);
    }
  }

  void cost() {
    std::string text;
    if (figures_.usd_per_step) text += core::format(core::Dollars::from_base(*figures_.usd_per_step));
    if (figures_.joule_per_step) text += (text.empty() ? "" : ", ") + energy(*figures_.joule_per_step);
    line("  {:<12}{} per step", "cost", text);
  }

  void times() {
    using program::Axis;
    const predict::Breakdown& b = prediction().breakdown;
    const auto exposed = [&](Axis axis) { return core::to_seconds(b.exposed[static_cast<std::size_t>(axis)]); };
    std::vector<Term> terms{{"compute", core::to_seconds(b.compute), "forward and backward kernels"},
                            {"recompute", core::to_seconds(b.recompute), "forward kernels run again in backward"},
                            {"optimizer", core::to_seconds(b.optimizer), "update of the parameters"},
                            {"launch", core::to_seconds(b.launch), "the device waits for its next kernel"},
                            {"tp exposed", exposed(Axis::tensor), "waiting for tensor-parallel transfers"},
                            {"cp exposed", exposed(Axis::context), "waiting for context-parallel transfers"},
                            {"ep exposed", exposed(Axis::expert), "waiting for expert-parallel transfers"},
                            {"pp exposed", exposed(Axis::pipeline), "waiting for messages between stages"},
                            {"dp exposed", exposed(Axis::data), "waiting for gradients and parameters"},
                            {"offload", core::to_seconds(b.offload), "waiting for copies from and to the host"},
                            {"bubble", core::to_seconds(b.bubble), "waiting for another stage or rank"},
                            {"host", core::to_seconds(b.host), "waiting for the host to issue kernels"},
                            {"links", core::to_seconds(b.links), "waiting for links that transfers share"},
                            {"other", core::to_seconds(b.other), ""}};
    std::stable_sort(terms.begin(), terms.end(), [](const Term& a, const Term& z) { return a.time_s > z.time_s; });
    heading("Where the time goes", "on the rank that ends last");
    double rest = 0.0;
    for (const Term& term : terms) {
      const double share = term.time_s / figures_.time_s;
      if (share < k_hidden_share) {
        rest += term.time_s;
        continue;
      }
      line("  {:<12}{:>10} {:>7}  {} {}", term.name, aligned_time(term.time_s), percent(share),
           paint_.accent(bar(share, k_bar_width)), paint_.dim(term.meaning));
    }
    if (rest > 0.0) line("  {:<12}{:>10} {:>7}", "the rest", aligned_time(rest), percent(rest / figures_.time_s));
    bubble();
    hidden();
  }

  // What would make it fit.
  void remedies() {
    const auto& reason = run_.result.why_not;
    if (!reason || !reason->changes) return;
    const std::vector<experiment::Remedy>& changes = *reason->changes;
    heading("What would make it fit", fmt::format("the largest part of its memory is {}", reason->term));
    if (changes.empty()) return line("  {}", k_no_remedy);
    for (std::size_t i = 0; i < std::min(k_remedies, changes.size()); ++i) {
      const experiment::Remedy& each = changes[i];
      line("  {:>10}{:>11}  {}", aligned_time(each.time_s), bytes(each.memory_bytes), joined(each.settings));
    }
    if (changes.size() > k_remedies)
      line("  {}", paint_.dim(fmt::format("and {} slower ones in --json", changes.size() - k_remedies)));
  }

  // What the bubble consists of, where there is one.
  void bubble() {
    const predict::BubbleParts& parts = prediction().causes.bubble;
    std::string each;
    const auto add = [&](core::Picoseconds time, std::string_view what) {
      if (time > 0) each += fmt::format("{}{} {}", each.empty() ? "" : ", ", seconds(core::to_seconds(time)), what);
    };
    add(parts.schedule, "filling and draining the pipeline");
    add(parts.imbalance, "other stages take longer");
    add(parts.transfers, "transfers of other stages");
    add(parts.ranks, "slower ranks");
    if (!each.empty()) out_ += wrapped("bubble: " + each, "  ", "  ");
  }

  // Where stages differ or wait for each other; of one stage it would say what the next section says.
  void causes() {
    const predict::Causes& all = prediction().causes;
    if (all.stages.size() == 1) return;
    heading("Why it takes as long", fmt::format("seen from stage {}, which waits least for the others", all.limiting));
    for (const predict::CauseTime& each : all.parts) {
      const double time_s = core::to_seconds(each.time);
      if (time_s < k_hidden_share * figures_.time_s) continue;
      const bool own = each.stage == all.limiting;
      line("  {:<12}{:>10} {:>7}  {} {}", name(each), aligned_time(time_s), percent(time_s / figures_.time_s),
           paint_.accent(bar(time_s / figures_.time_s, k_short_bar)),
           paint_.dim(own ? std::string(meaning(each)) : fmt::format("{}, stage {}", meaning(each), each.stage)));
    }
    std::vector<std::string> each;
    for (const core::Picoseconds time : all.stages) each.push_back(seconds(core::to_seconds(time)));
    out_ += wrapped("each stage without waiting for others, from stage 0: " + in_runs(each), "  ", "  ");
  }

  // "1 s, 3 x 2 s": equal neighbours together.
  static std::string in_runs(const std::vector<std::string>& texts) {
    std::string result;
    for (std::size_t i = 0; i < texts.size();) {
      std::size_t end = i + 1;
      while (end < texts.size() && texts[end] == texts[i]) ++end;
      if (i > 0) result += ", ";
      if (end - i > 1) result += fmt::format("{} x ", end - i);
      result += texts[i];
      i = end;
    }
    return result;
  }

  // Transfers that nothing waits for. What they cost beyond the multiprocessors they hold is left out.
  void hidden() {
    if (prediction().event && run_.job.experiment().simulation.interference) return;
    const predict::Breakdown& b = prediction().breakdown;
    std::string each;
    for (const predict::ClassFloor& row : prediction().class_floors)
      for (std::size_t i = 0; i < program::k_axes; ++i) {
        if (row.label != program::label(static_cast<program::Axis>(i))) continue;
        const double time_s = row.time_s - core::to_seconds(b.exposed[i]);
        if (time_s < k_hidden_share * figures_.time_s) continue;
        each += fmt::format("{}{} {}", each.empty() ? "" : ", ", row.label, seconds(time_s));
      }
    if (each.empty()) return;
    out_ += wrapped(fmt::format("hidden beside other work: {} of transfers, priced by the multiprocessors they hold "
                                "(simulation.contention and .interference price links and memory, too)",
                                each),
                    "  ", "  ");
  }

  // Of every unit that overlapping work shares, the stage that uses it most.
  void units() {
    const auto& event = prediction().event;
    if (!event || event->uses.empty()) return;
    heading("How busy links and units are", "on the stage that uses each most; peak: the most at any instant");
    for (std::size_t unit = 0; unit < event->units.size(); ++unit) {
      const predict::UnitUse* most = nullptr;
      for (const predict::UnitUse& use : event->uses)
        if (use.unit == unit && (most == nullptr || use.mean > most->mean)) most = &use;
      if (most == nullptr) continue;
      line("  {:<20}{:>9}  {} {}", clipped(event->units[unit].name, k_unit_width), percent(most->mean),
           paint_.accent(bar(most->mean, k_bar_width)),
           paint_.dim(fmt::format("peak {}, stage {}", percent(most->peak), most->stage)));
    }
  }

  void prices() {
    const std::vector<predict::PriceLine>& all = prediction().prices;
    if (all.empty()) return;
    heading("Most expensive pieces", "at best: at the rates of the data sheet; in all: those of the whole step");
    line("  {}", paint_.dim(fmt::format("{:<{}}{:<{}}{:>10}{:>10}{:>9}{:>10}", "", k_name_width, "", k_shape_width,
                                        "each", "at best", "ratio", "in all")));
    for (std::size_t i = 0; i < std::min(k_price_lines, all.size()); ++i) {
      const predict::PriceLine& p = all[i];
      const std::string ratio = p.floor_s > 0.0 ? fmt::format("{:.2f}", p.time_s / p.floor_s) : std::string("-");
      line("  {:<{}}{:<{}}{:>10}{:>10}{:>9}{:>10}", clipped(p.name, k_name_width - 1), k_name_width,
           clipped(p.detail, k_shape_width - 1), k_shape_width, aligned_time(p.time_s), aligned_time(p.floor_s), ratio,
           aligned_time(p.total_s));
    }
  }

  void floors() {
    const std::vector<predict::ClassFloor>& rows = prediction().class_floors;
    if (rows.empty()) return;
    heading("How far from the data sheet", "all pieces of the rank that ends last, awaited or not");
    line("  {}", paint_.dim(fmt::format("{:<{}}{:>10}{:>11}{:>9}{:>12}{:>11}{:>9}", "", k_class_width, "moved",
                                        "at least", "ratio", "time", "at best", "ratio")));
    for (const predict::ClassFloor& row : rows)
      line("  {:<{}}{:>10}{:>11}{:>9}{:>12}{:>11}{:>9}", row.label, k_class_width, bytes(row.bytes),
           bytes(row.floor_bytes), over(row.bytes, row.floor_bytes), aligned_time(row.time_s),
           aligned_time(row.floor_s), over(row.time_s, row.floor_s));
    const std::string others = sent_by_others();
    if (!others.empty()) line("  {}", paint_.dim(fmt::format("not on that rank, but on others: {}", others)));
  }
  // Labels of transfers that others have and the rank that ends last has not: its stage may have no experts.
  std::string sent_by_others() const {
    std::string all;
    for (std::size_t i = 0; i < program::k_axes; ++i) {
      const std::string_view label = program::label(static_cast<program::Axis>(i));
      const auto is_of = [label](const predict::ClassFloor& row) { return row.label == label; };
      const std::vector<predict::ClassFloor>& rows = prediction().class_floors;
      if (prediction().volumes[i].sent > 0.0 && std::none_of(rows.begin(), rows.end(), is_of))
        all += fmt::format("{}{}", all.empty() ? "" : ", ", label);
    }
    return all;
  }
  static std::string over(double value, double floor) {
    return floor > 0.0 ? fmt::format("{:.2f}", value / floor) : std::string("-");
  }

  void exchange() {
    const auto& x = prediction().expert_exchange;
    if (!x) return;
    const std::int64_t domains = x->ranks / x->ranks_per_domain;
    const auto whole = static_cast<double>(x->ranks);
    heading("Exchange with experts", fmt::format("one way, {} of each of {} ranks, {} in a domain", bytes(x->bytes),
                                                 x->ranks, x->ranks_per_domain));
    const auto row = [&](std::int64_t levels, double time_s, const std::string& messages) {
      line("  {:<12}{:>10}  {}{}", levels == 1 ? "at once" : "two levels", aligned_time(time_s), paint_.dim(messages),
           levels == x->levels ? "  this plan" : "");
    };
    row(1, x->times.one_level_s,
        fmt::format("{} messages of {} leave the domain", x->ranks - x->ranks_per_domain,
                    bytes(x->across * x->bytes / whole)));
    row(2, x->times.two_levels_s,
        fmt::format("{} of {} do, then {} of {} inside", domains - 1,
                    bytes(x->across * x->bytes / static_cast<double>(domains)), x->ranks_per_domain - 1,
                    bytes(x->bytes / static_cast<double>(x->ranks_per_domain))));
    if (x->equal_bytes)
      line("  {:<12}{:>10}  {}", "equal at", bytes(*x->equal_bytes), paint_.dim("two levels are faster below"));
  }

  void memory() {
    const predict::MemoryReport& m = prediction().memory;
    const predict::StageMemory& fullest = m.stages[static_cast<std::size_t>(m.peak_stage)];
    heading("Memory at the peak", fmt::format("stage {} of {}, {}", m.peak_stage, m.stages.size(), fullest.phase));
    const auto row = [&](std::string_view name, double amount) {
      if (amount > 0.0)
        line("  {:<12}{:>10} {:>7}  {}", name, bytes(amount), percent(amount / m.capacity),
             paint_.accent(bar(amount / m.capacity, k_bar_width)));
    };
    for (std::size_t i = 0; i < program::k_categories; ++i)
      row(category_name(static_cast<program::Category>(i)), fullest.at_peak[i]);
    row("allocator", m.reserved_peak - m.allocated_peak);
    row("system", m.device_peak - m.reserved_peak);
    line("  {}", paint_.dim(fmt::format("{:<12}{:>10} {:>7}", "in all", bytes(m.device_peak),
                                        percent(m.device_peak / m.capacity))));
    if (m.stages.size() > 1) {
      std::vector<std::string> each;
      for (const predict::StageMemory& stage : m.stages) each.push_back(bytes(stage.device_peak));
      out_ += wrapped("each stage at its peak, from stage 0: " + in_runs(each), "  ", "    ");
    }
    const hardware::Accelerator& device = run_.job.machine().accelerator.value;
    out_ += wrapped(fmt::format("of {}: {} less {} that the driver keeps ({})", bytes(m.capacity),
                                bytes(device.device_memory().capacity.base()),
                                bytes(device.reserved_memory.driver.base()), driver_source(run_)),
                    "  ", "    ");
    elsewhere(m);
  }

  // Memory outside the device, only when something lives there; the stages, only when they differ.
  void elsewhere(const predict::MemoryReport& m) {
    const auto row = [&](std::string_view name, double amount, double capacity) {
      if (amount <= 0.0) return;
      const std::string share =
          capacity > 0.0 ? fmt::format(" of {} ({})", bytes(capacity), percent(amount / capacity)) : std::string();
      line("  {:<12}{:>10}{}, per node", name, bytes(amount), share);
    };
    row("on the host", m.host, m.host_capacity);
    row("on drives", m.storage, m.storage_capacity);
    if (m.off_device_activations > 0.0)
      line("  {:<12}{:>10}", "", paint_.dim(bytes(m.off_device_activations) + " of it activations, at their most"));
  }

  void bounds() {
    heading("Lower bounds", "a bound need not be attainable: the gap is not waste");
    bound("this plan", "no run of it takes less", prediction().plan_bounds);
    bound("any plan", "no layout on this cluster takes less", prediction().problem_bounds);
  }
  void bound(std::string_view name, std::string_view meaning, const predict::Bounds& bounds) {
    const std::optional<double> best = bounds.best_s();
    if (!best) return line("  {:<12}{:>10}", name, "none known");
    line("  {:<12}{:>10}, {} below the prediction: {}", name, seconds(*best), percent(1.0 - *best / figures_.time_s),
         paint_.dim(meaning));
    parts(bounds, *best);
  }
  // What each resource alone has to do; not where it is next to nothing.
  void parts(const predict::Bounds& bounds, double best_s) {
    constexpr double k_worth_saying = 0.01;
    const std::pair<std::string_view, std::optional<double>> all[] = {
        {"computation", bounds.compute_s},
        {"device memory", bounds.memory_s},
        {"network", bounds.network_s},
        {"computation and network together", bounds.together_s}};
    std::string each;
    for (const auto& [name, time_s] : all)
      if (time_s && *time_s >= k_worth_saying * best_s)
        each += fmt::format("{}{} {}", each.empty() ? "" : ", ", name, seconds(*time_s));
    const std::string indent(k_indent, ' ');
    out_ += wrapped(each, indent, indent);
  }

  void notes() {
    if (!run_.result.effects.empty())
      heading("What would change it", "the step time where something uncertain is otherwise");
    for (const experiment::Effect& each : run_.result.effects)
      out_ += wrapped(effect_words(each, figures_.time_s), "  ", "    ");
    note("Assumptions", run_.result.assumptions);
    out_ += wrapped(files_read(), "  - ", "    ");
    note("Warnings", run_.job.warnings());
  }
  // Files that no other line names.
  std::string files_read() const {
    std::string names;
    for (const config::SourceFile& source : run_.job.sources().all())
      if (source.kind == "calibration" || source.kind == "frameworks")
        names += fmt::format("{}{}", names.empty() ? "" : ", ", source.portable(run_.job.home()));
    return fmt::format("files: {} and others, with hashes in --json", names);
  }
  void note(std::string_view name, const std::vector<std::string>& texts) {
    if (texts.empty()) return;
    heading(name);
    for (const std::string& each : texts) out_ += wrapped(each, "  - ", "    ");
  }

  const Run& run_;
  RunFigures figures_;
};

}  // namespace

std::string text(const Run& run, const TextStyle& style) {
  return style.full ? RunText(run, style).write() : screen(run, style);
}

}  // namespace cairn::report
