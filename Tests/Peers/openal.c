// OpenAL Soft through its loopback device, for scripts/checks/space: one source of a constant or of a sine, heard in mono at 48 kHz.
//
//     openal FOLDER < SCENES
//
// A scene is a line: name, model (0 inverse, 1 linear, 2 exponential, 3 none), minimum and maximum distance, roll-off, Doppler's
// factor, speed of sound, the source's place ahead, its speed towards the listener, the listener's towards the source, the
// frequency (0: a constant), the frames. Of each it writes FOLDER/name.f32.

#include <AL/al.h>
#include <AL/alc.h>
#include <AL/alext.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int fail(const char *sentence) { return fprintf(stderr, "openal: %s\n", sentence), 1; }

int main(int count, char **words) {
    if (count != 2) return fail("openal FOLDER < SCENES");
    LPALCLOOPBACKOPENDEVICESOFT open = (LPALCLOOPBACKOPENDEVICESOFT)alcGetProcAddress(NULL, "alcLoopbackOpenDeviceSOFT");
    LPALCRENDERSAMPLESSOFT render = (LPALCRENDERSAMPLESSOFT)alcGetProcAddress(NULL, "alcRenderSamplesSOFT");
    if (!open || !render) return fail("there is no loopback device");
    ALCdevice *device = open(NULL);
    ALCint wanted[] = {ALC_FORMAT_CHANNELS_SOFT, ALC_MONO_SOFT, ALC_FORMAT_TYPE_SOFT, ALC_FLOAT_SOFT, ALC_FREQUENCY, 48000,
        ALC_HRTF_SOFT, 0, 0};
    ALCcontext *context = device ? alcCreateContext(device, wanted) : NULL;
    if (!context || !alcMakeContextCurrent(context)) return fail("there is no context");
    static const ALenum models[] = {AL_INVERSE_DISTANCE_CLAMPED, AL_LINEAR_DISTANCE_CLAMPED, AL_EXPONENT_DISTANCE_CLAMPED, AL_NONE};
    char name[64];
    int model, frames, scenes = 0;
    float minimum, maximum, rollOff, factor, speedOfSound, ahead, speed, listener, frequency;
    while (scanf("%63s %d %f %f %f %f %f %f %f %f %f %d", name, &model, &minimum, &maximum, &rollOff, &factor, &speedOfSound,
        &ahead, &speed, &listener, &frequency, &frames) == 12) {
        if (model < 0 || model > 3 || frames < 1 || frames > 480000) return fail("a scene is out of range");
        // A whole number of periods, so that it loops without a seam.
        float *samples = calloc(48000, sizeof *samples), *heard = calloc((size_t)frames, sizeof *heard);
        for (int i = 0; i < 48000; i++) samples[i] = frequency > 0 ? 0.5f * (float)sin(2 * M_PI * frequency * i / 48000) : 1;
        ALuint buffer, source;
        alGenBuffers(1, &buffer);
        alBufferData(buffer, AL_FORMAT_MONO_FLOAT32, samples, 48000 * (int)sizeof *samples, 48000);
        alGenSources(1, &source);
        alSourcei(source, AL_BUFFER, (ALint)buffer);
        alSourcei(source, AL_LOOPING, AL_TRUE);
        alDistanceModel(models[model]);
        alDopplerFactor(factor);
        alSpeedOfSound(speedOfSound);
        alSourcef(source, AL_REFERENCE_DISTANCE, minimum);
        alSourcef(source, AL_MAX_DISTANCE, maximum);
        alSourcef(source, AL_ROLLOFF_FACTOR, rollOff);
        alSource3f(source, AL_POSITION, 0, 0, -ahead);
        alSource3f(source, AL_VELOCITY, 0, 0, speed);
        alListener3f(AL_VELOCITY, 0, 0, -listener);
        alSourcePlay(source);
        render(device, heard, frames);
        if (alGetError() != AL_NO_ERROR) return fail("OpenAL refuses a scene");
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.f32", words[1], name);
        FILE *file = fopen(path, "wb");
        if (!file || fwrite(heard, sizeof *heard, (size_t)frames, file) != (size_t)frames || fclose(file)) return fail(path);
        alDeleteSources(1, &source);
        alDeleteBuffers(1, &buffer);
        free(samples);
        free(heard);
        scenes++;
    }
    alcMakeContextCurrent(NULL);
    alcDestroyContext(context);
    alcCloseDevice(device);
    printf("%d\n", scenes);
}
