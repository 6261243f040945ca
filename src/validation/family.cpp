#include "cairn/validation/family.h"

namespace cairn::validation {

using config::Fields;
using config::Value;

namespace {

void describe_words(Fields& fields, std::string_view key, std::vector<std::pair<std::string, std::string>>& words,
                    std::string_view doc) {
  fields.map(key, words, {.doc = doc}, [](Value& value, std::string& text) { value.text(text); });
}

}  // namespace

void describe(Fields& fields, Band& band) {
  fields.number("mean", band.mean, {.doc = "largest mean error that passes, 0.05 = 5 %", .positive = true});
  fields.number("max", band.max, {.doc = "largest error of a row that passes", .positive = true});
}

void describe(Fields& fields, Doubted& doubted) {
  describe_words(fields, "rows", doubted.rows, "column -> value of the rows that are meant; absent: all");
  fields.number("slower", doubted.slower,
                {.doc = "of them those measured above so many times the prediction", .positive = true});
  fields.text("reason", doubted.reason, {.doc = "why they are believed mis-stated", .required = true});
}

void describe(Fields& fields, Correction& correction) {
  describe_words(fields, "columns", correction.columns,
                 "column of the file or of `columns` -> its value in place of theirs");
  describe_words(fields, "rows", correction.rows, "column -> value of the rows that are meant; absent: all");
  fields.text("reason", correction.reason, {.doc = "where the value is from", .required = true});
}

void describe(Fields& fields, Noted& noted) {
  fields.texts(
      "words", noted.words,
      {.doc = "options and settings, all of which a row's notes have; absent: every row's", .minimum_size = 1});
  fields.texts("without", noted.without, {.doc = "and none of these"});
  fields.node("strategy", noted.strategy, {.doc = "keys of an experiment's strategy, over those of such rows"});
  fields.node("framework", noted.framework, {.doc = "keys of a framework's profile, over that of such rows"});
  describe_words(fields, "attention", noted.attention, "attention kernel of the file -> of an experiment");
}

void describe(Fields& fields, Family& family) {
  fields.text("title", family.title, {.doc = "what was measured"});
  fields.text("release", family.release, {.doc = "of the framework, where rows name none"});
  describe_words(fields, "releases", family.releases, "attention kernel of the file -> release of the framework");
  describe_words(fields, "dated", family.dated, "word in a row's ref -> release of the framework");
  fields.text("cluster", family.cluster,
              {.doc = "whose latencies and fabric the rows take; default: the accelerator's"});
  fields.text("precision", family.precision,
              {.doc = "recipe of rows that assume their precision, or say fp8 and not how it scales"});
  fields.text("gradients", family.gradients, {.doc = "format in memory, in place of what the rows assume"});
  fields.text("reduce", family.reduce, {.doc = "format of gradients on the wire, beside gradients; default the same"});
  fields.check(
      "reduce", [&family] { return family.reduce.empty() || !family.gradients.empty(); }, "given without gradients",
      "give both");
  describe_words(fields, "columns", family.columns, "column that the file lacks -> its value in every row");
  fields.map("dropouts", family.dropouts, {.doc = "beginning of a model's name -> its dropout, in place of dropout"},
             [](Value& value, double& dropout) { value.number(dropout, {.maximum = 1.0}); });
  fields.number("dropout", family.dropout, {.doc = "where the file has no such column", .maximum = 1.0});
  fields.count("vocab_multiple", family.vocab_multiple,
               {.doc = "vocabulary padded to a multiple of this times the tensor-parallel degree", .minimum = 1});
  fields.flag("framework_cuts", family.framework_cuts,
              {.doc = "stages are the framework's; otherwise balanced where layers do not divide"});
  fields.flag("experts_as_tensor", family.experts_as_tensor,
              {.doc = "experts are split over as many ranks as other layers, where notes do not say otherwise"});
  fields.choice("flops", family.flops,
                {{"none", FlopConvention::none},
                 {"recomputed-gpt", FlopConvention::recomputed_gpt},
                 {"model", FlopConvention::model},
                 {"megatron", FlopConvention::megatron}},
                {.doc = "what a published FLOP/s counts"});
  describe_words(fields, "attention", family.attention, "attention kernel of the file -> of an experiment");
  describe_words(fields, "skip", family.skip, "word in a row's notes -> why it is not run");
  fields.objects("noted", family.noted, {.doc = "software that rows name in their notes, or their source says of all"});
  fields.objects("corrected", family.corrected,
                 {.doc = "fields that the file, or `columns`, have wrong: read as said here"});
  fields.objects("doubted", family.doubted, {.doc = "rows believed mis-stated: scored, and no part of intervals"});
  fields.object("band", family.band, {.doc = "errors that pass; absent: nothing is judged"});
}

void describe(Fields& fields, Words& words) {
  describe_words(fields, "skip", words.skip, "word in a row's notes -> why the row is no full training; empty: it is");
  describe_words(fields, "attention", words.attention, "attention kernel -> the one it is priced as");
  describe_words(fields, "dispatchers", words.dispatchers, "how routed tokens travel -> moe.dispatcher");
  fields.map("balance", words.balance, {.doc = "how routing is balanced -> moe.imbalance"},
             [](Value& value, double& imbalance) { value.number(imbalance, {.positive = true}); });
  fields.map("recompute", words.recompute, {.doc = "module of a framework -> operators of its layers"},
             [](Value& value, std::vector<std::string>& operators) { value.texts(operators, {.minimum_size = 1}); });
}

void describe(Fields& fields, Families& families) {
  std::int64_t version = 1;
  fields.count("version", version, {.doc = "of this format", .minimum = 1, .maximum = 1});
  describe_words(fields, "clusters", families.clusters,
                 "accelerator -> cluster whose latencies and fabric a row takes");
  fields.map("racks", families.racks, {.doc = "cluster in racks -> GPUs of each that a job of several fills"},
             [](Value& value, std::int64_t& gpus) { value.count(gpus, {.minimum = 1}); });
  fields.object("words", families.words, {.doc = "what rows write in the words of frameworks and logs"});
  fields.map("families", families.families, {.doc = "file name without .csv -> what holds for its rows"},
             [](Value& value, Family& family) { value.object(family); });
}

}  // namespace cairn::validation
