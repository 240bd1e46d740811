#include "advice.h"

#include "../protocol.h"
#include "buffer.h"

#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#define QUEUE "send the value to another thread (a MessagePort, a ring buffer) and do it there"

// Functions that a user writes, for which one name says more than the libc call under it. The first that fits is taken.
static const struct advice written[] = {
    {"print(* debugPrint(* dump(*",
     "print", "takes a lock and writes",
     "print takes a lock, makes strings and writes: " QUEUE "."},
    {"Array.append(* ContiguousArray.append(* Array.insert(* Array.reserveCapacity(* *.reserveCapacityForAppend(*"
     " *._createNewBuffer(* *._copyToNewBuffer(* *._growArrayCapacity* Array.replaceSubrange(*"
     " RangeReplaceableCollection.*",
     "array", "makes the array's storage larger",
     "An array that grows allocates, copies and frees: give it its size before the audio starts, or use InlineArray."},
    {"*.makeMutableAndUnique(* *._makeUniqueAndReserve* *.makeUnique* *._copyContents* *.isUniquelyReferenced*",
     "array", "copies the storage before writing to it",
     "The value has another owner, so writing copies all of it: keep one owner, or use memory that is not "
     "shared."},
    {"_allocateUninitializedArray* static?Array.* Array.init* ContiguousArray.init* *.map(* *.filter(*"
     " *.compactMap(* *.flatMap(* *.sorted(* *.reversed(* Sequence.* Collection.*",
     "array", "makes a new array",
     "A new array is memory from the heap: write into one that was made before the audio started, or use "
     "InlineArray."},
    {"Dictionary.* Set.* __RawDictionary* *NativeDictionary.* *NativeSet.* _Native* static?_DictionaryStorage*",
     "collection", "allocates or hashes",
     "Dictionaries and sets allocate when they change: use a fixed table that was filled before the audio started."},
    {"String.* *StringInterpolation.* *._StringGuts.* _StringGuts.* Substring.* Character.* static?String.* _print*"
     " *description.getter* String?* *.write(to:)",
     "string", "makes or copies text",
     "Text is memory from the heap: send numbers out of the audio thread and make the text elsewhere."},
    {"*DispatchQueue.* *DispatchWorkItem.* *DispatchSemaphore.* *DispatchGroup.* dispatch_*",
     "dispatch", "hands work to Dispatch, which allocates and locks",
     "Dispatch allocates, locks and wakes threads: put a value into a queue that another thread polls."},
    {"Task.* static?Task.* TaskGroup.* swift_task_*",
     "task", "makes or switches a task, which allocates",
     "Tasks are allocated and scheduled with locks: put a value into a queue that a task elsewhere polls."},
    {"Mutex.* _MutexHandle.* NSLock.* NSRecursiveLock.* OSAllocatedUnfairLock.*",
     "lock", "waits while another thread holds the lock",
     "A lock makes the audio wait for the thread that holds it: share the value by an Atomic, a Parameter or a MessagePort."},
    {"Thread.sleep* usleep sleep nanosleep clock_nanosleep",
     "sleep", "sleeps",
     "Nothing may sleep in a cycle: the driver wakes the thread for the next one."},
    {"FileManager.* FileHandle.* Data.* URL.*",
     "file", "uses files or makes data",
     "Files and Data allocate and enter the kernel: read and write on another thread, with a ring between."},
    {"Date.* DateFormatter.* Calendar.*",
     "time", "asks or formats the time through Foundation",
     "Take the time from the render context (or clock_gettime with CLOCK_MONOTONIC) and format it elsewhere."},
    {"jack_client_open jack_client_close jack_activate jack_deactivate jack_connect jack_disconnect"
     " jack_port_register jack_port_unregister jack_get_ports jack_port_by_name jack_set_*",
     "jack", "waits for the JACK server",
     "Only jack_port_get_buffer, MIDI and time functions may be called in a cycle: do this on a control thread."},
    {"snd_pcm_open snd_pcm_close snd_pcm_hw_params* snd_pcm_prepare snd_pcm_drain",
     "alsa", "sets up the device",
     "Open and set up the device before the audio loop; drain it after."},
};

static const struct advice calls[] = {
    {"swift_allocObject swift_allocEmptyBox swift_initStackObject swift_initStaticObject swift_bufferAllocate",
     "object", "makes an object on the heap",
     "An object, an escaping closure or a big existential is allocated here: make it before the audio starts, or "
     "use a struct."},
    {"swift_slowAlloc swift_allocBox swift_projectBox swift_makeBoxUnique",
     "object", "makes a box on the heap",
     "A captured variable or a big existential needs a box: use a struct, a generic type or a field made beforehand."},
    {"swift_allocError swift_willThrow swift_unexpectedError swift_error* cxa_allocate_exception cxa_throw"
     " cxa_rethrow cxa_free_exception",
     "error", "makes an error object",
     "An untyped throw allocates: throw a typed error (throws(MyError)), or return a value."},
    {"swift_release_dealloc* swift_dealloc* swift_slowDealloc* swift_arrayDestroy swift_deletedMethodError",
     "object", "frees an object",
     "The last reference ends here: hold one elsewhere, and free it on a control thread."},
    {"swift_once* cxa_guard_* pthread_once call_once",
     "once", "runs an initialiser once, under a lock",
     "A static or global is set up at its first use: touch it before the audio starts, or make it a stored property."},
    {"swift_dynamicCast* swift_enumerateConformances dynamic_cast swift_conformsToProtocol* swift_getDynamicType",
     "cast", "looks a conformance up, at first under a lock",
     "Casts (as?, is, as! P) search tables and may lock: decide the type before the audio starts."},
    {"swift_getGenericMetadata swift_getTypeByMangledName* swift_checkMetadataState swift_get*Metadata*"
     " swift_getWitnessTable swift_getAssociated* swift_getOpaqueType* swift_instantiate* swift_getKeyPath*",
     "metadata", "makes a type's metadata, at first with memory and a lock",
     "The type is put together at its first use: use it once before the audio starts, or write the code without "
     "generics."},
    {"swift_weak* swift_unowned*",
     "weak", "follows a weak or unowned reference, which counts and may lock",
     "Weak references count references atomically: keep a strong one for as long as the audio runs."},
    {"swift_task* swift_job_* swift_async* swift_continuation_*",
     "task", "makes or switches a task, which allocates",
     "Tasks are allocated and scheduled with locks: put a value into a queue that a task elsewhere polls."},
    {"swift_retain* swift_tryRetain swift_release* swift_bridgeObject* swift_bridge* swift_unknownObject*"
     " swift_nonatomic_* swift_isUniquely*",
     "retain", "counts references, atomically",
     "A count costs 5 to 30 ns, and the last release frees: borrow, use structs, or hold the object in Unmanaged."},
    {"swift_beginAccess swift_endAccess",
     "exclusivity", "checks exclusive access",
     "Class properties and captured variables are checked at each access: copy them to a local once, or use a "
     "struct."},
    {"swift_*",
     "swift-runtime", "enters the Swift runtime",
     "Look at the line below what made the runtime necessary."},
    {"Block_copy Block_release",
     "closure", "copies a closure to the heap, or frees it",
     "A closure that is handed to C or Dispatch goes to the heap: make it before the audio starts."},
    {"malloc mallinfo* malloc_info calloc realloc reallocarray aligned_alloc posix_memalign memalign valloc pvalloc"
     " strdup strndup asprintf vasprintf getline getdelim operator?new* mallocx rallocx xallocx scalable_*alloc"
     " scalable_posix_memalign tc_*alloc* tc_new* tc_*memalign mi_*alloc* mi_*new* mi_*dup mi_*memalign mi_*realpath",
     "memory", "allocates memory",
     "The heap has locks and may ask the kernel for pages: allocate before the audio starts and use that memory "
     "again."},
    {"free cfree operator?delete* malloc_trim dallocx sdallocx scalable_*free tc_*free* tc_delete* mi_*free*",
     "memory", "frees memory",
     "The heap has locks and may give pages back: hand the memory to a control thread that frees it."},
    {"pthread_mutex_unlock pthread_rwlock_unlock mtx_unlock pthread_spin_unlock pthread_cond_signal"
     " pthread_cond_broadcast sem_post funlockfile eventfd_write pthread_barrier_init cnd_signal cnd_broadcast",
     "wake", "may wake another thread, which enters the kernel",
     "Waking costs a system call and may switch threads: let the other side poll, or use a ring that needs no "
     "wake-up."},
    {"mincore posix_madvise shmat shmdt shmget shmctl mmap* munmap* mremap mprotect brk sbrk madvise mlock* munlock*"
     " msync shm_open shm_unlink memfd_create",
     "memory-map", "changes the memory map",
     "The kernel locks the whole memory map and makes the page faults to come: map and touch memory before the "
     "audio starts."},
    {"pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock pthread_rwlock_* pthread_spin_lock flock*"
     " lockf* mtx_* fcntl_lock pthread_mutex_trylock sem_open",
     "lock", "waits while another thread holds the lock",
     "A lock makes the audio wait for the thread that holds it: share the value by an atomic, a Parameter or a MessagePort."},
    {"pthread_cond_* cnd_* pthread_barrier_* sem_wait sem_timedwait sem_clockwait sem_trywait semop semtimedop"
     " sem_close mq_* msgrcv msgsnd semget semctl sem_unlink",
     "wait", "waits for another thread",
     "The audio must not depend on when another thread runs: take what is ready, else use the last value."},
    {"syscall*",
     "system-call", "enters the kernel",
     "A system call may wait: do it on another thread."},
    {"futex*",
     "lock", "waits for or wakes another thread in the kernel",
     "A contended lock (Mutex, pthread_mutex, semaphore) ends in this call: share the value by an atomic or a queue."},
    {"sleep usleep nanosleep clock_nanosleep thrd_sleep pause alarm ualarm sched_yield thrd_yield pthread_yield",
     "sleep", "gives the processor away",
     "Nothing may sleep in a cycle: the driver wakes the thread for the next one."},
    {"io_getevents wait3 poll ppoll select pselect* epoll_* wait4 waitpid wait waitid sigwait* sigsuspend"
     " sigtimedwait rt_sigtimedwait",
     "wait", "waits for an event",
     "Wait outside of the cycle; in it, take what another thread has already received."},
    {"*_unlocked *scanf putc* putw* puts* fput* fget* getw* gets unget* freopen* fcloseall fmemopen open_memstream"
     " fdopen setbuf setlinebuf rewind clearerr feof ferror fsetpos* overflow uflow warn* err error errx printf"
     " fprintf vprintf vfprintf puts fputs putchar putc fputc fwrite fread fflush fopen* fclose fdopen fseek* ftell*"
     " fgets fgetc getc getchar scanf fscanf perror setvbuf dprintf vdprintf snprintf vsnprintf *printf* IO_*"
     " flockfile",
     "stdio", "takes the stream's lock, allocates and writes",
     "Streams lock, allocate and write: " QUEUE "."},
    {"syslog vsyslog openlog closelog",
     "log", "takes a lock and writes to the system log",
     "Log elsewhere: " QUEUE "."},
    {"getpeername getsockname freeaddrinfo getnameinfo getifaddrs if_nametoindex getserv* socket* connect* accept*"
     " bind listen send* recv* shutdown getaddrinfo gethostby* getsockopt setsockopt",
     "network", "uses the network",
     "Sockets enter the kernel and may wait: send and receive on another thread, with a ring between."},
    {"open open64 openat* creat* close read pread* readv write pwrite* writev lseek* fsync fdatasync sync*"
     " ftruncate* truncate* stat* fstat* lstat* newfstatat access* faccessat* unlink* rename* mkdir* rmdir* opendir"
     " readdir* closedir getdents* readlink* link* symlink* chmod* chown* dup* pipe* fcntl* ioctl sendfile* splice"
     " copy_file_range fallocate* getcwd chdir xstat* fxstat* lxstat* aio_* io_* canonicalize_file_name close* daemon"
     " euidaccess fchdir fchmod* fchown* lchown fdopendir futimens utime* utimens* get_current_dir_name glob*"
     " scandir* ftw nftw* mkfifo mknod readahead remove rewinddir seekdir telldir tee vmsplice tempnam tmpnam ttyname"
     " isatty tc* umask realpath mkostemp* mkstemp* mkdtemp tmpfile* statx statfs* posix_fallocate* posix_fadvise*"
     " eventfd* inotify* timerfd*",
     "file", "enters the kernel for a file or a device",
     "Files wait for disks and locks: read and write on another thread, with a ring between."},
    {"pthread_create pthread_join pthread_detach pthread_exit pthread_cancel clone* thrd_create thrd_join"
     " pthread_attr_* pthread_key_* pthread_mutex_init pthread_mutex_destroy pthread_*join_np pthread_get* thrd_exit"
     " pthread_setname* pthread_setsched* sched_set* sched_get* pthread_setaffinity* setpriority nice",
     "thread", "makes, ends or changes a thread",
     "Threads are made and changed before the audio starts."},
    {"dlopen* dlclose dlsym dlvsym dlmopen dl_iterate_phdr dladdr* backtrace* iconv_open iconv_close newlocale"
     " freelocale",
     "loader", "takes the dynamic linker's lock, may read files",
     "Load libraries and look symbols up before the audio starts."},
    {"getrandom getentropy arc4random* random rand srand* srandom* *rand48",
     "random", "asks the kernel, or takes a lock",
     "Use a generator of your own (xorshift, PCG) whose state belongs to the audio thread."},
    {"Exit Fork quick_exit killpg ptrace prctl sigqueue fexecve system popen pclose fork vfork exec* posix_spawn*"
     " kill tgkill raise pthread_kill pthread_sigqueue exit _exit abort atexit",
     "process", "starts, signals or ends a process",
     "Processes are started and ended on a control thread."},
    {"clock_gettime gettimeofday time clock clock_getres clock_settime times getrusage",
     "clock", "reads a clock",
     "Usually no system call (vDSO; a thread's or process's own time always is one); take the time from the render context where there is one."},
    {"localtime* gmtime* mktime strftime tzset ctime* asctime*",
     "time", "reads the time zone under a lock",
     "Format times elsewhere."},
    {"getenv secure_getenv setenv putenv unsetenv setlocale getpw* getgr* sysconf sysinfo getloadavg getrlimit*"
     " setrlimit* prlimit* gethostname uname getlogin*",
     "environment", "reads or changes the process's surroundings",
     "Read settings before the audio starts."},
    {"sigaction signal signalfd setitimer timer_* sigprocmask pthread_sigmask rt_sigaction rt_sigprocmask"
     " sigaltstack",
     "signal", "changes signal handling",
     "Set signal handlers and masks before the audio starts."},
};

static bool fits(const char *patterns, const char *name) {
    char pattern[128];
    while (*patterns) {
        size_t length = strcspn(patterns, " ");
        memcpy(pattern, patterns, length);
        pattern[length] = 0;
        if (strchr(pattern, '*') || strchr(pattern, '?') ? !fnmatch(pattern, name, 0) : !strcmp(pattern, name))
            return true;
        patterns += length;
        patterns += strspn(patterns, " ");
    }
    return false;
}

static const struct advice *search(const struct advice *table, size_t count, const char *name) {
    for (size_t i = 0; i < count; i++)
        if (fits(table[i].pattern, name)) return &table[i];
    return NULL;
}

const struct advice *advice_for_function(const char *function) {
    return function ? search(written, sizeof written / sizeof *written, function) : NULL;
}

const struct advice *advice_for_runtime(const char *function) {
    while (function && *function == '_') function++;
    if (!starts_with(function, "swift_") || !strcmp(function, "swift_slowAlloc")) return NULL;
    const struct advice *found = search(calls, sizeof calls / sizeof *calls, function);
    return found && strcmp(found->pattern, "swift_*") ? found : NULL;
}

const struct advice *advice_for_call(const char *call, int kind) {
    static const struct advice fault = {"", "page-fault", "touches memory that is not in place",
        "The kernel had to find or make the page: touch and lock memory (mlockall) before the audio starts."};
    static const struct advice switched = {"", "preemption", "lost the processor to another thread",
        "Run the audio thread with real-time priority (SCHED_FIFO), and let it do less per cycle."};
    static const struct advice hang = {"", "hang", "did not come to an end",
        "The cycle was still here after many periods: bound the loop, or find what it waits for."};
    static const struct advice kernel = {"", "system-call", "enters the kernel",
        "A system call may wait: do it on another thread."};
    static const struct advice unknown = {"", "other", "is not made for an audio thread", "Do it on another thread."};
    if (kind == RTWATCH_PAGE_FAULT) return &fault;
    if (kind == RTWATCH_PREEMPTED) return &switched;
    if (kind == RTWATCH_HANG) return &hang;
    // Fortified and internal forms: "__printf_chk", "__open_2", "__isoc99_scanf" are printf, open, scanf.
    char name[64];
    snprintf(name, sizeof name, "%s", call + strspn(call, "_"));
    if (starts_with(name, "isoc99_") || starts_with(name, "isoc23_")) memmove(name, name + 7, strlen(name + 7) + 1);
    if (ends_with(name, "_chk")) name[strlen(name) - 4] = 0;
    if (ends_with(name, "_2")) name[strlen(name) - 2] = 0;
    const struct advice *found = search(calls, sizeof calls / sizeof *calls, name);
    if (!found) found = search(written, sizeof written / sizeof *written, name);
    return found ? found : kind == RTWATCH_SYSCALL ? &kernel : &unknown;
}

static const char *const system_calls[] = {
#include "system-calls.inc"
};

const char *system_call_name(uint64_t number) {
    if (number < sizeof system_calls / sizeof *system_calls && system_calls[number]) return system_calls[number];
    char *text = format("system call %llu", (unsigned long long)number);
    const char *name = intern(text);
    free(text);
    return name;
}
