/* Preloaded into the process under test: kills it, or fails a call, at the k-th call that touches files under one
   folder; and keeps what a disk would still hold if the power failed: contents as of each file's last sync, names as
   of the folder's last sync. Only for tests. */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SYNC = 1, WRITE = 2, NAME = 4 };
enum { BEFORE = 0, AFTER = 1, TORN = 2, NO_SPACE = 3, IO_ERROR = 4 };

static char folder[1024], shadow[1024];
static int kinds, mode, busy;
static long at, count;

void shim_arm(const char *root, const char *shadow_folder, int which, long point, int how) {
    snprintf(folder, sizeof folder, "%s", root);
    snprintf(shadow, sizeof shadow, "%s", shadow_folder);
    kinds = which; at = point; mode = how; count = 0;
}
long shim_count(void) { return count; }

static int under(const char *path) { return folder[0] && !strncmp(path, folder, strlen(folder)); }

static int path_of(int fd, char *out, size_t size) {
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, out, size - 1);
    if (n < 0) return 0;
    out[n] = 0;
    return under(out);
}

static void die(void) { kill(getpid(), SIGKILL); }

/* 1: this call is the one. */
static int hit(int kind) { return (kinds & kind) && ++count == at; }

static int fails(void) {
    if (mode == BEFORE) die();
    if (mode == NO_SPACE) { errno = ENOSPC; return 1; }
    if (mode == IO_ERROR) { errno = EIO; return 1; }
    return 0;
}

#define REAL(name) static __typeof__(&name) real; if (!real) real = dlsym(RTLD_NEXT, #name)

static void keep_file(const char *path, const struct stat *now) {
    char target[2100], buffer[65536];
    snprintf(target, sizeof target, "%s/%lu", shadow, (unsigned long)now->st_ino);
    FILE *in = fopen(path, "rb"), *out = fopen(target, "wb");
    size_t n;
    if (in && out) while ((n = fread(buffer, 1, sizeof buffer, in)) > 0) fwrite(buffer, 1, n, out);
    if (out) fclose(out);
    /* `in` stays open: closing a descriptor would drop the locks that this process has on the file. */
}

static void keep_names(const char *path) {
    char target[2100], part[2100];
    snprintf(target, sizeof target, "%s/names.part", shadow);
    snprintf(part, sizeof part, "%s/names", shadow);
    DIR *names = opendir(path);
    FILE *out = fopen(target, "w");
    for (struct dirent *entry; names && out && (entry = readdir(names));)
        if (entry->d_type == DT_REG) fprintf(out, "%lu %s\n", (unsigned long)entry->d_ino, entry->d_name);
    if (names) closedir(names);
    if (out) fclose(out);
    rename(target, part);
}

static void keep(int fd) {
    char path[2048];
    struct stat now;
    if (!shadow[0] || busy || !path_of(fd, path, sizeof path) || fstat(fd, &now)) return;
    busy = 1;
    if (S_ISDIR(now.st_mode)) keep_names(path); else keep_file(path, &now);
    busy = 0;
}

#define SYNC_CALL(name) \
int name(int fd) { \
    REAL(name); \
    char path[2048]; \
    if (busy || !path_of(fd, path, sizeof path)) return real(fd); \
    int now = hit(SYNC); \
    if (now && fails()) return -1; \
    int result = real(fd); \
    if (!result) keep(fd); \
    if (now && mode >= AFTER) die(); \
    return result; \
}
SYNC_CALL(fsync)
SYNC_CALL(fdatasync)

#define WRITE_CALL(name, offset_type) \
ssize_t name(int fd, const void *data, size_t size, offset_type offset) { \
    REAL(name); \
    char path[2048]; \
    if (busy || !path_of(fd, path, sizeof path)) return real(fd, data, size, offset); \
    int now = hit(WRITE); \
    if (now && fails()) return -1; \
    ssize_t result = real(fd, data, now && mode == TORN ? size / 2 : size, offset); \
    if (now && mode >= AFTER) die(); \
    return result; \
}
WRITE_CALL(pwrite, off_t)
WRITE_CALL(pwrite64, off64_t)

#define TRUNCATE_CALL(name, offset_type) \
int name(int fd, offset_type size) { \
    REAL(name); \
    char path[2048]; \
    if (busy || !path_of(fd, path, sizeof path)) return real(fd, size); \
    int now = hit(WRITE); \
    if (now && fails()) return -1; \
    int result = real(fd, size); \
    if (now && mode >= AFTER) die(); \
    return result; \
}
TRUNCATE_CALL(ftruncate, off_t)
TRUNCATE_CALL(ftruncate64, off64_t)

int unlink(const char *path) {
    REAL(unlink);
    if (busy || !under(path)) return real(path);
    int now = hit(NAME);
    if (now && fails()) return -1;
    if (shadow[0]) (void)!open(path, O_RDONLY); /* so that no new file gets its number, and its kept contents */
    int result = real(path);
    if (now && mode >= AFTER) die();
    return result;
}

int link(const char *from, const char *to) {
    REAL(link);
    if (busy || !under(to)) return real(from, to);
    int now = hit(NAME);
    if (now && fails()) return -1;
    int result = real(from, to);
    if (now && mode >= AFTER) die();
    return result;
}
