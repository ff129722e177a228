# What makes a mistake in the program harder to use, in builds that are optimised: a stack that is
# checked, bounds of the C library's calls, no writable code, nothing to be written after the start,
# no fixed addresses. tests/integration/test_hardening.py looks at what came out; SECURITY.md says
# what each is for. The sanitizers' builds have checks of their own, and those two do not mix.
#
# Not CMAKE_POSITION_INDEPENDENT_CODE: it compiles libraries as -fPIC, which hinders inlining.
set(PGB_HARDENED $<CONFIG:Release,RelWithDebInfo>)
# GCC from 12 on also bounds what is known at run time only (3); clang 14 knows 2.
set(PGB_FORTIFY 2)
if(CMAKE_CXX_COMPILER_ID STREQUAL GNU)
    set(PGB_FORTIFY 3)
endif()
# Landing pads of indirect jumps, and signed or separate return addresses, where the processor has them.
set(PGB_JUMPS "")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
    set(PGB_JUMPS -fcf-protection=full)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "aarch64|arm64")
    set(PGB_JUMPS -mbranch-protection=standard)
endif()
add_compile_options(
    $<${PGB_HARDENED}:-fPIE>
    $<${PGB_HARDENED}:-fstack-protector-strong>
    $<${PGB_HARDENED}:-fstack-clash-protection>
    $<${PGB_HARDENED}:${PGB_JUMPS}>
    $<${PGB_HARDENED}:-U_FORTIFY_SOURCE>
    $<${PGB_HARDENED}:-D_FORTIFY_SOURCE=${PGB_FORTIFY}>)
add_link_options(
    $<${PGB_HARDENED}:-pie>
    $<${PGB_HARDENED}:-Wl,-z,relro> $<${PGB_HARDENED}:-Wl,-z,now> $<${PGB_HARDENED}:-Wl,-z,noexecstack>
    $<${PGB_HARDENED}:-Wl,-z,separate-code>)
