// ALSA programs: a cycle is from the end of the wait for the device to the write. The wait is snd_pcm_wait, a poll on
// the device's descriptors, a blocking read, or, in programs that do none of these, a blocking write.

#include "late.h"
#include "preload.h"

#include <errno.h>
#include <poll.h>

enum { DEVICES = 16, DESCRIPTORS = 8, WRITES = 4 };
static struct device {
    void *_Atomic pcm;
    _Atomic uint64_t period;      // nanoseconds, 0 not known
    int descriptors[DESCRIPTORS];
    _Atomic uint32_t descriptor_count;
} devices[DEVICES];
static _Atomic uint64_t latest_period;

static struct device *device_of(void *pcm) {
    for (int i = 0; i < DEVICES; i++)
        if (atomic_load(&devices[i].pcm) == pcm) return &devices[i];
    for (int i = 0; i < DEVICES; i++) {
        void *free = NULL;
        if (atomic_compare_exchange_strong(&devices[i].pcm, &free, pcm)) return &devices[i];
    }
    return NULL;
}

// Calls that libasound makes between the wait and the write, to say how much may be written, are its own: a program
// cannot do without, and it locks a mutex of the device each time.
uint64_t rtw_alsa_start, rtw_alsa_end;

static void find_library(void) {
    uint64_t inside = (uint64_t)(uintptr_t)LATE(snd_pcm_wait);
    rtw_find_modules();
    for (uint32_t i = 0; i < rtw_channel->module_count; i++) {
        const struct rtwatch_module *module = &rtw_channel->modules[i];
        if (inside < module->start || inside >= module->end) continue;
        rtw_alsa_end = module->end;
        rtw_alsa_start = module->start;
    }
}

// Outside of a cycle.
static uint64_t period_of(void *pcm) {
    struct device *device = device_of(pcm);
    if (!device) return 0;
    if (!rtw_alsa_start) find_library();
    if (atomic_load(&device->period)) return atomic_load(&device->period);
    size_t (*size)(void) = (size_t(*)(void))late_beside(LATE_snd_pcm_wait, "snd_pcm_hw_params_sizeof");
    int (*now)(void *, void *) = (int (*)(void *, void *))late_beside(LATE_snd_pcm_wait, "snd_pcm_hw_params_current");
    int (*rate)(void *, unsigned *, int *) =
        (int (*)(void *, unsigned *, int *))late_beside(LATE_snd_pcm_wait, "snd_pcm_hw_params_get_rate");
    int (*frames)(void *, unsigned long *, int *) =
        (int (*)(void *, unsigned long *, int *))late_beside(LATE_snd_pcm_wait, "snd_pcm_hw_params_get_period_size");
    uint64_t space[512];
    for (int i = 0; i < 512; i++) space[i] = 0;
    unsigned per_second = 0;
    unsigned long count = 0;
    int direction = 0;
    if (!size || !now || !rate || !frames || size() > sizeof space || now(pcm, space) < 0) return 0;
    if (rate(space, &per_second, &direction) < 0 || frames(space, &count, &direction) < 0 || !per_second) return 0;
    uint64_t period = 1000000000ull * count / per_second;
    atomic_store(&device->period, period);
    atomic_store(&latest_period, period);
    return period;
}

uint64_t rtw_alsa_period(void) { return atomic_load(&latest_period); }

static bool ours(const struct rtw_self *self) {
    return rtw_options.alsa && rtw_watching() && (!self->registered || self->found_by == FOUND_BY_ALSA) && !self->busy;
}

static void begin(struct rtw_self *self, uint64_t period) {
    if (!self->depth) rtw_begin("ALSA", period, FOUND_BY_ALSA);
}

static void end(struct rtw_self *self) {
    if (self->depth && self->found_by == FOUND_BY_ALSA) rtw_end();
}

EXPORTED int snd_pcm_wait(void *pcm, int timeout) {
    int (*real)(void *, int) = LATE(snd_pcm_wait);
    struct rtw_self *self = &rtw_self;
    if (!ours(self)) return real(pcm, timeout);
    end(self);
    uint64_t period = period_of(pcm);
    self->alsa_writes = 0;
    self->busy = 1;   // the poll inside is not one of the program's
    int result = real(pcm, timeout);
    self->busy = 0;
    if (result > 0) begin(self, period);
    return result;
}

typedef long transfer(void *pcm, const void *buffer, unsigned long frames);

static long write_out(transfer *real, void *pcm, const void *buffer, unsigned long frames) {
    struct rtw_self *self = &rtw_self;
    if (!ours(self)) return real(pcm, buffer, frames);
    end(self);
    uint64_t period = period_of(pcm);
    self->busy = 1;
    long result = real(pcm, buffer, frames);
    self->busy = 0;
    if (result > 0 && ++self->alsa_writes > WRITES) begin(self, period);
    return result;
}

static long read_in(transfer *real, void *pcm, const void *buffer, unsigned long frames) {
    struct rtw_self *self = &rtw_self;
    if (!ours(self)) return real(pcm, buffer, frames);
    end(self);
    uint64_t period = period_of(pcm);
    self->alsa_writes = 0;
    self->busy = 1;
    long result = real(pcm, buffer, frames);
    self->busy = 0;
    if (result > 0) begin(self, period);
    return result;
}

#define TRANSFER(name, how) \
    EXPORTED long name(void *pcm, const void *buffer, unsigned long frames) { \
        return how(LATE(name), pcm, buffer, frames); \
    }
TRANSFER(snd_pcm_writei, write_out)
TRANSFER(snd_pcm_writen, write_out)
TRANSFER(snd_pcm_mmap_writei, write_out)
TRANSFER(snd_pcm_mmap_writen, write_out)
TRANSFER(snd_pcm_readi, read_in)
TRANSFER(snd_pcm_readn, read_in)
TRANSFER(snd_pcm_mmap_readi, read_in)
TRANSFER(snd_pcm_mmap_readn, read_in)

EXPORTED long snd_pcm_mmap_commit(void *pcm, unsigned long offset, unsigned long frames) {
    long (*real)(void *, unsigned long, unsigned long) = LATE(snd_pcm_mmap_commit);
    struct rtw_self *self = &rtw_self;
    if (ours(self)) end(self);
    return real(pcm, offset, frames);
}

EXPORTED int snd_pcm_poll_descriptors(void *pcm, struct pollfd *descriptors, unsigned space) {
    int (*real)(void *, struct pollfd *, unsigned) = LATE(snd_pcm_poll_descriptors);
    int count = real(pcm, descriptors, space);
    struct device *device = count > 0 && ours(&rtw_self) && !rtw_self.depth ? device_of(pcm) : NULL;
    if (device) {
        uint32_t kept = (unsigned)count < DESCRIPTORS ? (uint32_t)count : DESCRIPTORS;
        for (uint32_t i = 0; i < kept; i++) device->descriptors[i] = descriptors[i].fd;
        atomic_store(&device->descriptor_count, kept);
        int before = errno;
        period_of(pcm);
        errno = before;
        rtw_waits = 1;
    }
    return count;
}

static void forget(void *pcm, bool closed) {
    for (int i = 0; i < DEVICES; i++) {
        if (atomic_load(&devices[i].pcm) != pcm) continue;
        atomic_store(&devices[i].period, 0);
        atomic_store(&devices[i].descriptor_count, 0);
        if (closed) atomic_store(&devices[i].pcm, NULL);
    }
}

EXPORTED int snd_pcm_hw_params(void *pcm, void *parameters) {
    int (*real)(void *, void *) = LATE(snd_pcm_hw_params);
    forget(pcm, false);
    if (ours(&rtw_self) && !rtw_self.depth) rtw_monitor_start();
    return real(pcm, parameters);
}

// The last write was the last cycle's end: who drains wants to wait.
static int finish(int (*real)(void *), void *pcm) {
    struct rtw_self *self = &rtw_self;
    if (!ours(self)) return real(pcm);
    end(self);
    self->alsa_writes = 0;
    self->busy = 1;
    int result = real(pcm);
    self->busy = 0;
    return result;
}
EXPORTED int snd_pcm_drain(void *pcm) { return finish(LATE(snd_pcm_drain), pcm); }
EXPORTED int snd_pcm_drop(void *pcm) { return finish(LATE(snd_pcm_drop), pcm); }

EXPORTED int snd_pcm_close(void *pcm) {
    int (*real)(void *) = LATE(snd_pcm_close);
    end(&rtw_self);
    forget(pcm, true);
    return real(pcm);
}

static bool is_device(int descriptor) {
    for (int i = 0; i < DEVICES; i++)
        for (uint32_t n = 0; n < atomic_load(&devices[i].descriptor_count); n++)
            if (devices[i].descriptors[n] == descriptor) return true;
    return false;
}

static bool is_poll(uint32_t symbol) {
    return symbol == SYMBOL_poll || symbol == SYMBOL_ppoll || symbol == SYMBOL___poll_chk ||
           symbol == SYMBOL___ppoll_chk;
}

// A poll that waits for a device?
bool rtw_alsa_waits(uint32_t symbol, const struct rtw_frame *frame) {
    const struct pollfd *descriptors = (const struct pollfd *)frame->rdi;
    if (!is_poll(symbol) || !descriptors) return false;
    for (uint64_t i = 0; i < frame->rsi && i < 64; i++)
        if (is_device(descriptors[i].fd)) return true;
    return false;
}

// Did it end because a device was ready?
bool rtw_alsa_ready(uint32_t symbol, const struct rtw_frame *frame) {
    const struct pollfd *descriptors = (const struct pollfd *)frame->rdi;
    if (!is_poll(symbol)) return false;
    for (uint64_t i = 0; i < frame->rsi && i < 64; i++)
        if (descriptors[i].revents && is_device(descriptors[i].fd)) return true;
    return false;
}
