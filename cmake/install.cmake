include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS a65_common a65_boxdecode a65_nms EXPORT SimaKernelsTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cpp/include/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(EXPORT SimaKernelsTargets NAMESPACE SimaKernels:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/SimaKernels)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SimaKernelsConfig.cmake.in SimaKernelsConfig.cmake
  INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/SimaKernels)
write_basic_package_version_file(SimaKernelsConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/SimaKernelsConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/SimaKernelsConfigVersion.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/SimaKernels)
