#include <cmath>
#include <numeric>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "cairn/core/format_units.h"
#include "cairn/core/json_text.h"
#include "cairn/report/bound.h"
#include "text_report.h"

namespace cairn::report {
namespace {

using Json = nlohmann::ordered_json;
using bound::LayerAnswer;
using bound::LayersAnswer;

template <class Of>
double total(const LayersAnswer& answer, Of of) {
  double sum = 0.0;
  for (const LayerAnswer& layer : answer.layers) sum += static_cast<double>(layer.count) * of(layer.floor);
  return sum;
}

double flops(const cost::LayerFloor& floor) { return std::accumulate(floor.flops.begin(), floor.flops.end(), 0.0); }

std::optional<double> utilisation(const LayersAnswer& answer, const LayerAnswer& layer, std::size_t op) {
  if (layer.time_s.empty() || !answer.machine || layer.time_s[op] <= 0.0) return {};
  return layer.floor.operators[op].lower_bytes / answer.machine->bytes_per_s / layer.time_s[op];
}

struct ClassTime {
  double time_s = 0.0;
  double all_s = 0.0;
  double mue = 0.0;
};
std::optional<ClassTime> class_time(const LayersAnswer& answer, const LayerAnswer& layer, cost::OperatorClass kind) {
  if (layer.time_s.empty() || !answer.machine) return {};
  ClassTime result;
  for (std::size_t i = 0; i < layer.time_s.size(); ++i) {
    result.all_s += layer.time_s[i];
    if (layer.floor.operators[i].kind == kind) result.time_s += layer.time_s[i];
  }
  if (result.time_s <= 0.0) return {};
  result.mue = layer.floor.bytes[static_cast<std::size_t>(kind)] / answer.machine->bytes_per_s / result.time_s;
  return result;
}

Json tiles(const cost::FusedGroup& group) {
  Json result = Json::object();
  for (const auto& [axis, size] : group.tiles) result[axis] = size;
  return result;
}

Json layouts(const cost::LayerFloor& floor) {
  Json result = Json::object();
  for (const auto& [tensor, dims] : floor.reordered) result[tensor] = dims;
  return result;
}

Json layer_json(const LayersAnswer& answer, const LayerAnswer& layer) {
  const cost::LayerFloor& floor = layer.floor;
  Json result{{"name", layer.name},
              {"count", layer.count},
              {"flops", flops(floor)},
              {"separate_bytes", floor.separate},
              {"unfused_bytes", floor.unfused},
              {"fused_rows_bytes", floor.fused_rows},
              {"fused_bytes", floor.fused},
              {"lower_bytes", floor.lower_bytes},
              {"layout_copies_bytes", {{"written", floor.written_copies}, {"chosen", floor.chosen_copies}}},
              {"layouts", layouts(floor)},
              {"method", floor.method},
              {"classes", Json::object()},
              {"groups", Json::array()},
              {"operators", Json::array()}};
  for (std::size_t i = 0; i < cost::k_operator_classes; ++i) {
    const auto kind = static_cast<cost::OperatorClass>(i);
    const auto time = class_time(answer, layer, kind);
    result["classes"][std::string(cost::name(kind))] = {{"flops", floor.flops[i]},
                                                        {"lower_bytes", floor.bytes[i]},
                                                        {"time_s", time ? Json(time->time_s) : Json()},
                                                        {"mue", time ? Json(time->mue) : Json()}};
  }
  for (const cost::FusedGroup& group : floor.groups)
    result["groups"].push_back({{"operators", group.operators},
                                {"bytes", group.bytes},
                                {"chip_bytes", group.chip_bytes},
                                {"tiles", tiles(group)}});
  for (std::size_t i = 0; i < floor.operators.size(); ++i) {
    const cost::OperatorFloor& op = floor.operators[i];
    const auto used = utilisation(answer, layer, i);
    result["operators"].push_back({{"name", op.name},
                                   {"class", cost::name(op.kind)},
                                   {"phase", op.phase == ir::Phase::forward ? "forward" : "backward"},
                                   {"flops", op.flops},
                                   {"alone_bytes", op.alone_bytes},
                                   {"lower_bytes", op.lower_bytes},
                                   {"method", op.method},
                                   {"time_s", layer.time_s.empty() ? Json() : Json(layer.time_s[i])},
                                   {"mue", used ? Json(*used) : Json()}});
  }
  return result;
}

const std::vector<std::string>& assumptions() {
  static const std::vector<std::string> all{"every value computed once; what is recomputed is an operator of its own",
                                            "one running sum per result of a contraction"};
  return all;
}

}  // namespace

std::string json(const LayersAnswer& answer, const Tool& tool, int indent) {
  const double lower = total(answer, [](const auto& floor) { return floor.lower_bytes; });
  const double work = total(answer, flops);
  const bool balanced = answer.machine && answer.machine->flop_per_s;
  Json document{{"schema", "cairn.bound/1"},
                {"tool", {{"version", tool.version}, {"build", tool.build}}},
                {"what", answer.what},
                {"fast", static_cast<std::int64_t>(answer.on_chip_bytes / answer.bytes_per_word)},
                {"game", "RBW_slide"},
                {"lower", static_cast<std::int64_t>(std::ceil(lower / answer.bytes_per_word))},
                {"upper", nullptr},
                {"exact", nullptr},
                {"loads", nullptr},
                {"stores", nullptr},
                {"method", "layer by layer"},
                {"upper_method", nullptr},
                {"assumptions", assumptions()},
                {"format", answer.format},
                {"lower_bytes", lower},
                {"upper_bytes", nullptr},
                {"operations", work},
                {"intensity", lower > 0.0 ? Json(work / lower) : Json()},
                {"balance", balanced ? Json(*answer.machine->flop_per_s / answer.machine->bytes_per_s) : Json()},
                {"asymptotic", Json::array()},
                {"parts", Json::array()},
                {"bounds", Json::array()},
                {"layers", Json::array()}};
  for (const LayerAnswer& layer : answer.layers) document["layers"].push_back(layer_json(answer, layer));
  return core::json_text(document, indent);
}

namespace {

class LayersText : private TextReport {
 public:
  LayersText(const LayersAnswer& answer, const TextStyle& style) : TextReport(style.color), answer_(answer) {}

  std::string write() {
    line("{}", paint_.bold(answer_.what));
    line("{} on the chip{}, {}", bytes(answer_.on_chip_bytes),
         answer_.machine ? fmt::format(" of {}", answer_.machine->name) : "",
         answer_.backward ? "forward and backward" : "forward");
    for (const LayerAnswer& each : answer_.layers) layer(each);
    line("");
    for (const char* each :
         {"moves: through memory, each operator on its own in its best tiles; at least: no schedule of "
          "it moves less",
          "fused: operators of one number run as one",
          "MUE: data-movement utilisation, the time of the least bytes at the memory's bandwidth over "
          "the operator's time"})
      out_ += wrapped(each, "  - ", "    ");
    for (const std::string& each : assumptions()) out_ += wrapped(each, "  - ", "    ");
    return std::move(out_);
  }

 private:
  static std::string bytes(double amount) { return core::format(core::Bytes::from_base(amount)); }
  static std::string percent(double share) { return fmt::format("{:.2f} %", 100.0 * share); }

  void layer(const LayerAnswer& each) {
    const cost::LayerFloor& floor = each.floor;
    line("");
    line("{}  {}", paint_.bold(each.name), paint_.dim(each.count > 1 ? fmt::format("one of {}", each.count) : ""));
    line("  {}", paint_.dim(fmt::format("{:<34}{:<15}{:>10}{:>11}{:>11}{:>8}{:>7}", "operator", "class", "FLOP",
                                        "moves", "at least", "fused", "MUE")));
    for (std::size_t i = 0; i < floor.operators.size(); ++i) row(each, i);
    line("");
    const auto sum = [&](std::string_view name, double amount, std::string_view meaning) {
      line("  {:<18}{:>10} {:>9}  {}", name, bytes(amount), percent(amount / floor.unfused), paint_.dim(meaning));
    };
    sum("one by one", floor.unfused, "every operator through memory, in its best tiles");
    sum("rows fused", floor.fused_rows, "chains of operators that are no contractions");
    sum("fused", floor.fused, "contractions too, as numbered above");
    sum("at least", floor.lower_bytes, floor.method);
    sum("layout copies", floor.written_copies, "so that products take operands as they are written");
    sum("other layouts", floor.chosen_copies, "the same in the orders of dimensions that a search finds");
    const double all = flops(floor);
    if (all <= 0.0) return;
    line("");
    line("  {}", paint_.dim(fmt::format("{:<18}{:>10}{:>10}{:>10}{:>10}{:>8}", "share by class", "FLOP", "of FLOP",
                                        "of bytes", "of time", "MUE")));
    for (std::size_t i = 0; i < cost::k_operator_classes; ++i) {
      if (floor.flops[i] <= 0.0 && floor.bytes[i] <= 0.0) continue;
      const auto kind = static_cast<cost::OperatorClass>(i);
      const auto time = class_time(answer_, each, kind);
      line("  {:<18}{:>10}{:>10}{:>10}{:>10}{:>8}", cost::name(kind), si_count(floor.flops[i], k_flop_digits),
           percent(floor.flops[i] / all), percent(floor.bytes[i] / floor.separate),
           time ? percent(time->time_s / time->all_s) : "", time ? fmt::format("{:.0f} %", 100.0 * time->mue) : "");
    }
  }

  void row(const LayerAnswer& each, std::size_t i) {
    const cost::OperatorFloor& op = each.floor.operators[i];
    const bool joined = each.floor.groups[op.group].operators.size() > 1;
    const auto used = utilisation(answer_, each, i);
    line("  {:<34}{:<15}{:>10}{:>11}{:>11}{:>8}{:>7}", clipped(op.name, k_name - 1), cost::name(op.kind),
         si_count(op.flops, k_operator_digits), bytes(op.alone_bytes), bytes(op.lower_bytes),
         joined ? fmt::format("{}", op.group + 1) : "", used ? fmt::format("{:.0f} %", 100.0 * *used) : "");
  }

  static constexpr std::size_t k_name = 34;  // columns of an operator's name
  static constexpr int k_flop_digits = 5, k_operator_digits = 3;
  const LayersAnswer& answer_;
};

}  // namespace

std::string text(const LayersAnswer& answer, const TextStyle& style) { return LayersText(answer, style).write(); }

}  // namespace cairn::report
