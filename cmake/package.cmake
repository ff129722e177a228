# `cmake --install` (DESTDIR chooses another root) and `cpack -G DEB`. Everything goes where deploy/systemd expects
# it, so the prefix is /usr and the budgets are in /etc. What the binary links with becomes the dependencies.
if(CMAKE_INSTALL_PREFIX_INITIALIZED_TO_DEFAULT)
    set(CMAKE_INSTALL_PREFIX /usr CACHE PATH "where the units expect the binary" FORCE)
endif()
set(PGB_CONTACT "pgbulkhead maintainers <root@localhost>" CACHE STRING "who answers for a package that is made here")
set(deploy ${CMAKE_SOURCE_DIR}/deploy)

# pgb_pack(NAME COMMAND …): at installing time, what the command prints becomes `packed/NAME.gz`, as Debian stores
# pages and changelogs: -9, and no time in it, so that equal trees give equal packages.
set(packed ${CMAKE_BINARY_DIR}/packed)
file(MAKE_DIRECTORY ${packed})
function(pgb_pack name)
    list(JOIN ARGN " " command)
    install(CODE "execute_process(COMMAND ${command} COMMAND gzip -9nc OUTPUT_FILE \"${packed}/${name}.gz\" COMMAND_ERROR_IS_FATAL ANY)")
endfunction()
pgb_pack(pgbulkhead.1 cat "${deploy}/man/pgbulkhead.1")
pgb_pack(pgbulkhead.yaml.5 $<TARGET_FILE:pgbulkhead> check --keys COMMAND awk -f "${deploy}/man/keys_page.awk")
pgb_pack(changelog cat "${CMAKE_SOURCE_DIR}/CHANGELOG.md")

install(TARGETS pgbulkhead RUNTIME DESTINATION bin)
install(FILES ${packed}/pgbulkhead.1.gz DESTINATION share/man/man1)
install(FILES ${packed}/pgbulkhead.yaml.5.gz DESTINATION share/man/man5)
install(FILES ${deploy}/completions/pgbulkhead.bash DESTINATION share/bash-completion/completions RENAME pgbulkhead)
install(FILES ${deploy}/completions/pgbulkhead.zsh DESTINATION share/zsh/vendor-completions RENAME _pgbulkhead)
install(FILES ${deploy}/completions/pgbulkhead.fish DESTINATION share/fish/vendor_completions.d)
install(FILES ${deploy}/systemd/pgbulkhead.service ${deploy}/systemd/pgbulkhead.socket DESTINATION lib/systemd/system)
install(FILES ${deploy}/debian/sysusers.conf DESTINATION lib/sysusers.d RENAME pgbulkhead.conf)
install(FILES ${deploy}/debian/budgets.yaml DESTINATION /etc/pgbulkhead)
install(FILES ${deploy}/debian/copyright ${packed}/changelog.gz README.md SECURITY.md DESTINATION share/doc/pgbulkhead)
install(FILES config/budgets.example.yaml deploy/prometheus/pgbulkhead.rules.yml deploy/grafana/pgbulkhead.json
        DESTINATION share/doc/pgbulkhead/examples)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME pgbulkhead)
set(CPACK_PACKAGE_CONTACT ${PGB_CONTACT})
set(CPACK_STRIP_FILES ON)
# The budgets have a place of their own, outside of the prefix.
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION database)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# A host name in `conninfo` and certificates of others; neither is linked with.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS ca-certificates)
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "postgresql-client, prometheus")
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
    "admission proxy that gives each PostgreSQL workload its own budget
A sidecar for PostgreSQL. It speaks the wire protocol, stands between
applications and the server, and decides for each transaction: run it
now, let it wait for a short, bounded time, or refuse it at once with an
error that says when to come back.")
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_PACKAGE_CONTROL_EXTRA ${deploy}/debian/conffiles ${deploy}/debian/postinst ${deploy}/debian/prerm
                                       ${deploy}/debian/postrm)
include(CPack)
