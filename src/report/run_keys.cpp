#include "run_keys.h"

namespace cairn::report::schema {
namespace {

// A number of picoseconds, told in seconds.
template <class T>
auto in_seconds(core::Picoseconds T::*time) {
  return [time](const T& of) { return core::to_seconds(of.*time); };
}

template <class T>
auto or_nothing(std::optional<double> T::*value) {
  return [value](const T& of) { return nullable(of.*value); };
}

// A term of the step's time, as the glossary explains it.
template <class Value>
Key<predict::Breakdown> term(const char* label, Value value) {
  return {label, amount("s. " + meaning(label)), value};
}
Key<predict::Breakdown> exposed(const char* label, program::Axis axis) {
  return term(label, [axis](const predict::Breakdown& all) {
    return core::to_seconds(all.exposed[static_cast<std::size_t>(axis)]);
  });
}

Json bytes_of(const char* label) { return amount("bytes. " + meaning(label)); }

Key<predict::StageMemory> category(program::Category which) {
  const char* label = category_name(which).data();
  return {label, bytes_of(label),
          [which](const predict::StageMemory& stage) { return stage.at_peak[static_cast<std::size_t>(which)]; }};
}

Json phase_text() { return text("what runs there at that instant, in words"); }

const Described<predict::StageMemory>& stage_memory_keys() {
  using predict::StageMemory;
  using program::Category;
  static const Described<StageMemory> keys{
      {"allocated_peak", bytes_of("allocated_peak"), &StageMemory::allocated_peak},
      {"reserved_peak", bytes_of("reserved_peak"), &StageMemory::reserved_peak},
      {"device_peak", bytes_of("device_peak"), &StageMemory::device_peak},
      category(Category::parameters),
      category(Category::gradients),
      category(Category::optimizer),
      category(Category::activations),
      category(Category::workspace),
      {"host", amount("bytes that this stage keeps in the memory of one node"), &StageMemory::host},
      {"storage", amount("bytes that this stage keeps on the drives of one node"), &StageMemory::storage},
      {"phase", phase_text(), &StageMemory::phase}};
  return keys;
}

const predict::MemoryReport& memory_report(const Run& run) { return run.result.prediction.memory; }
const predict::StageMemory& fullest_stage(const Run& run) {
  return memory_report(run).stages[static_cast<std::size_t>(memory_report(run).peak_stage)];
}

Key<Run> of_report(const char* label, double predict::MemoryReport::*bytes) {
  return {label, bytes_of(label), [bytes](const Run& run) { return memory_report(run).*bytes; }};
}
Key<Run> of_fullest(program::Category which) {
  const char* label = category_name(which).data();
  return {label, bytes_of(label),
          [which](const Run& run) { return fullest_stage(run).at_peak[static_cast<std::size_t>(which)]; }};
}

const Described<Run>& memory_peak_keys() {
  static const Described<Run> keys{
      {"stage", count("from 0"), [](const Run& run) { return memory_report(run).peak_stage; }},
      {"phase", phase_text(), [](const Run& run) { return fullest_stage(run).phase; }}};
  return keys;
}

const Described<experiment::Remedy>& remedy_keys() {
  using experiment::Remedy;
  static const Described<Remedy> keys{
      {"settings", described(list_of(text("one KEY=VALUE")), "as --set takes them"), &Remedy::settings},
      {"time_s", amount("s of the step with them"), &Remedy::time_s},
      {"memory_bytes", amount("bytes of the fullest device then"), &Remedy::memory_bytes}};
  return keys;
}

const Described<contrast::Fact>& fact_keys() {
  using contrast::Fact;
  static const Described<Fact> keys{
      {"fact", text("that the experiment may have wrong, in words"), &Fact::sentence},
      {"settings", described(list_of(text("one KEY=VALUE")), "as --set takes them"), &Fact::settings},
      {"factor",
       or_null(ratio("of the bandwidth or clock at which the gap closes, or of the least that is tried; null: "
                     "it is none of these")),
       or_nothing(&Fact::factor)},
      {"time_s", amount("s of the step with it"), in_seconds(&Fact::time)},
      {"residual_s", signed_amount("s, measured less that"), in_seconds(&Fact::residual)}};
  return keys;
}

// Of a unit that overlapping work shares, as a stage sees it; none where nothing is shared.
struct UseOfUnit {
  const predict::UnitUse& use;
  const predict::SharedUnit& unit;
};

const Described<UseOfUnit>& unit_keys() {
  static const Described<UseOfUnit> keys{
      {"unit", text("a link, port or memory that overlapping work shares"),
       [](const auto& of) { return of.unit.name; }},
      {"stage", count("of the pipeline, from 0, that uses it"), [](const auto& of) { return of.use.stage; }},
      {"ranks", count("ranks that share one of these units"), [](const auto& of) { return of.unit.ranks; }},
      {"capacity", amount("of an instance, which so many ranks share: B/s; multiprocessors: how many"),
       [](const auto& of) { return of.unit.capacity; }},
      {"mean", ratio("of the capacity, over the step"), [](const auto& of) { return of.use.mean; }},
      {"peak", ratio("of the capacity, at any instant"), [](const auto& of) { return of.use.peak; }}};
  return keys;
}

Json uses_of_units(const predict::EventResult& event) {
  Json result = Json::array();
  for (const predict::UnitUse& use : event.uses)
    result.push_back(unit_keys().json({.use = use, .unit = event.units[use.unit]}));
  return result;
}

}  // namespace

const Described<predict::Breakdown>& time_keys() {
  using predict::Breakdown;
  using program::Axis;
  static const Described<Breakdown> keys{term("compute", in_seconds(&Breakdown::compute)),
                                         term("recompute", in_seconds(&Breakdown::recompute)),
                                         term("launch", in_seconds(&Breakdown::launch)),
                                         exposed("tp_exposed", Axis::tensor),
                                         exposed("cp_exposed", Axis::context),
                                         exposed("ep_exposed", Axis::expert),
                                         exposed("pp_exposed", Axis::pipeline),
                                         exposed("dp_exposed", Axis::data),
                                         term("offload_exposed", in_seconds(&Breakdown::offload)),
                                         term("bubble", in_seconds(&Breakdown::bubble)),
                                         term("optimizer", in_seconds(&Breakdown::optimizer)),
                                         term("host", in_seconds(&Breakdown::host)),
                                         term("links_exposed", in_seconds(&Breakdown::links)),
                                         term("other", in_seconds(&Breakdown::other))};
  return keys;
}

const Described<predict::BubbleParts>& bubble_keys() {
  using predict::BubbleParts;
  static const Described<BubbleParts> keys{
      {"schedule", amount("s that the pipeline fills and drains"), in_seconds(&BubbleParts::schedule)},
      {"imbalance", amount("s that passes of other stages take longer than its own"),
       in_seconds(&BubbleParts::imbalance)},
      {"transfers", amount("s that transfers of other stages take"), in_seconds(&BubbleParts::transfers)},
      {"ranks", amount("s that slower ranks of its group take"), in_seconds(&BubbleParts::ranks)}};
  return keys;
}

const Described<predict::CauseTime>& cause_keys() {
  using predict::CauseTime;
  static const Described<CauseTime> keys{
      {"cause",
       text("a term of time_s but bubble and other; imbalance: more work than the average stage has, or a pass of "
            "another stage that takes longer than its own; schedule: the pipeline fills and drains; ranks: slower "
            "ranks of a group"),
       cause_label},
      {"stage", count("of the pipeline, from 0"), &CauseTime::stage},
      {"time_s", amount("s of the step"), in_seconds(&CauseTime::time)}};
  return keys;
}

const Described<Run>& memory_keys() {
  using predict::MemoryReport;
  using program::Category;
  static const Described<Run> keys{
      of_report("allocated_peak", &MemoryReport::allocated_peak),
      of_report("reserved_peak", &MemoryReport::reserved_peak),
      of_report("device_peak", &MemoryReport::device_peak),
      of_report("capacity", &MemoryReport::capacity),
      {"headroom", signed_amount("bytes. " + meaning("headroom")),
       [](const Run& run) { return memory_report(run).headroom(); }},
      {"driver", bytes_of("driver"),
       [](const Run& run) { return run.job.machine().accelerator.value.reserved_memory.driver.base(); }},
      {"driver_source", text("what the driver's share rests on"), driver_source},
      of_fullest(Category::parameters),
      of_fullest(Category::gradients),
      of_fullest(Category::optimizer),
      of_fullest(Category::activations),
      of_fullest(Category::workspace),
      {"host", amount("bytes of offloaded state and activations, at their most, in the memory of one node"),
       [](const Run& run) { return memory_report(run).host; }},
      {"storage", amount("bytes of offloaded state and activations, at their most, on the drives of one node"),
       [](const Run& run) { return memory_report(run).storage; }},
      {"interval",
       described(or_null(memory_interval_keys().schema()),
                 "device peaks that nine in ten runs exceed or stay below, and what that rests on; null where nothing "
                 "says how sure the peak is"),
       [](const Run& run) { return run.result.intervals.memory ? memory_interval_keys().json(run) : Json(); }},
      {"peak_at", described(memory_peak_keys().schema(), "where and when the device's peak is"),
       [](const Run& run) { return memory_peak_keys().json(run); }},
      {"stages", described(list_of(stage_memory_keys().schema()), "the same for each stage, at its own peak"),
       [](const Run& run) { return stage_memory_keys().list(memory_report(run).stages); }}};
  return keys;
}

const Described<predict::Bounds>& bounds_keys() {
  using predict::Bounds;
  const auto bound = [](const char* of) {
    return or_null(amount(std::string("s ") + of + "; null: no such bound is implemented"));
  };
  static const Described<Bounds> keys{
      {"compute", bound("of the longest path on which only contractions take time, at the dense peak"),
       or_nothing(&Bounds::compute_s)},
      {"memory", bound("that the least traffic of the busiest stage with device memory takes"),
       or_nothing(&Bounds::memory_s)},
      {"network", bound("of the longest path on which only transfers take time, the least they must"),
       or_nothing(&Bounds::network_s)},
      {"together", bound("of the longest path on which kernels and transfers take the least they must"),
       or_nothing(&Bounds::together_s)},
      {"best", bound("of the largest of these"), [](const Bounds& all) { return nullable(all.best_s()); }}};
  return keys;
}

const Described<predict::ClassFloor>& class_floor_keys() {
  using predict::ClassFloor;
  static const Described<ClassFloor> keys{
      {"bytes", amount("bytes over the step: of kernels those to and from device memory"), &ClassFloor::bytes},
      {"floor_bytes", amount("bytes that the pieces, each on its own, must move"), &ClassFloor::floor_bytes},
      {"time_s", amount("s of all pieces, overlapped ones included"), &ClassFloor::time_s},
      {"floor_s", amount("s that no execution of the pieces goes below"), &ClassFloor::floor_s}};
  return keys;
}

const Described<predict::ExpertExchange>& expert_exchange_keys() {
  using predict::ExpertExchange;
  static const Described<ExpertExchange> keys{
      {"ranks", count("that exchange tokens"), &ExpertExchange::ranks},
      {"ranks_per_domain", count("of them in one domain"), &ExpertExchange::ranks_per_domain},
      {"bytes", amount("bytes of one rank in the plan's largest exchange with experts"), &ExpertExchange::bytes},
      {"levels", count("1: all ranks at once, 2: across domains first, then inside"), &ExpertExchange::levels},
      {"one_level_s", amount("s of that exchange over all ranks at once"),
       [](const ExpertExchange& of) { return of.times.one_level_s; }},
      {"two_levels_s", amount("s across domains first, then inside"),
       [](const ExpertExchange& of) { return of.times.two_levels_s; }},
      {"equal_bytes", or_null(amount("bytes below which two levels are faster")),
       or_nothing(&ExpertExchange::equal_bytes)}};
  return keys;
}

const Described<experiment::WhyNot>& why_not_keys() {
  using experiment::WhyNot;
  static const Described<WhyNot> keys{
      {"term", text("a key of memory_bytes"), &WhyNot::term},
      {"stage", count("from 0"), &WhyNot::stage},
      {"over_by_bytes", amount("bytes above the capacity"), &WhyNot::over_by_bytes},
      {"changes",
       described(
           or_null(list_of(remedy_keys().schema())),
           "of one setting, or of two where neither is enough alone, with which it fits; the fastest first; null: "
           "none was tried"),
       [](const WhyNot& reason) { return reason.changes ? remedy_keys().list(*reason.changes) : Json(); }}};
  return keys;
}

const Described<predict::EventResult>& event_keys() {
  using predict::EventResult;
  static const Described<EventResult> keys{
      {"iteration_time_s", amount("s of one step"),
       [](const EventResult& event) { return core::to_seconds(event.makespan.time); }},
      {"events", count("that were simulated"), &EventResult::events},
      {"units", described(list_of(unit_keys().schema()), "how busy shared units are; none where nothing is shared"),
       uses_of_units}};
  return keys;
}

const Described<contrast::Explanation>& measured_keys() {
  using contrast::Explanation;
  static const Described<Explanation> keys{
      {"time_s", amount("s of the step that was measured"), in_seconds(&Explanation::measured)},
      {"gap_s", signed_amount("s, measured less predicted"),
       [](const Explanation& of) { return core::to_seconds(of.gap()); }},
      {"facts",
       or_null(described(list_of(fact_keys().schema()),
                         "single ones with which the prediction changes, each by a run; the smallest residual first; "
                         "null: the step has more work than is run again")),
       [](const Explanation& of) { return of.tried ? fact_keys().list(of.facts) : Json(); }}};
  return keys;
}

const Described<WholeTraining>& training_keys() {
  static const Described<WholeTraining> keys{
      {"tokens", amount("as the experiment names them"), &WholeTraining::tokens},
      {"time_s", amount("s of so many steps, without restarts and checkpoints"), &WholeTraining::time_s},
      {"gpu_hours", amount("hours of all accelerators"), &WholeTraining::gpu_hours},
      {"usd", or_null(amount("USD of them; null: no price is known")), or_nothing(&WholeTraining::usd)}};
  return keys;
}

}  // namespace cairn::report::schema
