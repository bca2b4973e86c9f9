# cmake -DBUILD= -DCOMPILER= -DGENERATOR= -P check.cmake: installs BUILD, moves what was installed, and builds and runs
# the project beside this file against it.
set(work ${BUILD}/package)
file(REMOVE_RECURSE ${work})

function(run)
  execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${work}/installed)
file(RENAME ${work}/installed ${work}/moved)
run(${CMAKE_COMMAND} -S ${CMAKE_CURRENT_LIST_DIR} -B ${work}/build -G ${GENERATOR}
    -DCMAKE_CXX_COMPILER=${COMPILER} -DCMAKE_PREFIX_PATH=${work}/moved)
run(${CMAKE_COMMAND} --build ${work}/build)
run(${work}/build/uses_headroom)
run(${work}/moved/bin/headroom)
