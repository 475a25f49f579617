/* A file system without working locks: NO_LOCKS is "fail" (each lock fails with ENOLCK) or "lie" (each succeeds).

   Built by test_odd_places.py and loaded with LD_PRELOAD. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int verdict(void) {
    const char *how = getenv("NO_LOCKS");
    if (!how || strcmp(how, "fail")) return 0;
    errno = ENOLCK;
    return -1;
}

static int is_lock(int command) {
    return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}

int flock(int d, int operation) { return verdict(); }
int lockf(int d, int operation, off_t n) { return verdict(); }

#define WRAPPED(name)                                                                \
    int name(int d, int command, ...) {                                              \
        static int (*real)(int, int, ...);                                           \
        va_list arguments;                                                           \
        va_start(arguments, command);                                                \
        void *argument = va_arg(arguments, void *);                                  \
        va_end(arguments);                                                           \
        if (is_lock(command)) return verdict();                                      \
        if (!real) real = dlsym(RTLD_NEXT, #name);                                   \
        return real(d, command, argument);                                           \
    }
WRAPPED(fcntl)
WRAPPED(fcntl64)
