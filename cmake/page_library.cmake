# The charting library of the live page: from npm by the lock file beside the page, into build/page, once for all
# builds of this tree. Its digest is in the lock file. Included by the build; `cmake -P` of it fetches alone.
set(page_sources ${CMAKE_CURRENT_LIST_DIR}/../proxy/admin/dashboard)
set(page_modules ${CMAKE_CURRENT_LIST_DIR}/../build/page)
set(PGB_UPLOT ${page_modules}/node_modules/uplot CACHE PATH "folder of npm's uplot")

file(SHA256 ${page_sources}/package-lock.json page_lock)
set(page_known "")
if(EXISTS ${page_modules}/fetched)
    file(READ ${page_modules}/fetched page_known)
endif()
if(PGB_UPLOT STREQUAL "${page_modules}/node_modules/uplot" AND NOT page_known STREQUAL page_lock)
    find_program(PGB_NPM npm)
    if(NOT PGB_NPM)
        message(FATAL_ERROR "npm is missing; scripts/setup installs it")
    endif()
    file(COPY ${page_sources}/package.json ${page_sources}/package-lock.json DESTINATION ${page_modules})
    execute_process(
        COMMAND ${PGB_NPM} ci --no-audit --no-fund --ignore-scripts --silent
        WORKING_DIRECTORY ${page_modules}
        OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
    file(WRITE ${page_modules}/fetched ${page_lock})
endif()
