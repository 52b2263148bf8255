# The suffix of a source file decides its instruction set; everything else is built for the baseline (x86-64, armv8-a).
# Files of another architecture are left out, so that a list of sources can name them all. NAME_SUFFIX.h.cpp is a file that
# compiles a header by itself.
string(TOLOWER "${CMAKE_SYSTEM_PROCESSOR}" sima_processor)
if(sima_processor MATCHES "x86_64|amd64")
  set(sima_is_x86 TRUE)
elseif(sima_processor MATCHES "aarch64|arm64")
  set(sima_is_arm TRUE)
endif()

function(sima_keep_or_flag out file)
  set(${out} TRUE PARENT_SCOPE)
  if(file MATCHES "_avx2\\.(h\\.)?cpp$")
    if(NOT sima_is_x86)
      set(${out} FALSE PARENT_SCOPE)
    else()
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -mavx2)
    endif()
  elseif(file MATCHES "_neon_dotprod\\.(h\\.)?cpp$")
    if(NOT sima_is_arm)
      set(${out} FALSE PARENT_SCOPE)
    else()
      # GCC 12's header offers SDOT from armv8.2-a on only. The atomics that come with it stay out: the audit looks.
      set_property(SOURCE ${file} APPEND PROPERTY COMPILE_OPTIONS -march=armv8.2-a+dotprod)
    endif()
  elseif(file MATCHES "_neon\\.(h\\.)?cpp$" AND NOT sima_is_arm)
    set(${out} FALSE PARENT_SCOPE)
  endif()
endfunction()

# A static library, position independent, hidden symbols, without contraction of a·b+c: GCC fuses by default on Arm.
function(sima_add_library name)
  set(kept)
  foreach(file IN LISTS ARGN)
    sima_keep_or_flag(keep ${file})
    if(keep)
      list(APPEND kept ${file})
    endif()
  endforeach()
  add_library(${name} STATIC ${kept})
  add_library(SimaKernels::${name} ALIAS ${name})
  target_compile_features(${name} PUBLIC cxx_std_20)
  set_target_properties(${name} PROPERTIES
    CXX_EXTENSIONS OFF POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  target_include_directories(${name}
    PUBLIC $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/cpp/include> $<INSTALL_INTERFACE:include>
    PRIVATE ${PROJECT_SOURCE_DIR}/cpp/src)
  target_compile_definitions(${name} PRIVATE
    $<$<BOOL:${sima_is_x86}>:SIMA_KERNELS_X86=1> $<$<BOOL:${sima_is_arm}>:SIMA_KERNELS_ARM=1>)
  target_compile_options(${name} PRIVATE -ffp-contract=off -fno-math-errno
    -Wall -Wextra -Wconversion -Wshadow $<$<BOOL:${SIMA_KERNELS_WERROR}>:-Werror>
    # GCC 12 takes `"literal" + std::string` for an overlapping copy, depending on what it inlined (its bug 105651).
    $<$<CXX_COMPILER_ID:GNU>:-Wno-restrict>)
endfunction()
