// The simulated card: what it is, for the plug-in and for the commands of the test.

#ifndef RSCARD_H
#define RSCARD_H

#include <alsa/asoundlib.h>
#include <alsa/pcm_external.h>

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

enum { MOST_CARDS = 64 };

// The faults of a card.
enum fault {
    FAULT_NONE = 0,
    FAULT_XRUN = 1,          // once: the next question is answered with EPIPE
    FAULT_SUSPEND = 2,       // until it is resumed or prepared
    FAULT_GONE = 3,          // ENODEV from now on; it cannot be opened
    FAULT_STALL = 4,         // no frame moves, whatever is commanded
    FAULT_ALWAYS_READY = 5,  // poll returns at once, but there is nothing to do
    FAULT_BUSY = 6,          // it cannot be opened
    FAULT_DEAF = 7,          // resume, prepare and start fail
    FAULT_ASLEEP = 8,        // suspended, and neither resume nor prepare wakes it
};

// The results of a resume.
enum resume { RESUME_WORKS = 0, RESUME_LIES = 1, RESUME_AGAIN = 2, RESUME_NOT_THERE = 3 };

struct card {
    char name[32];
    bool is_used, is_capture;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    // The card's abilities.
    unsigned formats[8], format_count, accesses[8], access_count;
    unsigned least_rate, most_rate, least_channels, most_channels;
    // The card's state.
    snd_pcm_ioplug_t io;
    bool is_open, is_running;
    int descriptor;
    uint64_t hardware, application;  // frames since prepare
    snd_pcm_uframes_t boundary, least_available;
    enum fault fault;
    enum resume resume;
    int lies_left;
    unsigned opens, prepares, starts, resumes, polls;
    long extra_delay;
    bool sleeps_when_prepared;   // a suspension comes just after the next preparation, before it is started
    long moves_when_asked;  // frames that move just after the next question for the delay
    // All that was played, or that is to be captured next, in the card's own format, interleaved.
    uint8_t *memory;
    size_t frame_bytes, played, room;
    uint64_t captured;
    uint8_t *buffer;  // one buffer's length of frames
    // By the clock.
    bool has_clock;
    double ppm;
    uint64_t clock_start;
    uint64_t clock_frames;
};

/// The card of a name, made if there is none yet.
struct card *rscard_card(const char *name, bool is_capture);

// With the lock held.
snd_pcm_uframes_t rscard_queued(const struct card *card);
snd_pcm_uframes_t rscard_available(const struct card *card);
void rscard_show(struct card *card);
uint64_t rscard_advance(struct card *card, uint64_t frames);

#endif
