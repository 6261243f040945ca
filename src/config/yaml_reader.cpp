// YAML events to Nodes. yaml-cpp's own tree would hide duplicate keys and expand nothing under our control; its event
// stream shows both. Its marks are 0-based.
#include <sstream>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include "reader.h"
#include "tree_builder.h"

namespace cairn::config {

namespace {

class YamlEvents final : public YAML::EventHandler {
 public:
  explicit YamlEvents(TreeBuilder& builder) : builder_(builder) {}

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.null(mark.line + 1, mark.column + 1, anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    builder_.alias(mark.line + 1, mark.column + 1, anchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    check_tag(mark, tag);
    builder_.scalar(mark.line + 1, mark.column + 1, value, tag != "?", anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    builder_.start_list(mark.line + 1, mark.column + 1, anchor);
  }
  void OnSequenceEnd() override { builder_.end(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    builder_.start_map(mark.line + 1, mark.column + 1, anchor);
  }
  void OnMapEnd() override { builder_.end(); }

 private:
  // "?" is a plain scalar or an untagged collection, "!" a quoted scalar.
  void check_tag(const YAML::Mark& mark, const std::string& tag) {
    if (tag.empty() || tag == "?" || tag == "!") return;
    builder_.error(mark.line + 1, mark.column + 1, fmt::format("tag {} is not read", quote(tag)), "remove it");
  }

  TreeBuilder& builder_;
};

}  // namespace

Node read_yaml(std::string_view text, const std::shared_ptr<const std::string>& file, core::Diagnostics& diagnostics) {
  TreeBuilder builder(file, diagnostics);
  YamlEvents events(builder);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (parser.HandleNextDocument(events)) {
      TreeBuilder rest_builder(file, diagnostics);
      YamlEvents rest(rest_builder);
      if (parser.HandleNextDocument(rest)) {
        diagnostics.add(error_at(rest_builder.root().place, {}, "a second document in one file",
                                 "remove the line '---' and what follows"));
      }
    }
  } catch (const YAML::Exception& problem) {
    const bool known = !problem.mark.is_null();
    diagnostics.add(error_at(
        Place{.file = file, .line = known ? problem.mark.line + 1 : 0, .column = known ? problem.mark.column + 1 : 0},
        {}, fmt::format("not YAML: {}", problem.msg),
        "look at indentation, quotes, brackets and ': ' near this place"));
    return {};
  } catch (const TreeLimit& limit) {
    diagnostics.add(error_at(limit.place, {}, limit.message, limit.hint));
    return {};
  }
  return builder.take_root();
}

}  // namespace cairn::config
