// Which files an answer rests on.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace cairn::config {

struct SourceFile {
  std::string kind = {};              // the folder of its kind: "calibration", "clusters"
  std::filesystem::path file = {};    // as it was opened
  std::filesystem::path folder = {};  // the search folder that it was found in; empty: another place
  std::string sha256 = {};            // of its bytes, in hexadecimal digits, as sha256sum prints it

  // h100-sxm5-80gb for calibration/h100-sxm5-80gb.yaml, llama-3.1-8b for models/llama-3.1-8b/config.json.
  std::string name() const;
  // The file without a trace of where its user keeps things: from its search folder on; else from `home` on when it
  // lies below; else its bare name.
  std::string portable(const std::filesystem::path& home) const;
};

// Each file once, in the order first read.
class Sources {
 public:
  void add(SourceFile source);
  const std::vector<SourceFile>& all() const { return all_; }
  // The record of `file`; null pointer when it was not read.
  const SourceFile* find(const std::filesystem::path& file) const;

 private:
  std::vector<SourceFile> all_;
};

}  // namespace cairn::config
