/* A file system that forgets what was not synced, for whoever preloads this (LD_PRELOAD).
 *
 * Files below POWER_CUT_LIVE are written as ever. Each fsync and fdatasync of one copies it, as it is at that moment, to
 * POWER_CUT_KEPT: that directory is what a machine would find whose power went at any later moment.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int keep(int fd) {
    const char *live = getenv("POWER_CUT_LIVE"), *kept = getenv("POWER_CUT_KEPT");
    char link[64], path[PATH_MAX], partial[PATH_MAX], target[PATH_MAX], piece[65536];
    if (!live || !kept) return 0;
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length < 0) return 0;
    path[length] = '\0';
    size_t under = strlen(live);
    if (strncmp(path, live, under) != 0 || path[under] != '/') return 0;
    if (snprintf(target, sizeof target, "%s/%s", kept, path + under + 1) >= (int)sizeof target) return -1;
    if (snprintf(partial, sizeof partial, "%s.partial", target) >= (int)sizeof partial) return -1;
    int out = open(partial, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (out < 0) return -1;
    off_t at = 0;
    ssize_t got;
    while ((got = pread(fd, piece, sizeof piece, at)) > 0) {
        if (write(out, piece, (size_t)got) != got) { close(out); return -1; }
        at += got;
    }
    close(out);
    return got < 0 ? -1 : rename(partial, target);
}

static int synced(const char *name, int fd) {
    int (*real)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    int answer = real(fd);
    if (answer == 0 && keep(fd) != 0) abort();
    return answer;
}

int fsync(int fd) { return synced("fsync", fd); }
int fdatasync(int fd) { return synced("fdatasync", fd); }
