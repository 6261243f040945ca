// What experiments may name: the shipped configurations as JSON, which is read many times faster than YAML, and
// frameworks drawn at random, since an experiment names its framework by a file.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "cairn/config/loader.h"
#include "draw.h"
#include "support/temporary_folder.h"

namespace cairn::laws {

class Shelf {
 public:
  Shelf();

  struct Accelerator {
    Json block;                           // everything resolved
    std::vector<std::string> recipes;     // of configs/precision that it has units for
    std::vector<std::string> attentions;  // kernels that it has timings of
  };
  struct Cluster {
    std::int64_t gpus = 1;
    std::int64_t gpus_per_node = 1;
    std::string accelerator;
    bool intra = false;  // it describes these networks
    bool inter = false;
    bool host = false;
    bool drives = false;
  };
  struct Model {
    Json block;
    bool huggingface = false;
  };
  struct Framework {
    bool sharding_with_pipeline = true;
    std::string attention;
    Json drawn;  // what its file says; null of shipped ones
  };

  const config::Loader& loader() const { return loader_; }
  const std::filesystem::path& folder() const { return folder_.path(); }
  std::map<std::string, Accelerator> accelerators;
  std::map<std::string, Cluster> clusters;
  std::map<std::string, Model> models;
  std::map<std::string, Json> recipes;
  std::map<std::string, Framework> frameworks;  // with releases, as experiments write them
  std::vector<std::string> calibrations;
  std::vector<std::string> fabrics;

 private:
  void copy_shipped();
  void read_shipped();
  void add_frameworks();

  test::TemporaryFolder folder_;
  config::Loader loader_;
};

template <class T>
std::vector<std::string> names_of(const std::map<std::string, T>& all) {
  std::vector<std::string> names;
  for (const auto& [name, value] : all) names.push_back(name);
  return names;
}

}  // namespace cairn::laws
