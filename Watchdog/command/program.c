#include "program.h"

#include "buffer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIBRARY "librtwatch.so"

const char *find_library(void) {
    static const char *places[] = {"", "../lib/", "../lib/rtwatch/", "../lib64/"};
    char self[PATH_MAX];
    const char *given = getenv("RTWATCH_LIBRARY");
    if (given && *given) {
        if (access(given, R_OK)) fail(STATUS_TROUBLE, "RTWATCH_LIBRARY is %s, which cannot be read: %m", given);
        return intern(given[0] == '/' ? given : realpath(given, self));
    }
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
    if (length <= 0) fail(STATUS_TROUBLE, "/proc is not mounted: " LIBRARY " cannot be found without it");
    self[length] = 0;
    strrchr(self, '/')[1] = 0;
    for (unsigned i = 0; i < sizeof places / sizeof *places; i++) {
        char *path = format("%s%s" LIBRARY, self, places[i]), whole[PATH_MAX];
        const char *found = !access(path, R_OK) && realpath(path, whole) ? intern(whole) : NULL;
        free(path);
        if (found) return found;
    }
    fail(STATUS_TROUBLE,
         LIBRARY " is missing: it was looked for in %s and in %s../lib. Build it with \"make\" in Watchdog/, "
                 "or install both with \"make install PREFIX=…\".",
         self, self);
}

static char *search_path(const char *name) {
    if (strchr(name, '/')) return access(name, F_OK) ? NULL : format("%s", name);
    const char *path = getenv("PATH");
    char *found_unrunnable = NULL;
    if (!path) path = "/usr/local/bin:/usr/bin:/bin";
    while (*path) {
        size_t length = strcspn(path, ":");
        char *whole = length ? format("%.*s/%s", (int)length, path, name) : format("./%s", name);
        struct stat status;
        if (!stat(whole, &status) && S_ISREG(status.st_mode)) {
            if (!access(whole, X_OK)) return whole;
            if (!found_unrunnable) found_unrunnable = format("%s", whole);
        }
        free(whole);
        path += length + (path[length] == ':');
    }
    return found_unrunnable;
}

#if __SIZEOF_POINTER__ == 8
typedef Elf64_Ehdr header; typedef Elf64_Phdr segment; typedef Elf64_Dyn dynamic;
#define CLASS ELFCLASS64
#else
typedef Elf32_Ehdr header; typedef Elf32_Phdr segment; typedef Elf32_Dyn dynamic;
#define CLASS ELFCLASS32
#endif

static int own_machine(void) {
    int machine = 0, file = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    header head;
    if (file >= 0 && read(file, &head, sizeof head) == sizeof head) machine = head.e_machine;
    if (file >= 0) close(file);
    return machine;
}

static const char *file_offset(const char *image, size_t size, uint64_t address) {
    const header *head = (const header *)image;
    const segment *segments = (const segment *)(image + head->e_phoff);
    for (int i = 0; i < head->e_phnum; i++)
        if (segments[i].p_type == PT_LOAD && address >= segments[i].p_vaddr
            && address - segments[i].p_vaddr < segments[i].p_filesz) {
            uint64_t offset = address - segments[i].p_vaddr + segments[i].p_offset;
            return offset < size ? image + offset : NULL;
        }
    return NULL;
}

// A sanitizer's shared runtime refuses to start unless it is the first library.
static const char *needed_sanitizer(const char *image, size_t size, const segment *part) {
    if (part->p_offset + part->p_filesz > size) return NULL;
    const dynamic *entry = (const dynamic *)(image + part->p_offset), *end = entry + part->p_filesz / sizeof *entry;
    const char *names = NULL;
    for (const dynamic *at = entry; at < end && at->d_tag != DT_NULL; at++)
        if (at->d_tag == DT_STRTAB) names = file_offset(image, size, at->d_un.d_ptr);
    for (const dynamic *at = entry; names && at < end && at->d_tag != DT_NULL; at++) {
        const char *name = at->d_tag == DT_NEEDED ? names + at->d_un.d_val : NULL;
        if (!name || name < image || name + 32 > image + size) continue;
        if (starts_with(name, "libasan.so") || starts_with(name, "libtsan.so")) return intern(name);
    }
    return NULL;
}

static void check_image(struct program *program, const char *image, size_t size) {
    const header *head = (const header *)image;
    if (size < sizeof *head || memcmp(head->e_ident, ELFMAG, SELFMAG))
        fail(STATUS_NOT_RUNNABLE, "%s is neither a program nor a script", program->path);
    if (head->e_ident[EI_CLASS] != CLASS || head->e_machine != own_machine())
        fail(STATUS_NOT_RUNNABLE,
             "%s is built for another kind of processor than rtwatch: build rtwatch for the same one", program->path);
    if (head->e_phoff + (uint64_t)head->e_phnum * sizeof(segment) > size) return;
    bool interpreter = false;
    for (int i = 0; i < head->e_phnum; i++) {
        const segment *part = (const segment *)(image + head->e_phoff) + i;
        if (part->p_type == PT_INTERP) interpreter = true;
        if (part->p_type == PT_DYNAMIC) program->sanitizer = needed_sanitizer(image, size, part);
    }
    if (!interpreter)
        fail(STATUS_NOT_RUNNABLE, "%s is linked statically: it ignores LD_PRELOAD, so nothing of it could be seen. "
             "Link libc dynamically (-static-stdlib is fine, -static-executable is not).", program->path);
}

static void check_file(struct program *program, const char *path, int depth) {
    int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat status;
    // A program that may be run but not read is left to exec; what it is cannot be told.
    if (file < 0 || fstat(file, &status)) return;
    size_t size = (size_t)status.st_size;
    char *image = size ? mmap(NULL, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
    close(file);
    if (image == MAP_FAILED) fail(STATUS_NOT_RUNNABLE, "%s is empty", path);
    if (size > 2 && !memcmp(image, "#!", 2)) {
        program->script = true;
        char interpreter[PATH_MAX];
        size_t limit = size < sizeof interpreter ? size : sizeof interpreter, at = 2, length = 0;
        while (at < limit && (image[at] == ' ' || image[at] == '\t')) at++;
        while (at < limit && !strchr(" \t\n", image[at])) interpreter[length++] = image[at++];
        interpreter[length] = 0;
        if (access(interpreter, X_OK))
            fail(STATUS_NOT_RUNNABLE, "%s wants %s to run it, which is missing", path, interpreter);
        if (depth < 4) check_file(program, interpreter, depth + 1);
    } else {
        check_image(program, image, size);
    }
    munmap(image, size);
}

static void check_privileges(const char *path) {
    struct stat status;
    bool raised = !stat(path, &status)
        && (((status.st_mode & S_ISUID) && status.st_uid != geteuid())
            || ((status.st_mode & S_ISGID) && (status.st_mode & S_IXGRP) && status.st_gid != getegid()));
    if (raised)
        fail(STATUS_NOT_RUNNABLE,
             "%s is setuid or setgid: the system ignores LD_PRELOAD for it. Run a copy without that bit.", path);
    if (geteuid() && getxattr(path, "security.capability", NULL, 0) > 0)
        fail(STATUS_NOT_RUNNABLE, "%s has file capabilities: the system ignores LD_PRELOAD for it. Run a copy of it "
             "(cp drops them), or run rtwatch as root.", path);
}

struct program find_program(const char *name) {
    struct program program = {.path = search_path(name)};
    struct stat status;
    if (!program.path) fail(STATUS_NOT_FOUND, "%s: no such program%s", name, strchr(name, '/') ? "" : " in PATH");
    if (stat(program.path, &status)) fail(STATUS_NOT_FOUND, "%s: %m", program.path);
    if (S_ISDIR(status.st_mode)) fail(STATUS_NOT_RUNNABLE, "%s is a folder", program.path);
    if (access(program.path, X_OK)) fail(STATUS_NOT_RUNNABLE, "%s may not be run: %m", program.path);
    check_privileges(program.path);
    check_file(&program, program.path, 0);
    return program;
}
