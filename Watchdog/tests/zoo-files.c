// Files, streams, sockets, polling.

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "zoo.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <syslog.h>
#include <unistd.h>

static char buffer[256];

CASE(open, BLOCKS, "open") {
    int file = open(zoo_path, O_RDONLY);
    close(file);
    KEEP;
}
CASE(open_missing, BLOCKS, "open") {
    zoo_value = open("/no/such/file", O_RDONLY);
}
CASE(close, BLOCKS, "close") {
    zoo_value = close(-1);
}
CASE(read, BLOCKS, "read") {
    zoo_value = (int)read(zoo_file, buffer, sizeof buffer);
}
CASE(write, BLOCKS, "write") {
    zoo_value = (int)write(zoo_device_null, buffer, sizeof buffer);
}
CASE(pread, BLOCKS, "pread") {
    zoo_value = (int)pread(zoo_file, buffer, 10, 0);
}
CASE(writev, BLOCKS, "writev") {
    zoo_value = (int)writev(zoo_device_null, &(struct iovec){buffer, 3}, 1);
}
CASE(lseek, BLOCKS, "lseek") {
    zoo_value = (int)lseek(zoo_file, 0, SEEK_SET);
}
CASE(fsync, BLOCKS, "fsync") {
    zoo_value = fsync(zoo_file);
}
CASE(ftruncate, BLOCKS, "ftruncate") {
    zoo_value = ftruncate(zoo_file, 10);
}
CASE(stat, BLOCKS, "stat") {
    struct stat about; zoo_value = stat(zoo_path, &about);
}
CASE(fstat, BLOCKS, "fstat") {
    struct stat about; zoo_value = fstat(zoo_file, &about);
}
CASE(access, BLOCKS, "access") {
    zoo_value = access(zoo_path, R_OK);
}
CASE(rename, BLOCKS, "rename") {
    zoo_value = rename("/no/such/file", "/no/such/other");
}
CASE(unlink, BLOCKS, "unlink") {
    zoo_value = unlink("/no/such/file");
}
CASE(mkdir, BLOCKS, "mkdir") {
    zoo_value = mkdir("/no/such/directory", 0700);
}
CASE(opendir, BLOCKS, "opendir") {
    DIR *directory = opendir("/");
    closedir(directory);
    KEEP;
}
CASE(readlink, BLOCKS, "readlink") {
    zoo_value = (int)readlink("/proc/self", buffer, sizeof buffer);
}
CASE(getcwd, BLOCKS, "getcwd") {
    zoo_pointer = getcwd(buffer, sizeof buffer);
}
CASE(realpath, BLOCKS, "realpath") {
    zoo_pointer = realpath("/tmp", NULL);
    free(zoo_pointer);
    KEEP;
}
CASE(fcntl, BLOCKS, "fcntl") {
    zoo_value = fcntl(zoo_file, F_GETFL);
}
CASE(ioctl, BLOCKS, "ioctl") {
    int ready; zoo_value = ioctl(zoo_pipe[0], FIONREAD, &ready);
}
CASE(dup, BLOCKS, "dup") {
    zoo_value = dup(-1);
}
CASE(pipe, BLOCKS, "pipe") {
    int ends[2]; zoo_value = pipe(ends);
    close(ends[0]), close(ends[1]);
    KEEP;
}
CASE(flock, BLOCKS, "flock") {
    zoo_value = flock(zoo_file, LOCK_SH | LOCK_NB);
}

CASE(printf, BLOCKS, "printf") {
    printf("%s", "");
    KEEP;
}
CASE(fprintf, BLOCKS, "fprintf") {
    fprintf(zoo_null, "%d %f %d %d %d %d %d\n", 1, 2.5, 3, 4, 5, 6, 7);
    KEEP;
}
CASE(puts, BLOCKS, "fputs") {
    fputs("hello", zoo_null);
    KEEP;
}
CASE(putc, BLOCKS, "putc") {
    putc('x', zoo_null);
    KEEP;
}
CASE(fwrite, BLOCKS, "fwrite") {
    fwrite(buffer, 1, 100, zoo_null);
    KEEP;
}
CASE(fread, BLOCKS, "fread") {
    zoo_value = (int)fread(buffer, 1, 100, zoo_zero);
}
CASE(fflush, BLOCKS, "fflush") {
    fflush(zoo_null);
    KEEP;
}
CASE(fopen, BLOCKS, "fopen") {
    FILE *file = fopen("/dev/null", "r");
    fclose(file);
    KEEP;
}
CASE(fgets, BLOCKS, "fgets") {
    zoo_pointer = fgets(buffer, 10, zoo_zero);
}
CASE(getc, BLOCKS, "getc") {
    zoo_value = getc(zoo_zero);
}
CASE(fseek, BLOCKS, "fseek") {
    fseek(zoo_null, 0, SEEK_SET);
    KEEP;
}
CASE(syslog, BLOCKS, "syslog") {
    setlogmask(LOG_UPTO(LOG_EMERG)), syslog(LOG_DEBUG, "%s", "zoo");
    KEEP;
}

CASE(poll, BLOCKS, "poll") {
    zoo_value = poll(&(struct pollfd){zoo_pipe[0], POLLIN, 0}, 1, 0);
}
CASE(select, BLOCKS, "select") {
    zoo_value = select(0, NULL, NULL, NULL, &(struct timeval){0, 10});
}
CASE(epoll_wait, BLOCKS, "epoll_wait") {
    struct epoll_event event; zoo_value = epoll_wait(zoo_epoll, &event, 1, 0);
}
CASE(eventfd, BLOCKS, "eventfd") {
    int event = eventfd(0, 0);
    close(event);
    KEEP;
}
CASE(timerfd, BLOCKS, "timerfd_create") {
    int timer = timerfd_create(CLOCK_MONOTONIC, 0);
    close(timer);
    KEEP;
}
CASE(socket, BLOCKS, "socket") {
    int end = socket(AF_UNIX, SOCK_DGRAM, 0);
    close(end);
    KEEP;
}
CASE(send, BLOCKS, "send") {
    zoo_value = (int)send(zoo_sockets[0], "x", 1, MSG_DONTWAIT);
}
CASE(recv, BLOCKS, "recv") {
    zoo_value = (int)recv(zoo_sockets[1], buffer, 1, MSG_DONTWAIT);
}
CASE(connect, BLOCKS, "connect") {
    zoo_value = connect(-1, NULL, 0);
}
CASE(getaddrinfo, BLOCKS, "getaddrinfo") {
    struct addrinfo *answer = NULL; zoo_value = getaddrinfo("127.0.0.1", "80", NULL, &answer);
    if (answer) freeaddrinfo(answer);
    KEEP;
}
