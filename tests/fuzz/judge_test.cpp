// The judge finds what it is there to find.
#include <nlohmann/json.hpp>

#include "catch.h"
#include "fuzz/attack/call.h"
#include "fuzz/attack/judge.h"
#include "fuzz/attack/printable.h"

namespace cairn::attack {
namespace {

using Json = nlohmann::json;

Answer answered(const Json& document) {
  Answer answer;
  answer.out = document.dump() + "\n";
  return answer;
}

Json small_run() {
  const Answer answer = call_here({"cairn", "run", "small.yaml", "--json"});
  INFO(answer.err);
  REQUIRE(answer.code == 0);
  return Json::parse(answer.out);
}

}  // namespace

TEST_CASE("a right answer is not complained about", "[fuzz]") {
  const Scratch scratch;
  CHECK_FALSE(complaint(answered(small_run())));
}

TEST_CASE("wrong figures are complained about", "[fuzz]") {
  const Scratch scratch;
  const Json right = small_run();
  const auto complained = [&](const char* pointer, const Json& value) {
    Json wrong = right;
    wrong[Json::json_pointer(pointer)] = value;
    return complaint(answered(wrong)).value_or("");
  };
  CHECK(complained("/result/iteration_time_s", nullptr) == "cairn.run/1.result.iteration_time_s is no number");
  CHECK(complained("/result/mfu", -0.5) == "cairn.run/1.result.mfu is negative");
  CHECK(complained("/result/time_s/host", 5.0) == "the parts of the time do not add up to it");
  CHECK(complained("/result/memory_bytes/stages/0/optimizer", 1.0) == "the parts of the memory do not add up to it");
  CHECK(complained("/result/undescribed", 1) == "cairn.run/1.result.undescribed is not described");
}

TEST_CASE("wrong exit codes and streams are complained about", "[fuzz]") {
  const auto complained = [](int code, std::string out, std::string err) {
    Answer answer;
    answer.code = code;
    answer.out = std::move(out);
    answer.err = std::move(err);
    return complaint(answer).value_or("");
  };
  CHECK(complained(0, "as it should be\n", "").empty());
  CHECK(complained(70, "", "before\ncairn: internal error: x\nmore") == "cairn: internal error: x");
  CHECK(complained(-11, "", "") == "ended by signal 11");
  CHECK(complained(5, "", "") == "exit code 5");
  CHECK(complained(2, "", "") == "refused without a word");
  CHECK(complained(2, "", "\x1b[31m") == "standard error holds a control character");
  CHECK(complained(0, "{\"schema\": ", "") == "standard output is no JSON, it ends: {\"schema\": ");
}

TEST_CASE("what is printable", "[fuzz]") {
  CHECK_FALSE(unprintable("a line\nand another: \xc3\xa9 \xe2\x82\xac \xf0\x9f\x99\x82"));
  CHECK(unprintable("\t") == "a control character");
  CHECK(unprintable("\xc2\x9b") == "a control character");
  CHECK(unprintable("\xe2\x80\xae") == "a character that parts lines or turns their direction");
  CHECK(unprintable("\x7f") == "a control character");
  CHECK(unprintable("\x80") == "bytes that are no UTF-8");
  CHECK(unprintable("\xe2\x80") == "bytes that are no UTF-8");
  CHECK(unprintable("\xc3(") == "bytes that are no UTF-8");
}

}  // namespace cairn::attack
