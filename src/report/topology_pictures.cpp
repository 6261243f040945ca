// A network as SVG and as Graphviz text. Lines are the wider the more bandwidth they stand for; hovering shows it.
#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "cairn/core/format_units.h"
#include "cairn/report/topology.h"
#include "picture_text.h"
#include "topology_drawing.h"

namespace cairn::report {
namespace {

using topology::NodeId;

constexpr double k_unit = 46.0;    // pixels from neighbour to neighbour
constexpr double k_margin = 40.0;  // pixels
constexpr double k_title = 34.0;   // pixels above the drawing
constexpr double k_radius = 13.0;  // of a node
constexpr double k_thin = 1.0, k_thick = 3.2;
constexpr double k_legend = 30.0;  // pixels below the drawing
constexpr double k_legend_width = 430.0;

std::string link_rate(double bandwidth) { return core::format(core::BytesPerSecond::from_base(bandwidth)); }

class Svg {
 public:
  explicit Svg(const topology::Network& network)
      : network_(*network.topology), cables_(cables(network_)), places_(layout(network_, cables_)) {
    for (std::array<double, 2>& place : places_) {
      place = {k_margin + k_unit * place[0], k_title + k_margin + k_unit * place[1]};
      width_ = std::max(width_, place[0] + k_margin);
      height_ = std::max(height_, place[1] + k_margin);
    }
    for (const Cable& cable : cables_) widest_ = std::max(widest_, cable.bandwidth);
    constexpr double k_letter = 8.0;
    width_ = std::max({width_, k_legend_width, 2.0 * k_margin + k_letter * static_cast<double>(network.name.size())});
    height_ += k_legend;
    add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
        "{1:.0f}\" "
        "font-family=\"sans-serif\">\n",
        width_, height_);
    add("<rect width=\"{:.0f}\" height=\"{:.0f}\" fill=\"#ffffff\"/>\n", width_, height_);
    add("<text x=\"{:.0f}\" y=\"26\" font-size=\"16\" fill=\"#202124\">{}</text>\n", k_margin - k_radius,
        xml_text(network.name));
  }

  std::string finish() {
    for (const Cable& cable : cables_) draw(cable);
    for (NodeId node = 0; node < network_.nodes(); ++node) draw(node);
    legend();
    return out_ + "</svg>\n";
  }

 private:
  template <class... Values>
  void add(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<Values>(values)...);
  }

  double stroke(double bandwidth) const {
    return k_thin + (k_thick - k_thin) * (bandwidth / widest_) * (cables_.size() > k_many ? 0.3 : 1.0);
  }

  // What the marks stand for, and the bandwidth of the widest and of the narrowest line.
  void legend() {
    constexpr double k_mark = 6.0, k_line = 24.0;
    const double y = height_ - k_legend / 2.0;
    double x = k_margin - k_radius;
    const auto words = [&](std::string_view text) {
      constexpr double k_letter = 6.5;
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"11\" fill=\"#202124\">{}</text>\n", x, y + 4.0, text);
      x += k_letter * static_cast<double>(text.size()) + 2.0 * k_mark;
    };
    add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.0f}\" fill=\"#2b6cb0\"/>\n", x + k_mark, y, k_mark);
    x += 3.0 * k_mark;
    words("endpoint");
    if (network_.nodes() > network_.endpoints()) {
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"2\" fill=\"#c05621\"/>\n", x,
          y - k_mark, 2.0 * k_mark, 2.0 * k_mark);
      x += 3.0 * k_mark;
      words("switch");
    }
    double narrowest = widest_;
    for (const Cable& cable : cables_) narrowest = std::min(narrowest, cable.bandwidth);
    for (const double bandwidth : {widest_, narrowest}) {
      add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"#8a94a6\" "
          "stroke-width=\"{:.2f}\"/>\n",
          x, y, x + k_line, y, stroke(bandwidth));
      x += k_line + k_mark;
      words(link_rate(bandwidth));
      if (narrowest == widest_) break;
    }
  }

  // Straight, or bent where the line would run through other nodes of its row or column.
  void draw(const Cable& cable) {
    const auto& a = places_[static_cast<std::size_t>(cable.from)];
    const auto& b = places_[static_cast<std::size_t>(cable.to)];
    const double dx = b[0] - a[0], dy = b[1] - a[1], length = std::hypot(dx, dy);
    const bool along = (dx == 0.0 || dy == 0.0) && length > 1.5 * k_unit;
    constexpr double k_bend = 0.16;
    const double bend = along ? std::min(k_bend * length, k_unit * 0.8) : 0.0;
    add("<path d=\"M{:.1f} {:.1f}Q{:.1f} {:.1f} {:.1f} {:.1f}\" fill=\"none\" stroke=\"#8a94a6\" "
        "stroke-width=\"{:.2f}\"{}>"
        "<title>{} - {}: {}{}</title></path>\n",
        a[0], a[1], (a[0] + b[0]) / 2.0 - 2.0 * bend * (length > 0.0 ? dy / length : 0.0),
        (a[1] + b[1]) / 2.0 - 2.0 * bend * (length > 0.0 ? std::abs(dx) / length : 0.0), b[0], b[1],
        stroke(cable.bandwidth), cable.one_way ? " stroke-dasharray=\"5 3\"" : "",
        xml_text(network_.node_name(cable.from)), xml_text(network_.node_name(cable.to)), link_rate(cable.bandwidth),
        cable.one_way ? " one way" : " each way");
  }

  void draw(NodeId node) {
    const auto& at = places_[static_cast<std::size_t>(node)];
    const std::string name = network_.node_name(node);
    const bool endpoint = node < network_.endpoints();
    if (endpoint)
      add("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.0f}\" fill=\"#2b6cb0\"><title>{}</title></circle>\n", at[0],
          at[1], k_radius, xml_text(name));
    else
      add("<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"{:.0f}\" height=\"{:.0f}\" rx=\"3\" "
          "fill=\"#c05621\"><title>{}</title></rect>\n",
          at[0] - k_radius, at[1] - k_radius, 2.0 * k_radius, 2.0 * k_radius, xml_text(name));
    constexpr std::size_t k_fits = 4;  // letters
    if (name.size() <= k_fits)
      add("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"10\" fill=\"#ffffff\" text-anchor=\"middle\">{}</text>\n", at[0],
          at[1] + 3.5, xml_text(name));
  }

  static constexpr std::size_t k_many = 200;
  const topology::Topology& network_;
  std::vector<Cable> cables_;
  std::vector<std::array<double, 2>> places_;
  double width_ = 0.0;
  double height_ = 0.0;
  double widest_ = 1.0;
  std::string out_;
};

}  // namespace

std::string svg(const topology::Network& network) { return Svg(network).finish(); }

std::string graphviz(const topology::Network& network) {
  const topology::Topology& topology = *network.topology;
  std::string out = fmt::format("digraph {} {{\n  node [fontname=\"sans-serif\"];\n", dot_text(network.name));
  for (NodeId node = 0; node < topology.nodes(); ++node)
    fmt::format_to(std::back_inserter(out), "  n{} [label={}, shape={}];\n", node, dot_text(topology.node_name(node)),
                   node < topology.endpoints() ? "circle" : "box");
  for (const Cable& cable : cables(topology))
    fmt::format_to(std::back_inserter(out), "  n{} -> n{} [dir={}, label={}];\n", cable.from, cable.to,
                   cable.one_way ? "forward" : "none", dot_text(link_rate(cable.bandwidth)));
  return out + "}\n";
}

}  // namespace cairn::report
