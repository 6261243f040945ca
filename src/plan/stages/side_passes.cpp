#include "side_passes.h"

#include <algorithm>
#include <string>

namespace cairn::plan {

namespace {

// Elements of the parameters that the layers of a chunk read.
PerGroup<double> read_elements(const StageBody& body) {
  PerGroup<double> elements;
  std::vector<std::string> known;
  for (const Stretch& stretch : body.stretches) {
    const LayerState& state = stretch.layer->lowering.state();
    const PerGroup<double> own = state.moved_elements(true);
    for (const ParameterGroup group : k_all_parameter_groups)
      elements[group] += static_cast<double>(stretch.count) * own[group];
    for (const Tied& tied : state.tied) {
      if (std::find(known.begin(), known.end(), tied.tag) != known.end()) continue;
      known.push_back(tied.tag);
      elements[tied.group] += tied.elements;
    }
  }
  return elements;
}

// Records on `stream` the end of an operation of a side row, that is of all its transfers.
void tell(StepWriter& writer, Stream stream, std::initializer_list<Dependency> ended) {
  writer.add(Step{.kind = StepKind::transfer, .stream = stream, .axis = Axis::pipeline}, {}, ended);
}

// Adds up the activations that a pass leaves behind.
double kept_activations(const Pass& forward) {
  double kept = 0.0;
  for (const BlockRun& run : forward.runs)
    for (const MemoryEvent& event : run.block->memory)
      if (event.category == Category::activations) kept += static_cast<double>(run.count) * event.bytes;
  return kept;
}

// What is exchanged of the parameters of one chunk.
struct Exchange {
  const UnitSettings& settings;
  PerGroup<double> elements;

  bool gathers(ParameterGroup group) const { return elements[group] > 0.0 && settings.shards[group].size > 1; }
  bool reduces(ParameterGroup group) const {
    return gathers(group) || (elements[group] > 0.0 && settings.replicas[group].size > 1);
  }
  // Of what is reduced in place of gradients.
  double copied() const {
    double bytes = 0.0;
    for (const ParameterGroup group : k_all_parameter_groups)
      if (gathers(group)) bytes += elements[group] * settings.reduced_copy_bytes();
    return bytes;
  }
  double held(bool (Exchange::*moves)(ParameterGroup) const, numerics::Format format) const {
    double bytes = 0.0;
    for (const ParameterGroup group : k_all_parameter_groups)
      if ((this->*moves)(group)) bytes += elements[group] * numerics::bytes_per_element(format);
    return bytes;
  }
  // An exchange starts after the computation issued so far and after the exchange before it.
  void gather(StepWriter& writer) const {
    std::array<Dependency, k_parameter_groups> ends;
    ends.fill(entry_of(Stream::data));
    for (const ParameterGroup group : k_all_parameter_groups)
      if (gathers(group))
        ends[static_cast<std::size_t>(group)] =
            writer.transfer(stream_of(settings.shards[group].axis), Collective::all_gather, settings.shards[group],
                            elements[group] * numerics::bytes_per_element(settings.treatment->gather),
                            {entry_of(Stream::compute), entry_of(Stream::data)});
    tell(writer, Stream::data, {ends[0], ends[1]});
  }
  void reduce(StepWriter& writer) const {
    for (const ParameterGroup group : k_all_parameter_groups)
      if (gathers(group)) writer.compute_over(elements[group], settings.kernels->reduction);
    std::array<Dependency, k_parameter_groups> ends;
    ends.fill(entry_of(Stream::data));
    const double wire = numerics::bytes_per_element(settings.treatment->reduce);
    for (const ParameterGroup group : k_all_parameter_groups) {
      Dependency& last = ends[static_cast<std::size_t>(group)];
      const Group& shards = settings.shards[group];
      const Group& replicas = settings.replicas[group];
      if (gathers(group))
        last = writer.transfer(stream_of(shards.axis), Collective::reduce_scatter, shards, elements[group] * wire,
                               {writer.computed(), entry_of(Stream::data)});
      if (reduces(group) && replicas.size > 1)
        last = writer.transfer(stream_of(replicas.axis), Collective::all_reduce, replicas,
                               elements[group] / static_cast<double>(shards.size) * wire,
                               {last, writer.computed(), entry_of(Stream::data)});
    }
    tell(writer, Stream::data, {ends[0], ends[1]});
  }
};

}  // namespace

SidePasses::Passes SidePasses::nothing() {
  Passes passes;
  passes.fill(passes_.stored(Pass{}));
  return passes;
}

void SidePasses::set(Passes& passes, PassKind kind, StepWriter& writer) {
  blocks_.push_back(std::make_unique<Block>(writer.finish()));
  Pass pass;
  pass.runs.push_back({blocks_.back().get(), 1});
  passes[static_cast<std::size_t>(kind) - static_cast<std::size_t>(PassKind::fetch)] = passes_.stored(pass);
}

SidePasses::Passes SidePasses::of_parameters(const StageBody& body, const UnitSettings& settings) {
  const Exchange exchange{.settings = settings, .elements = read_elements(body)};
  Passes passes = nothing();
  const double parameters = exchange.held(&Exchange::gathers, settings.treatment->gather);
  const double gradients = exchange.held(&Exchange::reduces, settings.treatment->gradients);
  if (parameters > 0.0) {
    StepWriter fetch("gather parameters");
    fetch.hold(Category::parameters, parameters);
    exchange.gather(fetch);
    set(passes, PassKind::fetch, fetch);
    StepWriter fetched("parameters have come");
    fetched.wait(Stream::compute, {entry_of(Stream::arrival)});
    fetched.compute(settings.gather_kernels(exchange.elements), {});
    set(passes, PassKind::fetched, fetched);
    StepWriter release("give up parameters");
    release.hold(Category::parameters, -parameters);
    set(passes, PassKind::release, release);
  }
  if (gradients > 0.0) {
    StepWriter reserve("room for gradients");
    reserve.hold(Category::gradients, gradients);
    set(passes, PassKind::reserve, reserve);
    StepWriter send("reduce gradients");
    send.hold(Category::gradients, exchange.copied());
    exchange.reduce(send);
    set(passes, PassKind::send, send);
    StepWriter sent("gradients have gone");
    sent.wait(Stream::compute, {entry_of(Stream::arrival)});
    sent.hold(Category::gradients, -gradients - exchange.copied());
    set(passes, PassKind::sent, sent);
  }
  return passes;
}

SidePasses::Passes SidePasses::of_activations(const Pass& forward) {
  Passes passes = nothing();
  const double bytes = kept_activations(forward);
  if (bytes <= 0.0) return passes;
  const auto copy = [&](StepWriter& writer, Lane lane, Lane other) {
    const Leg way = leg(Copy{.lane = lane, .bytes = bytes});
    tell(writer, way.stream,
         {writer.add(step_of(way), way.work, {entry_of(Stream::compute), entry_of(stream_of(other))})});
  };
  StepWriter send("activations leave");
  copy(send, Lane::to_host, Lane::to_device);
  send.leave(bytes);
  set(passes, PassKind::send, send);
  StepWriter sent("activations have left");
  sent.wait(Stream::compute, {entry_of(Stream::arrival)});
  sent.hold(Category::activations, -bytes);
  set(passes, PassKind::sent, sent);
  StepWriter fetch("activations return");
  fetch.hold(Category::activations, bytes);
  copy(fetch, Lane::to_device, Lane::to_host);
  set(passes, PassKind::fetch, fetch);
  StepWriter fetched("activations have returned");
  fetched.wait(Stream::compute, {entry_of(Stream::arrival)});
  fetched.leave(-bytes);
  set(passes, PassKind::fetched, fetched);
  return passes;
}

}  // namespace cairn::plan
