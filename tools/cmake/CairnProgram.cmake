# What the command line alone knows: its version and build, and where configurations lie.
include(GNUInstallDirs)

target_compile_definitions(cairn_cli PRIVATE
  CAIRN_VERSION="${PROJECT_VERSION}"
  CAIRN_BUILD="$<LOWER_CASE:$<CONFIG>>"
  CAIRN_DATADIR="${CMAKE_INSTALL_DATADIR}"
  CAIRN_SOURCE_CONFIGS="${PROJECT_SOURCE_DIR}/configs")
