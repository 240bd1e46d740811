// OpenAL Soft through its loopback device: moving sources of noise, rendered as fast as it goes.
//
//     openal pan|hrtf SOURCES FRAMES ROUNDS        prints nanoseconds a source-sample, a line a round
//     openal pan|hrtf SOURCES FRAMES 0 SECONDS     writes the sound: two channels of floats

#include <AL/al.h>
#include <AL/alc.h>
#include <AL/alext.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int count, char **words) {
    if (count < 5) return fputs("openal pan|hrtf SOURCES FRAMES ROUNDS [SECONDS]\n", stderr), 2;
    int hrtf = !strcmp(words[1], "hrtf"), sources = atoi(words[2]), frames = atoi(words[3]), rounds = atoi(words[4]);
    LPALCLOOPBACKOPENDEVICESOFT open = (LPALCLOOPBACKOPENDEVICESOFT)alcGetProcAddress(NULL, "alcLoopbackOpenDeviceSOFT");
    LPALCRENDERSAMPLESSOFT render = (LPALCRENDERSAMPLESSOFT)alcGetProcAddress(NULL, "alcRenderSamplesSOFT");
    if (!open || !render) return fputs("OpenAL has no loopback device\n", stderr), 1;
    ALCdevice *device = open(NULL);
    ALCint wanted[] = {ALC_FORMAT_CHANNELS_SOFT, ALC_STEREO_SOFT, ALC_FORMAT_TYPE_SOFT, ALC_FLOAT_SOFT, ALC_FREQUENCY, 48000,
        ALC_MONO_SOURCES, sources + 16, ALC_HRTF_SOFT, hrtf, 0};
    ALCcontext *context = alcCreateContext(device, wanted);
    if (!context || !alcMakeContextCurrent(context)) return fputs("OpenAL has no context\n", stderr), 1;
    ALCint state = 0;
    alcGetIntegerv(device, ALC_HRTF_SOFT, 1, &state);
    if (!!state != hrtf) return fputs("OpenAL has no responses of a head\n", stderr), 1;
    static float noise[48000];
    uint32_t seed = 1;
    for (int i = 0; i < 48000; i++) {
        seed = seed * 1664525 + 1013904223;
        noise[i] = (float)(int32_t)seed * 0x1p-33f;
    }
    ALuint buffer, *all = calloc((size_t)sources, sizeof *all);
    alGenBuffers(1, &buffer);
    alBufferData(buffer, AL_FORMAT_MONO_FLOAT32, noise, sizeof noise, 48000);
    alGenSources(sources, all);
    for (int i = 0; i < sources; i++) {
        alSourcei(all[i], AL_BUFFER, (ALint)buffer);
        alSourcei(all[i], AL_LOOPING, AL_TRUE);
    }
    if (alGetError() != AL_NO_ERROR) return fputs("OpenAL does not have so many sources\n", stderr), 1;
    float *block = calloc((size_t)frames * 2, sizeof *block);
    double metres = 0;
    for (int round = -1; round < (rounds ? rounds : 1); round++) {
        double seconds = rounds ? 0.5 : round < 0 ? 0 : count > 5 ? atof(words[5]) : 1;
        int cycles = (int)(seconds * 48000 / frames);
        double start = now();
        for (int cycle = 0; cycle < cycles; cycle++) {
            metres += (double)frames / 48000;
            for (int i = 0; i < sources; i++) {
                alSource3f(all[i], AL_POSITION, (float)(i % 8 - 4) + (float)metres, 0, (float)(-1 - i / 8));
                alSource3f(all[i], AL_VELOCITY, 1, 0, 0);
            }
            if (cycle == 0) alSourcePlayv(sources, all);
            render(device, block, frames);
            if (!rounds) fwrite(block, sizeof *block, (size_t)frames * 2, stdout);
        }
        if (round >= 0 && rounds) printf("%.4f\n", (now() - start) / ((double)cycles * frames * sources));
        metres = fmod(metres, 8);
    }
    ALint playing;
    alGetSourcei(all[0], AL_SOURCE_STATE, &playing);
    if (playing != AL_PLAYING) return fputs("OpenAL's sources do not play\n", stderr), 1;
    alcMakeContextCurrent(NULL);
    alcDestroyContext(context);
    alcCloseDevice(device);
}
