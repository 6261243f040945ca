// Commands as CLI11 knows them: what is said about them, and where another word came.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
}

namespace cairn::cli {

// Below the commands in `cairn --help`: an example, exit codes, variables of the environment.
std::string_view program_help();

std::vector<CLI::App*> commands_of(const CLI::App* app);
std::vector<std::string> command_names(const CLI::App* app);

// "cairn config list"
std::string full_name(const CLI::App* app);
std::string help_text(const CLI::App* app);

// Throws core::ConfigurationError with the commands there are, the nearest first.
[[noreturn]] void refuse_command(const CLI::App* app, const std::string& word);

}  // namespace cairn::cli
