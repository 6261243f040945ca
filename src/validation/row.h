// A row on its way to an experiment: its fields, what its family and all families say about them, where the files are
// that it names, and what was found out so far. Its parts are made by functions of their own, all from this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "cairn/models/transformer_config.h"
#include "cairn/validation/measured_run.h"
#include "record.h"

namespace cairn::validation {

struct Row {
  Record& record;
  const Family& family;
  const Families& families;
  const RowFiles& files;
  std::string reason = {};                              // why it cannot be run; empty: it can
  std::vector<std::string> remarks = {};                // what was taken for granted
  std::optional<models::TransformerConfig> model = {};  // once it is read

  void because(std::string why) {
    if (reason.empty()) reason = std::move(why);
  }
  void remark(std::string what) {
    if (std::find(remarks.begin(), remarks.end(), what) == remarks.end()) remarks.push_back(std::move(what));
  }

  // Nodes at the row's place.
  config::Node map() const { return config::make_node(config::NodeKind::map, record.place()); }
  config::Node plain(std::string text) const { return config::make_scalar(std::move(text), record.place()); }
  config::Node quoted(std::string text) const { return config::make_scalar(std::move(text), record.place(), true); }
  config::Node number(std::int64_t value) const { return plain(fmt::format("{}", value)); }
  config::Node flag(bool value) const { return plain(value ? "true" : "false"); }
  config::Node list(const std::vector<std::string>& texts) const {
    config::Node node = config::make_node(config::NodeKind::list, record.place());
    for (const std::string& text : texts) node.items.push_back(plain(text));
    return node;
  }
};

// What a table of words says about one; null: nothing.
template <class T>
const T* meaning(const std::vector<std::pair<std::string, T>>& words, std::string_view word) {
  const auto found = std::find_if(words.begin(), words.end(), [&](const auto& each) { return each.first == word; });
  return found == words.end() ? nullptr : &found->second;
}

// `text` between the signs `between`.
// Whether a run of long sequences (cp above 1, no pipeline) does not state its batch: it is taken to have one sequence
// for each of the dp ranks, in one micro-batch.
bool leaves_batch_open(Record& record);

std::vector<std::string> parts_of(std::string_view text, char between);

// The experiment's `model`; reads row.model where that can be.
config::Node model_of(Row& row);
// Its `cluster`: widths from the row, everything else from the reference cluster of its accelerator.
config::Node cluster_of(Row& row, std::int64_t gpus);
// Its `strategy`; needs row.model.
config::Node strategy_of(Row& row, std::int64_t seq_len);
// What a family knows of rows by words in their notes: over the strategy and the framework's profile, and by which kernel
// a word for attention is meant.
struct NotedSettings {
  config::Node strategy, framework;  // maps
  std::vector<std::pair<std::string, std::string>> attention;
};
NotedSettings noted_settings(const Row& row);
// Why the notes say that not the whole model is trained on whole sequences; empty: they do not.
std::string not_full_training(const Row& row);

}  // namespace cairn::validation
