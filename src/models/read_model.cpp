// What `model:` may hold, to a TransformerConfig.
#include <filesystem>
#include <string>
#include <utility>

#include "cairn/config/read.h"
#include "cairn/models/huggingface.h"

namespace cairn::models {
namespace {

using config::Node;

// configs/models/llama-3.1-8b/config.json is llama-3.1-8b; gpt3-175b.yaml is gpt3-175b.
std::string name_of(const std::filesystem::path& file) {
  return file.filename() == "config.json" ? file.parent_path().filename().string() : file.stem().string();
}

TransformerConfig read_block(const Node& block, core::Diagnostics& diagnostics, std::string_view path) {
  TransformerConfig result;
  if (is_huggingface(block)) {
    result = import_huggingface(block, diagnostics, path);
    warn_of_left_out(block, result, diagnostics, path);
    return result;
  }
  config::read(block, result, diagnostics, path);
  return result;
}

// A file's model with the keys of `over` laid over it; they are keys of the model block even when the file is a foreign
// one.
TransformerConfig read_over(Node base, Node over, core::Diagnostics& diagnostics, std::string_view path) {
  if (const Node* model_type = over.find("model_type"); model_type != nullptr && is_huggingface(base)) {
    take_for(base, *model_type);
    over.remove("model_type");
  }
  if (over.entries.empty()) return read_block(base, diagnostics, path);
  if (is_huggingface(base)) {
    core::Diagnostics found;
    const TransformerConfig imported = import_huggingface(base, found, path);
    for (const core::Diagnostic& diagnostic : found.all()) diagnostics.add(diagnostic);
    if (found.has_errors()) return imported;
    const Node theirs = std::move(base);
    base = config::parse_text(config::to_json(imported), config::Syntax::json, theirs.place.file_name(), diagnostics);
    const TransformerConfig result = read_block(config::merge(std::move(base), over), diagnostics, path);
    warn_of_left_out(theirs, result, diagnostics, path);
    return result;
  }
  return read_block(config::merge(std::move(base), over), diagnostics, path);
}

}  // namespace

TransformerConfig read_model(const Node& reference, const config::Loader& loader, core::Diagnostics& diagnostics,
                             std::string_view path) {
  const Node* named = &reference;
  std::string named_path(path);
  Node over;
  if (!reference.is_scalar()) {
    std::string_view key = "file";
    named = reference.find(key);
    if (named == nullptr) named = reference.find(key = "hf");
    if (named == nullptr) return read_block(reference, diagnostics, path);
    named_path = config::join_path(path, key);
    over = reference;
    over.remove(key);
  }
  if (!named->is_scalar()) {
    diagnostics.add(config::error_at(named->place, named_path, "expected the name of a file", "name a model file"));
    return {};
  }
  const std::filesystem::path file = loader.find(named->text, "models", named->place, named_path, diagnostics);
  if (file.empty()) return {};
  Node base = loader.load(file, diagnostics, "models");
  if (base.is_null()) return {};
  TransformerConfig result = read_over(std::move(base), std::move(over), diagnostics, path);
  if (result.name.empty()) result.name = name_of(file);
  return result;
}

TransformerConfig load_model(const config::Loader& loader, std::string_view name) {
  core::Diagnostics diagnostics;
  TransformerConfig model = read_model(config::make_scalar(std::string(name), {}), loader, diagnostics);
  diagnostics.raise_if_errors();
  return model;
}

}  // namespace cairn::models
