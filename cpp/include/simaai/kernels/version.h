#pragma once

/// The release that these headers belong to. The build checks that it equals the CMake project version.
#define SIMAAI_KERNELS_VERSION_MAJOR 0
#define SIMAAI_KERNELS_VERSION_MINOR 1
#define SIMAAI_KERNELS_VERSION_PATCH 0
#define SIMAAI_KERNELS_VERSION "0.1.0"
