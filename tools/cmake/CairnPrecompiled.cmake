# Headers of libraries that nearly every source reads, read once: more than half of a build goes into reading headers.
# The dev preset does without, so that every source still names what it uses.

# cairn_precompiled(NAME HEADERS <headers> LIBRARIES <targets> [OPTIONS <flags>]): a target whose headers others take
# over. They must be compiled with the same options.
function(cairn_precompiled name)
  cmake_parse_arguments(P "" "" "HEADERS;LIBRARIES;OPTIONS" ${ARGN})
  set(source ${PROJECT_BINARY_DIR}/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "")
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PRIVATE cairn_flags ${P_LIBRARIES})
  target_include_directories(${name} SYSTEM PRIVATE ${Boost_INCLUDE_DIRS})
  target_compile_features(${name} PRIVATE cxx_std_20)
  target_compile_options(${name} PRIVATE ${P_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${P_HEADERS})
endfunction()

# What runs once, text and tests, takes longer to optimise than to run.
set(CAIRN_QUICK_BUILD $<$<CONFIG:Release>:-O1>$<$<CONFIG:Debug>:-O0>)
set(headers <algorithm> <array> <cmath> <cstdint> <filesystem> <fstream> <functional> <limits> <map> <memory> <optional>
            <set> <span> <sstream> <string> <string_view> <unordered_map> <utility> <variant> <vector>
            <boost/container/small_vector.hpp>)
cairn_precompiled(cairn_headers HEADERS ${headers} <fmt/format.h> LIBRARIES fmt::fmt)
cairn_precompiled(cairn_text_headers HEADERS ${headers} <fmt/format.h> LIBRARIES fmt::fmt
                  OPTIONS ${CAIRN_QUICK_BUILD})
if(CAIRN_TESTS)
  cairn_precompiled(cairn_test_headers HEADERS ${headers} ${PROJECT_SOURCE_DIR}/tests/catch.h
                    LIBRARIES cairn_catch OPTIONS ${CAIRN_QUICK_BUILD})
  set_target_properties(cairn_test_headers PROPERTIES CAIRN_WITHOUT "${CAIRN_TESTS_WITHOUT}")
endif()
