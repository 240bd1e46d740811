// One trampoline for each function of symbols.h. It knows nothing of the function's arguments: off the audio thread it
// tests a thread-local byte and jumps on. On the audio thread all registers that may carry arguments (and those that
// Swift's preserve-most functions promise to keep: all but r11) are saved, rtw_hit() judges and records, and the
// function is then either jumped to or called, so that its time is known.
//
// The library itself touches no vector register (it is compiled so), but functions of others may, and arguments are in
// them: those that rtw_hit() needs are called by rtw_apart(), and what is looked up at a first call is called so here.
//
// rtw_real[] holds where the functions are; at first each entry leads to code that looks it up (resolve.c). That may
// happen before the constructors run: the loader itself calls malloc.

#if defined(__x86_64__)

#define FRAME 112   // bytes of struct rtw_frame below the saved rbp

    .text
    .hidden rtw_self
    .hidden rtw_waits
    .hidden rtw_hit
    .hidden rtw_leave
    .hidden rtw_resolve
    .hidden rtw_look
    .hidden rtw_system_function
    .hidden rtw_real
    .globl rtw_real

.macro SAVE
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    sub $FRAME, %rsp
    mov %r11, 40(%rsp)
    mov %r10, 48(%rsp)
    mov %r9, 56(%rsp)
    mov %r8, 64(%rsp)
    mov %rcx, 72(%rsp)
    mov %rdx, 80(%rsp)
    mov %rsi, 88(%rsp)
    mov %rdi, 96(%rsp)
    mov %rax, 104(%rsp)
.endm

.macro RESTORE
    mov 40(%rsp), %r11
    mov 48(%rsp), %r10
    mov 56(%rsp), %r9
    mov 64(%rsp), %r8
    mov 72(%rsp), %rcx
    mov 80(%rsp), %rdx
    mov 88(%rsp), %rsi
    mov 96(%rsp), %rdi
    mov 104(%rsp), %rax
.endm

// rtw_apart(function, a, b): calls function(a, b) and keeps what C lets it change and our caller's caller may need:
// vector registers in their whole width, those of the x87 unit, the modes of both.
    .set KEPT, 0xe7   // x87, SSE, AVX, AVX-512
    .set KEPT_SIZE, 2752
    .p2align 4
    .hidden rtw_apart
    .hidden rtw_has_xsave
    .globl rtw_apart
    .type rtw_apart, @function
rtw_apart:
    .cfi_startproc
    push %rbp
    .cfi_def_cfa_offset 16
    .cfi_offset %rbp, -16
    mov %rsp, %rbp
    .cfi_def_cfa_register %rbp
    push %rbx
    push %rdx
    .cfi_offset %rbx, -24
    sub $KEPT_SIZE, %rsp
    and $-64, %rsp
    mov %rdi, %r8
    mov %rsi, %rdi
    mov %rdx, %rsi
    movzbl rtw_has_xsave(%rip), %ebx
    test %ebx, %ebx
    jne 1f
    fxsave64 (%rsp)
    call *%r8
    fxrstor64 (%rsp)
    jmp 2f
1:  xor %eax, %eax
    .set place, 512
    .rept 8
    mov %rax, place(%rsp)
    .set place, place + 8
    .endr
    xor %edx, %edx
    mov $KEPT, %eax
    xsave64 (%rsp)
    call *%r8
    mov %rax, %rbx
    xor %edx, %edx
    mov $KEPT, %eax
    xrstor64 (%rsp)
    mov %rbx, %rax
2:  mov -8(%rbp), %rbx
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    .cfi_restore %rbx
    ret
    .cfi_endproc
    .size rtw_apart, . - rtw_apart

// r11: the number of the function.
    .p2align 4
    .type rtw_slow, @function
rtw_slow:
    .cfi_startproc
    SAVE
    mov %rsp, %rdi
    call rtw_hit
    mov %eax, %r10d
    mov 40(%rsp), %r11d
    lea rtw_real(%rip), %rax
    mov (%rax,%r11,8), %rax
    mov %rax, 40(%rsp)
    test %r10d, %r10d
    jne 1f
    RESTORE
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11
    .cfi_restore_state
1:  RESTORE
    call *%r11
    mov %rax, 104(%rsp)
    mov %rdx, 80(%rsp)
    mov %rcx, 72(%rsp)   // Swift returns in four registers
    mov %r8, 64(%rsp)
    mov %rsp, %rdi
    call rtw_leave
    mov 104(%rsp), %rax
    mov 80(%rsp), %rdx
    mov 72(%rsp), %rcx
    mov 64(%rsp), %r8
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size rtw_slow, . - rtw_slow

    .p2align 4
    .type rtw_lazy, @function
rtw_lazy:
    .cfi_startproc
    SAVE
    lea rtw_resolve(%rip), %rdi
    mov %r11d, %esi
    call rtw_apart
    mov %rax, 40(%rsp)
    RESTORE
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11
    .cfi_endproc
    .size rtw_lazy, . - rtw_lazy

.macro FIRST name, number
    .pushsection .text.lazy, "ax", @progbits
.Llazy_\name:
    mov $\number, %r11d
    jmp rtw_lazy
    .popsection
    .pushsection .data.rtw_real, "aw", @progbits
    .quad .Llazy_\name
    .popsection
    .pushsection .data.rel.ro.rtw_trampolines, "aw", @progbits
    .quad .Lours_\name
    .popsection
.endm

.macro TRAMPOLINE name, number
    FIRST \name, \number
    .globl \name
    .type \name, @function
    .p2align 4
\name:
.Lours_\name:
    .cfi_startproc
    endbr64
    mov rtw_self@gottpoff(%rip), %r11
    cmpb $0, %fs:(%r11)
    jne 1f
    jmp *(rtw_real + 8 * \number)(%rip)
1:  mov $\number, %r11d
    jmp rtw_slow
    .cfi_endproc
    .size \name, . - \name
.endm

// A function in which threads wait: while there are threads whose cycles are parted by it, none passes unseen.
.macro WAITING name, number
    FIRST \name, \number
    .globl \name
    .type \name, @function
    .p2align 4
\name:
.Lours_\name:
    .cfi_startproc
    endbr64
    mov rtw_self@gottpoff(%rip), %r11
    cmpb $0, %fs:(%r11)
    jne 1f
    cmpb $0, rtw_waits(%rip)
    jne 1f
    jmp *(rtw_real + 8 * \number)(%rip)
1:  mov $\number, %r11d
    jmp rtw_slow
    .cfi_endproc
    .size \name, . - \name
.endm

// The loader's functions look at their caller, so they are jumped to; what they are asked for is looked at first.
.macro LOOKING name, number
    FIRST \name, \number
    .globl \name
    .type \name, @function
    .p2align 4
\name:
.Lours_\name:
    .cfi_startproc
    endbr64
    mov $\number, %r11d
    SAVE
    mov %rsp, %rdi
    call rtw_look
    test %rax, %rax
    jne 1f
    mov (rtw_real + 8 * \number)(%rip), %rax
    mov %rax, 40(%rsp)
    RESTORE
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp *%r11
    .cfi_restore_state
1:  leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size \name, . - \name
.endm

    .section .data.rtw_real, "aw", @progbits
    .p2align 3
rtw_real:
    .section .data.rel.ro.rtw_trampolines, "aw", @progbits
    .p2align 3
    .hidden rtw_trampolines
    .globl rtw_trampolines
rtw_trampolines:
    .text

.macro OF_CALL name, number
    TRAMPOLINE \name, \number
.endm
.macro OF_USER name, number
    TRAMPOLINE \name, \number
.endm
.macro OF_JUMP name, number
    TRAMPOLINE \name, \number
.endm
.macro OF_WAIT name, number
    WAITING \name, \number
.endm
// syscall(): its seventh argument is on the stack, so it is jumped to, but for a futex that a watched thread waits for, and
// for a signal's handler.
.macro OF_SYSCALL name, number
    FIRST \name, \number
    .globl \name
    .type \name, @function
    .p2align 4
\name:
.Lours_\name:
    .cfi_startproc
    endbr64
    cmp $202, %rdi   // futex
    je 2f
    cmp $13, %rdi    // rt_sigaction
    je 5f
3:  mov rtw_self@gottpoff(%rip), %r11
    cmpb $0, %fs:(%r11)
    jne 1f
    jmp *(rtw_real + 8 * \number)(%rip)
1:  mov $\number, %r11d
    jmp rtw_slow
2:  cmpb $0, rtw_waits(%rip)
    je 3b
5:  mov $\number, %r11d
    SAVE
    mov %rsp, %rdi
    call rtw_system_function
    test %eax, %eax
    jne 4f
    RESTORE
    leave
    .cfi_remember_state
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    jmp 3b
    .cfi_restore_state
4:  mov 104(%rsp), %rax
    leave
    .cfi_def_cfa %rsp, 8
    .cfi_restore %rbp
    ret
    .cfi_endproc
    .size \name, . - \name
.endm
.macro OF_LOOK name, number
    LOOKING \name, \number
.endm
#define SYMBOL(name, tier, family, how, judge) OF_##how name, __COUNTER__;
#include "symbols.h"

#endif

    .section .note.GNU-stack, "", @progbits
