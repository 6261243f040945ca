#include "cairn/contrast/settings.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include "cairn/config/read.h"
#include "cairn/core/diagnostics.h"
#include "cairn/hardware/cluster.h"
#include "cairn/models/transformer_config.h"
#include "tree.h"

namespace cairn::contrast {
namespace {

using config::Node;

// Keys that may say what would follow without them, from others or from the framework.
constexpr std::array<std::string_view, 17> k_may_follow{"strategy.dp",
                                                        "strategy.micro_batches",
                                                        "strategy.stages",
                                                        "strategy.vocab_parallel",
                                                        "strategy.zero.shard",
                                                        "strategy.zero.replicate",
                                                        "strategy.zero.prefetch",
                                                        "strategy.zero.reshard_after_forward",
                                                        "strategy.zero.offload.resident",
                                                        "strategy.zero.offload.every",
                                                        "strategy.recompute.share_saved_inputs",
                                                        "strategy.overlap.dp",
                                                        "strategy.overlap.tp",
                                                        "strategy.overlap.pp",
                                                        "strategy.overlap.ep",
                                                        "calibration",
                                                        "training.precision"};
constexpr std::string_view k_kernels = "training.kernels";

// What was written nowhere: names in it are those of everyone.
void forget_places(Node& node) {
  node.place = {};
  for (Node& item : node.items) forget_places(item);
  for (config::Entry& entry : node.entries) {
    entry.key_place = {};
    forget_places(entry.value);
  }
}

template <class T>
Node tree_of(const T& value) {
  Node node = config::to_node(value);
  forget_places(node);
  return node;
}

// The cluster key by key; the accelerator under a name that everyone has.
Node cluster_of(const experiment::Job& job, const Node& written) {
  Node cluster = tree_of(job.machine().cluster.value);
  if (const Node* accelerator = written.is_map() ? written.find("accelerator") : nullptr)
    cluster.put("accelerator", *accelerator);
  if (cluster.find("nodes") == nullptr && job.machine().cluster.value.levels.empty())
    cluster.put("nodes", config::make_scalar(std::to_string(job.machine().network.nodes), {}));
  return cluster;
}

// The experiment with all that follows written out; none: it contradicts itself.
std::optional<std::string> written_out(const Node& experiment, const config::Loader& loader) {
  try {
    const experiment::Job job(experiment::read(experiment), loader);
    return config::to_json(job.written_out(experiment::Naming::by_name), -1);
  } catch (const core::ConfigurationError&) {
    return std::nullopt;
  }
}

// A recipe by its name, where that says all of it.
std::optional<Node> recipe_name(const Node& experiment) {
  const Node* precision = config::find_path(experiment, "training.precision");
  const Node* name = precision != nullptr && precision->is_map() ? precision->find("recipe") : nullptr;
  return name != nullptr && name->is_scalar() ? std::optional(*name) : std::nullopt;
}

// Without keys that say what follows anyway: all at once where that goes, else as many as go, one after another.
void leave_out_what_follows(Node& experiment, const config::Loader& loader) {
  const std::optional<std::string> whole = written_out(experiment, loader);
  if (!whole) return;
  std::vector<std::string> keys(k_may_follow.begin(), k_may_follow.end());
  if (const Node* kernels = config::find_path(experiment, k_kernels))
    for (const config::Entry& each : kernels->entries) keys.push_back(config::join_path(k_kernels, each.key));
  std::erase_if(keys, [&](const std::string& key) { return config::find_path(experiment, key) == nullptr; });
  const auto follow = [&](const std::vector<std::string>& tried) {
    Node less = experiment;
    for (const std::string& key : tried) config::remove_path(less, key);
    if (written_out(less, loader) != whole) return false;
    experiment = std::move(less);
    return true;
  };
  if (!follow(keys))
    for (const std::string& key : keys) (void)follow({key});
  if (const std::optional<Node> name = recipe_name(experiment)) {
    Node named = experiment;
    config::put_path(named, "training.precision", *name);
    if (written_out(named, loader) == whole) experiment = std::move(named);
  }
}

bool same(const Node* a, const Node* b) {
  const auto text = [](const Node* node) { return node == nullptr ? std::string("null") : config::to_json(*node, -1); };
  return text(a) == text(b);
}

// Of two maps the keys in which they differ; else both whole.
std::pair<std::string, std::string> shown_apart(const Node* a, const Node* b) {
  if (a == nullptr || b == nullptr || !a->is_map() || !b->is_map())
    return {a != nullptr ? in_one_line(*a) : std::string(), b != nullptr ? in_one_line(*b) : std::string()};
  Node left = *a, right = *b;
  const auto drop_equal = [](Node& one, Node& other, auto&& self) -> void {
    for (std::size_t i = one.entries.size(); i-- > 0;) {
      const std::string key = one.entries[i].key;
      Node* twin = other.find(key);
      if (twin == nullptr) continue;
      Node& mine = one.entries[i].value;
      if (same(&mine, twin)) {
        other.remove(key);
        one.remove(key);
      } else if (mine.is_map() && twin->is_map()) {
        self(mine, *twin, self);
      }
    }
  };
  drop_equal(left, right, drop_equal);
  return {in_one_line(left), in_one_line(right)};
}

// Keys of both maps: those of `a`, and those of `b` alone behind the one that they stand behind there.
std::vector<std::string> keys_of(const Node* a, const Node* b) {
  std::vector<std::string> keys;
  if (a != nullptr)
    for (const config::Entry& each : a->entries) keys.push_back(each.key);
  auto place = keys.begin();
  if (b != nullptr)
    for (const config::Entry& each : b->entries) {
      const auto found = std::find(keys.begin(), keys.end(), each.key);
      place = (found != keys.end() ? found : keys.insert(place, each.key)) + 1;
    }
  return keys;
}

}  // namespace

Deciding deciding(const experiment::Job& job, const config::Loader& loader) {
  experiment::Experiment named = job.written_out(experiment::Naming::by_name);
  Deciding result;
  const Node& model = named.model;
  result.model = model.is_map() && model.entries.size() == 1 ? model.entries.front().value : model;
  named.model = tree_of(job.parts().model);
  named.cluster = cluster_of(job, named.cluster);
  static_cast<experiment::Settings&>(named) = job.experiment();
  result.experiment = tree_of(named);
  leave_out_what_follows(result.experiment, loader);
  return result;
}

Settings::Settings(Deciding a, Deciding b, predict::Engine engine) : a_(std::move(a)), b_(std::move(b)) {
  const bool simulated = engine != predict::Engine::analytic;
  add("name", {"name"}, false);
  add("model", {"model"}, true);
  add("cluster.accelerator", {"cluster.accelerator", "calibration"}, true);
  add("cluster.name", {"cluster.name"}, false);
  add("cluster.price", {"cluster.price"}, false);
  add("cluster.power", {"cluster.power"}, false);
  add_below("cluster", {"accelerator", "name", "price", "power", "version"}, true);
  add("training.tokens", {"training.tokens"}, false);
  add_below("training", {"tokens", "kernels"}, true);
  add_below("training.kernels", {}, true);
  add_below("strategy", {"overlap"}, true);
  add_below("strategy.overlap", {}, true);
  add_below("simulation", {}, simulated);
}

void Settings::add(const std::string& key, const std::vector<std::string>& keys, bool timed) {
  const auto differs = [&](const std::string& each) {
    return !same(config::find_path(a_.experiment, each), config::find_path(b_.experiment, each));
  };
  if (std::none_of(keys.begin(), keys.end(), differs)) return;
  Difference difference{.key = key};
  const auto tell = [&](const Node* a, const Node* b, const char* before) {
    const auto [left, right] = shown_apart(a, b);
    difference.a += before + left;
    difference.b += before + right;
  };
  const bool by_name = key == "model" && !same(&a_.model, &b_.model);
  if (by_name)
    tell(&a_.model, &b_.model, "");
  else
    tell(config::find_path(a_.experiment, key), config::find_path(b_.experiment, key), "");
  for (std::size_t i = 1; i < keys.size(); ++i)
    if (differs(keys[i])) {
      difference.key += ", " + keys[i];
      tell(config::find_path(a_.experiment, keys[i]), config::find_path(b_.experiment, keys[i]), ", ");
    }
  (timed ? timed_ : untimed_).push_back(std::move(difference));
  if (timed) keys_.push_back(keys);
}

void Settings::add_below(const std::string& map, const std::vector<std::string>& but, bool timed) {
  for (const std::string& key : keys_of(config::find_path(a_.experiment, map), config::find_path(b_.experiment, map)))
    if (std::find(but.begin(), but.end(), key) == but.end()) {
      const std::string path = config::join_path(map, key);
      add(path, {path}, timed);
    }
}

Node Settings::mixed(Coalition changed) const {
  Node result = a_.experiment;
  for (std::size_t i = 0; i < keys_.size(); ++i)
    if (((changed >> i) & 1U) != 0) {
      for (const std::string& key : keys_[i]) {
        if (const Node* value = config::find_path(b_.experiment, key))
          config::put_path(result, key, *value);
        else
          config::remove_path(result, key);
      }
    }
  return result;
}

}  // namespace cairn::contrast
