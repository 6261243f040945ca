// What a launch script hands on, against what bash does with the same lines.
#include <string>
#include <vector>

#include "catch.h"
#include "imports.h"
#include "megatron_patterns.h"
#include "shell.h"

using namespace cairn;
using Words = std::vector<std::string>;

namespace {

Words words(const std::string& script, const std::vector<std::string>& definitions = {}) {
  Words result;
  for (const launch::Word& each : launch::read_script(script, "s", definitions).arguments) result.push_back(each.text);
  return result;
}

std::string refusal(const std::string& script) {
  try {
    words(script);
  } catch (const core::ConfigurationError& error) {
    return error.what();
  }
  return "accepted";
}

bool refused(const std::string& script, const std::string& part) {
  const std::string text = refusal(script);
  INFO(text);
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("Words are split, quoted and joined as a shell does") {
  CHECK(words("p.py --a 1 '--b  2' \"c d\" e\\ f # g") == Words{"--a", "1", "--b  2", "c d", "e f"});
  CHECK(words("X='1  2'\np.py $X \"$X\" a${X}b") == Words{"1", "2", "1  2", "a1", "2b"});
  CHECK(words("A=(--x 1 '--y 2')\np.py ${A[@]} . \"${A[@]}\"") ==
        Words{"--x", "1", "--y", "2", ".", "--x", "1", "--y 2"});
  CHECK(words("A=(1)\nA+=(2 3)\nB=4\nB+=5\np.py ${A[@]} $B") == Words{"1", "2", "3", "45"});
  CHECK(words("p.py \\\n  --a \\\n  1\n") == Words{"--a", "1"});
  CHECK(words("p.py ${N:-7} ${M:-\"8 9\"} ${N-a}", {"M="}) == Words{"7", "8", "9", "a"});
  CHECK(words("p.py $((2 * (3 + 4) / 5 - N % 4))", {"N=7"}) == Words{"-1"});
  CHECK(words("p.py \"\" '' $NONE \"${NONE[@]}\"") == Words{"", ""});
  CHECK(words("A=1 B=2 python -u p.py --n $(nproc) > log 2>&1 | tee x") == Words{"--n", "$(nproc)"});
  CHECK(words("--a 1 \\\n--b 2\n--c") == Words{"--a", "1", "--b", "2", "--c"});
}

TEST_CASE("Conditions choose as a shell does") {
  const std::string choose = "; then p.py yes; else p.py no; fi";
  for (const char* test : {"[ 1 -eq 1 ]", "[[ \"$A\" == a ]]", "[ -z $NONE ]", "[[ -n $A && $A != b ]]",
                           "[[ -z $A || $A = a ]]", "[ 2 -gt 1 ] && [ -n \"$A\" ]", "[ ! -z $A ]", "[ -f file ]"})
    CHECK(words("A=a\nif " + std::string(test) + choose) == Words{"yes"});
  for (const char* test :
       {"[ 1 -ne 1 ]", "[[ $A == b ]]", "[ -n \"$NONE\" ]", "[ -z $A ] || [ 1 -gt 2 ]", "[[ ! -n $A ]]"})
    CHECK(words("A=a\nif " + std::string(test) + choose) == Words{"no"});
  CHECK(
      words(
          "if [ 1 -eq 2 ]; then\n X=1\nelif [ 1 -eq 1 ]; then\n if [ 1 -eq 1 ]; then X=2; fi\nelse X=3; fi\np.py $X") ==
      Words{"2"});
}

TEST_CASE("What is no such script is refused with its place") {
  CHECK(refused("for i in 1 2; do\np.py $i\ndone", "s:1:1: error: 'for' is not read"));
  CHECK(refused("A='b\np.py $A", "s:1:3: error: a quote that is not closed"));
  CHECK(refused("A=(1 2\n", "s:1:1: error: an array that is not closed"));
  CHECK(refused("p.py ${A/b/c}", "s:1:6: error: this form of ${...} is not read"));
  CHECK(refused("p.py $((N * 2))", "s:1:9: error: 'N' is not set"));
  CHECK(refused("p.py $((9223372036854775807 + 1))", "beyond 64 bits"));
  CHECK(refused("p.py $((1 / 0))", "not positive"));
  CHECK(refused("source other.sh", "s:1:1: error: 'source' takes words from elsewhere"));
  CHECK(refused("a.py --x\nb.py --y", "s:2:1: error: a second training program"));
  CHECK(refused("if true; then p.py; fi", "s:1:4: error: a condition that is no test"));
  CHECK(refused("if [ 1 -eq 1 ]; then p.py", "s:1:1: error: an if that is not closed"));
  CHECK(refused("f() { p.py; }", "s:1:2: error: a parenthesis"));
  CHECK(refused("cat <<END\nEND", "a here-document"));
  CHECK(refused(std::string("p.py \0", 6), "no text in UTF-8"));
  CHECK(refused(
      "A=12345678901234567890\n" +
          [] {
            std::string doubling;
            for (int i = 0; i < 40; ++i) doubling += "A=$A$A\n";
            return doubling;
          }(),
      "longer than 1 MiB"));
}

TEST_CASE("Arguments that contradict each other, are missing or have the wrong kind are refused with their place") {
  const std::string least =
      "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 "
      "--micro-batch-size 1 --global-batch-size 8 --vocab-size 1000\n";
  using cairn::testing::refusal;
  const auto says = [&](const std::string& more, const std::string& part) {
    const std::string text = refusal("megatron", least + more);
    INFO(text);
    return text.find(part) != std::string::npos;
  };
  CHECK(refusal("megatron", least) == "accepted");
  CHECK(says("--fp16 --bf16", "train:2:1: error: --fp16: beside --bf16"));
  CHECK(says("--num-layers two", "train:2:14: error: --num-layers: 'two' is no count"));
  CHECK(says("--tensor-model-parallel-size", "--tensor-model-parallel-size: has no value"));
  CHECK(says("--pipeline-model-parallel-size 2 3", "'3' is a second value"));
  CHECK(says("--swiglu yes", "'yes' follows a word that takes no value"));
  CHECK(says("--optimizer muon", "--optimizer: 'muon' has no counterpart"));
  CHECK(says("--position-embedding-type relative", "use one of learned_absolute, rope, yarn, none"));
  CHECK(says("--recompute-granularity full", "full needs --recompute-method"));
  CHECK(says("--overlap-param-gather", "without --use-distributed-optimizer"));
  CHECK(says("--fp8-format hybrid", "without --bf16"));
  CHECK(says("--bf16 --fp8-format hybrid --fp8-recipe custom", "'custom' has no counterpart"));
  CHECK(says("--num-experts 4 --moe-layer-freq [0]*3", "a pattern of 3 layers for 2"));
  CHECK(refusal("megatron", "--num-layers 0" + least.substr(least.find(" --hidden-size"))).find("layers") !=
        std::string::npos);
  CHECK(says("--train-iters 1 --train-samples 2", "beside --train-samples"));
  CHECK(says("--num-virtual-stages-per-pipeline-rank 2 --pipeline-model-parallel-layout Et|tL",
             "beside --pipeline-model-parallel-layout"));
  CHECK(refusal("megatron", "--num-layers 2").find("--hidden-size: is missing") != std::string::npos);
  CHECK(refusal("megatron", "").find("no arguments") != std::string::npos);
  CHECK(refusal("megatron", "just words\n").find("no arguments") != std::string::npos);
  CHECK(refusal("deepspeed", least).find("use one of megatron") != std::string::npos);
  CHECK(refusal("megatron",
                "--num-layers 2 --hidden-size 64 --num-attention-heads 4 --seq-length 128 --micro-batch-size 1 "
                "--global-batch-size 8")
            .find("model.vocab=") != std::string::npos);
}

TEST_CASE("Patterns of layers") {
  using Pattern = std::vector<std::int64_t>;
  CHECK(launch::layer_pattern("[0]*2+[1]*3") == Pattern{0, 0, 1, 1, 1});
  CHECK(launch::layer_pattern("([1,1]+[0])*2") == Pattern{1, 1, 0, 1, 1, 0});
  for (const char* text : {"", "[", "[1]*", "[1]*99999999", "([1]", "1", "[1]]", "[-1]"})
    CHECK_FALSE(launch::layer_pattern(text));
  CHECK(launch::pattern_text({0, 0, 1}) == "[0]*2+[1]*1");
}
