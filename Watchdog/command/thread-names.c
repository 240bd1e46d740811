#include "thread-names.h"

#include "buffer.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 32 };
static struct { const char *name; bool real_time; } names[MOST];
static int count;

int thread_name_count(void) { return count; }
const char *noted_thread_name(int index) { return names[index].name; }
bool noted_thread_is_real_time(int index) { return names[index].real_time; }

static void note(const char *text, bool real_time) {
    char clean[64] = {0};
    for (int i = 0; i < 63 && text[i]; i++) clean[i] = (unsigned char)text[i] < ' ' ? '?' : text[i];
    const char *name = intern(clean);
    int i = 0;
    while (i < count && names[i].name != name) i++;
    if (i == MOST) return;
    if (i == count) names[count++].name = name;
    names[i].real_time = names[i].real_time || real_time;
}

// "12 (a name) S …": the name may hold anything; the scheduling policy is the 41st word.
static void note_stat(char *text) {
    char *name = strchr(text, '('), *rest = strrchr(text, ')');
    if (!name || !rest || rest < name) return;
    *rest++ = 0;
    int policy = 0;
    for (int word = 3; word <= 41 && *rest; word++) {
        rest += strspn(rest, " ");
        if (word == 41) policy = atoi(rest);
        rest += strcspn(rest, " ");
    }
    note(name + 1, policy == 1 || policy == 2);
}

void note_thread_names(int pid) {
    char *folder = format("/proc/%d/task", pid);
    DIR *listing = opendir(folder);
    for (struct dirent *entry; listing && (entry = readdir(listing));) {
        char text[1024];
        if (entry->d_name[0] == '.') continue;
        char *path = format("%s/%s/stat", folder, entry->d_name);
        FILE *file = fopen(path, "re");
        if (file) {
            if (fgets(text, sizeof text, file)) note_stat(text);
            fclose(file);
        }
        free(path);
    }
    if (listing) closedir(listing);
    free(folder);
}
