# The command `rtwatch`, included by the Makefile. Names and lines come from gcc's libbacktrace.
COMMAND = $(BUILD)/rtwatch
COMMAND_OBJECTS = $(patsubst command/%.c,$(BUILD)/command/%.o,$(wildcard command/*.c))
COMMAND_PAGE = command/page/page.html command/page/page.css command/page/page.js
LIBBACKTRACE = $(shell $(CC) -print-file-name=libbacktrace.a)

# Each file's own address space: see symbols.c.
$(COMMAND): $(COMMAND_OBJECTS)
	@test -f $(LIBBACKTRACE) || { echo "libbacktrace.a is missing: it is part of gcc (CC=gcc)" >&2; exit 1; }
	@$(CC) -Wl,--wrap=dl_iterate_phdr -o $@ $(COMMAND_OBJECTS) $(LIBBACKTRACE) -ldl -lm

$(BUILD)/command/%.o: command/%.c $(wildcard command/*.h) protocol.h $(BUILD)/command/system-calls.inc
	@mkdir -p $(@D)
	@$(CC) $(CFLAGS) -I$(BUILD)/command -Wa,-Icommand -c -o $@ $<

$(BUILD)/command/html.o: $(COMMAND_PAGE)

# Their numbers differ from machine to machine, so the names come from the compiler's own headers.
$(BUILD)/command/system-calls.inc:
	@mkdir -p $(@D)
	@echo '#include <sys/syscall.h>' | $(CC) -E -dM - | sed -n 's/^#define __NR_\([a-z0-9_]*\) .*/[__NR_\1] = "\1",/p' | sort > $@

# The command looks for its library in ../lib and in ../lib/rtwatch.
LIBDIR ?= $(PREFIX)/lib
install: all
	install -d $(DESTDIR)$(PREFIX)/bin $(DESTDIR)$(LIBDIR) $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/share/man/man1
	install -m 755 $(COMMAND) $(DESTDIR)$(PREFIX)/bin/rtwatch
	install -m 755 $(BUILD)/librtwatch.so $(DESTDIR)$(LIBDIR)/librtwatch.so
	install -m 644 rtwatch.h $(DESTDIR)$(PREFIX)/include/rtwatch.h
	install -m 644 rtwatch.1 $(DESTDIR)$(PREFIX)/share/man/man1/rtwatch.1

test-command: all
	sh tests/command-tests.sh $(BUILD)

.PHONY: install test-command
