// The ends of cycles: of those that were seen to hang, and of those that were running when their process ended.

#ifndef COMMAND_ENDS_H
#define COMMAND_ENDS_H

#include "findings.h"

void note_hang(struct process *process, const struct rtwatch_record *record, struct finding *finding);
void note_long_cycle(struct process *process, const struct rtwatch_cycle *cycle);
void finish_cycles(void);          // of all processes, once nothing more comes

#endif
