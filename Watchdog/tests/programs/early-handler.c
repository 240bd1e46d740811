// A library whose constructor installs a handler before the watchdog's own constructor runs, as Swift's runtime does.
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

static void early(int number) {
    (void)number;
    free(malloc(10));
    getppid();
}

int early_handler;

__attribute__((constructor)) static void install(void) {
    struct sigaction action = {.sa_handler = early};
    sigfillset(&action.sa_mask);
    early_handler = sigaction(SIGUSR1, &action, NULL) == 0;
}
