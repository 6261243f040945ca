# What the command line alone knows: its version and build. Where configurations lie.
include(GNUInstallDirs)

target_compile_definitions(cairn_cli PRIVATE
  CAIRN_VERSION="${PROJECT_VERSION}"
  CAIRN_BUILD="$<LOWER_CASE:$<CONFIG>>")
target_compile_definitions(cairn_config PRIVATE
  CAIRN_DATADIR="${CMAKE_INSTALL_DATADIR}"
  CAIRN_INSTALLED_CONFIGS="${CMAKE_INSTALL_FULL_DATADIR}/cairn/configs"
  CAIRN_SOURCE_CONFIGS="${PROJECT_SOURCE_DIR}/configs")
