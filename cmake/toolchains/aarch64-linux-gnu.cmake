# Cross build for AArch64 Linux with Debian's g++-aarch64-linux-gnu; the programs run under user-mode qemu.
#   SIMA_ARM_CPU          the CPU model that qemu plays when a target is run (default cortex-a76)
#   SIMA_ARM_SYSROOT      only for the Python extension: a root made by tools/arm_sysroot.sh
#   SIMA_ARM_PYTHON       only for the Python extension: the Python version of that root, such as 3.11
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_CXX_COMPILER aarch64-linux-gnu-g++)
set(CMAKE_C_COMPILER aarch64-linux-gnu-gcc)

set(SIMA_ARM_CPU "cortex-a76" CACHE STRING "CPU model that qemu plays")
set(CMAKE_FIND_ROOT_PATH /usr/aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64 -L /usr/aarch64-linux-gnu -cpu ${SIMA_ARM_CPU})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES SIMA_ARM_CPU SIMA_ARM_SYSROOT SIMA_ARM_PYTHON)

# GCC 12 warns of overlapping copies inside std::string that cannot happen (GCC bug 105651).
set(CMAKE_CXX_FLAGS_INIT "-Wno-restrict")

if(SIMA_ARM_SYSROOT)
  # Last in the search order, so that the cross compiler's own libc headers win.
  string(APPEND CMAKE_CXX_FLAGS_INIT " -idirafter ${SIMA_ARM_SYSROOT}/usr/include")
  set(PYBIND11_USE_CROSSCOMPILING ON)
  set(Python_INCLUDE_DIR ${SIMA_ARM_SYSROOT}/usr/include/python${SIMA_ARM_PYTHON})
endif()
