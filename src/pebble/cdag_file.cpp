#include "cairn/pebble/cdag_file.h"

#include <charconv>
#include <istream>
#include <ostream>
#include <set>
#include <sstream>
#include <unordered_map>

#include "cairn/core/diagnostics.h"
#include "cairn/core/read_file.h"

namespace cairn::pebble {

namespace {

constexpr std::string_view k_weight_prefix = "w=";

struct PendingEdge {
  std::string from, to;
  int line;
};

class Reader {
 public:
  explicit Reader(std::string file) : file_(std::move(file)) {}

  NamedCdag read(std::istream& stream) {
    std::string line;
    while (diagnostics_.error_count() < core::k_shown_errors && std::getline(stream, line)) {
      ++line_;
      std::istringstream words(line.substr(0, line.find('#')));
      std::string item;
      if (words >> item) read_item(item, words);
    }
    if (stream.bad()) throw core::InputOutputError(file_ + ": reading stopped after line " + std::to_string(line_));
    connect();
    diagnostics_.raise_if_errors();
    try {
      Cdag graph = builder_.build(names_);
      return {std::move(graph), std::move(names_)};
    } catch (const core::ConfigurationError& error) {
      throw core::ConfigurationError(placed(error.diagnostics()));
    }
  }

 private:
  void complain(int line, std::string message, std::string hint) {
    diagnostics_.add(core::Diagnostic::at_line(file_, line, std::move(message), std::move(hint)));
  }

  std::vector<core::Diagnostic> placed(std::vector<core::Diagnostic> found) const {
    for (auto& diagnostic : found) diagnostic.file = file_;
    return found;
  }

  void read_item(const std::string& item, std::istringstream& words) {
    if (item == "v") {
      read_vertex(words);
    } else if (item == "e") {
      PendingEdge edge{.from = {}, .to = {}, .line = line_};
      std::string rest;
      if (words >> edge.from >> edge.to && !(words >> rest)) {
        edges_.push_back(std::move(edge));
      } else {
        complain(line_, "an edge is 'e FROM TO'", "give exactly two vertices");
      }
    } else {
      complain(line_, "unknown item '" + item + "'", "a line is 'v ID [in] [out] [w=WORDS]' or 'e FROM TO'");
    }
  }

  void read_vertex(std::istringstream& words) {
    std::string id;
    if (!(words >> id)) return complain(line_, "a vertex without an id", "write 'v ID [in] [out] [w=WORDS]'");
    const auto [at, fresh] = ids_.emplace(id, static_cast<Vertex>(names_.size()));
    if (!fresh) return complain(line_, "vertex '" + id + "' is declared twice", "each value has one line");
    names_.push_back(id);
    Words weight = 1;
    bool input = false, output = false;
    std::string label;
    while (words >> label) {
      if (label == "in") {
        input = true;
      } else if (label == "out") {
        output = true;
      } else if (label.starts_with(k_weight_prefix)) {
        const char* begin = label.data() + k_weight_prefix.size();
        const auto [end, status] = std::from_chars(begin, label.data() + label.size(), weight);
        if (status != std::errc() || end != label.data() + label.size() || weight < 1) {
          complain(line_, "weight '" + label + "' is no positive count of words", "write for example w=4");
          weight = 1;
        }
      } else {
        complain(line_, "unknown label '" + label + "'", "labels are in, out and w=WORDS");
      }
    }
    const Vertex v = builder_.vertex(weight);
    if (input) {
      builder_.label_input(v);
      inputs_.insert(v);
    }
    if (output) builder_.label_output(v);
  }

  bool known(const std::string& id, int line) {
    if (ids_.contains(id)) return true;
    const std::string near = core::nearest(id, names_);
    complain(line, "vertex '" + id + "' is not declared",
             near.empty() ? "add a line 'v " + id + "'" : "did you mean '" + near + "'?");
    return false;
  }

  void connect() {
    std::set<std::pair<Vertex, Vertex>> seen;
    for (const PendingEdge& edge : edges_) {
      if (diagnostics_.error_count() >= core::k_shown_errors) return;
      const bool from_known = known(edge.from, edge.line);
      const bool to_known = known(edge.to, edge.line);
      if (!from_known || !to_known) continue;
      const Vertex from = ids_.at(edge.from), to = ids_.at(edge.to);
      if (inputs_.contains(to))
        complain(edge.line, "edge into input '" + edge.to + "'", "an input is a source; drop its label or this edge");
      if (!seen.emplace(from, to).second)
        complain(edge.line, "edge " + edge.from + " -> " + edge.to + " is repeated", "remove one");
      builder_.edge(from, to);
    }
  }

  std::string file_;
  int line_ = 0;
  core::Diagnostics diagnostics_;
  CdagBuilder builder_;
  std::vector<std::string> names_;
  std::unordered_map<std::string, Vertex> ids_;
  std::set<Vertex> inputs_;
  std::vector<PendingEdge> edges_;
};

}  // namespace

NamedCdag read_cdag(std::istream& stream, const std::string& file) { return Reader(file).read(stream); }

void write_cdag(const Cdag& graph, std::ostream& stream) {
  for (Vertex v = 0; v < graph.size(); ++v) {
    stream << "v " << v << (graph.is_input(v) ? " in" : "") << (graph.is_output(v) ? " out" : "");
    if (graph.weight(v) != 1) stream << ' ' << k_weight_prefix << graph.weight(v);
    stream << '\n';
  }
  for (Vertex v = 0; v < graph.size(); ++v) {
    for (Vertex p : graph.predecessors(v)) stream << "e " << p << ' ' << v << '\n';
  }
}

}  // namespace cairn::pebble
