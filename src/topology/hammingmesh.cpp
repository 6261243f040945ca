// hammingmesh: boards of a x b accelerators, x by y of them. A board is a mesh on a printed circuit; each of its b rows
// is joined at both ends to the network of that line, which serves the x boards side by side, and each of its a columns
// likewise to the y boards above one another.
//
//   accelerator = (column + a * board column) + a x * (row + b * board row); the 4 ports share its bandwidth evenly
// The network of a line is taken as a switch that never limits (it is one while 2x, 2y <= its ports, else a fat tree).
// Routes correct the column, then the row: inside a board along the mesh, else out by the nearer edge and in by the
// edge nearer to the destination; the middle of an odd board alternates with the parity of both boards' and lines'
// numbers.
//   bisection 1 / (2 a) by columns, 1 / (2 b) by rows, the smaller; all-to-all load of the edges = P a (1 - 1/x) / 2
//   pairs of a port, which is 1 / (2 a) of injection for many boards
// Source: Hoefler et al. 2022, "HammingMesh: a network topology for large-scale deep learning", SC22.
#include <algorithm>
#include <array>

#include "kinds.h"

namespace cairn::topology {
namespace {

// One direction of the lattice: `inside` accelerators across a board, `boards` of them.
struct Axis {
  std::int64_t inside = 1;
  std::int64_t boards = 1;
  std::int64_t extent() const { return inside * boards; }
  // To the nearer edge, over the line's network, and in again; or across a lone board.
  std::int64_t longest() const { return boards > 1 ? 2 * ((inside - 1) / 2) + 2 : inside - 1; }
};

class HammingMesh final : public Topology {
 public:
  HammingMesh(const LevelInput& level, Axis row, Axis column)
      : Topology(level.size, switches_of(row, column), level.size * k_slots),
        axes_{row, column},
        injection_(level.bandwidth),
        latency_(level.link_latency(row.longest() + column.longest())),
        planes_(level.planes) {}

  Link link(LinkId id) const override {
    const NodeId at = id / k_slots;
    const std::int64_t slot = id % k_slots;
    const auto d = static_cast<std::size_t>(slot / 2 % 2);
    const bool up = slot % 2 == 0, inward = slot >= k_slots / 2;
    const Axis& axis = axes_[d];
    const std::int64_t own = coordinate(at, d), inside = own % axis.inside;
    const bool edge = inside == (up ? axis.inside - 1 : 0);
    if (edge ? axis.boards == 1 : inward) return {};
    Link link{.from = at, .to = at, .bandwidth = injection_ / k_ports, .latency = latency_};
    if (!edge)
      link.to = at + (up ? 1 : -1) * stride(d);
    else
      (inward ? link.from : link.to) = line(at, d);
    return link;
  }

  void route(NodeId from, NodeId to, std::vector<LinkId>& out) const override {
    NodeId at = from;
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      const Axis& axis = axes_[d];
      const std::int64_t source = coordinate(at, d), target = coordinate(to, d), own = source % axis.inside,
                         goal = target % axis.inside;
      const std::int64_t start = at - own * stride(d);  // of its board
      const NodeId corrected = at + (target - source) * stride(d);
      if (source / axis.inside == target / axis.inside) {
        walk(at, goal - own, d, out);
      } else {
        const std::int64_t turn =
            source / axis.inside + target / axis.inside + coordinate(from, 1 - d) + coordinate(to, 1 - d);
        const bool odd = turn % 2 != 0;
        const bool leave_up = nearer_up(own, axis, odd), enter_up = nearer_up(goal, axis, odd);
        const std::int64_t exit = leave_up ? axis.inside - 1 : 0, entry = enter_up ? axis.inside - 1 : 0;
        walk(at, exit - own, d, out);
        out.push_back(slot(start + exit * stride(d), d, leave_up, false));
        const NodeId door = corrected + (entry - goal) * stride(d);
        out.push_back(slot(door, d, enter_up, true));
        walk(door, goal - entry, d, out);
      }
      at = corrected;
    }
  }

  Limits limits(std::int64_t /*group*/) const override {
    const auto p = static_cast<double>(endpoints());
    const double port = injection_ / k_ports;
    Limits limits{.injection = injection_,
                  .diameter = axes_[0].longest() + axes_[1].longest(),
                  .bisection_fraction = 1.0,
                  .alltoall_load = 0.0,
                  .narrowest_cut = 0.0};
    for (const Axis& axis : axes_) {
      if (axis.extent() == 1) continue;
      const auto inside = static_cast<double>(axis.inside), boards = static_cast<double>(axis.boards);
      const std::int64_t lower_half = axis.inside / 2;
      const double halves = axis.boards > 1 ? 2.0 * inside : 4.0 * static_cast<double>(lower_half);
      limits.bisection_fraction = std::min(limits.bisection_fraction, 1.0 / halves);
      // Of an edge; then of the links inside, from i + 1 to i: those below go out there, and those above i cross.
      const double away = p * (1.0 - 1.0 / boards);
      limits.alltoall_load = std::max(limits.alltoall_load, inside / 2.0 * away / port);
      if (axis.inside > 1) {
        // Their sum falls with i where boards are joined; on a lone board the middle is the busiest.
        const std::int64_t i = axis.boards > 1 ? 0 : axis.inside / 2 - 1;
        const double passing = std::max(0.0, inside / 2.0 - 1.0 - static_cast<double>(i)) * away;
        const double crossing = static_cast<double>((i + 1) * (axis.inside - 1 - i)) * p / (boards * inside);
        limits.alltoall_load = std::max(limits.alltoall_load, (passing + crossing) / port);
      }
      // An accelerator at the corner of a lone board has one port in use.
      limits.narrowest_cut += axis.boards > 1 ? 2.0 * port : port;
    }
    return limits;
  }

  std::optional<Inventory> inventory(std::int64_t /*board*/) const override {
    Inventory inventory{.stages = {}, .short_cables = 0, .long_cables = 0, .planes = planes_};
    for (std::size_t d = 0; d < axes_.size(); ++d) {
      if (axes_[d].boards == 1) continue;
      const std::int64_t lines = endpoints() / axes_[d].extent(), ends = 2 * axes_[d].boards;
      // Columns leave the rack, rows do not.
      (d == 0 ? inventory.short_cables : inventory.long_cables) += lines * ends;
      inventory.stages.push_back({.count = lines, .ports = ends, .packing = Packing::whole});
    }
    return inventory;
  }
  // Boards apart from each other, the networks of rows on the right, of columns below.
  std::optional<std::array<double, 2>> place(NodeId node) const override {
    const auto spread = [](std::int64_t coordinate, const Axis& axis) {
      const std::int64_t board = coordinate / axis.inside;
      return static_cast<double>(coordinate + board);
    };
    const auto beyond = [&](std::size_t d) { return spread(axes_[d].extent(), axes_[d]); };
    if (node < endpoints())
      return std::array{spread(coordinate(node, 0), axes_[0]), spread(coordinate(node, 1), axes_[1])};
    const std::int64_t line = node - endpoints(), rows = rows_of(axes_[0], axes_[1]);
    if (line < rows) return std::array{beyond(0), spread(line, axes_[1])};
    return std::array{spread(line - rows, axes_[0]), beyond(1)};
  }
  // A wide board is crossed along the mesh although its edges may be nearer.
  bool minimal() const override { return axes_[0].inside <= 3 && axes_[1].inside <= 3; }
  std::string node_name(NodeId node) const override {
    if (node < endpoints()) return Topology::node_name(node);
    const std::int64_t line = node - endpoints(), rows = rows_of(axes_[0], axes_[1]);
    return line < rows ? "row " + std::to_string(line) : "column " + std::to_string(line - rows);
  }

 private:
  static constexpr std::int64_t k_slots = 8;  // east, west, south, north out of the accelerator, then into it
  static constexpr double k_ports = 4.0;

  static std::int64_t rows_of(const Axis& row, const Axis& column) { return row.boards > 1 ? column.extent() : 0; }
  static std::int64_t switches_of(const Axis& row, const Axis& column) {
    return rows_of(row, column) + rows_of(column, row);
  }
  std::int64_t stride(std::size_t d) const { return d == 0 ? 1 : axes_[0].extent(); }
  std::int64_t coordinate(NodeId at, std::size_t d) const { return at / stride(d) % axes_[d].extent(); }
  NodeId line(NodeId at, std::size_t d) const {
    const std::int64_t rows = rows_of(axes_[0], axes_[1]);
    return endpoints() + (d == 0 ? coordinate(at, 1) : rows + coordinate(at, 0));
  }
  static LinkId slot(NodeId at, std::size_t d, bool up, bool inward) {
    return at * k_slots + (inward ? k_slots / 2 : 0) + 2 * static_cast<std::int64_t>(d) + (up ? 0 : 1);
  }
  void walk(NodeId at, std::int64_t steps, std::size_t d, std::vector<LinkId>& out) const {
    const bool up = steps > 0;
    for (std::int64_t i = 0; i < std::abs(steps); ++i)
      out.push_back(slot(at + (up ? i : -i) * stride(d), d, up, false));
  }
  static bool nearer_up(std::int64_t inside, const Axis& axis, bool odd) {
    const std::int64_t twice = 2 * inside + 1;
    return twice == axis.inside ? odd : twice > axis.inside;
  }

  std::array<Axis, 2> axes_;
  double injection_;
  double latency_;
  std::int64_t planes_;
};

class HammingMeshKind final : public KindOf<HammingMeshKind> {
 public:
  std::string_view name() const override { return "hammingmesh"; }
  Entry entry() const override { return Entry::whole; }
  std::optional<std::int64_t> size() const override {
    return product_of({row_.inside, column_.inside, row_.boards, column_.boards});
  }
  void check(std::int64_t size, const std::string& key_path) const override {
    if (this->size() != size)
      refuse(key_path, {}, "a b x y is not the size " + std::to_string(size), "make them equal");
  }
  std::optional<std::int64_t> longest_route(std::int64_t, std::int64_t) const override {
    return row_.longest() + column_.longest();
  }
  std::unique_ptr<Topology> build(const LevelInput& level) const override {
    return std::make_unique<HammingMesh>(level, row_, column_);
  }
  std::vector<std::string> assumptions(std::string_view, const Topology&, bool) const override {
    return {"the network of a line of boards never limits"};
  }

 private:
  void describe_own(config::Fields& fields) override {
    constexpr bool k_required = true;
    fields.count("a", row_.inside, some("accelerators of a board side by side", k_required));
    fields.count("b", column_.inside, some("accelerators of a board above one another", k_required));
    fields.count("x", row_.boards, some("boards side by side", k_required));
    fields.count("y", column_.boards, some("boards above one another", k_required));
  }

  Axis row_;
  Axis column_;
};

}  // namespace

std::unique_ptr<Kind> kinds::hammingmesh() { return std::make_unique<HammingMeshKind>(); }

}  // namespace cairn::topology
