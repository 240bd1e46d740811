// One trampoline for each function of symbols.h. It knows nothing of the function's arguments: off the audio thread it
// tests a thread-local byte and jumps on. On the audio thread all registers that may carry arguments (and those that
// Swift's preserve-most functions promise to keep: all but r11) are saved, rtw_hit() judges and records, and the
// function is then either jumped to or called, so that its time is known.
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
    .hidden rtw_dlsym
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
    mov %rsp, %rdi
    call rtw_leave
    mov 104(%rsp), %rax
    mov 80(%rsp), %rdx
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
    mov %r11d, %edi
    call rtw_resolve
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
.endm

.macro TRAMPOLINE name, number
    FIRST \name, \number
    .globl \name
    .type \name, @function
    .p2align 4
\name:
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

    .section .data.rtw_real, "aw", @progbits
    .p2align 3
rtw_real:
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
.macro OF_DLSYM name, number
    FIRST \name, \number
    .set dlsym_number, \number
.endm
#define SYMBOL(name, tier, family, how, judge) OF_##how name, __COUNTER__;
#include "symbols.h"

// dlsym looks at its caller, so it is jumped to; what it is asked for is looked at first.
    .globl dlsym
    .type dlsym, @function
    .p2align 4
dlsym:
    .cfi_startproc
    endbr64
    mov $dlsym_number, %r11d
    SAVE
    mov %rsp, %rdi
    call rtw_dlsym
    test %rax, %rax
    jne 1f
    mov (rtw_real + 8 * dlsym_number)(%rip), %rax
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
    .size dlsym, . - dlsym

#endif

    .section .note.GNU-stack, "", @progbits
