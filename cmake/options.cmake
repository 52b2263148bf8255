# Options of this project. Each is OFF or ON in plain words: a variable such as SKBUILD may hold "2", which option() reads as OFF.
# A guest in another project, also in one that scikit-build builds, makes its libraries and nothing else.
set(sima_top_level OFF)
set(sima_python OFF)
if(CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  if(SKBUILD)
    set(sima_python ON)
  else()
    set(sima_top_level ON)
  endif()
endif()

option(SIMA_KERNELS_TESTS "Build the C++ tests (needs GoogleTest)" ${sima_top_level})
option(SIMA_KERNELS_INSTALL "Install headers, libraries and the CMake package" ${sima_top_level})
option(SIMA_KERNELS_PYTHON "Build the Python extension module" ${sima_python})
option(SIMA_KERNELS_BENCH "Build the C++ benchmark runner" OFF)
option(SIMA_KERNELS_WERROR "Treat warnings as errors" OFF)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES AND CMAKE_SOURCE_DIR STREQUAL CMAKE_CURRENT_SOURCE_DIR)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
endif()
