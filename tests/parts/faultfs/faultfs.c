/* Counts what a process does to files and to other hosts, and ends it as `kill -9` does before a chosen operation, or makes that operation fail.
 *
 * Loaded by LD_PRELOAD. FAULTFS_CONTROL names a file of six numbers of eight bytes, shared by all processes that load this:
 *
 *   0  operations seen so far
 *   1  the operation to end at, 0 for none
 *   2  what happens there: 0 kill, 1 no space is left, 2 an input or output error
 *   3  1 if also what the chosen operation and all after it ask for fails, as on a full disk
 *   4  seconds by which the clock of the day is wrong, signed; the clock that only runs forward is right
 *   5  how files are locked: 0 as here, 1 as on a network file system, where a whole file is locked like a range and only by who may write
 *      it, 2 not at all, because no server of locks answers
 *
 * FAULTFS_ROOTS holds directories with colons between: only what lies below them counts. What is written to a socket of another host counts as
 * two: before the bytes are gone, and after. FAULTFS_HIT names a file that is written when the operation was reached, with its name and place.
 *
 * Not here: what is done with a process that ended (`tests/it/faults/kills.rs`).
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

static volatile uint64_t *control;
static const char *roots, *hit;

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAULTFS_CONTROL");
  roots = getenv("FAULTFS_ROOTS");
  hit = getenv("FAULTFS_HIT");
  if (!path || !roots || !hit) return;
  int file = (int)syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  void *mapped = mmap(NULL, 48, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (mapped != MAP_FAILED) control = mapped;
}

static int is_below(const char *path) {
  for (const char *root = roots; *root;) {
    size_t length = strcspn(root, ":");
    if (length && !strncmp(path, root, length) && (path[length] == '/' || !path[length])) return 1;
    root += length + (root[length] == ':');
  }
  return 0;
}

/* Returns 1 if the operation is to fail. */
static int reached(const char *name, const char *place) {
  uint64_t number = __atomic_add_fetch(&control[0], 1, __ATOMIC_SEQ_CST), chosen = control[1];
  int goes_on = control[3] == 1 && chosen && number > chosen;
  if (number != chosen && !goes_on) return 0;
  if (number == chosen) {
    char text[PATH_MAX + 64];
    int length = snprintf(text, sizeof text, "%s %s\n", name, place);
    int file = (int)syscall(SYS_openat, AT_FDCWD, hit, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (file >= 0 && length > 0) syscall(SYS_write, file, text, (size_t)length);
    if (file >= 0) syscall(SYS_close, file);
  }
  if (control[2] == 0) {
    syscall(SYS_kill, syscall(SYS_getpid), SIGKILL);
    for (;;) syscall(SYS_pause);
  }
  /* A full disk still lets go of what it has, and opens what is there. */
  if (control[2] == 1 && (!strncmp(name, "unlink", 6) || !strcmp(name, "rmdir") || strstr(name, "chmod"))) return 0;
  if (control[2] == 1 && !strncmp(name, "open", 4) && !access(place, F_OK)) return 0;
  errno = control[2] == 1 ? ENOSPC : EIO;
  return 1;
}

static int at_path(const char *name, int directory, const char *path) {
  if (!control || !path) return 0;
  char whole[PATH_MAX];
  if (path[0] != '/') {
    char link[64], above[PATH_MAX];
    if (directory == AT_FDCWD) strcpy(link, "/proc/self/cwd");
    else snprintf(link, sizeof link, "/proc/self/fd/%d", directory);
    ssize_t length = readlink(link, above, sizeof above - 1);
    if (length < 0) return 0;
    above[length] = 0;
    if (snprintf(whole, sizeof whole, "%s/%s", above, path) >= (int)sizeof whole) return 0;
    path = whole;
  }
  return is_below(path) ? reached(name, path) : 0;
}

static int at_file(const char *name, int file) {
  if (!control) return 0;
  char link[64], path[PATH_MAX];
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path) ? reached(name, path) : 0;
}

/* Only a kill means something at a socket: that a connection breaks is another fault. */
static void at_socket(const char *name, int file) {
  struct sockaddr_storage peer;
  socklen_t length = sizeof peer;
  int saved = errno;
  if (control && control[2] == 0 && !getpeername(file, (struct sockaddr *)&peer, &length) &&
      (peer.ss_family == AF_INET || peer.ss_family == AF_INET6))
    reached(name, "socket");
  errno = saved;
}

#define REAL(type, name, ...) \
  static type (*real)(__VA_ARGS__); \
  if (!real) real = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, name)

#define CHANGES(flags) ((flags) & (O_CREAT | O_TRUNC))
#define MODE(flags) \
  mode_t mode = 0; \
  if ((flags) & (O_CREAT | O_TMPFILE)) { \
    va_list rest; \
    va_start(rest, flags); \
    mode = va_arg(rest, mode_t); \
    va_end(rest); \
  }

#define OPEN(function) \
  int function(const char *path, int flags, ...) { \
    MODE(flags) \
    REAL(int, #function, const char *, int, ...); \
    if (CHANGES(flags) && at_path(#function, AT_FDCWD, path)) return -1; \
    return real(path, flags, mode); \
  }
OPEN(open)
OPEN(open64)

#define OPENAT(function) \
  int function(int directory, const char *path, int flags, ...) { \
    MODE(flags) \
    REAL(int, #function, int, const char *, int, ...); \
    if (CHANGES(flags) && at_path(#function, directory, path)) return -1; \
    return real(directory, path, flags, mode); \
  }
OPENAT(openat)
OPENAT(openat64)

#define COMMA ,
ssize_t write(int file, const void *bytes, size_t length) {
  REAL(ssize_t, "write", int, const void *, size_t);
  at_socket("write before", file);
  if (at_file("write", file)) return -1;
  ssize_t written = real(file, bytes, length);
  if (written > 0) at_socket("write after", file);
  return written;
}
ssize_t pwrite(int file, const void *bytes, size_t length, off_t offset) {
  REAL(ssize_t, "pwrite", int, const void *, size_t, off_t);
  if (at_file("pwrite", file)) return -1;
  return real(file, bytes, length, offset);
}
ssize_t pwrite64(int file, const void *bytes, size_t length, off64_t offset) {
  REAL(ssize_t, "pwrite64", int, const void *, size_t, off64_t);
  if (at_file("pwrite64", file)) return -1;
  return real(file, bytes, length, offset);
}
ssize_t writev(int file, const struct iovec *parts, int count) {
  REAL(ssize_t, "writev", int, const struct iovec *, int);
  at_socket("writev before", file);
  if (at_file("writev", file)) return -1;
  ssize_t written = real(file, parts, count);
  if (written > 0) at_socket("writev after", file);
  return written;
}
ssize_t send(int file, const void *bytes, size_t length, int flags) {
  REAL(ssize_t, "send", int, const void *, size_t, int);
  at_socket("send before", file);
  ssize_t written = real(file, bytes, length, flags);
  if (written > 0) at_socket("send after", file);
  return written;
}
ssize_t sendmsg(int file, const struct msghdr *message, int flags) {
  REAL(ssize_t, "sendmsg", int, const struct msghdr *, int);
  at_socket("sendmsg before", file);
  ssize_t written = real(file, message, flags);
  if (written > 0) at_socket("sendmsg after", file);
  return written;
}
ssize_t copy_file_range(int from, off64_t *at, int to, off64_t *place, size_t length, unsigned flags) {
  REAL(ssize_t, "copy_file_range", int, off64_t *, int, off64_t *, size_t, unsigned);
  if (at_file("copy_file_range", to)) return -1;
  return real(from, at, to, place, length, flags);
}
ssize_t sendfile(int to, int from, off_t *at, size_t length) {
  REAL(ssize_t, "sendfile", int, int, off_t *, size_t);
  if (at_file("sendfile", to)) return -1;
  return real(to, from, at, length);
}

#define ON_FILE(function, parameters, types, arguments) \
  int function parameters { \
    REAL(int, #function, types); \
    if (at_file(#function, file)) return -1; \
    return real arguments; \
  }
ON_FILE(ftruncate, (int file, off_t length), int COMMA off_t, (file, length))
ON_FILE(ftruncate64, (int file, off64_t length), int COMMA off64_t, (file, length))
ON_FILE(fallocate, (int file, int mode, off_t from, off_t length), int COMMA int COMMA off_t COMMA off_t, (file, mode, from, length))
ON_FILE(fallocate64, (int file, int mode, off64_t from, off64_t length), int COMMA int COMMA off64_t COMMA off64_t, (file, mode, from, length))
ON_FILE(fsync, (int file), int, (file))
ON_FILE(fdatasync, (int file), int, (file))
ON_FILE(fchmod, (int file, mode_t mode), int COMMA mode_t, (file, mode))

#define ON_PATH(function, directory, path, parameters, types, arguments) \
  int function parameters { \
    REAL(int, #function, types); \
    if (at_path(#function, directory, path)) return -1; \
    return real arguments; \
  }
ON_PATH(creat, AT_FDCWD, path, (const char *path, mode_t mode), const char * COMMA mode_t, (path, mode))
ON_PATH(truncate, AT_FDCWD, path, (const char *path, off_t length), const char * COMMA off_t, (path, length))
ON_PATH(unlink, AT_FDCWD, path, (const char *path), const char *, (path))
ON_PATH(unlinkat, directory, path, (int directory, const char *path, int flags), int COMMA const char * COMMA int, (directory, path, flags))
ON_PATH(rmdir, AT_FDCWD, path, (const char *path), const char *, (path))
ON_PATH(mkdir, AT_FDCWD, path, (const char *path, mode_t mode), const char * COMMA mode_t, (path, mode))
ON_PATH(mkdirat, directory, path, (int directory, const char *path, mode_t mode), int COMMA const char * COMMA mode_t, (directory, path, mode))
ON_PATH(chmod, AT_FDCWD, path, (const char *path, mode_t mode), const char * COMMA mode_t, (path, mode))
ON_PATH(rename, AT_FDCWD, to, (const char *from, const char *to), const char * COMMA const char *, (from, to))
ON_PATH(renameat, below, to, (int above, const char *from, int below, const char *to), int COMMA const char * COMMA int COMMA const char *, (above, from, below, to))
ON_PATH(renameat2, below, to, (int above, const char *from, int below, const char *to, unsigned flags), int COMMA const char * COMMA int COMMA const char * COMMA unsigned, (above, from, below, to, flags))
ON_PATH(link, AT_FDCWD, to, (const char *from, const char *to), const char * COMMA const char *, (from, to))
ON_PATH(linkat, below, to, (int above, const char *from, int below, const char *to, int flags), int COMMA const char * COMMA int COMMA const char * COMMA int, (above, from, below, to, flags))
ON_PATH(symlink, AT_FDCWD, to, (const char *from, const char *to), const char * COMMA const char *, (from, to))

static int64_t wrong_by(void) { return control ? (int64_t)control[4] : 0; }

int clock_gettime(clockid_t clock, struct timespec *now) {
  REAL(int, "clock_gettime", clockid_t, struct timespec *);
  int result = real(clock, now);
  if (!result && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += wrong_by();
  return result;
}
int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  REAL(int, "gettimeofday", struct timeval *, void *);
  int result = real(now, zone);
  if (!result) now->tv_sec += wrong_by();
  return result;
}
time_t time(time_t *into) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  if (into) *into = now.tv_sec;
  return now.tv_sec;
}

static uint64_t locking(int file) {
  char link[64], path[PATH_MAX];
  if (!control || !control[5]) return 0;
  int saved = errno;
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  errno = saved;
  if (length < 0) return 0;
  path[length] = 0;
  return is_below(path) ? control[5] : 0;
}

int flock(int file, int operation) {
  REAL(int, "flock", int, int);
  switch (locking(file)) {
    case 0: return real(file, operation);
    case 2: errno = ENOLCK; return -1;
  }
  int kind = operation & ~LOCK_NB;
  struct flock whole = {.l_type = kind == LOCK_EX ? F_WRLCK : kind == LOCK_SH ? F_RDLCK : F_UNLCK, .l_whence = SEEK_SET};
  int result = fcntl(file, operation & LOCK_NB ? F_OFD_SETLK : F_OFD_SETLKW, &whole);
  if (result && errno == EACCES) errno = EAGAIN;
  return result;
}

static int is_lock(int command) {
  return command == F_SETLK || command == F_SETLKW || command == F_OFD_SETLK || command == F_OFD_SETLKW;
}
#define FCNTL(function) \
  int function(int file, int command, ...) { \
    va_list rest; \
    va_start(rest, command); \
    void *argument = va_arg(rest, void *); \
    va_end(rest); \
    REAL(int, #function, int, int, ...); \
    if (is_lock(command) && locking(file) == 2) { \
      errno = ENOLCK; \
      return -1; \
    } \
    return real(file, command, argument); \
  }
FCNTL(fcntl)
FCNTL(fcntl64)
