// The names of a program's threads, gathered while no audio thread is found: one of them may be for --thread.

#ifndef COMMAND_THREAD_NAMES_H
#define COMMAND_THREAD_NAMES_H

#include <stdbool.h>

void note_thread_names(int pid);
int thread_name_count(void);
const char *noted_thread_name(int index);
bool noted_thread_is_real_time(int index);

#endif
