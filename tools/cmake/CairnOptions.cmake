set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

option(CAIRN_TESTS "Build the tests" ON)
option(CAIRN_ASSERTIONS "Check invariants in every build type" ON)
option(CAIRN_WERROR "Treat warnings as errors" OFF)
option(CAIRN_TIDY "Run clang-tidy on every source; findings are errors" OFF)
option(CAIRN_COVERAGE "Instrument for gcov" OFF)
option(CAIRN_UNITY "Compile several sources of a module at once: a shorter build of the whole, a longer one after a change" OFF)
set(CAIRN_PROBE AUTO CACHE STRING "Build cairn-probe, which measures GPUs: ON, OFF, or AUTO (where nvcc is found)")
set_property(CACHE CAIRN_PROBE PROPERTY STRINGS AUTO ON OFF)
set(CAIRN_MPI AUTO CACHE STRING "Searches by several processes, and cairn-attention-mpi, over MPI: ON, OFF, or AUTO (where MPI is found)")
set_property(CACHE CAIRN_MPI PROPERTY STRINGS AUTO ON OFF)
set(CAIRN_SANITIZE "" CACHE STRING "Sanitizers, as in -fsanitize= (for example address,undefined)")
set(CAIRN_TESTS_WITHOUT "" CACHE STRING "Those of CAIRN_SANITIZE that sources of tests do without, as in -fno-sanitize=")

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()

find_program(CAIRN_CCACHE ccache)
if(CAIRN_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  # Precompiled headers: what they define, dates included, does not change from one source to the next.
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_SLOPPINESS=pch_defines,time_macros ${CAIRN_CCACHE})
endif()

if(CAIRN_TIDY)
  find_program(CAIRN_CLANG_TIDY clang-tidy REQUIRED)
  set(CMAKE_CXX_CLANG_TIDY ${CAIRN_CLANG_TIDY} --quiet --warnings-as-errors=*)
endif()

# Every target of the project links this; installed packages do not see it.
add_library(cairn_flags INTERFACE)
target_compile_options(cairn_flags INTERFACE
  -Wall -Wextra -Wshadow -Wconversion -Wno-sign-conversion -Wnon-virtual-dtor
  -ffp-contract=off                             # the same prices on machines with and without fused multiply-add
  -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=)   # no path of the building machine in messages
# g++ 12 sees overlapping copies in plain string concatenation (GCC bug 105651).
target_compile_options(cairn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
# Nor does it take precompiled library headers for those of a system: it warns of what it mistakes in them.
if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
  foreach(mistake array-bounds stringop-overflow stringop-overread)
    target_compile_options(cairn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-${mistake}>)
  endforeach()
endif()
# A source compiled with others is a header to the compiler: types of its own in its classes look like a mistake.
if(CAIRN_UNITY)
  target_compile_options(cairn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()
if(CAIRN_WERROR)
  target_compile_options(cairn_flags INTERFACE -Werror)
endif()
if(CAIRN_SANITIZE)
  target_compile_options(cairn_flags INTERFACE -fsanitize=${CAIRN_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    $<$<BOOL:$<TARGET_PROPERTY:CAIRN_WITHOUT>>:-fno-sanitize=$<TARGET_PROPERTY:CAIRN_WITHOUT>>)
  target_link_options(cairn_flags INTERFACE -fsanitize=${CAIRN_SANITIZE})
  # A sanitized program starts in half the time where nothing is relocated, and tests start it a thousand times.
  target_link_options(cairn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-no-pie>)
  # Its manual says so: with sanitizers g++ cannot tell what is initialised.
  target_compile_options(cairn_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
if(CAIRN_COVERAGE)
  target_compile_options(cairn_flags INTERFACE --coverage)
  target_link_options(cairn_flags INTERFACE --coverage)
endif()
