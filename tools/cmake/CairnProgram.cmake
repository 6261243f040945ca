# What the command line alone knows: its version and build. Where configurations lie. The manual of the program.
include(GNUInstallDirs)

target_compile_definitions(cairn_cli PRIVATE
  CAIRN_VERSION="${PROJECT_VERSION}"
  CAIRN_BUILD="$<LOWER_CASE:$<CONFIG>>"
  CAIRN_LIBDIR="${CMAKE_INSTALL_LIBDIR}")
target_compile_definitions(cairn_config PRIVATE
  CAIRN_DATADIR="${CMAKE_INSTALL_DATADIR}"
  CAIRN_INSTALLED_CONFIGS="${CMAKE_INSTALL_FULL_DATADIR}/cairn/configs"
  CAIRN_SOURCE_CONFIGS="${PROJECT_SOURCE_DIR}/configs")

# cairn_manual(PROGRAM FILE): the manual page that the program writes of itself, made whenever it is built.
function(cairn_manual program file)
  add_custom_command(TARGET ${program} POST_BUILD COMMAND ${program} help --man > ${file} BYPRODUCTS ${file} VERBATIM)
endfunction()

# cairn_mpi(SOURCE): cairn-mpi.so, which the program loads where it is one of several processes; where MPI is found.
function(cairn_mpi source)
  if(NOT MPI_CXX_FOUND)   # FindMPI leaves its target behind where it found nothing
    return()
  endif()
  add_library(cairn-mpi MODULE ${source})
  target_include_directories(cairn-mpi PRIVATE ${PROJECT_SOURCE_DIR}/include)
  target_link_libraries(cairn-mpi PRIVATE cairn_flags MPI::MPI_CXX)
  set_target_properties(cairn-mpi PROPERTIES PREFIX "" SUFFIX ".so")
endfunction()
