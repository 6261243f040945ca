// Stages of a pipeline and its schedule.
#include <algorithm>
#include <cstdlib>

#include <fmt/format.h>

#include "megatron.h"

namespace cairn::launch {
namespace {

constexpr const char* k_layout = "--pipeline-model-parallel-layout";
constexpr const char* k_chunks = "--num-virtual-stages-per-pipeline-rank";
constexpr const char* k_chunk_layers = "--num-layers-per-virtual-pipeline-stage";
constexpr const char* k_group = "--microbatch-group-size-per-virtual-pipeline-stage";
constexpr const char* k_first = "--decoder-first-pipeline-num-layers";
constexpr const char* k_last = "--decoder-last-pipeline-num-layers";
constexpr const char* k_with_embedding = "--account-for-embedding-in-pipeline-split";
constexpr const char* k_with_loss = "--account-for-loss-in-pipeline-split";

// Stages of a layout: signs | and what they are repeated by, as far as it can be counted without reading it all.
std::int64_t layout_stages(std::string_view text) {
  constexpr std::int64_t k_most = 1 << 20;
  std::int64_t stages = 1, inner = 0;
  bool inside = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '(') {
      inside = true;
      inner = 0;
    }
    std::int64_t times = 1;
    if (at + 1 < text.size() && text[at + 1] == '*')
      times = std::strtoll(std::string(text.substr(at + 2, 8)).c_str(), nullptr, 10);
    times = std::clamp<std::int64_t>(times, 0, k_most);
    if (text[at] == '|') (inside ? inner : stages) += times;
    inner = std::min(inner, k_most);
    if (text[at] == ')') {
      inside = false;
      stages += inner * times;
    }
    stages = std::min(stages, k_most);
  }
  return stages;
}

// Chunks of a device, 1 where the schedule is not interleaved; 0 after an error.
std::int64_t read_chunks(Import& i, std::int64_t layers, std::int64_t pp) {
  const char* said = nullptr;
  for (const char* name : {k_layout, k_chunks, k_chunk_layers}) {
    if (!i.said(name)) continue;
    if (said != nullptr) {
      i.error(i.take(name)->place, name, fmt::format("beside {}", said), "keep one of the two");
      return 0;
    }
    said = name;
  }
  if (said == nullptr) return 1;
  if (said == k_layout) {
    const Word* layout = i.word(k_layout);
    if (layout == nullptr) return 0;
    i.experiment.put("strategy.stages", config::make_scalar(layout->text, layout->place, true));
    const std::int64_t stages = layout_stages(layout->text);
    if (stages % pp == 0) return stages / pp;
    i.error(layout->place, k_layout,
            fmt::format("its {} stages are no multiple of --pipeline-model-parallel-size {}", stages, pp),
            "end a stage with each |");
    return 0;
  }
  const auto value = i.count(said);
  if (!value) return 0;
  if (said == k_chunks) return *value;
  const std::int64_t all = layers + (i.said(k_with_embedding) ? 1 : 0) + (i.said(k_with_loss) ? 1 : 0);
  if (*value > 0 && all % pp == 0 && all / pp % *value == 0) return all / pp / *value;
  i.error(i.take(said)->place, said,
          fmt::format("{} does not divide the {} layers of each of {} stages", *value, all / pp, pp),
          "choose a divisor");
  return 0;
}

void read_uneven(Import& i, std::int64_t layers, std::int64_t pp, std::int64_t chunks) {
  const PipelineEnds ends{.embedding = i.flag(k_with_embedding),
                          .loss = i.flag(k_with_loss),
                          .first = i.count(k_first),
                          .last = i.count(k_last)};
  if (!ends.said()) return;
  const char* said = ends.embedding ? k_with_embedding : ends.loss ? k_with_loss : ends.first ? k_first : k_last;
  const EndNames names{.embedding = k_with_embedding, .first = k_first, .last = k_last};
  put_uneven_stages(i, ends, names, i.take(said)->place, {.layers = layers, .stages = pp, .chunks = chunks});
}

void read_stages(Import& i) {
  const auto layers = i.experiment.count("model.layers"), pp = i.experiment.count("strategy.pp");
  constexpr std::int64_t k_most = 1 << 16;
  if (!layers || !pp || *pp == 0 || *pp > k_most || *layers > k_most) return;
  const std::int64_t chunks = read_chunks(i, *layers, *pp);
  if (chunks == 0) return;
  if (chunks > k_most || *pp * chunks > k_most)
    return i.error({}, k_chunks, fmt::format("{} virtual stages are beyond what is modelled", chunks), "choose fewer");
  if (!i.said(k_layout)) read_uneven(i, *layers, *pp, chunks);
  if (chunks == 1) {
    i.no_effect(k_group, "the schedule is not interleaved");
    return i.experiment.put("strategy.schedule.kind", "1f1b", {});
  }
  i.experiment.put("strategy.schedule.kind", "interleaved-1f1b", {});
  i.experiment.put("strategy.schedule.chunks", std::to_string(chunks), {});
  const auto group = i.count(k_group);
  if (group && *group != *pp)
    i.remark(*i.take(k_group), "Cairn takes as many micro-batches together as there are stages");
}

// E|t*3|...|L, the modules for further tokens with the loss.
std::string layout_of(const std::vector<std::int64_t>& stages, std::int64_t further) {
  std::string text = "E";
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    if (stage > 0) text += "|";
    if (stages[stage] > 0) text += stages[stage] == 1 ? "t" : fmt::format("t*{}", stages[stage]);
  }
  if (further > 0) text += further == 1 ? "m" : fmt::format("m*{}", further);
  return text + "L";
}

void write_stages(Export& e) {
  const std::vector<std::int64_t>& stages = e.job.strategy().stage_layers;
  const std::string kind = e.keys.text("strategy.schedule.kind");
  const std::int64_t chunks = e.keys.count("strategy.schedule.chunks").value_or(1);
  const bool interleaved = kind == "interleaved-1f1b";
  const bool plain = kind == "1f1b";
  if (!interleaved && !plain) return e.unsaid("strategy.schedule.kind", "Megatron-LM runs 1f1b and interleaved-1f1b");
  if (interleaved && chunks == 1)
    e.unsaid("strategy.schedule.kind", "of one virtual stage a device it is 1f1b to Megatron-LM");
  e.keys.take("strategy.schedule.kind");
  e.keys.take("strategy.schedule.chunks");
  e.keys.take("strategy.stages");
  const bool even =
      std::all_of(stages.begin(), stages.end(), [&](std::int64_t each) { return each == stages.front(); });
  if (!even) return e.say(k_layout, layout_of(stages, e.job.parts().model.prediction_depth()));
  if (interleaved && chunks > 1) e.say(k_chunks, chunks);
}

}  // namespace

std::vector<std::int64_t> uneven_stages(const PipelineEnds& ends, const PipelineCut& cut) {
  const std::int64_t layers = cut.layers, pp = cut.stages, chunks = cut.chunks;
  std::vector<std::int64_t> stages(static_cast<std::size_t>(pp * chunks));
  if (ends.embedding || ends.loss) {
    const std::int64_t all = layers + (ends.embedding ? 1 : 0) + (ends.loss ? 1 : 0);
    if (all % (pp * chunks) != 0) return {};
    std::fill(stages.begin(), stages.end(), all / (pp * chunks));
    if (ends.embedding) --stages.front();
    if (ends.loss) --stages.back();
    return stages;
  }
  const std::int64_t first = ends.first.value_or(0), last = ends.last.value_or(0), rest = layers - first - last;
  const std::int64_t middle = pp - (ends.first ? 1 : 0) - (ends.last ? 1 : 0);
  const bool divides = middle > 0 ? rest >= 0 && rest % (middle * chunks) == 0 : rest == 0;
  if (!divides || first % chunks != 0 || last % chunks != 0) return {};
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    const std::int64_t device = static_cast<std::int64_t>(stage) % pp;
    const bool at_first = device == 0 && ends.first, at_last = device == pp - 1 && ends.last;
    stages[stage] = (at_first ? first : at_last ? last : middle > 0 ? rest / middle : 0) / chunks;
  }
  return stages;
}

void put_uneven_stages(Import& i, const PipelineEnds& ends, const EndNames& names, const config::Place& place,
                       const PipelineCut& cut) {
  const char* end = ends.first ? names.first : names.last;
  const bool counted = ends.embedding || ends.loss;
  if (counted && (ends.first || ends.last))
    return i.error(place, names.first, "beside an embedding or a loss that stands for a layer", "keep one of the two");
  if (ends.first.value_or(0) > cut.layers || ends.last.value_or(0) > cut.layers)
    return i.error(place, end, "more layers than the model has", "choose fewer");
  const std::vector<std::int64_t> stages = uneven_stages(ends, cut);
  if (stages.empty() && counted)
    return i.error(place, names.embedding,
                   fmt::format("{} layers, embedding and loss included, are not divided by {} stages",
                               cut.layers + (ends.embedding ? 1 : 0) + (ends.loss ? 1 : 0), cut.stages * cut.chunks),
                   "choose degrees that divide them");
  if (stages.empty())
    return i.error(place, end, "leaves layers that the other stages do not divide", "choose a number that does");
  config::Node list = config::make_node(config::NodeKind::list, place);
  for (const std::int64_t each : stages) list.items.push_back(config::make_scalar(std::to_string(each), place));
  i.experiment.put("strategy.stages", std::move(list));
}

std::vector<Rule> megatron_stage_rules() { return {{.read = read_stages, .write = write_stages}}; }

}  // namespace cairn::launch
