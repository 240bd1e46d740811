#define _GNU_SOURCE

#include "CRender.h"

#include <pthread.h>

void crender_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }
