#include "channel.h"

#include "buffer.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char folder[256], path[300];
static struct process *processes[256];
static int count;
static bool left_out;

uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000u + (uint64_t)time.tv_nsec;
}

static void remove_folder(const char *which) {
    DIR *listing = opendir(which);
    if (!listing) return;
    for (struct dirent *entry; (entry = readdir(listing));)
        if (entry->d_name[0] != '.') unlinkat(dirfd(listing), entry->d_name, 0);
    closedir(listing);
    rmdir(which);
}

// Removes the files that an rtwatch left behind when it was killed. They take memory if the folder is in /dev/shm.
static void remove_leftovers(const char *base) {
    DIR *listing = opendir(base);
    if (!listing) return;
    for (struct dirent *entry; (entry = readdir(listing));) {
        int owner, length = 0;
        struct stat status;
        if (sscanf(entry->d_name, "rtwatch.%d.%n", &owner, &length) != 1 || !length) continue;
        if (owner <= 0 || !kill(owner, 0) || errno != ESRCH) continue;
        if (fstatat(dirfd(listing), entry->d_name, &status, AT_SYMLINK_NOFOLLOW) || !S_ISDIR(status.st_mode)
            || status.st_uid != geteuid()) continue;
        char *whole = format("%s/%s", base, entry->d_name);
        remove_folder(whole);
        free(whole);
    }
    closedir(listing);
}

static bool make_in(const char *base) {
    if (!base || !*base || strlen(base) > 200) return false;
    remove_leftovers(base);
    snprintf(folder, sizeof folder, "%s/rtwatch.%d.XXXXXX", base, (int)getpid());
    if (!mkdtemp(folder)) return false;
    snprintf(path, sizeof path, "%s/channel", folder);
    int file = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    // Reserved at once: a full /dev/shm must be an error here and not a SIGBUS on the audio thread.
    bool made = file >= 0 && !posix_fallocate(file, 0, sizeof(struct rtwatch_channel));
    if (file >= 0) close(file);
    if (!made) remove_folder(folder);
    return made;
}

void make_channel(void) {
    const char *temporary = getenv("TMPDIR");
    if (!make_in("/dev/shm") && !make_in(temporary) && !make_in("/tmp"))
        fail(STATUS_TROUBLE, "no room for the channel (%zu MB) in /dev/shm, TMPDIR or /tmp: %m",
             sizeof(struct rtwatch_channel) >> 20);
    look_for_processes();
}

const char *channel_path(void) { return path; }
const char *channel_folder(void) { return folder; }

void remove_channel(void) {
    if (folder[0]) remove_folder(folder);
    folder[0] = 0;
}

static void map(int directory, const char *name) {
    int file = openat(directory, name, O_RDWR | O_CLOEXEC | O_NOFOLLOW);
    struct stat status;
    if (file < 0) return;
    if (!fstat(file, &status) && (size_t)status.st_size >= sizeof(struct rtwatch_channel)) {
        void *mapping = mmap(NULL, sizeof(struct rtwatch_channel), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (mapping != MAP_FAILED) {
            struct process *process = allocate(sizeof *process);
            process->channel = mapping;
            process->index = count;
            process->file = intern(name);
            processes[count++] = process;
        }
    }
    close(file);
}

void look_for_processes(void) {
    DIR *listing = opendir(folder);
    if (!listing) return;
    for (struct dirent *entry; (entry = readdir(listing));) {
        bool known = false;
        if (!starts_with(entry->d_name, "channel")) continue;
        for (int i = 0; i < count; i++)
            if (!strcmp(processes[i]->file, entry->d_name)) known = true;
        if (known) continue;
        if (count < (int)(sizeof processes / sizeof *processes)) map(dirfd(listing), entry->d_name);
        else left_out = true;
    }
    closedir(listing);
}

int process_count(void) { return count; }
bool processes_left_out(void) { return left_out; }
struct process *process_at(int index) { return processes[index]; }

bool process_started(const struct process *process) {
    return __atomic_load_n(&process->channel->magic, __ATOMIC_ACQUIRE) == RTWATCH_MAGIC;
}
