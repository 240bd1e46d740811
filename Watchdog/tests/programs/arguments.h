struct mixed { double number; long count; };
struct two { double x, y; };

double nice(double a, float b, struct mixed c, long double d, double e, double f, double g, double h, double i);
long double alarm(long double a, double b);
double sysinfo(int count, ...);
struct mixed uname(struct mixed a, struct two b);
struct two getrlimit(struct two a, _Complex double b);
double swift_allocObject(double a, double b);
long double swift_allocError(double a);
struct two swift_allocBox(struct two a);
struct mixed swift_slowAlloc(struct mixed a);

#ifdef __x86_64__
typedef double wide __attribute__((vector_size(32)));
__attribute__((target("avx"))) wide setpriority(wide a, wide b);
#endif
