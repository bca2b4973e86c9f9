# cmake -DBUILD= -DCOMPILER= -DGENERATOR= -P check.cmake: installs BUILD, moves the installed files, and builds and
# runs two projects against them: the one beside this file and examples/api.
set(work ${BUILD}/package)
file(REMOVE_RECURSE ${work})
file(MAKE_DIRECTORY ${work})
set(ENV{HEADROOM_CACHE} ${work}/cache)

function(run)
  execute_process(COMMAND ${ARGV} WORKING_DIRECTORY ${work} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(build source folder)
  run(${CMAKE_COMMAND} -S ${source} -B ${folder} -G ${GENERATOR}
      -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${work}/moved)
  run(${CMAKE_COMMAND} --build ${folder})
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/installed)
file(RENAME ${work}/installed ${work}/moved)
build(${CMAKE_CURRENT_LIST_DIR} ${work}/build)
run(${work}/build/uses_headroom)
run(${work}/moved/bin/headroom)

build(${CMAKE_CURRENT_LIST_DIR}/../../examples/api ${work}/examples)
run(${work}/examples/main 640)
run(${work}/examples/small)
if(NOT EXISTS ${work}/branches.safetensors)
  message(FATAL_ERROR "the example saved no weights")
endif()
