// Launch arguments of training frameworks as experiments, and experiments as launch arguments.
//
//   experiment file  --export-->  torchrun pretrain_gpt.py --num-layers 80 ...  --import-->  experiment file
//
// What arguments carry comes back as it was: import(export(x)) resolves to the plan that x resolves to. Whatever has no
// counterpart on the other side is listed with its reason, never dropped. Arguments say nothing about the machine but
// its size: an import is told which cluster it is.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cairn/config/loader.h"
#include "cairn/config/node.h"
#include "cairn/experiment/job.h"

namespace cairn::launch {

// The frameworks, as commands name them.
std::vector<std::string> frameworks();

// What a framework's argument file is, for who is asked for one.
struct FileForm {
  std::string_view title;    // Megatron-LM's arguments
  std::string_view file;     // what the file holds
  std::string_view example;  // a name for one
};
// Throws core::ConfigurationError for an unknown framework.
FileForm file_form(std::string_view framework);

// What one side says and the other cannot.
struct Unsaid {
  std::string subject = {};  // an argument with its values, or a key with its value
  config::Place place = {};  // of an argument
  std::string reason = {};
};

// What arguments leave open.
struct Given {
  std::string cluster = {};                   // a name of configs/clusters, or a file
  std::optional<std::int64_t> nodes = {};     // default: what the launcher's words say, else the cluster's own
  std::vector<std::string> definitions = {};  // NAME=VALUE: variables of a script that it does not set
  std::vector<std::string> overrides = {};    // KEY=VALUE, laid over the experiment
};

struct Imported {
  config::Node experiment = {};         // every value has the place of its argument
  std::vector<std::string> notes = {};  // how the file was read
  std::vector<Unsaid> unsaid = {};
};

// Reads a framework's argument file. Throws core::ConfigurationError with everything wrong in it.
Imported import_arguments(std::string_view framework, std::string_view text, const std::string& file_name,
                          const Given& given, const config::Loader& loader);
// The experiment file, with notes and what is unsaid as comments.
std::string experiment_text(const Imported& imported);

struct Exported {
  std::string text = {};  // the argument file, with what is unsaid as comments
  std::vector<Unsaid> unsaid = {};
};

// Throws core::ConfigurationError for an unknown framework.
Exported export_arguments(std::string_view framework, const experiment::Job& job, const config::Loader& loader);

}  // namespace cairn::launch
