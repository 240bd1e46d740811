// Zita's convolver for W7: a stereo sound through a stereo response, in cycles of so many frames, at 48 kHz.
//
//     convolver CYCLE RESPONSE convert IN OUT       raw floats, two channels interleaved
//     convolver CYCLE RESPONSE time IN SECONDS      nanoseconds of processor time of all threads a stereo frame
//
// Its partitions grow from the cycle's length to 8,192 frames, and the longer ones have threads of their own, which are waited for.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <unistd.h>
#include <vector>
#include <xmmintrin.h>
#include <zita-convolver.h>

static std::vector<float> sound(const char *path) {
    std::vector<float> samples;
    FILE *file = fopen(path, "rb");
    float pair[2];
    while (file && fread(pair, 8, 1, file) == 1) samples.insert(samples.end(), pair, pair + 2);
    if (file) fclose(file);
    return samples;
}

static double now() {
    timespec time;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec * 1e9 + time.tv_nsec;
}

int main(int count, char **words) {
    if (count < 6) return 2;
    const long cycle = atol(words[1]);
    std::vector<float> response = sound(words[2]), both = sound(words[4]);
    const long taps = response.size() / 2, frames = both.size() / 2 / cycle * cycle;
    if (!taps || !frames) return 3;
    _mm_setcsr(_mm_getcsr() | 0x8040);
    Convproc convolver;
    convolver.set_options(Convproc::OPT_VECTOR_MODE | Convproc::OPT_FFTW_MEASURE);
    const unsigned part = cycle < 64 ? 64 : cycle;
    if (convolver.configure(2, 2, taps, cycle, part, 8192, 0)) return 4;
    for (int channel = 0; channel < 2; channel++) {
        std::vector<float> one(taps);
        for (long i = 0; i < taps; i++) one[i] = response[2 * i + channel];
        if (convolver.impdata_create(channel, channel, 1, one.data(), 0, taps)) return 5;
    }
    if (convolver.start_process(0, SCHED_OTHER)) return 6;
    // Its threads do not say when they are there; before that their parts are in the wrong place.
    usleep(300000);
    const bool timed = !strcmp(words[3], "time");
    const long warm = timed ? 3 * 48000 / cycle * cycle : 0;
    const long last = timed ? warm + (long)(atof(words[5]) * 48000) / cycle * cycle : frames;
    double start = now();
    std::vector<float> sum(2 * cycle);
    for (long done = 0; done < last; done += cycle) {
        if (done == warm) start = now();
        const long place = done % frames;
        for (int channel = 0; channel < 2; channel++)
            for (long i = 0; i < cycle; i++) convolver.inpdata(channel)[i] = both[2 * (place + i) + channel];
        convolver.process(true);
        for (int channel = 0; channel < 2; channel++)
            for (long i = 0; i < cycle; i++) sum[2 * i + channel] = convolver.outdata(channel)[i];
        if (!timed) memcpy(&both[2 * done], sum.data(), 8 * cycle);
    }
    if (timed) {
        printf("%.3f\n", (now() - start) / (last - warm));
    } else {
        FILE *file = fopen(words[5], "wb");
        if (!file || (long)fwrite(both.data(), 8, frames, file) != frames || fclose(file)) return 7;
    }
    fflush(stdout);
    _exit(0);
}
