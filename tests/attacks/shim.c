/* Counts the calls by which a process changes files, and at call number N kills the process or fails the call.

   Built by attack_harness.py and loaded with LD_PRELOAD. Calls on open files count if the file is a plain one below
   the folder given to attack_arm; calls on names always count. Nothing happens until attack_arm is called. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

enum { COUNT = 0, KILL = 1, TORN = 2, FAIL = 3, FAIL_FROM = 4 };

static char root[4096];
static atomic_long calls;
static atomic_int armed;
static int action, number_of_error;
static long at;

void attack_arm(const char *folder, int what, long n, int error) {
    strncpy(root, folder, sizeof root - 1);
    action = what;
    at = n;
    number_of_error = error;
    atomic_store(&calls, 0);
    atomic_store(&armed, 1);
}

long attack_disarm(void) {
    atomic_store(&armed, 0);
    return atomic_load(&calls);
}

static int below_root(int descriptor) {
    char link[64], path[4096];
    struct stat status;
    if (fstat(descriptor, &status) || !(S_ISREG(status.st_mode) || S_ISDIR(status.st_mode))) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t n = readlink(link, path, sizeof path - 1);
    if (n < 0) return 0;
    path[n] = 0;
    return !strncmp(path, root, strlen(root));
}

static void die(void) {
    kill(getpid(), SIGKILL);
    for (;;) pause();
}

/* What to do with this call: 0 let it pass, 1 fail it, 2 do half of it and die. */
static int verdict(void) {
    long n = atomic_fetch_add(&calls, 1) + 1;
    if (action == FAIL_FROM && n >= at) return 1;
    if (n != at) return 0;
    if (action == KILL) die();
    if (action == TORN) return 2;
    return action == FAIL;
}

static int on_file(int descriptor) {
    if (!atomic_load(&armed)) return 0;
    int before = errno, found = below_root(descriptor);
    errno = before;
    return found ? verdict() : 0;
}

static int on_name(void) {
    int what = atomic_load(&armed) ? verdict() : 0;
    if (what == 2) die();
    return what;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = (__typeof__(&name))dlsym(RTLD_NEXT, #name)
#define FAILED return errno = number_of_error, -1
#define ON_FILE(descriptor, half) switch (on_file(descriptor)) { case 1: FAILED; case 2: half; die(); }
#define ON_NAME if (on_name()) { FAILED; }

ssize_t write(int d, const void *data, size_t n) { REAL(write); ON_FILE(d, real(d, data, n / 2)) return real(d, data, n); }
ssize_t pwrite(int d, const void *data, size_t n, off_t place) {
    REAL(pwrite); ON_FILE(d, real(d, data, n / 2, place)) return real(d, data, n, place);
}
ssize_t pwrite64(int d, const void *data, size_t n, off64_t place) {
    REAL(pwrite64); ON_FILE(d, real(d, data, n / 2, place)) return real(d, data, n, place);
}
ssize_t writev(int d, const struct iovec *parts, int n) { REAL(writev); ON_FILE(d, ) return real(d, parts, n); }
size_t fwrite(const void *data, size_t size, size_t n, FILE *file) {
    REAL(fwrite);
    int what = file ? on_file(fileno(file)) : 0;
    if (what == 1) { errno = number_of_error; return 0; }
    if (what == 2) { real(data, size, n / 2, file); fflush(file); die(); }
    return real(data, size, n, file);
}
int fsync(int d) { REAL(fsync); ON_FILE(d, ) return real(d); }
int fdatasync(int d) { REAL(fdatasync); ON_FILE(d, ) return real(d); }
int ftruncate(int d, off_t n) { REAL(ftruncate); ON_FILE(d, ) return real(d, n); }
int ftruncate64(int d, off64_t n) { REAL(ftruncate64); ON_FILE(d, ) return real(d, n); }
int rename(const char *a, const char *b) { REAL(rename); ON_NAME return real(a, b); }
int renameat(int c, const char *a, int d, const char *b) { REAL(renameat); ON_NAME return real(c, a, d, b); }
int link(const char *a, const char *b) { REAL(link); ON_NAME return real(a, b); }
int symlink(const char *a, const char *b) { REAL(symlink); ON_NAME return real(a, b); }
int unlink(const char *a) { REAL(unlink); ON_NAME return real(a); }
int unlinkat(int d, const char *a, int flags) { REAL(unlinkat); ON_NAME return real(d, a, flags); }
int rmdir(const char *a) { REAL(rmdir); ON_NAME return real(a); }
int mkdir(const char *a, mode_t mode) { REAL(mkdir); ON_NAME return real(a, mode); }
