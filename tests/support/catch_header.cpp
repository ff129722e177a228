// A library precompiles its headers for its own sources: this one has no other use.
#include "tests/support/catch.h"
