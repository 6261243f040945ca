#include "cairn/trace/chrome.h"

#include <algorithm>
#include <array>
#include <string>
#include <unordered_map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/assert.h"
#include "cairn/core/json_text.h"

namespace cairn::trace {
namespace {

using core::Picoseconds;
using program::Stream;
using Json = nlohmann::ordered_json;

constexpr std::array<std::string_view, program::k_streams> k_threads{"compute",
                                                                     "host",
                                                                     "tensor parallel",
                                                                     "context parallel",
                                                                     "data parallel",
                                                                     "expert parallel",
                                                                     "tensor parallel in experts",
                                                                     "copies from host",
                                                                     "copies to host",
                                                                     "drives",
                                                                     "host cores",
                                                                     "fetched",
                                                                     "fetched next",
                                                                     "to the next stage",
                                                                     "to the previous stage",
                                                                     "arrivals"};
constexpr std::size_t k_passes = program::k_streams;   // the thread above those of the streams
constexpr std::size_t k_chunk = std::size_t{1} << 16;  // bytes handed to the sink at once
constexpr Picoseconds k_picoseconds_per_microsecond = 1'000'000;

std::size_t at(std::int32_t index) { return static_cast<std::size_t>(index); }
std::size_t at(Stream stream) { return static_cast<std::size_t>(stream); }

std::string microseconds(Picoseconds time) {
  return fmt::format("{}.{:06}", time / k_picoseconds_per_microsecond, time % k_picoseconds_per_microsecond);
}

// What a step shows wherever it runs.
struct Label {
  std::string name;  // as JSON, in quotes
  std::string_view category;
  std::string arguments;  // JSON members, after which those of the pass follow
};

std::string_view category_of(program::Term term) {
  switch (term) {
    case program::Term::recompute:
      return "recompute";
    case program::Term::optimizer:
      return "optimizer";
    case program::Term::compute:
      break;
  }
  return "compute";
}

Label label_of(const program::Block& block, const program::Step& step) {
  Label label;
  label.category = "wait";
  Json arguments{{"block", block.name}};
  std::string name = "wait";
  if (step.work >= 0) {
    const program::Work& work = block.works[at(step.work)];
    name = program::name(work, step.axis);
    label.category = program::visit(
        work,
        [&](const ir::Shard& shard) {
          if (step.term == program::Term::recompute) name += " (again)";
          arguments["bytes"] = ir::bytes(shard);
          arguments["flops"] = ir::flops(shard);
          return category_of(step.term);
        },
        [&](const program::Transfer& transfer) {
          arguments["bytes"] = transfer.bytes;
          arguments["ranks"] = transfer.group.size;
          arguments["stride"] = transfer.group.stride;
          return program::label(step.axis);
        },
        [&](const program::Copy& copy) {
          arguments["bytes"] = copy.bytes;
          return std::string_view("offload");
        },
        [&](const program::OnProcessor& processor) {
          arguments["parameters"] = processor.elements;
          return std::string_view("offload");
        },
        [](program::HostWork) { return std::string_view("host"); },
        [&](const program::Interference&) { return program::label(step.axis); });
  }
  label.name = core::json_text(Json(name));
  label.arguments = core::json_text(arguments);
  label.arguments.pop_back();  // the closing brace
  return label;
}

class Writer {
 public:
  Writer(const program::Program& program, const Sink& sink)
      : program_(program), sink_(sink), producers_(predict::producers(program)) {
    consumed_.resize(producers_.size());
    for (std::size_t stage = 0; stage < producers_.size(); ++stage) consumed_[stage].resize(producers_[stage].size());
    for (std::size_t stage = 0; stage < producers_.size(); ++stage)
      for (const predict::PassId& from : producers_[stage])
        if (from.stage >= 0 && at(from.stage) != stage) consumed_[at(from.stage)][at(from.position)] = true;
  }

  void write(const predict::Prediction& prediction) {
    const predict::EventResult& result = *prediction.event;
    text_ = "{\"displayTimeUnit\":\"ms\",\"traceEvents\":[";
    for (const predict::StageTimeline& timeline : result.timelines) {
      stage(timeline);
      idle_until(result.makespan.time);
      memory(timeline.stage, prediction.memory.stages[at(timeline.stage)].over_time);
    }
    for (const predict::UnitUse& use : result.uses) counter(result.units[use.unit].name, use);
    text_ += "\n]}\n";
    sink_(text_);
  }

 private:
  void event(std::string_view body) {
    text_ += first_ ? "\n{" : ",\n{";
    first_ = false;
    text_ += body;
    text_ += '}';
    if (text_.size() < k_chunk) return;
    sink_(text_);
    text_.clear();
  }

  void stage(const predict::StageTimeline& timeline) {
    stage_ = timeline.stage;
    timeline_ = &timeline;
    next_.fill(0);
    named_.fill(false);
    passes_end_ = 0;
    event(fmt::format(R"("name":"process_name","ph":"M","pid":{},"args":{{"name":"stage {}"}})", stage_, stage_));
    event(fmt::format(R"("name":"process_sort_index","ph":"M","pid":{},"args":{{"sort_index":{}}})", stage_, stage_));
    const auto row = program_.row(stage_);
    const std::vector<const program::Pass*> passes = predict::passes_of(program_, stage_);
    for (std::size_t position = 0; position < passes.size(); ++position) {
      pass_ = static_cast<std::int32_t>(position);
      computes_ = row[position].operation >= 0;
      std::string name;
      if (computes_) {
        const pipeline::Operation& operation = program_.schedule->operations[at(row[position].operation)];
        name = pipeline::short_name(operation, program_.schedule->chunks);
        pass_arguments_ = fmt::format(R"(,"pass":"{}","micro_batch":{},"chunk":{}}})", pipeline::name(operation.phase),
                                      operation.micro_batch, operation.chunk);
      } else {
        name = predict::name_at_end(row[position].kind);
        pass_arguments_ = fmt::format(R"(,"pass":"{}"}})", name);
      }
      pass_span_ = {};
      const std::int32_t source = producers_[at(stage_)][position].stage;
      arrived_ = source < 0 || source == stage_;
      sent_ = {};
      for (const program::BlockRun& run : passes[position]->runs)
        for (std::int64_t repeat = 0; repeat < run.count; ++repeat) block(*run.block);
      if (consumed_[at(stage_)][position] && sent_.thread >= 0) flow('s', stage_, pass_, sent_.start, sent_.thread);
      pass(name);
    }
    for (std::size_t stream = 0; stream < program::k_streams; ++stream)
      CAIRN_ASSERT(next_[stream] == timeline.steps[stream].size());
  }

  // One slice from the start of the pass's first operator to the end of its last, of the end of the step from its first
  // transfer on, as far as nothing else ran.
  void pass(std::string_view name) {
    const predict::Span span{.start = std::max(pass_span_.start, passes_end_), .end = pass_span_.end};
    if (span.start >= span.end) return;
    idle_until(span.start);
    pass_slice(name, "pass", span, "{" + pass_arguments_.substr(1));
  }

  void idle_until(Picoseconds time) {
    if (passes_end_ < time) pass_slice("idle", "idle", {.start = passes_end_, .end = time}, "{}");
  }

  void pass_slice(std::string_view name, std::string_view category, const predict::Span& span,
                  std::string_view arguments) {
    name_thread(k_passes, "passes", 0);
    event(fmt::format(R"("name":"{}","cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{})", name, category,
                      microseconds(span.start), microseconds(span.end - span.start), stage_, k_passes, arguments));
    passes_end_ = span.end;
  }

  void memory(std::int32_t stage, const std::vector<predict::MemorySample>& samples) {
    for (const predict::MemorySample& sample : samples)
      event(fmt::format(R"("name":"allocated memory","ph":"C","ts":{},"pid":{},"args":{{"bytes":{}}})",
                        microseconds(sample.time), stage, sample.bytes));
  }

  void counter(const std::string& unit, const predict::UnitUse& use) {
    const std::string name = core::json_text(Json(unit));
    for (const predict::UseSample& sample : use.samples)
      event(fmt::format(R"("name":{},"ph":"C","ts":{},"pid":{},"args":{{"share":{:.6f}}})", name,
                        microseconds(sample.time), use.stage, sample.share));
  }

  const std::vector<Label>& labels(const program::Block& block) {
    std::vector<Label>& known = labels_[&block];
    if (known.empty())
      for (const program::Step& step : block.steps) known.push_back(label_of(block, step));
    return known;
  }

  void block(const program::Block& block) {
    const std::vector<Label>& all = labels(block);
    for (std::size_t i = 0; i < block.steps.size(); ++i) {
      const program::Step& step = block.steps[i];
      if (step.launches > 0) slice(Stream::host, all[i].name, "launch", all[i].arguments);
      const predict::Span span = slice(step.stream, all[i].name, all[i].category, all[i].arguments);
      if (step.kind == program::StepKind::transfer && step.axis == program::Axis::pipeline)
        sent_ = {.start = span.start, .thread = static_cast<std::int32_t>(step.stream)};
      if (!arrived_ && step.stream == Stream::compute && span.end > span.start) {
        const predict::PassId from = producers_[at(stage_)][at(pass_)];
        flow('f', from.stage, from.position, span.start, static_cast<std::int32_t>(Stream::compute));
        arrived_ = true;
      }
    }
  }

  predict::Span slice(Stream stream, std::string_view name, std::string_view category, std::string_view arguments) {
    const auto& spans = timeline_->steps[at(stream)];
    CAIRN_ASSERT(next_[at(stream)] < spans.size());
    const predict::Span span = spans[next_[at(stream)]++];
    if (span.end == span.start) return span;
    const auto thread = static_cast<std::int32_t>(stream);
    name_thread(at(stream), k_threads[at(stream)], at(stream) + 1);
    if (stream == Stream::compute || (!computes_ && stream != Stream::host))
      pass_span_ = {.start = pass_span_.end > 0 ? std::min(pass_span_.start, span.start) : span.start,
                    .end = std::max(pass_span_.end, span.end)};
    event(fmt::format(R"("name":{},"cat":"{}","ph":"X","ts":{},"dur":{},"pid":{},"tid":{},"args":{}{})", name, category,
                      microseconds(span.start), microseconds(span.end - span.start), stage_, thread, arguments,
                      pass_arguments_));
    return span;
  }

  void name_thread(std::size_t thread, std::string_view name, std::size_t place) {
    if (named_[thread]) return;
    named_[thread] = true;
    event(
        fmt::format(R"("name":"thread_name","ph":"M","pid":{},"tid":{},"args":{{"name":"{}"}})", stage_, thread, name));
    event(fmt::format(R"("name":"thread_sort_index","ph":"M","pid":{},"tid":{},"args":{{"sort_index":{}}})", stage_,
                      thread, place));
  }

  // One end of the arrow that belongs to what `pass` of `from` sends. Its head binds to the slice that starts at
  // `time`.
  void flow(char phase, std::int32_t from, std::int32_t pass, Picoseconds time, std::int32_t thread) {
    event(fmt::format(R"("name":"message","cat":"pp","ph":"{}","id":"{}.{}","ts":{},"pid":{},"tid":{}{})", phase, from,
                      pass, microseconds(time), stage_, thread, phase == 'f' ? R"(,"bp":"e")" : ""));
  }

  struct Sent {
    Picoseconds start = 0;
    std::int32_t thread = -1;
  };

  const program::Program& program_;
  const Sink& sink_;
  std::vector<std::vector<predict::PassId>> producers_;
  std::vector<std::vector<char>> consumed_;  // by stage and pass: somebody waits for what it sends
  std::unordered_map<const program::Block*, std::vector<Label>> labels_;
  std::string text_;
  bool first_ = true;

  std::int32_t stage_ = 0;
  std::int32_t pass_ = 0;
  const predict::StageTimeline* timeline_ = nullptr;
  std::array<std::size_t, program::k_streams> next_{};
  std::array<bool, program::k_streams + 1> named_{};
  std::string pass_arguments_;
  bool computes_ = false;    // the pass is one of the schedule's, none of the end of the step
  predict::Span pass_span_;  // of its operators so far
  Picoseconds passes_end_ = 0;
  bool arrived_ = false;
  Sent sent_;
};

}  // namespace

void write_chrome(const program::Program& program, const predict::Prediction& prediction, const Sink& sink) {
  Writer(program, sink).write(prediction);
}

}  // namespace cairn::trace
