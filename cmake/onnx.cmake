# The messages of ONNX files, made from src/models/onnx/onnx.proto; included as "models/onnx/onnx.pb.h". Warnings in
# what another program wrote are not ours to mend: a system folder, and no flags of ours for its one source.
set(onnx_folder ${PROJECT_BINARY_DIR}/generated)
set(HEADROOM_ONNX_SOURCE ${onnx_folder}/models/onnx/onnx.pb.cc)
file(MAKE_DIRECTORY ${onnx_folder})
add_custom_command(
  OUTPUT ${HEADROOM_ONNX_SOURCE} ${onnx_folder}/models/onnx/onnx.pb.h
  COMMAND protobuf::protoc --cpp_out=${onnx_folder} -I ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/src/models/onnx/onnx.proto
  DEPENDS ${PROJECT_SOURCE_DIR}/src/models/onnx/onnx.proto
  COMMENT "Messages of ONNX files" VERBATIM)
set_source_files_properties(${HEADROOM_ONNX_SOURCE} PROPERTIES COMPILE_OPTIONS -w SKIP_PRECOMPILE_HEADERS ON)
target_include_directories(headroom_dependencies SYSTEM INTERFACE ${onnx_folder})
