// Zita's classes for resamplers.c.
#include <zita-resampler/resampler.h>
#include <zita-resampler/vresampler.h>

struct Zita {
    Resampler fixed;
    VResampler variable;
    bool varies;
};

template <class R> static void step(R &r, const float *in, int count, float *out, int *taken, int *made) {
    r.inp_count = count;
    r.inp_data = const_cast<float *>(in);
    r.out_count = 64;
    r.out_data = out;
    r.process();
    *taken = count - (int)r.inp_count;
    *made = 64 - (int)r.out_count;
}

extern "C" void *zita_make(int variable, int taps) {
    Zita *zita = new Zita;
    zita->varies = variable;
    if (variable) zita->variable.setup(48000.0 / 44100, 2, taps);
    else zita->fixed.setup(44100, 48000, 2, taps);
    return zita;
}

extern "C" void zita_step(void *state, const float *in, int count, float *out, int *taken, int *made) {
    Zita *zita = (Zita *)state;
    if (zita->varies) step(zita->variable, in, count, out, taken, made);
    else step(zita->fixed, in, count, out, taken, made);
}
