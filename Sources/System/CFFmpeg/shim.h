#if !__has_include(<libavformat/avformat.h>)
#error RenderStack's trait FFmpeg needs the headers of FFmpeg: please install libavformat-dev (its name in Debian).
#else
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/avutil.h>

// Swift sees no macros that compute.
static inline int cffmpeg_is_again(int result) { return result == AVERROR(EAGAIN); }
static inline int cffmpeg_end(void) { return AVERROR_EOF; }
static inline int64_t cffmpeg_frames(int64_t time, AVRational base, int rate) {
    return av_rescale_q(time, base, (AVRational){1, rate});
}
static inline int64_t cffmpeg_time(int64_t frames, AVRational base, int rate) {
    return av_rescale_q(frames, (AVRational){1, rate}, base);
}
static inline int cffmpeg_is_time(int64_t time) { return time != AV_NOPTS_VALUE; }
#endif
