// A row's model: the file that `model_config` names, or the one that bears the model's name where the row has no shape,
// else its columns.
#include <array>
#include <filesystem>
#include <system_error>

#include "cairn/core/diagnostics.h"
#include "cairn/models/huggingface.h"
#include "row.h"

namespace cairn::validation {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 5> k_shape{"layers", "hidden", "heads", "ffn", "vocab"};

// Llama 3.1 8B and llama-3.1-8b are the same name.
std::string compared(std::string_view name) {
  std::string result;
  for (const char sign : name) {
    if (sign >= 'A' && sign <= 'Z')
      result += static_cast<char>(sign - 'A' + 'a');
    else if ((sign >= 'a' && sign <= 'z') || (sign >= '0' && sign <= '9') || sign == '.')
      result += sign;
  }
  return result;
}

// Cairn's own form goes before the foreign one: it stands beside it where that cannot be read whole.
constexpr std::array<const char*, 2> k_suffixes{".yaml", ".json"};

std::vector<std::string> own_names(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code problem;
  for (fs::directory_iterator at(folder, problem), end; !problem && at != end; at.increment(problem))
    for (const char* suffix : k_suffixes)
      if (at->path().extension() == suffix) names.push_back(at->path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

fs::path file_named(const Row& row, const std::string& name) {
  if (fs::path shipped = row.files.loader.find_shipped(name, "models"); !shipped.empty()) return shipped;
  if (row.files.models.empty()) return {};
  for (const char* suffix : k_suffixes) {
    std::error_code problem;
    fs::path own = fs::absolute(row.files.models / (name + suffix), problem);
    if (!problem && fs::is_regular_file(own, problem)) return own;
  }
  return {};
}

bool has_shape(const Row& row) {
  return std::any_of(k_shape.begin(), k_shape.end(),
                     [&](const char* column) { return !row.record.text(column).empty(); });
}

// The file of the row's model; empty: its columns describe it.
fs::path file_of(Row& row) {
  const std::string named(row.record.text("model_config"));
  if (named.find_first_of("/\\") != std::string::npos) {
    row.record.error("model_config", fmt::format("'{}' is a path", named), "name a model as configs/models does");
    return {};
  }
  if (!named.empty()) {
    fs::path file = file_named(row, named);
    if (file.empty()) {
      std::vector<std::string> known = row.files.loader.names("models");
      for (std::string& own : own_names(row.files.models)) known.push_back(std::move(own));
      const std::string near = core::nearest(named, known);
      row.because(fmt::format("no model '{}' in configs/models or beside the tables{}", named,
                              near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near)));
    }
    return file;
  }
  const std::string wanted = compared(row.record.text("model"));
  if (wanted.empty() || has_shape(row)) return {};
  std::vector<std::string> known = row.files.loader.names("models");
  for (std::string& own : own_names(row.files.models)) known.push_back(std::move(own));
  for (const std::string& name : known)
    if (compared(name) == wanted) {
      row.remark(fmt::format("model {}, by its name", name));
      return file_named(row, name);
    }
  return {};
}

double assumed_dropout(const Row& row) {
  for (const auto& [model, dropout] : row.family.dropouts)
    if (row.record.text("model").starts_with(model)) return dropout;
  return row.family.dropout;
}

config::Node by_columns(Row& row) {
  Record& record = row.record;
  config::Node node = row.map();
  node.put("kind", row.plain("transformer"));
  for (const char* column : k_shape) node.put(column, row.number(record.need_count(column)));
  if (const auto kv_heads = record.count("kv_heads")) node.put("kv_heads", row.number(*kv_heads));
  for (const char* column : {"gated_mlp", "tied_embeddings", "bias"})
    node.put(column, row.flag(record.need_flag(column)));
  for (const char* column : {"norm", "position"}) node.put(column, row.plain(std::string(record.need_text(column))));
  node.put("dropout", row.plain(fmt::format("{}", record.number("dropout").value_or(assumed_dropout(row)))));
  return node;
}

// How tokens reach their experts, which the model's file cannot know.
void put_routing(Row& row, config::Node& node) {
  config::Node routing = row.map();
  const std::string dispatcher(row.record.text("dispatcher"));
  if (!dispatcher.empty()) {
    const std::string* priced = meaning(row.families.words.dispatchers, dispatcher);
    if (priced == nullptr) row.because(fmt::format("dispatcher '{}' is not known", dispatcher));
    if (priced != nullptr && *priced != dispatcher)
      row.remark(fmt::format("dispatcher {} is priced as {}", dispatcher, *priced));
    routing.put("dispatcher", row.plain(priced != nullptr ? *priced : dispatcher));
  }
  const std::string balance(row.record.text("balance"));
  if (!balance.empty()) {
    const double* imbalance = meaning(row.families.words.balance, balance);
    if (imbalance == nullptr) row.because(fmt::format("balance '{}' is not known", balance));
    routing.put("imbalance", row.plain(fmt::format("{}", imbalance == nullptr ? 1.0 : *imbalance)));
    if (balance == "natural") row.remark("natural routing is taken for even");
  }
  if (!routing.entries.empty()) node.put("moe", routing);
}

// Throws nothing: what is wrong with it is found again, and said, where the experiment is read.
std::optional<models::TransformerConfig> read(const Row& row, const config::Node& node) {
  core::Diagnostics found;
  try {
    models::TransformerConfig config = models::read_model(node, row.files.loader, found);
    if (!found.has_errors()) return config;
  } catch (const core::ConfigurationError&) {
    return std::nullopt;
  }
  return std::nullopt;
}

// Columns that a row states beside the file of its model.
void compare_shape(Row& row) {
  const models::TransformerConfig& model = *row.model;
  const auto differs = [&](const char* column, std::int64_t of_file) {
    if (const auto stated = row.record.count(column); stated && *stated != of_file)
      row.because(fmt::format("{} {} in the row, {} in its model {}", column, *stated, of_file, model.name));
  };
  differs("layers", model.layers);
  differs("hidden", model.hidden);
  differs("heads", model.heads);
}

config::Node by_file(Row& row, const fs::path& file) {
  config::Node node = row.map();
  node.put("file", row.quoted(file.string()));
  row.model = read(row, node);
  if (!row.model) return node;
  compare_shape(row);
  if (const auto dropout = row.record.number("dropout")) node.put("dropout", row.plain(fmt::format("{}", *dropout)));
  if (const auto depth = row.record.count("mtp"); depth && *depth != row.model->prediction_depth()) {
    config::Node further = row.map();
    further.put("depth", row.number(*depth));
    node.put("mtp", further);
  }
  if (row.model->moe) put_routing(row, node);
  return node;
}

}  // namespace

config::Node model_of(Row& row) {
  const fs::path file = file_of(row);
  const bool missing = file.empty() && !row.record.text("model_config").empty() && !has_shape(row);
  config::Node node = missing ? row.map() : file.empty() ? by_columns(row) : by_file(row, file);
  if (row.family.vocab_multiple) node.put("vocab_multiple", row.number(*row.family.vocab_multiple));
  if (!missing && row.record.unknown().empty()) row.model = read(row, node);
  return node;
}

}  // namespace cairn::validation
