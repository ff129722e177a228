#pragma once

// Debian 12 has Catch2 2.13, newer systems 3: the two differ in the header's name.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
#else
#include <catch2/catch.hpp>
#endif
