/* Stands in for a file system that lacks something. Preloaded into a program, it refuses what such a file system refuses, for files below
   JIKIME_LACKING_BELOW: JIKIME_LACKING says "locks", "shared memory" or "space". Everything else goes to the C library.

   JIKIME_CLOCK_OFFSET says by how many seconds the clock is ahead, and below zero by how many it is behind. What measures how long
   something takes goes on as it did, and so does what the system notes of files. */

#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static int lacks(const char *what, int file) {
    const char *lacking = getenv("JIKIME_LACKING"), *below = getenv("JIKIME_LACKING_BELOW");
    char link[64], path[4096];
    if (!lacking || !below || strcmp(lacking, what) != 0 || file < 0) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", file);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = 0;
    return strncmp(path, below, strlen(below)) == 0;
}

static int refuse(int error) {
    errno = error;
    return -1;
}

int flock(int file, int operation) {
    int (*real)(int, int) = (int (*)(int, int))dlsym(RTLD_NEXT, "flock");
    return lacks("locks", file) ? refuse(ENOLCK) : real(file, operation);
}

static int control(const char *name, int file, int command, void *argument) {
    int (*real)(int, int, ...) = (int (*)(int, int, ...))dlsym(RTLD_NEXT, name);
    int locks = command == F_SETLK || command == F_SETLKW || command == F_GETLK || command == F_OFD_SETLK
        || command == F_OFD_SETLKW || command == F_OFD_GETLK;
    return locks && lacks("locks", file) ? refuse(ENOLCK) : real(file, command, argument);
}

int fcntl(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control("fcntl", file, command, argument);
}

int fcntl64(int file, int command, ...) {
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    return control("fcntl64", file, command, argument);
}

static void *map(const char *name, void *at, size_t length, int protection, int flags, int file, off_t offset) {
    void *(*real)(void *, size_t, int, int, int, off_t) =
        (void *(*)(void *, size_t, int, int, int, off_t))dlsym(RTLD_NEXT, name);
    if ((flags & MAP_SHARED) && lacks("shared memory", file)) {
        errno = ENODEV;
        return MAP_FAILED;
    }
    return real(at, length, protection, flags, file, offset);
}

void *mmap(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    return map("mmap", at, length, protection, flags, file, offset);
}

void *mmap64(void *at, size_t length, int protection, int flags, int file, off_t offset) {
    return map("mmap64", at, length, protection, flags, file, offset);
}

ssize_t write(int file, const void *bytes, size_t length) {
    ssize_t (*real)(int, const void *, size_t) = (ssize_t (*)(int, const void *, size_t))dlsym(RTLD_NEXT, "write");
    return lacks("space", file) ? refuse(ENOSPC) : real(file, bytes, length);
}

static ssize_t write_at(const char *name, int file, const void *bytes, size_t length, off_t offset) {
    ssize_t (*real)(int, const void *, size_t, off_t) =
        (ssize_t (*)(int, const void *, size_t, off_t))dlsym(RTLD_NEXT, name);
    return lacks("space", file) ? refuse(ENOSPC) : real(file, bytes, length, offset);
}

ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
    return write_at("pwrite", file, bytes, length, offset);
}

ssize_t pwrite64(int file, const void *bytes, size_t length, off_t offset) {
    return write_at("pwrite64", file, bytes, length, offset);
}

/* The one clock that the others are read from. */
int clock_gettime(clockid_t clock, struct timespec *at) {
    static int (*real)(clockid_t, struct timespec *);
    if (!real) real = (int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
    int failed = real(clock, at);
    const char *offset = getenv("JIKIME_CLOCK_OFFSET");
    if (!failed && offset && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) at->tv_sec += atol(offset);
    return failed;
}

int gettimeofday(struct timeval *at, void *zone) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    at->tv_sec = now.tv_sec;
    at->tv_usec = now.tv_nsec / 1000;
    return 0;
}

time_t time(time_t *at) {
    struct timespec now;
    if (clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
    if (at) *at = now.tv_sec;
    return now.tv_sec;
}
