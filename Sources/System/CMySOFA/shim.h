#if !__has_include(<mysofa.h>)
#error RenderStack needs the headers of libmysofa: please install libmysofa-dev (its name in Debian).
#else
#include <mysofa.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/// The header of the numbers of a file that a child process has read.
struct sofa_header {
    uint64_t mark;
    int32_t code;
    uint32_t receivers, directions, length;
    /// The numbers that follow: of sample rates, places, responses and delays.
    uint32_t rates, places, samples, delays;
    /// The name of the file's convention, with a NUL behind it; empty if it has none.
    char convention[64];
};

#define SOFA_MARK 0x534f464152656164ull

/// Makes a pipe that no other program inherits: the end to read, then that to write.
static inline int sofa_pipe(int *_Nonnull ends) {
    if (pipe(ends)) return 0;
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    return 1;
}

static inline int sofa_write(int descriptor, const void *_Nonnull bytes, size_t count) {
    const char *at = (const char *)bytes;
    while (count > 0) {
        ssize_t done = write(descriptor, at, count);
        if (done <= 0) return 0;
        at += done;
        count -= (size_t)done;
    }
    return 1;
}

static inline uint32_t sofa_count(const struct MYSOFA_ARRAY *_Nonnull array) {
    return array->values ? array->elements : 0;
}

/// Copies the name of a file's convention.
static inline void sofa_name(const struct MYSOFA_HRTF *_Nonnull file, struct sofa_header *_Nonnull header) {
    for (const struct MYSOFA_ATTRIBUTE *one = file->attributes; one; one = one->next)
        if (one->name && one->value && !strcmp(one->name, "SOFAConventions"))
            strncpy(header->convention, one->value, sizeof header->convention - 1);
}

/// Lets this process have at most this many bytes more than it has: so a damaged file cannot take the memory of other programs.
static inline void sofa_limit_memory(rlim_t more) {
    char text[64];
    int file = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    ssize_t count = file >= 0 ? read(file, text, sizeof text - 1) : -1;
    if (file >= 0) close(file);
    rlim_t pages = 0;
    for (ssize_t i = 0; i < count && text[i] >= '0' && text[i] <= '9'; i++) pages = 10 * pages + (rlim_t)(text[i] - '0');
    struct rlimit limit;
    if (pages == 0 || getrlimit(RLIMIT_AS, &limit)) return;
    rlim_t wanted = pages * (rlim_t)sysconf(_SC_PAGESIZE) + more;
    if (limit.rlim_cur != RLIM_INFINITY && limit.rlim_cur < wanted) return;
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_AS, &limit);
}

/// Reads a file in a child process, which the library may take down with it if the file is damaged, and writes a header and the
/// numbers to a pipe.
///
/// @param seconds The processor time that it may take.
/// @return The child, or -1.
static inline pid_t sofa_read_apart(
    const char *_Nonnull data, size_t size, int from, int descriptor, unsigned seconds) {
    pid_t child = fork();
    if (child != 0) return child;
    close(from);
    // Nothing of the parent's is to answer a crash, and nothing is to be printed or kept of it.
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGPIPE, SIGXCPU};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    struct rlimit limit = {0, 0};
    setrlimit(RLIMIT_CORE, &limit);
    limit.rlim_cur = limit.rlim_max = seconds;
    setrlimit(RLIMIT_CPU, &limit);
    sofa_limit_memory((rlim_t)4 << 30);
    int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nowhere >= 0) {
        dup2(nowhere, 1);
        dup2(nowhere, 2);
    }
    struct sofa_header header;
    memset(&header, 0, sizeof header);
    header.mark = SOFA_MARK;
    int code = 0;
    struct MYSOFA_HRTF *file = mysofa_load_data(data, size, &code);
    header.code = file ? code : (code ? code : MYSOFA_INVALID_FORMAT);
    if (!file || code) {
        sofa_write(descriptor, &header, sizeof header);
        _exit(0);
    }
    mysofa_tocartesian(file);
    sofa_name(file, &header);
    header.receivers = file->R;
    header.directions = file->M;
    header.length = file->N;
    header.rates = sofa_count(&file->DataSamplingRate);
    header.places = sofa_count(&file->SourcePosition);
    header.samples = sofa_count(&file->DataIR);
    header.delays = sofa_count(&file->DataDelay);
    if (sofa_write(descriptor, &header, sizeof header) &&
        sofa_write(descriptor, file->DataSamplingRate.values, sizeof(float) * header.rates) &&
        sofa_write(descriptor, file->SourcePosition.values, sizeof(float) * header.places) &&
        sofa_write(descriptor, file->DataIR.values, sizeof(float) * header.samples))
        sofa_write(descriptor, file->DataDelay.values, sizeof(float) * header.delays);
    _exit(0);
}
#endif
