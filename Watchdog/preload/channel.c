// The start: options, the shared mapping, who may write it, what works here.

#include "preload.h"
#include "system.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

struct rtw_options rtw_options = {
    .tier = RTWATCH_NOTE, .syscalls = 1, .perf = 1, .jack = 1, .alsa = 1, .swift = 1, .hang = 32,
};
struct rtwatch_channel *rtw_channel;

static uint32_t not_alive;   // stands in until the start: other libraries' constructors run before this one's
uint32_t *rtw_alive = &not_alive;
static _Atomic uint32_t saying;

void rtw_forget_saying(void) { atomic_store(&saying, 0); }

bool rtw_watching(void) { return *rtw_alive && rtw_channel && rtw_channel->state == 1; }

// Not on an audio thread, except for what ends the watch anyway.
void rtw_say(const char *sentence) {
    struct rtwatch_channel *channel = rtw_channel;
    if (!channel || !*rtw_alive) return;
    if (!rtw_lock(&saying)) return;
    uint32_t length = channel->message_length;
    size_t more = rtw_length(sentence);
    bool said = false;
    for (uint32_t start = 0; start < length && !said;) {
        uint32_t end = start;
        while (end < length && channel->messages[end] != '\n') end++;
        said = end - start == more;
        for (uint32_t i = 0; said && i < more; i++) said = channel->messages[start + i] == sentence[i];
        start = end + 1;
    }
    if (!said && length + more + 2 < sizeof channel->messages) {
        rtw_copy(channel->messages + length, sentence, more + 1);
        channel->messages[length + more] = '\n';
        channel->message_length = length + (uint32_t)more + 1;
    }
    rtw_unlock(&saying);
}

static const char *variable(const char *name) {
    size_t length = rtw_length(name);
    for (char **entry = environ; entry && *entry; entry++) {
        size_t i = 0;
        while (i < length && (*entry)[i] == name[i]) i++;
        if (i == length && (*entry)[i] == '=') return *entry + length + 1;
    }
    return NULL;
}

static uint64_t number(const char *text) {
    uint64_t value = 0;
    for (; *text >= '0' && *text <= '9'; text++) value = value * 10 + (uint64_t)(*text - '0');
    return value;
}

static void option(const char *key, const char *value) {
    struct rtw_options *o = &rtw_options;
    const struct { const char *key; uint8_t *at; } bytes[] = {
        {"halt", &o->halt}, {"break", &o->stop}, {"tier", &o->tier}, {"syscalls", &o->syscalls}, {"perf", &o->perf},
        {"jack", &o->jack}, {"alsa", &o->alsa}, {"swift", &o->swift}, {"follow", &o->follow},
    };
    for (size_t i = 0; i < sizeof bytes / sizeof *bytes; i++)
        if (rtw_equal(key, bytes[i].key)) *bytes[i].at = (uint8_t)number(value);
    if (rtw_equal(key, "skip")) o->skip = number(value);
    if (rtw_equal(key, "hang")) o->hang = number(value);
    if (rtw_equal(key, "thread") && o->thread_count < 8) rtw_copy(o->threads[o->thread_count++], value, 16);
    if (rtw_equal(key, "off")) rtw_copy(o->off, value, sizeof o->off);
}

static void read_options(void) {
    const char *text = variable(RTWATCH_ENV_OPTIONS);
    while (text && *text) {
        char key[16] = "", value[512] = "";
        size_t k = 0, v = 0;
        for (; *text && *text != '=' && *text != ';'; text++)
            if (k < sizeof key - 1) key[k++] = *text;
        if (*text == '=')
            for (text++; *text && *text != ';'; text++)
                if (v < sizeof value - 1) value[v++] = *text;
        if (*text == ';') text++;
        option(key, value);
    }
}

static bool listed(const char *list, const char *name) {
    size_t length = rtw_length(name);
    while (*list) {
        size_t i = 0;
        while (i < length && list[i] == name[i]) i++;
        if (i == length && (list[i] == ',' || !list[i])) return true;
        while (*list && *list != ',') list++;
        if (*list) list++;
    }
    return false;
}

static void fill_names(struct rtwatch_channel *channel) {
    for (int i = 0; i < SYMBOL_COUNT; i++) {
        const struct rtw_symbol_entry *symbol = &rtw_symbols[i];
        bool swift = symbol->family == RTWATCH_SWIFT || symbol->family == RTWATCH_DISPATCH;
        rtw_tiers[i] = (swift && !rtw_options.swift) || listed(rtw_options.off, symbol->name) ? 0 : symbol->tier;
        rtw_copy(channel->names[i + 1].name, symbol->name, sizeof channel->names[i + 1].name);
        channel->names[i + 1].tier = symbol->tier;
        channel->names[i + 1].family = symbol->family;
    }
    channel->name_count = SYMBOL_COUNT + 1;
}

static struct rtwatch_channel *map_file(const char *path, int flags) {
    int file = (int)rtw_system4(SYS_openat, AT_FDCWD, path, flags | O_RDWR | O_CLOEXEC, 0600);
    if (file < 0) return NULL;
    if (flags & O_CREAT) rtw_system2(SYS_ftruncate, file, sizeof(struct rtwatch_channel));
    long end = rtw_system3(SYS_lseek, file, 0, SEEK_END);
    long at = -1;
    if (end >= (long)sizeof(struct rtwatch_channel))
        at = rtw_system6(SYS_mmap, NULL, sizeof(struct rtwatch_channel), PROT_READ | PROT_WRITE,
                         MAP_SHARED, file, 0);
    rtw_system1(SYS_close, file);
    if (at < 0 && at > -4096) return NULL;
    rtw_system3(SYS_madvise, at, sizeof(struct rtwatch_channel), MADV_DONTFORK);
    return (struct rtwatch_channel *)at;
}

// Before the first cycle: no audio thread is to find a page missing here.
void rtw_fill_channel(void) {
    static uint32_t filled;   // the process that did
    if (filled == rtw_channel->pid) return;
    filled = rtw_channel->pid;
    rtw_system3(SYS_madvise, rtw_channel, sizeof *rtw_channel, 23);   // MADV_POPULATE_WRITE, since 5.14
    rtw_system2(SYS_mlock, rtw_channel, sizeof *rtw_channel);
}

static void unmap(struct rtwatch_channel *channel) {
    rtw_system2(SYS_munmap, channel, sizeof(struct rtwatch_channel));
}

static void append(char *text, size_t size, uint64_t value) {
    char digits[24];
    int n = 0;
    do digits[n++] = (char)('0' + value % 10);
    while (value /= 10);
    size_t at = rtw_length(text);
    if (at + (size_t)n + 2 > size) return;
    text[at++] = '.';
    while (n) text[at++] = digits[--n];
    text[at] = 0;
}

static struct rtwatch_channel *own_file(const char *path, uint32_t pid) {
    for (uint64_t n = 0; n < 1000; n++) {
        char name[4096];
        rtw_copy(name, path, sizeof name);
        append(name, sizeof name, pid);
        if (n) append(name, sizeof name, n);
        struct rtwatch_channel *channel = map_file(name, O_CREAT | O_EXCL);
        if (!channel) continue;
        channel->pid = pid;
        return channel;
    }
    return NULL;
}

// The channel this process may write, or null.
static struct rtwatch_channel *claim(const char *path) {
    uint32_t pid = (uint32_t)rtw_system0(SYS_getpid), free = 0;
    struct rtwatch_channel *channel = map_file(path, 0);
    if (!channel) return NULL;
    if (__atomic_compare_exchange_n(&channel->pid, &free, pid, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
        rtw_channel = channel;
        rtw_fill_channel();
        return channel;
    }
    if (free == pid && channel->thread_count == 0) {   // exec before any audio: this image takes over
        channel->module_count = channel->message_length = 0;
        channel->messages[0] = 0;
        return channel;
    }
    if (free == pid && rtw_options.follow) channel->state = 5;
    unmap(channel);
    return rtw_options.follow ? own_file(path, pid) : NULL;
}

static void watch(const char *path) {
    struct rtwatch_channel *channel = claim(path);
    if (!channel) return;
    rtw_channel = channel;
    *rtw_alive = 1;
    channel->started = rtw_now();
    fill_names(channel);
    rtw_find_modules();
    channel->version = RTWATCH_VERSION;
    uint64_t state = rtw_sanitizer() ? 4 : 1;
    if (state == 1) {
#if defined(__x86_64__)
        channel->features |= RTWATCH_HAS_CALLS;
        if (rtw_options.swift && rtw_find("swift_allocObject", true)) channel->features |= RTWATCH_HAS_SWIFT;
#else
        rtw_say("on this processor calls and system calls are not watched yet: only cycle times, page faults, "
                "preemptions and hangs");
#endif
        rtw_waits = rtw_options.thread_count > 0;
    }
    channel->magic = RTWATCH_MAGIC;
    __atomic_store_n(&channel->state, state, __ATOMIC_RELEASE);
}

// A forked child that is to be followed: it was wiped out of its parent's channel.
void rtw_start(void) {
    const char *path = variable(RTWATCH_ENV_CHANNEL);
    if (!path) return;
    watch(path);
}

__attribute__((constructor(101))) static void constructed(void) {
#if defined(__x86_64__)
    uint32_t a = 1, b, c = 0, d;
    __asm__ volatile("cpuid" : "+a"(a), "=b"(b), "+c"(c), "=d"(d));
    rtw_has_xsave = c >> 27 & 1;   // the kernel has switched it on
#endif
    long page = rtw_system6(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if ((page < 0 && page > -4096) || rtw_system3(SYS_madvise, page, 4096, MADV_WIPEONFORK) != 0) return;
    rtw_alive = (uint32_t *)page;
    rtw_calibrate();
    read_options();
    rtw_resolve_all();
    rtw_process_prepare();
    rtw_start();
    if (rtw_channel) rtw_permanent_modules = rtw_channel->module_count;
}

__attribute__((destructor)) static void destroyed(void) {
    if (!rtw_watching()) return;
    rtw_monitor_stop();
    rtw_find_modules();
    rtw_channel->state = 2;
}
