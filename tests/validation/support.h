#pragma once

#include <filesystem>

#include "cairn/config/loader.h"
#include "support/complaints.h"
#include "support/temporary_folder.h"

namespace cairn::validation::test {

using cairn::test::complaints;
using cairn::test::contains;
using Folder = cairn::test::TemporaryFolder;

inline config::Loader shipped() { return config::Loader({std::filesystem::path(CAIRN_SOURCE_DIR) / "configs"}); }

}  // namespace cairn::validation::test
