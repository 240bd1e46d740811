// A sound card for tests: an external PCM plug-in whose frames move by command, or by the clock.
//
// The tests build it as a shared object, libasound loads it as its configuration says, and the same process commands it
// through the functions at the end. The card keeps the played samples, so that a test can compare every one.

#define _GNU_SOURCE
#include "card.h"

static struct card cards[MOST_CARDS];
static pthread_mutex_t all = PTHREAD_MUTEX_INITIALIZER;

struct card *rscard_card(const char *name, bool is_capture) {
    pthread_mutex_lock(&all);
    struct card *found = NULL;
    for (int i = 0; i < MOST_CARDS && !found; i++) {
        struct card *card = &cards[i];
        if (card->is_used && card->is_capture == is_capture && strcmp(card->name, name) == 0) found = card;
    }
    for (int i = 0; i < MOST_CARDS && !found; i++) {
        struct card *card = &cards[i];
        if (card->is_used) continue;
        memset(card, 0, sizeof *card);
        strncpy(card->name, name, sizeof card->name - 1);
        card->is_used = true;
        card->is_capture = is_capture;
        pthread_mutex_init(&card->lock, NULL);
        pthread_cond_init(&card->changed, NULL);
        card->descriptor = -1;
        card->formats[0] = SND_PCM_FORMAT_FLOAT_LE;
        card->format_count = 1;
        card->accesses[0] = SND_PCM_ACCESS_RW_INTERLEAVED;
        card->access_count = 1;
        card->least_rate = card->most_rate = 48000;
        card->least_channels = card->most_channels = 2;
        found = card;
    }
    pthread_mutex_unlock(&all);
    if (!found) abort();
    return found;
}

static uint64_t nanoseconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

// MARK: - With the lock held

snd_pcm_uframes_t rscard_queued(const struct card *card) { return card->application - card->hardware; }

snd_pcm_uframes_t rscard_available(const struct card *card) {
    return card->is_capture ? card->hardware - card->application : card->io.buffer_size - rscard_queued(card);
}

void rscard_show(struct card *card) {
    if (card->descriptor < 0 || card->has_clock) return;
    bool is_ready = card->fault == FAULT_ALWAYS_READY || card->fault == FAULT_GONE || card->fault == FAULT_XRUN ||
                    card->fault == FAULT_SUSPEND || card->fault == FAULT_DEAF ||
                    (card->io.buffer_size && rscard_available(card) >= card->least_available);
    uint64_t count;
    if (is_ready) {
        count = 1;
        (void)!write(card->descriptor, &count, sizeof count);
    } else {
        (void)!read(card->descriptor, &count, sizeof count);
    }
    pthread_cond_broadcast(&card->changed);
}

static void keep(struct card *card, const uint8_t *frame) {
    if (card->played == card->room) {
        card->room = card->room ? 2 * card->room : 65536;
        card->memory = realloc(card->memory, card->room * card->frame_bytes);
        if (!card->memory) abort();
    }
    memcpy(card->memory + card->played++ * card->frame_bytes, frame, card->frame_bytes);
}

// A captured sample tells its frame and channel, as long as 16 bits last.
static void capture(struct card *card, uint8_t *frame) {
    size_t bytes = card->frame_bytes / card->io.channels;
    for (unsigned channel = 0; channel < card->io.channels; channel++) {
        int32_t value = (int32_t)((card->captured + channel * 0x4000u) & 0x7FFFu);
        uint8_t *sample = frame + channel * bytes;
        float real = (float)value / 32768.0f;
        int32_t wide = card->io.format == SND_PCM_FORMAT_S32_LE ? value << 16 : value << 8;
        if (card->io.format == SND_PCM_FORMAT_FLOAT_LE) memcpy(sample, &real, 4);
        else if (card->io.format == SND_PCM_FORMAT_S16_LE) memcpy(sample, &value, 2);
        else memcpy(sample, &wide, bytes);
    }
    card->captured++;
}

// Moves frames. Returns how many could be moved; fewer is an xrun.
uint64_t rscard_advance(struct card *card, uint64_t frames) {
    if (!card->is_running || card->fault == FAULT_STALL || card->fault == FAULT_GONE || card->fault == FAULT_SUSPEND ||
        card->fault == FAULT_ASLEEP)
        return 0;
    for (uint64_t i = 0; i < frames; i++) {
        uint8_t *frame = card->buffer + card->hardware % card->io.buffer_size * card->frame_bytes;
        if (card->is_capture) {
            if (rscard_available(card) >= card->io.buffer_size) {
                card->fault = FAULT_XRUN;
                return i;
            }
            capture(card, frame);
        } else {
            if (rscard_queued(card) == 0) {
                card->fault = FAULT_XRUN;
                return i;
            }
            if (!card->has_clock) keep(card, frame);
        }
        card->hardware++;
    }
    return frames;
}

static void move_by_clock(struct card *card) {
    if (!card->has_clock || !card->is_running) return;
    double seconds = (double)(nanoseconds() - card->clock_start) * 1e-9;
    uint64_t due = (uint64_t)(seconds * card->io.rate * (1 + card->ppm * 1e-6));
    if (due > card->clock_frames) rscard_advance(card, due - card->clock_frames);
    card->clock_frames = due;
}

// MARK: - What libasound calls

static int card_start(snd_pcm_ioplug_t *io) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    int error = card->fault == FAULT_GONE ? -ENODEV : card->fault == FAULT_DEAF ? -EIO : 0;
    if (!error) {
        card->is_running = true;
        card->starts++;
        card->clock_start = nanoseconds();
        card->clock_frames = 0;
    }
    rscard_show(card);
    pthread_mutex_unlock(&card->lock);
    return error;
}

static int card_stop(snd_pcm_ioplug_t *io) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    card->is_running = false;
    rscard_show(card);
    pthread_mutex_unlock(&card->lock);
    return 0;
}

static snd_pcm_sframes_t card_pointer(snd_pcm_ioplug_t *io) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    move_by_clock(card);
    snd_pcm_sframes_t result = (snd_pcm_sframes_t)(card->hardware % card->boundary);
    if (card->fault == FAULT_GONE) {
        snd_pcm_ioplug_set_state(io, SND_PCM_STATE_DISCONNECTED);
    } else if (card->fault == FAULT_SUSPEND || card->fault == FAULT_ASLEEP) {
        snd_pcm_ioplug_set_state(io, SND_PCM_STATE_SUSPENDED);
    } else if (card->fault == FAULT_XRUN) {
        card->is_running = false;
        result = -EPIPE;
    } else if (card->fault == FAULT_DEAF) {
        result = -EPIPE;
    }
    pthread_mutex_unlock(&card->lock);
    return result;
}

static snd_pcm_sframes_t card_transfer(
    snd_pcm_ioplug_t *io, const snd_pcm_channel_area_t *areas, snd_pcm_uframes_t offset, snd_pcm_uframes_t size) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    size_t bytes = card->frame_bytes / io->channels;
    for (snd_pcm_uframes_t frame = 0; frame < size; frame++) {
        uint8_t *own = card->buffer + (card->application + frame) % io->buffer_size * card->frame_bytes;
        for (unsigned channel = 0; channel < io->channels; channel++) {
            const snd_pcm_channel_area_t *area = &areas[channel];
            uint8_t *sample = (uint8_t *)area->addr + (area->first + (offset + frame) * area->step) / 8;
            if (card->is_capture) memcpy(sample, own + channel * bytes, bytes);
            else memcpy(own + channel * bytes, sample, bytes);
        }
    }
    card->application += size;
    rscard_show(card);
    pthread_mutex_unlock(&card->lock);
    return (snd_pcm_sframes_t)size;
}

static int card_prepare(snd_pcm_ioplug_t *io) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    int error = card->fault == FAULT_GONE ? -ENODEV
        : card->fault == FAULT_DEAF       ? -EIO
        : card->fault == FAULT_ASLEEP     ? -EBADFD
                                          : 0;
    if (!error) {
        if (card->fault == FAULT_XRUN || card->fault == FAULT_SUSPEND) card->fault = FAULT_NONE;
        card->hardware = card->application = 0;
        card->is_running = false;
        card->prepares++;
        if (card->sleeps_when_prepared) {
            card->sleeps_when_prepared = false;
            card->fault = FAULT_SUSPEND;
            card->resume = RESUME_WORKS;
            card->lies_left = 0;
        }
    }
    rscard_show(card);
    pthread_mutex_unlock(&card->lock);
    return error;
}

static int card_resume(snd_pcm_ioplug_t *io) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    int error = 0;
    card->resumes++;
    if (card->fault == FAULT_GONE) {
        error = -ENODEV;
    } else if (card->resume == RESUME_NOT_THERE) {
        error = -ENOSYS;
    } else if (card->lies_left > 0) {
        card->lies_left--;
        error = card->resume == RESUME_AGAIN ? -EAGAIN : 0;
    } else if (card->fault == FAULT_SUSPEND) {
        card->fault = FAULT_NONE;
        // The state goes back as in the kernel: a card that was not running does not run.
        snd_pcm_ioplug_set_state(io, card->is_running ? SND_PCM_STATE_RUNNING : SND_PCM_STATE_PREPARED);
    }
    rscard_show(card);
    pthread_mutex_unlock(&card->lock);
    return error;
}

static int card_hw_params(snd_pcm_ioplug_t *io, snd_pcm_hw_params_t *params) {
    (void)params;
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    size_t bytes = (size_t)snd_pcm_format_physical_width(io->format) / 8 * io->channels;
    if (bytes != card->frame_bytes) card->played = card->room = 0, free(card->memory), card->memory = NULL;
    card->frame_bytes = bytes;
    free(card->buffer);
    card->buffer = calloc(io->buffer_size, bytes);
    if (!card->buffer) abort();
    if (card->has_clock) {
        struct itimerspec each = {0};
        each.it_interval.tv_nsec = each.it_value.tv_nsec = (long)(io->period_size * 250000000ull / io->rate);
        timerfd_settime(card->descriptor, 0, &each, NULL);
    }
    pthread_mutex_unlock(&card->lock);
    return 0;
}

static int card_sw_params(snd_pcm_ioplug_t *io, snd_pcm_sw_params_t *params) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    snd_pcm_sw_params_get_boundary(params, &card->boundary);
    snd_pcm_sw_params_get_avail_min(params, &card->least_available);
    pthread_mutex_unlock(&card->lock);
    return 0;
}

static int card_poll_revents(
    snd_pcm_ioplug_t *io, struct pollfd *descriptors, unsigned count, unsigned short *revents) {
    struct card *card = io->private_data;
    (void)descriptors, (void)count;
    pthread_mutex_lock(&card->lock);
    card->polls++;
    if (card->has_clock) {
        uint64_t ticks;
        (void)!read(card->descriptor, &ticks, sizeof ticks);
        move_by_clock(card);
    }
    unsigned short event = card->is_capture ? POLLIN : POLLOUT;
    *revents = 0;
    if (card->fault == FAULT_ALWAYS_READY || rscard_available(card) >= card->least_available) *revents = event;
    if (card->fault == FAULT_GONE || card->fault == FAULT_XRUN || card->fault == FAULT_SUSPEND) *revents = event | POLLERR;
    pthread_mutex_unlock(&card->lock);
    return 0;
}

static int card_delay(snd_pcm_ioplug_t *io, snd_pcm_sframes_t *delay) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    move_by_clock(card);
    *delay = (snd_pcm_sframes_t)(card->is_capture ? rscard_available(card) : rscard_queued(card)) + card->extra_delay;
    int error = card->fault == FAULT_GONE ? -ENODEV : card->fault == FAULT_XRUN ? -EPIPE : 0;
    rscard_advance(card, (uint64_t)card->moves_when_asked);
    card->moves_when_asked = 0;
    pthread_mutex_unlock(&card->lock);
    return error;
}

static int card_close(snd_pcm_ioplug_t *io) {
    struct card *card = io->private_data;
    pthread_mutex_lock(&card->lock);
    card->is_open = card->is_running = false;
    if (card->descriptor >= 0) close(card->descriptor);
    card->descriptor = -1;
    pthread_cond_broadcast(&card->changed);
    int error = card->fault == FAULT_GONE ? -ENODEV : 0;
    pthread_mutex_unlock(&card->lock);
    return error;
}

static const snd_pcm_ioplug_callback_t callbacks = {
    .start = card_start,
    .stop = card_stop,
    .pointer = card_pointer,
    .transfer = card_transfer,
    .close = card_close,
    .hw_params = card_hw_params,
    .sw_params = card_sw_params,
    .prepare = card_prepare,
    .resume = card_resume,
    .poll_revents = card_poll_revents,
    .delay = card_delay,
};

SND_PCM_PLUGIN_DEFINE_FUNC(rscard) {
    (void)root;
    const char *named = "card";
    long ppm = 0;
    int has_clock = 0, is_mapped = 0;
    snd_config_iterator_t i, next;
    snd_config_for_each(i, next, conf) {
        snd_config_t *entry = snd_config_iterator_entry(i);
        const char *key;
        if (snd_config_get_id(entry, &key) < 0) continue;
        if (strcmp(key, "card") == 0) snd_config_get_string(entry, &named);
        if (strcmp(key, "ppm") == 0) snd_config_get_integer(entry, &ppm);
        if (strcmp(key, "mmap") == 0) is_mapped = snd_config_get_bool(entry) > 0;
        if (strcmp(key, "clock") == 0) has_clock = snd_config_get_bool(entry);
    }
    struct card *card = rscard_card(named, stream == SND_PCM_STREAM_CAPTURE);
    pthread_mutex_lock(&card->lock);
    int error = card->fault == FAULT_GONE ? -ENODEV : card->fault == FAULT_BUSY || card->is_open ? -EBUSY : 0;
    if (error) {
        pthread_mutex_unlock(&card->lock);
        return error;
    }
    card->has_clock = has_clock > 0;
    card->ppm = (double)ppm;
    if (is_mapped) card->accesses[0] = SND_PCM_ACCESS_MMAP_INTERLEAVED;
    card->descriptor = card->has_clock ? timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)
                                       : eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    memset(&card->io, 0, sizeof card->io);
    card->io.version = SND_PCM_IOPLUG_VERSION;
    card->io.name = "A card for tests";
    card->io.flags = SND_PCM_IOPLUG_FLAG_BOUNDARY_WA;
    card->io.callback = &callbacks;
    card->io.private_data = card;
    card->io.poll_fd = card->descriptor;
    card->io.poll_events = POLLIN;
    card->hardware = card->application = 0;
    card->boundary = 1u << 30;
    pthread_mutex_unlock(&card->lock);
    error = snd_pcm_ioplug_create(&card->io, name, stream, mode);
    if (error < 0) return error;
    snd_pcm_ioplug_t *io = &card->io;
    snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_ACCESS, card->access_count, card->accesses);
    snd_pcm_ioplug_set_param_list(io, SND_PCM_IOPLUG_HW_FORMAT, card->format_count, card->formats);
    snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_RATE, card->least_rate, card->most_rate);
    snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_CHANNELS, card->least_channels, card->most_channels);
    snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_PERIOD_BYTES, 32, 1 << 20);
    snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_BUFFER_BYTES, 64, 1 << 22);
    snd_pcm_ioplug_set_param_minmax(io, SND_PCM_IOPLUG_HW_PERIODS, 2, 64);
    pthread_mutex_lock(&card->lock);
    card->is_open = true;
    card->opens++;
    pthread_cond_broadcast(&card->changed);
    pthread_mutex_unlock(&card->lock);
    *pcmp = io->pcm;
    return 0;
}
SND_PCM_PLUGIN_SYMBOL(rscard);
