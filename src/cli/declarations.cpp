#include "declarations.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

#include "cairn/core/diagnostics.h"
#include "cairn/core/printable.h"
#include "cairn/core/read_file.h"
#include "command_help.h"

namespace cairn::cli {
namespace {

constexpr const char* k_dash = "-";
constexpr std::string_view k_common =
    "Options of every command: -q, -v, --stats, --color WHEN; see cairn --help. A file may be -: a standard stream.";

// One of a few words. CLI11's own checks show enumerations by their bytes.
CLI::Validator one_of(const std::vector<std::string>& words) {
  return {[words](std::string& text) -> std::string {
            if (std::find(words.begin(), words.end(), text) != words.end()) return {};
            return fmt::format("{} is not one of {}", core::quoted(text), fmt::join(words, ", "));
          },
          ""};
}

CLI::Validator dash_is(const char* stream) {
  return {[stream](std::string& text) -> std::string {
            if (text == k_dash) text = stream;
            return {};
          },
          ""};
}

}  // namespace

CLI::Validator at_least(std::int64_t least) {
  return {[least](std::string& text) -> std::string {
            std::int64_t value = 0;
            const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
            if (error != std::errc() || end != text.data() + text.size())
              return fmt::format("{} is no whole number", core::quoted(text));
            return value < least ? fmt::format("{} is less than {}", value, least) : std::string();
          },
          ""};
}

void Declarations::add_output(CLI::App& sub, const char* names, std::string& target, const char* description) {
  // An empty name would mean that nothing is written, without a word.
  const CLI::Validator named{
      [](std::string& file) { return file.empty() ? std::string("the file has no name") : std::string(); }, ""};
  outputs_.insert(sub.add_option(names, target, description)->type_name(k_file)->check(named));
}

CLI::Option* Declarations::choose(CLI::Option* option, const std::vector<std::string>& words) {
  return suggest(option, words)->check(one_of(words));
}

CLI::Option* Declarations::choose_or_file(CLI::Option* option, const std::vector<std::string>& words,
                                          std::string_view suffix) {
  return suggest(option, words)
      ->check({[words, suffix](std::string& text) -> std::string {
                 if (text.ends_with(suffix)) return {};
                 const std::string wrong = one_of(words)(text);
                 return wrong.empty() ? wrong : fmt::format("{}, nor a file {}", wrong, suffix);
               },
               ""});
}

CLI::Option* Declarations::suggest(CLI::Option* option, std::vector<std::string> words) {
  words_[option] = std::move(words);
  return option;
}

CLI::Option* Declarations::name_of(CLI::Option* option, std::vector<std::string> kinds) {
  kinds_[option] = std::move(kinds);
  return option;
}

CLI::Option* Declarations::add_keys(CLI::App& sub, const char* name, std::vector<std::string>& target,
                                    std::vector<std::string> documents, const char* description) {
  CLI::Option* option = sub.add_option(name, target, description)->allow_extra_args(false);
  documents_[option] = std::move(documents);
  return option;
}

void Declarations::add_overrides(CLI::App& sub, std::vector<std::string>& overrides, std::vector<std::string> documents,
                                 const char* description) {
  add_keys(sub, "--set", overrides, std::move(documents), description)->type_name("KEY=VALUE");
}

void Declarations::example(CLI::App& sub, const std::string& call, const std::string& more) {
  sub.footer(fmt::format("Example: {}\n{}{}{}", call, more, more.empty() ? "" : "\n", k_common));
}

bool Declarations::names_file(const CLI::Option* option) const {
  const auto kinds = kinds_.find(option);
  return option->get_type_name() == k_file || (kinds != kinds_.end() && kinds->second.front() != k_families);
}

void Declarations::declare_when_asked(CLI::App& sub, std::function<void()> declare) {
  undeclared_[&sub] = std::move(declare);
  sub.preparse_callback([this, &sub](std::size_t) { this->declare(sub); });
}

void Declarations::declare(CLI::App& sub) {
  const auto options = undeclared_.extract(&sub);
  if (options.empty()) return;
  options.mapped()();
  read_dashes(sub);
}

void Declarations::declare_all(CLI::App& app) {
  declare(app);
  for (CLI::App* sub : commands_of(&app)) declare_all(*sub);
}

void Declarations::read_dashes(CLI::App& sub) {
  for (CLI::Option* option : sub.get_options())
    if (names_file(option))
      option->transform(dash_is(outputs_.contains(option) ? k_standard_output : core::k_standard_input));
}

const CLI::App* Declarations::asked_command() const {
  const CLI::App* app = &app_;
  while (!app->get_subcommands().empty()) app = app->get_subcommands().front();
  return app;
}

NamedFiles Declarations::named_files() const {
  NamedFiles files;
  for (const CLI::Option* option : asked_command()->get_options()) {
    std::vector<std::string>& names = outputs_.contains(option) ? files.written : files.read;
    names.insert(names.end(), option->results().begin(), option->results().end());
  }
  if (std::count(files.read.begin(), files.read.end(), core::k_standard_input) > 1)
    throw core::ConfigurationError(full_name(asked_command()), "standard input was named twice, and can be read once",
                                   "write one of the two to a file");
  return files;
}

std::vector<std::string> Declarations::known(const WordsOfOptions& all, const CLI::Option* option) {
  const auto found = all.find(option);
  return found == all.end() ? std::vector<std::string>{} : found->second;
}

OptionWords Declarations::words_of(const CLI::Option* option) const {
  OptionWords words{.names = {},
                    .choices = known(words_, option),
                    .names_of = known(kinds_, option),
                    .keys_of = known(documents_, option),
                    .description = option->get_description(),
                    .value = option->get_items_expected_max() > 0 ? option->get_type_name() : "",
                    .takes_file = option->get_type_name() == k_file};
  if (option->get_positional()) words.names.push_back(option->get_name());
  for (const std::string& name : option->get_lnames()) words.names.push_back("--" + name);
  for (const std::string& name : option->get_snames()) words.names.push_back("-" + name);
  return words;
}

CommandTree Declarations::tree() {
  declare_all(app_);
  return tree(app_);
}

CommandTree Declarations::tree(const CLI::App& app) const {
  CommandTree result{.name = app.get_name(),
                     .description = app.get_description(),
                     .options = {},
                     .argument = {},
                     .remarks = app.get_footer(),
                     .commands = {}};
  for (const CLI::Option* option : app.get_options()) {
    if (option->get_positional())
      result.argument = words_of(option);
    else
      result.options.push_back(words_of(option));
  }
  for (const CLI::App* sub : commands_of(&app)) result.commands.push_back(tree(*sub));
  return result;
}

}  // namespace cairn::cli
