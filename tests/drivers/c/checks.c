// What the C programs share, and include: where to connect, and one line per check.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The application_name of a workload with one permit and a short wait; empty when there is no proxy.
static const char* tight(void) {
    const char* name = getenv("DRIVER_TIGHT");
    return name ? name : "";
}

static char why_[256];

// The first thing that is wrong in a check is what its line tells.
#define demand(condition)                                                     \
    do {                                                                      \
        if (!(condition)) {                                                   \
            snprintf(why_, sizeof why_, "line %d: %s", __LINE__, #condition); \
            return;                                                           \
        }                                                                     \
    } while (0)

static void run_check(const char* name, void (*body)(void)) {
    if (strncmp(name, "refusal", 7) == 0 && !*tight()) {
        printf("skip %s\n", name);
        return;
    }
    why_[0] = '\0';
    body();
    if (why_[0])
        printf("not ok %s: %s\n", name, why_);
    else
        printf("ok %s\n", name);
    fflush(stdout);
}

#define CHECK(name) run_check(#name, name)
