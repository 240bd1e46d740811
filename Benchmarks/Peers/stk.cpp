// The workloads with STK's classes, frame by frame, as its tutorial has it.
#include <BiQuad.h>
#include <Delay.h>
#include <FileWvIn.h>
#include <FileWvOut.h>
#include <SineWave.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

using namespace stk;

static void voices(std::ifstream &numbers, long frames, FileWvOut &file) {
    struct Voice {
        SineWave tone;
        BiQuad band;
        StkFloat left, right;
    };
    std::vector<std::unique_ptr<Voice>> all;
    double frequency, level, b0, a1, a2, left, right;
    while (numbers >> frequency >> level >> b0 >> a1 >> a2 >> left >> right) {
        all.emplace_back(new Voice);
        all.back()->tone.setFrequency(frequency);
        all.back()->band.setCoefficients(b0, 0, -b0, a1, a2);
        all.back()->left = left * level;
        all.back()->right = right * level;
    }
    StkFrames out(64, 2);
    for (long done = 0; done < frames; done += 64) {
        for (unsigned i = 0; i < 64; i++) {
            StkFloat l = 0, r = 0;
            for (auto &voice : all) {
                StkFloat sample = voice->band.tick(voice->tone.tick());
                l += voice->left * sample;
                r += voice->right * sample;
            }
            out(i, 0) = l;
            out(i, 1) = r;
        }
        file.tick(out);
    }
}

static void flow(std::ifstream &numbers, long frames, FileWvOut &file) {
    double b0, a1, a2, delay, feedback, mix;
    numbers >> b0 >> a1 >> a2 >> delay >> feedback >> mix;
    std::vector<std::unique_ptr<FileWvIn>> files;
    std::string path;
    while (numbers >> path) {
        // In chunks from the disk, normalised to 1 as a 16-bit file is; another rate it interpolates.
        files.emplace_back(new FileWvIn(path, false, true, 0, 65536));
    }
    BiQuad bands[2];
    Delay lines[2] = {Delay((unsigned long)delay, 20000), Delay((unsigned long)delay, 20000)};
    for (auto &band : bands) band.setCoefficients(b0, 0, -b0, a1, a2);
    StkFrames out(64, 2);
    for (long done = 0; done < frames; done += 64) {
        for (unsigned i = 0; i < 64; i++) {
            for (auto &one : files) one->tick();
            for (unsigned channel = 0; channel < 2; channel++) {
                StkFloat sum = files[1]->lastOut(channel) + files[2]->lastOut(channel);
                StkFloat echo = lines[channel].nextOut();
                lines[channel].tick(sum + feedback * echo);
                out(i, channel) = bands[channel].tick(files[0]->lastOut(channel)) + (1 - mix) * sum + mix * echo;
            }
        }
        file.tick(out);
    }
}

int main(int, char **words) {
    Stk::setSampleRate(48000);
    std::string workload = words[1];
    std::ifstream numbers(words[2]);
    long frames = (long)(atof(words[3]) * 48000);
    bool isFlow = workload == "W1";
    FileWvOut file(words[4], 2, FileWrite::FILE_WAV, isFlow ? Stk::STK_SINT16 : Stk::STK_FLOAT32);
    if (isFlow) flow(numbers, frames, file);
    else voices(numbers, frames, file);
    file.closeFile();
    return 0;
}
