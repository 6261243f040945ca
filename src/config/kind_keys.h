// The keys that only some kinds of a value have, for readers who show those of all kinds.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "cairn/config/fields.h"

namespace cairn::config {

struct KindKey {
  std::string key;
  std::string doc;  // "torus, mesh: extents"; names no kind where all have the key and say the same of it
  std::vector<std::size_t> kinds;  // ascending, as KindAccess numbers them
};
// In the order in which the kinds name them.
std::vector<KindKey> kind_keys(const KindAccess& access);

// "fat-tree, rail-optimized"
std::string kind_words(const KindAccess& access, const std::vector<std::size_t>& kinds);

// Calls `seen` for every key of a description.
class EachKey final : public Fields {
 public:
  using Seen = std::function<void(std::string_view key, const Rule& rule, bool has_value,
                                  const std::function<void(Value&)>& body)>;
  explicit EachKey(Seen seen) : seen_(std::move(seen)) {}

 protected:
  void visit(std::string_view key, const Rule& rule, bool has_value, const std::function<void(Value&)>& body) override {
    seen_(key, rule, has_value, body);
  }

 private:
  Seen seen_;
};

}  // namespace cairn::config
