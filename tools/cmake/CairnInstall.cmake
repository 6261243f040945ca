# Headers, static libraries, the program, the shipped configurations, and a package for find_package(cairn).
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/cairn)
get_property(modules GLOBAL PROPERTY CAIRN_MODULES)
list(TRANSFORM modules PREPEND cairn_ OUTPUT_VARIABLE targets)
set_target_properties(cairn_yaml PROPERTIES EXPORT_NAME yaml)

install(TARGETS ${targets} cairn_yaml EXPORT cairnTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET cairn)
  install(TARGETS cairn RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES ${PROJECT_BINARY_DIR}/cairn.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
if(TARGET cairn-mpi)
  install(TARGETS cairn-mpi LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/cairn)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cairn DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h"
        PATTERN "*.def")
install(DIRECTORY ${PROJECT_SOURCE_DIR}/configs DESTINATION ${CMAKE_INSTALL_DATADIR}/cairn)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/validate/published DESTINATION ${CMAKE_INSTALL_DATADIR}/cairn/validate)

install(EXPORT cairnTargets NAMESPACE cairn:: DESTINATION ${package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/cairnConfig.cmake.in ${PROJECT_BINARY_DIR}/cairnConfig.cmake
                              INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cairnConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cairnConfig.cmake ${PROJECT_BINARY_DIR}/cairnConfigVersion.cmake DESTINATION ${package_dir})
