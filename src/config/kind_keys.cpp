#include "kind_keys.h"

#include <algorithm>

namespace cairn::config {
namespace {

// One key, by what is said of it.
struct Said {
  std::string key;
  std::vector<std::pair<std::string, std::vector<std::size_t>>> docs;  // of kinds
};

}  // namespace

std::string kind_words(const KindAccess& access, const std::vector<std::size_t>& kinds) {
  std::string text;
  for (const std::size_t kind : kinds) text += (text.empty() ? "" : ", ") + std::string(access.words[kind]);
  return text;
}

std::vector<KindKey> kind_keys(const KindAccess& access) {
  std::vector<Said> all;
  for (std::size_t kind = 0; kind < access.words.size(); ++kind) {
    EachKey each([&](std::string_view key, const Rule& rule, bool, const auto&) {
      auto said = std::find_if(all.begin(), all.end(), [key](const Said& x) { return x.key == key; });
      if (said == all.end()) said = all.insert(all.end(), Said{.key = std::string(key), .docs = {}});
      auto doc = std::find_if(said->docs.begin(), said->docs.end(), [&](const auto& x) { return x.first == rule.doc; });
      if (doc == said->docs.end()) doc = said->docs.insert(doc, {std::string(rule.doc), {}});
      doc->second.push_back(kind);
    });
    access.visit(kind, each);
  }
  std::vector<KindKey> keys;
  for (const Said& said : all) {
    KindKey& key = keys.emplace_back(KindKey{.key = said.key, .doc = {}, .kinds = {}});
    for (const auto& [doc, kinds] : said.docs) {
      const bool of_all = kinds.size() == access.words.size();
      key.doc += (key.doc.empty() ? "" : "; ") + (of_all ? "" : kind_words(access, kinds) + ": ") + doc;
      key.kinds.insert(key.kinds.end(), kinds.begin(), kinds.end());
    }
    std::sort(key.kinds.begin(), key.kinds.end());
  }
  return keys;
}

}  // namespace cairn::config
