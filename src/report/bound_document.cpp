// What `cairn bound` answers, key by key.
#include <cmath>

#include "bound_words.h"
#include "cairn/core/json_text.h"
#include "cairn/report/bound.h"
#include "cairn/report/schema.h"
#include "described.h"

namespace cairn::report {

using namespace schema;

namespace schema {
namespace {

using bound::Answer;
using bound::DevicesRow;
using bound::LayerAnswer;
using bound::LayersAnswer;
using bound::LevelRow;
using bound::LocalityRow;
using bound::MovesRow;
using bound::NetworkRow;
using bound::NodesRow;
using pebble::Words;

constexpr const char* k_bound_schema = "cairn.bound/1";

Json words(const char* what) {
  return Json{{"type", "integer"}, {"minimum", 0}, {"description", std::string("words ") + what}};
}

// What a document says of every computation.
struct Whole {
  const Tool& tool;
  std::string what;
  Words fast = 0;
  std::string game;
  Words lower = 0;
  std::optional<pebble::PlayCost> play = std::nullopt;
  std::optional<Words> exact = std::nullopt;
  std::string method;
  std::optional<std::string> upper_method = std::nullopt;
  std::vector<std::string> assumptions;
  std::string format;
  double lower_bytes = 0.0;
  std::optional<double> upper_bytes = std::nullopt;
  double operations = 0.0;
  std::optional<double> intensity, balance;
  std::vector<std::string> asymptotic = {};
  std::vector<pebble::Part> parts = {};
  std::vector<pebble::LowerBound> bounds = {};
};

Whole whole(const Answer& answer, const Tool& tool) {
  const auto play = answer.play();
  const bool solved = answer.exact && answer.exact->cost;
  return {.tool = tool,
          .what = answer.what,
          .fast = answer.fast,
          .game = pebble::to_string(answer.game),
          .lower = answer.lower_words(),
          .play = play,
          .exact = solved ? std::optional(answer.exact->cost->total()) : std::nullopt,
          .method = answer.lower_method(),
          .upper_method = answer.upper_method(),
          .assumptions = answer.best().assumptions,
          .format = answer.format,
          .lower_bytes = answer.bytes(answer.lower_words()),
          .upper_bytes = play ? std::optional(answer.bytes(play->total())) : std::nullopt,
          .operations = answer.operations,
          .intensity = answer.intensity(),
          .balance = answer.balance(),
          .asymptotic = answer.asymptotic,
          .parts = answer.best().parts,
          .bounds = answer.lower};
}

Whole whole(const LayersAnswer& answer, const Tool& tool) {
  return {.tool = tool,
          .what = answer.what,
          .fast = static_cast<Words>(answer.on_chip_bytes / answer.bytes_per_word),
          .game = pebble::to_string({pebble::Rules::red_blue_white, pebble::Sliding::allowed}),
          .lower = static_cast<Words>(std::ceil(answer.lower_bytes() / answer.bytes_per_word)),
          .method = "layer by layer",
          .assumptions = assumptions_of_layers(),
          .format = answer.format,
          .lower_bytes = answer.lower_bytes(),
          .operations = answer.operations(),
          .intensity = answer.intensity(),
          .balance = answer.balance()};
}

const Described<pebble::Part>& part_keys() {
  static const Described<pebble::Part> keys{
      {"what", text("is counted"), &pebble::Part::what},
      {"words", Json{{"type", "integer"}, {"description", "words, which may be taken off"}}, &pebble::Part::words}};
  return keys;
}

const Described<pebble::LowerBound>& proof_keys() {
  static const Described<pebble::LowerBound> keys{
      {"method", text("how it was proved"), &pebble::LowerBound::method},
      {"words", words("that it says are moved at least"), &pebble::LowerBound::words},
      {"games", text("in which it holds"), [](const auto& bound) { return pebble::to_string(bound.games); }}};
  return keys;
}

const Described<Whole>& whole_keys() {
  static const Described<Whole> keys{
      {"schema", text(), [](const auto&) { return k_bound_schema; }},
      {"tool", tool(), [](const auto& all) { return made_by(all.tool); }},
      {"what", text("the computation, as it was asked for"), &Whole::what},
      {"fast", words("of fast memory; 0: none matters"), &Whole::fast},
      {"game",
       text("the rules: RBW computes every value once, HK allows recomputation; _slide: a result may replace an "
            "operand"),
       &Whole::game},
      {"lower", words("that any execution moves between slow and fast memory, loads and stores together"),
       &Whole::lower},
      {"upper", or_null(words("that the best execution known moves; null: none is known")),
       [](const auto& all) { return all.play ? Json(all.play->total()) : Json(); }},
      {"exact", or_null(words("that the cheapest of all executions moves; null: it was not asked, or not found")),
       [](const auto& all) { return nullable(all.exact); }},
      {"loads", or_null(words("loaded by the best execution known")),
       [](const auto& all) { return all.play ? Json(all.play->loads) : Json(); }},
      {"stores", or_null(words("stored by it")),
       [](const auto& all) { return all.play ? Json(all.play->stores) : Json(); }},
      {"method", text("how `lower` was proved"), &Whole::method},
      {"upper_method", or_null(text("how `upper` is attained")),
       [](const auto& all) { return nullable(all.upper_method); }},
      {"assumptions", assumption_list(), &Whole::assumptions},
      {"format", text("the number format of a word"), &Whole::format},
      {"lower_bytes", amount("bytes of `lower`"), &Whole::lower_bytes},
      {"upper_bytes", or_null(amount("bytes of `upper`")), [](const auto& all) { return nullable(all.upper_bytes); }},
      {"operations", amount("FLOP, or computed vertices of a graph"), &Whole::operations},
      {"intensity", or_null(amount("FLOP/B: operations over lower_bytes")),
       [](const auto& all) { return nullable(all.intensity); }},
      {"balance", or_null(amount("FLOP/B of the machine: below it memory limits; null: no accelerator was named")),
       [](const auto& all) { return nullable(all.balance); }},
      {"asymptotic", texts("the leading term for large sizes, of each contraction"), &Whole::asymptotic},
      {"parts", described(list_of(part_keys().schema()), "what `lower` is made of"),
       [](const auto& all) { return part_keys().list(all.parts); }},
      {"bounds", described(list_of(proof_keys().schema()), "every bound at hand; `lower` is the largest"),
       [](const auto& all) { return proof_keys().list(all.bounds); }}};
  return keys;
}

const Described<Answer>& machine_keys() {
  static const Described<Answer> keys{
      {"name", text("of the accelerator"), [](const auto& answer) { return answer.machine->name; }},
      {"lower_s", amount("s that its memory takes for lower_bytes"),
       [](const auto& answer) { return answer.bytes(answer.lower_words()) / answer.machine->bytes_per_s; }}};
  return keys;
}

struct Level {
  const LevelRow& row;
  double bytes_per_word = 0.0;
};

const Described<Level>& level_keys() {
  static const Described<Level> keys{
      {"name", text("of the memory"), [](const auto& of) { return of.row.name; }},
      {"units", count("of them on the chip"), [](const auto& of) { return of.row.units; }},
      {"fast", words("that it and what lies below it hold"), [](const auto& of) { return of.row.fast; }},
      {"words", words("that cross the link above it at least, at the busiest unit"),
       [](const auto& of) { return of.row.words; }},
      {"method", text("how that was proved"), [](const auto& of) { return of.row.method; }},
      {"lower_s", or_null(amount("s that the link takes for them; null: its bandwidth is unknown")),
       [](const auto& of) { return nullable(of.row.least_s(of.bytes_per_word)); }}};
  return keys;
}

const Described<DevicesRow::Algorithm>& left_out_keys() {
  using Algorithm = DevicesRow::Algorithm;
  static const Described<Algorithm> keys{{"words", amount("words of each device"), &Algorithm::words},
                                         {"reason", text("why it is left out"), &Algorithm::left_out}};
  return keys;
}

const Described<DevicesRow>& devices_keys() {
  static const Described<DevicesRow> keys{
      {"devices", amount("devices that share the work"), &DevicesRow::devices},
      {"counted", text("whether words are those sent and received together, or each way"),
       [](const auto& row) { return counted(row); }},
      {"words", amount("words that some device must move"), &DevicesRow::words},
      {"method", text("how that was proved"), &DevicesRow::method},
      {"premise", text("under which it holds"), &DevicesRow::premise},
      {"algorithms",
       described(object_of(amount("words of each device")), "known ones that work under the premise, by name"),
       [](const auto& row) {
         Json result = Json::object();
         for (const DevicesRow::Algorithm& each : row.algorithms)
           if (each.left_out.empty()) result[each.name] = each.words;
         return result;
       }},
      {"left_out", described(object_of(left_out_keys().schema()), "known ones that do not, by name"),
       [](const auto& row) {
         Json result = Json::object();
         for (const DevicesRow::Algorithm& each : row.algorithms)
           if (!each.left_out.empty()) result[each.name] = left_out_keys().json(each);
         return result;
       }},
      Key<DevicesRow>("memory_words", amount("words that a device holds"),
                      [](const auto& row) { return row.memory > 0.0 ? Json(row.memory) : Json(); })
          .left_out(),
      Key<DevicesRow>("total", amount("words received by all devices together"), [](const auto& row) {
        return nullable(row.total);
      }).left_out()};
  return keys;
}

const Described<MovesRow>& illegal_move_keys() {
  static const Described<MovesRow> keys{{"line", count("of the file, from 1"), &MovesRow::line},
                                        {"reason", text("what the game forbids"), &MovesRow::reason}};
  return keys;
}

const Described<MovesRow>& moves_keys() {
  static const Described<MovesRow> keys{
      {"file", text("that was verified"), &MovesRow::file},
      {"moves", count("moves in it"), &MovesRow::moves},
      {"words", or_null(words("that the play moves; null: it is not legal")),
       [](const auto& row) { return row.cost ? Json(row.cost->total()) : Json(); }},
      {"loads", or_null(words("loaded of them")),
       [](const auto& row) { return row.cost ? Json(row.cost->loads) : Json(); }},
      {"stores", or_null(words("stored of them")),
       [](const auto& row) { return row.cost ? Json(row.cost->stores) : Json(); }},
      {"peak", or_null(words("of fast memory in use at most")),
       [](const auto& row) { return row.cost ? Json(row.cost->peak) : Json(); }},
      {"illegal", described(or_null(illegal_move_keys().schema()), "the first move that is not allowed; null: all are"),
       [](const auto& row) { return row.cost ? Json() : illegal_move_keys().json(row); }}};
  return keys;
}

// Of a graph on several nodes.
const Described<NodesRow::Side>& side_keys() {
  using Side = NodesRow::Side;
  static const Described<Side> keys{
      {"lower", words("at least"), [](const auto& each) { return each.lower.words; }},
      {"method", text("how that was proved"), [](const auto& each) { return each.lower.method; }},
      {"exact", or_null(words("where the search found them; null: it was not asked, or gave up")),
       [](const auto& each) { return nullable(each.exact); }},
      {"upper", or_null(words("of the best play known; null: none is")),
       [](const auto& each) { return nullable(each.upper); }},
      {"assumptions", assumption_list(), [](const auto& each) { return each.lower.assumptions; }}};
  return keys;
}

const Described<NodesRow>& nodes_keys() {
  static const Described<NodesRow> keys{
      {"nodes", count("that the graph is spread over"), &NodesRow::nodes},
      {"most_values_each", count("values that one of them may compute"), &NodesRow::most},
      {"received", described(side_keys().schema(), "by all nodes together, with memories that hold everything"),
       [](const auto& row) { return side_keys().json(row.received); }},
      {"busiest", described(side_keys().schema(), "in and out of one node with --fast words"),
       [](const auto& row) { return side_keys().json(row.busiest); }}};
  return keys;
}

const Described<NetworkRow>& network_keys() {
  static const Described<NetworkRow> keys{
      {"name", text("of the cluster"), &NetworkRow::name},
      {"bytes_per_s", amount("B/s, of one device, each way"), &NetworkRow::bytes_per_s},
      {"lower_s", amount("s that its links take for what a device must move"), &NetworkRow::lower_s}};
  return keys;
}

const Described<LocalityRow>& locality_keys() {
  static const Described<LocalityRow> keys{{"fast", words("of fast memory"), &LocalityRow::fast},
                                           {"before", words("moved in the order of the trace"), &LocalityRow::before},
                                           {"after", words("moved in the better order"), &LocalityRow::after}};
  return keys;
}

Json mue() {
  return or_null(ratio("share of the least time of its data movement in its predicted time; null: no calibration"));
}
Json predicted() {
  return or_null(amount("s that calibrated kernels take; null: no accelerator was named, or it has no calibration"));
}

struct Layer {
  const LayersAnswer& answer;
  const LayerAnswer& layer;
  const cost::LayerFloor& floor() const { return layer.floor; }
};

struct LayerOperator {
  const LayersAnswer& answer;
  const LayerAnswer& layer;
  std::size_t index = 0;
  const cost::OperatorFloor& floor() const { return layer.floor.operators[index]; }
};

const Described<LayerOperator>& operator_keys() {
  static const Described<LayerOperator> keys{
      {"name", text("of the operator"), [](const auto& op) { return op.floor().name; }},
      {"class", text("contraction, normalisation, elementwise or data movement"),
       [](const auto& op) { return cost::name(op.floor().kind); }},
      {"phase", text("forward or backward"),
       [](const auto& op) { return op.floor().phase == ir::Phase::forward ? "forward" : "backward"; }},
      {"flops", amount("FLOP of one execution"), [](const auto& op) { return op.floor().flops; }},
      {"alone_bytes", amount("bytes that it moves on its own, in its best tiles"),
       [](const auto& op) { return op.floor().alone_bytes; }},
      {"lower_bytes", amount("bytes that it must move on its own"),
       [](const auto& op) { return op.floor().lower_bytes; }},
      {"method", text("how the bound was proved"), [](const auto& op) { return op.floor().method; }},
      {"time_s", predicted(),
       [](const auto& op) { return op.layer.time_s.empty() ? Json() : Json(op.layer.time_s[op.index]); }},
      {"mue", mue(), [](const auto& op) { return nullable(op.answer.mue(op.layer, op.index)); }}};
  return keys;
}

struct ClassOfLayer {
  const cost::LayerFloor& floor;
  cost::OperatorClass kind;
  std::optional<LayersAnswer::ClassTime> time;
  std::size_t index() const { return static_cast<std::size_t>(kind); }
};

const Described<ClassOfLayer>& class_keys() {
  static const Described<ClassOfLayer> keys{
      {"flops", amount("FLOP of operators of this class"), [](const auto& of) { return of.floor.flops[of.index()]; }},
      {"lower_bytes", amount("bytes that they must move"), [](const auto& of) { return of.floor.bytes[of.index()]; }},
      {"time_s", predicted(), [](const auto& of) { return of.time ? Json(of.time->time_s) : Json(); }},
      {"mue", mue(), [](const auto& of) { return of.time ? Json(of.time->mue) : Json(); }}};
  return keys;
}

const Described<cost::FusedGroup>& group_keys() {
  using cost::FusedGroup;
  static const Described<FusedGroup> keys{
      {"operators", described(list_of(count()), "places in `operators`, from 0"), &FusedGroup::operators},
      {"bytes", amount("bytes that the group moves"), &FusedGroup::bytes},
      {"chip_bytes", amount("bytes held on the chip at the fullest moment"), &FusedGroup::chip_bytes},
      {"tiles", described(object_of(count()), "extents of a tile by dimension"), [](const auto& group) {
         Json result = Json::object();
         for (const auto& [axis, size] : group.tiles) result[axis] = size;
         return result;
       }}};
  return keys;
}

const Described<cost::LayerFloor>& layout_copies_keys() {
  using cost::LayerFloor;
  static const Described<LayerFloor> keys{
      {"written", amount("bytes of copies between layouts as they are written"), &LayerFloor::written_copies},
      {"chosen", amount("bytes with layouts chosen to copy least"), &LayerFloor::chosen_copies}};
  return keys;
}

Json layouts(const cost::LayerFloor& floor) {
  Json result = Json::object();
  for (const auto& [tensor, dims] : floor.reordered) result[tensor] = dims;
  return result;
}

Json classes(const Layer& of) {
  Json result = Json::object();
  for (std::size_t i = 0; i < cost::k_operator_classes; ++i) {
    const auto kind = static_cast<cost::OperatorClass>(i);
    result[std::string(cost::name(kind))] =
        class_keys().json({.floor = of.floor(), .kind = kind, .time = of.answer.class_time(of.layer, kind)});
  }
  return result;
}

Json operators(const Layer& of) {
  Json result = Json::array();
  for (std::size_t i = 0; i < of.floor().operators.size(); ++i)
    result.push_back(operator_keys().json({.answer = of.answer, .layer = of.layer, .index = i}));
  return result;
}

const Described<Layer>& layer_keys() {
  static const Described<Layer> keys{
      {"name", text("of the class of layers"), [](const auto& of) { return of.layer.name; }},
      {"count", count("layers of this class in the model"), [](const auto& of) { return of.layer.count; }},
      {"flops", amount("FLOP of one such layer"), [](const auto& of) { return of.layer.flops(); }},
      {"separate_bytes", amount("bytes that the operators must move when each goes through memory"),
       [](const auto& of) { return of.floor().separate; }},
      {"unfused_bytes", amount("bytes that they move so, each in its best tiles"),
       [](const auto& of) { return of.floor().unfused; }},
      {"fused_rows_bytes", amount("bytes with operators fused that are no contractions"),
       [](const auto& of) { return of.floor().fused_rows; }},
      {"fused_bytes", amount("bytes with contractions fused, too"), [](const auto& of) { return of.floor().fused; }},
      Key<Layer>("lower_bytes", amount("bytes that any execution of the layer must move"),
                 [](const auto& of) { return of.floor().lower_bytes; })
          .listed_behind("layouts"),
      {"layout_copies_bytes",
       described(layout_copies_keys().schema(), "what changing the order of dimensions in memory costs"),
       [](const auto& of) { return layout_copies_keys().json(of.floor()); }},
      {"layouts", described(object_of(text()), "the chosen order of dimensions, by tensor"),
       [](const auto& of) { return layouts(of.floor()); }},
      {"method", text("how that bound was proved"), [](const auto& of) { return of.floor().method; }},
      {"classes", described(object_of(class_keys().schema()), "the same by class of operator"), classes},
      {"groups", described(list_of(group_keys().schema()), "operators that are fused with one another"),
       [](const auto& of) { return group_keys().list(of.floor().groups); }},
      {"operators", described(list_of(operator_keys().schema()), "one by one"), operators}};
  return keys;
}

}  // namespace
}  // namespace schema

std::string json(const bound::Answer& answer, const Tool& tool, int indent) {
  Json document = whole_keys().json(whole(answer, tool));
  if (answer.machine) document["machine"] = machine_keys().json(answer);
  if (answer.moves) document["moves"] = moves_keys().json(*answer.moves);
  for (const LevelRow& row : answer.levels)
    document["levels"].push_back(level_keys().json({.row = row, .bytes_per_word = answer.bytes_per_word}));
  if (answer.devices) document["devices"] = devices_keys().json(*answer.devices);
  if (answer.nodes) document["nodes"] = nodes_keys().json(*answer.nodes);
  if (answer.network) document["network"] = network_keys().json(*answer.network);
  if (!answer.locality.empty()) document["locality"] = locality_keys().list(answer.locality);
  return core::json_text(document, indent);
}

std::string json(const bound::LayersAnswer& answer, const Tool& tool, int indent) {
  Json document = whole_keys().json(whole(answer, tool));
  document["layers"] = Json::array();
  for (const LayerAnswer& each : answer.layers)
    document["layers"].push_back(layer_keys().json({.answer = answer, .layer = each}));
  return core::json_text(document, indent);
}

std::string bound_schema() {
  Json body = whole_keys().schema();
  Json& properties = body["properties"];
  properties["machine"] = described(machine_keys().schema(), "with --accelerator: its device memory");
  properties["layers"] = described(list_of(layer_keys().schema()), "with --model: its layers, each class once");
  properties["levels"] = described(list_of(level_keys().schema()),
                                   "with --accelerator: every level of its memory, from outside to inside");
  properties["devices"] = described(devices_keys().schema(), "with --devices: what some of them must exchange");
  properties["moves"] = described(moves_keys().schema(), "with --moves: a play that was followed");
  properties["nodes"] = described(nodes_keys().schema(), "with --devices, of a graph");
  properties["network"] = described(network_keys().schema(), "with --cluster: the links between devices");
  properties["locality"] = described(list_of(locality_keys().schema()), "with --locality: memories of many sizes");
  return core::json_text(document(k_bound_schema, std::move(body)), k_schema_indent);
}

}  // namespace cairn::report
