// A row's plan: degrees, sharding, recomputation, schedule and stages.
#include <string>

#include "cairn/core/diagnostics.h"
#include "cairn/models/transformer.h"
#include "row.h"

namespace cairn::validation {
namespace {

// Operators of body layers and what stands before a dot in their names, and regions.
std::vector<std::string> operators_of(const Row& row, std::int64_t seq_len) {
  std::vector<std::string> names;
  try {
    const ir::Model model = models::build_transformer(models::for_sequence(*row.model, seq_len), {});
    for (const ir::LayerClass& layer : model.classes)
      for (std::size_t id = 0; id < layer.graph.forward_count(); ++id) {
        const ir::Operator& op = layer.graph.operators()[id];
        names.push_back(op.name.substr(0, op.name.find('.')));
        names.push_back(op.name);
        names.push_back(op.region);
      }
  } catch (const core::ConfigurationError&) {
    return {};  // said where the experiment is read
  }
  return names;
}

// Modules joined by +, as operators that the model has.
config::Node recomputed_modules(Row& row, const std::string& text, std::int64_t seq_len) {
  const std::vector<std::string> known = row.model ? operators_of(row, seq_len) : std::vector<std::string>{};
  std::vector<std::string> operators;
  for (const std::string& module : parts_of(text, '+')) {
    const std::vector<std::string>* of_module = meaning(row.families.words.recompute, module);
    if (of_module == nullptr) {
      row.because(fmt::format("recompute: module '{}' is not known", module));
      continue;
    }
    const std::size_t before = operators.size();
    for (const std::string& name : *of_module)
      if (std::find(known.begin(), known.end(), name) != known.end()) operators.push_back(name);
    if (operators.size() == before) row.remark(fmt::format("recompute: the model has no {}", module));
  }
  if (operators.empty()) return row.plain("none");
  config::Node node = row.map();
  node.put("operators", row.list(operators));
  return node;
}

config::Node recompute(Row& row, std::int64_t seq_len) {
  const std::string text(row.record.need_text("recompute"));
  const bool modules = text.find('+') != std::string::npos || meaning(row.families.words.recompute, text) != nullptr;
  return modules ? recomputed_modules(row, text, seq_len) : row.plain(text);
}

config::Node zero(Row& row) {
  const config::Node stage = row.number(row.record.need_count("zero"));
  const std::string offload(row.record.text("offload"));
  if (offload.empty() || offload == "none") return stage;
  if (offload.find("activations") != std::string::npos) {
    row.because(fmt::format("offload {}: activations sent away module by module are not modelled", offload));
  } else if (offload != "optimizer") {
    row.because(fmt::format("offload '{}' is not known", offload));
  }
  config::Node away = row.map();
  away.put("optimizer", row.plain("host"));
  config::Node node = row.map();
  node.put("stage", stage);
  node.put("offload", away);
  return node;
}

void put_overlap(Row& row, config::Node& node) {
  config::Node overlap = row.map();
  if (const auto beside = row.record.flag("dp_overlap")) {
    config::Node data = row.map();
    data.put("reduce", row.flag(*beside));
    overlap.put("dp", data);
  }
  if (row.record.flag("tp_overlap").value_or(false) && row.record.count("tp").value_or(1) > 1) {
    config::Node tensor = row.map();
    tensor.put("kind", row.plain("chunked"));
    overlap.put("tp", tensor);
  }
  if (!overlap.entries.empty()) node.put("overlap", overlap);
}

// Chunks per device. One stage has nothing to schedule.
std::int64_t put_schedule(Row& row, config::Node& node, std::int64_t pipeline) {
  std::string kind(row.record.text("schedule"));
  const auto stated = row.record.count("vpp");
  if (kind == "interleaved-1f1b" && !stated && pipeline > 1) row.because("interleaved, but vpp is unknown");
  const std::int64_t chunks = pipeline > 1 ? stated.value_or(1) : 1;
  if (chunks > 1) kind = "interleaved-1f1b";
  if (kind.empty() || pipeline == 1 || (chunks == 1 && kind == "interleaved-1f1b")) kind = "1f1b";
  config::Node choice = row.map();
  choice.put("kind", row.plain(kind));
  choice.put("chunks", row.number(chunks));
  node.put("schedule", choice);
  return chunks;
}

}  // namespace

bool leaves_batch_open(Record& record) {
  return record.count("cp").value_or(1) > 1 && record.count("pp").value_or(1) == 1 && !record.count("global_batch") &&
         !record.count("micro_batch");
}

std::vector<std::string> parts_of(std::string_view text, char between) {
  std::vector<std::string> parts;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t end = std::min(text.find(between, from), text.size());
    parts.emplace_back(text.substr(from, end - from));
    from = end + 1;
  }
  return parts;
}

namespace {

config::Node by_columns(Row& row, std::int64_t seq_len) {
  config::Node node = row.map();
  Record& record = row.record;
  const std::int64_t pipeline = record.need_count("pp");
  node.put("pp", row.number(pipeline));
  node.put("tp", row.number(record.need_count("tp")));
  node.put("micro_batch", row.number(leaves_batch_open(record) ? 1 : record.need_count("micro_batch")));
  if (const auto data = record.count("dp")) node.put("dp", row.number(*data));
  const std::int64_t context = record.count("cp").value_or(1);
  node.put("cp", row.number(context));
  if (const auto experts = record.count("ep")) node.put("ep", row.number(*experts));
  if (const auto tensor = record.count("tp"); tensor && row.family.experts_as_tensor && row.model && row.model->moe)
    node.put("etp", row.number(*tensor));
  node.put("sequence_parallel", row.flag(record.need_flag("sequence_parallel")));
  node.put("zero", zero(row));
  node.put("recompute", recompute(row, seq_len));
  put_overlap(row, node);
  if (const std::string overlap(record.text("experts_overlap")); !overlap.empty() && overlap != "none")
    row.because(fmt::format("experts_overlap {}: exchanges beside other micro-batches are not modelled", overlap));
  const std::int64_t chunks = put_schedule(row, node, pipeline);
  if (const std::string layout(record.text("layout")); !layout.empty()) {
    node.put("stages", row.quoted(layout));
    return node;
  }
  const std::int64_t layers = row.model ? row.model->layers : record.count("layers").value_or(0);
  const bool divides = pipeline > 0 && chunks > 0 && layers % (pipeline * chunks) == 0;
  if (pipeline > 0 && chunks > 0 && !divides && !row.family.framework_cuts) node.put("stages", row.plain("balanced"));
  return node;
}

}  // namespace

config::Node strategy_of(Row& row, std::int64_t seq_len) {
  return config::merge(by_columns(row, seq_len), noted_settings(row).strategy);
}

}  // namespace cairn::validation
