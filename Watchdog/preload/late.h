// Functions of libraries that may be opened at run time: wrapped in C, found when first called or by dlsym.

#ifndef LATE_H
#define LATE_H

#define LATE_NAMES(X) \
    X(jack_set_process_callback) X(jack_set_process_thread) X(jack_cycle_wait) X(jack_cycle_signal) \
    X(jack_client_close) \
    X(pw_stream_new_simple) X(pw_stream_add_listener) X(pw_stream_connect) X(pw_stream_destroy) \
    X(pw_filter_new_simple) X(pw_filter_add_listener) X(pw_filter_connect) X(pw_filter_destroy) \
    X(snd_pcm_wait) X(snd_pcm_writei) X(snd_pcm_writen) X(snd_pcm_readi) X(snd_pcm_readn) X(snd_pcm_mmap_writei) \
    X(snd_pcm_mmap_writen) X(snd_pcm_mmap_readi) X(snd_pcm_mmap_readn) X(snd_pcm_mmap_commit) \
    X(snd_pcm_poll_descriptors) X(snd_pcm_hw_params) X(snd_pcm_drain) X(snd_pcm_drop) X(snd_pcm_close)

enum late {
#define X(name) LATE_##name,
    LATE_NAMES(X)
#undef X
    LATE_COUNT
};

void *late(enum late which);                                  // the real function
void *late_beside(enum late which, const char *name);         // another function of the library that has it
#define LATE(name) late(LATE_##name)

#endif
