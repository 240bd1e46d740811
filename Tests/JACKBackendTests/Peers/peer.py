"""An independent JACK client: sends and hears through the library JACK-Client, and says what it found.

Usage: peer.py listen PORT SECONDS [freewheel]   the pitch and level of a port
       peer.py send FREQUENCY SECONDS      a sine at half of full scale on peer:out
       peer.py midi-echo TO FROM           sends messages in freewheel, and compares what comes back
       peer.py connect-at-random NAME SECONDS
       peer.py properties PORT             its metadata
       peer.py frames FILE SECONDS         writes its host time before and after a frame, and the frame, again and again
       peer.py transport start|stop|where|locate [FRAME]
"""

import os
import random
import sys
import threading
import time

import jack
import numpy

# libjack complains through this function if the user may not lock memory.
jack.set_error_function(lambda text: None)
client = jack.Client("peer", no_start_server=True)
rate = client.samplerate
EARLY = 40   # cycles after a change of the clock: the first ones may still be late ones of the old


def freewheel(is_on):
    """Asks again where a busy server has not answered in the two seconds that libjack waits."""
    for attempt in range(5):
        try:
            return client.set_freewheel(is_on)
        except jack.JackErrorCode:
            if attempt == 4:
                raise


def listen(port, seconds, how="clock"):
    hear = client.inports.register("in")
    wanted = int(float(seconds) * rate)
    heard, isOn, done = [], threading.Event(), threading.Event()
    early = EARLY

    @client.set_process_callback
    def process(frames):
        nonlocal early
        if isOn.is_set() and early > 0:
            early -= 1
        elif isOn.is_set() and not done.is_set():
            heard.append(hear.get_array().copy())
            if sum(map(len, heard)) >= wanted:
                done.set()

    with client:
        client.connect(port, hear)
        if how == "freewheel":
            freewheel(True)
        isOn.set()
        done.wait(30)
        if how == "freewheel":
            freewheel(False)
    samples = numpy.concatenate(heard)[:wanted].astype(float)
    spectrum = numpy.abs(numpy.fft.rfft(samples * numpy.hanning(len(samples)), 8 * len(samples)))
    pitch = numpy.argmax(spectrum) * rate / (8 * len(samples))
    print(f"pitch {pitch:.2f} level {numpy.sqrt(2 * numpy.mean(samples ** 2)):.4f} peak {numpy.max(numpy.abs(samples)):.4f}")


def send(frequency, seconds):
    out = client.outports.register("out")
    phase = 0

    @client.set_process_callback
    def process(frames):
        nonlocal phase
        out.get_array()[:] = 0.5 * numpy.sin(2 * numpy.pi * float(frequency) * (phase + numpy.arange(frames)) / rate)
        phase += frames

    with client:
        print("ready", flush=True)
        time.sleep(float(seconds))


def midi_echo(to, back):
    out = client.midi_outports.register("out")
    hear = client.midi_inports.register("in")
    messages = [
        bytes([0x90, 60, 100]), bytes([0x80, 60, 0]), bytes([0xB3, 7, 127]), bytes([0xE5, 1, 64]), bytes([0xC1, 9]),
        bytes([0xF8]), bytes([0xF0, 0x7E, 0x7F, 6, 1, 0xF7]), bytes([0xF0]) + bytes(i % 128 for i in range(300)) + bytes([0xF7]),
        bytes([0xF2, 3, 4]), bytes([0xF0]) + bytes(14) + bytes([0xF7]),
    ]
    expected = [(17 * number % 200, message) for number, message in enumerate(sorted(messages))]
    expected.sort(key=lambda pair: pair[0])
    heard, isSent, isOn = [], threading.Event(), threading.Event()
    early = EARLY

    @client.set_process_callback
    def process(frames):
        nonlocal early
        out.clear_buffer()
        for offset, data in hear.incoming_midi_events():
            heard.append((offset, bytes(data)))
        if isOn.is_set() and early > 0:
            early -= 1
        elif isOn.is_set() and not isSent.is_set():
            for offset, message in expected:
                out.write_midi_event(offset, message)
            isSent.set()

    with client:
        client.connect(out, to)
        client.connect(back, hear)
        # By the clock a busy machine may miss the very cycle in which they come.
        freewheel(True)
        isOn.set()
        for _ in range(200):
            if len(heard) >= len(expected):
                break
            time.sleep(0.02)
        freewheel(False)
    print("all messages came back" if heard == expected else f"sent {expected}\nheard {heard}")
    sys.exit(heard != expected)


def connect_at_random(name, seconds):
    out = client.outports.register("out")
    hear = client.inports.register("in")
    ours = [port for port in client.get_ports(name + ":", is_audio=True)]
    end = time.time() + float(seconds)
    count = 0
    with client:
        while time.time() < end:
            port = random.choice(ours)
            pair = (port, hear) if port.is_output else (out, port)
            try:
                (client.connect if random.random() < 0.5 else client.disconnect)(*pair)
                count += 1
            except jack.JackError:
                pass
            time.sleep(random.random() * 0.01)
    print(f"{count} changes")


def transport(what, frame="0"):
    with client:
        if what == "start":
            client.transport_start()
        elif what == "stop":
            client.transport_stop()
        elif what == "locate":
            client.transport_locate(int(frame))
        time.sleep(0.2)
        state, position = client.transport_query()
        print(f"{state} {position['frame']} " + " ".join(
            f"{key}={position[key]}" for key in ("bar", "beat", "tick", "beats_per_bar", "beats_per_minute") if key in position))


def frames(path, seconds):
    with client:
        end = time.time() + float(seconds)
        while time.time() < end:
            # Only a quick reading counts: in between the machine may have done something else.
            before = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            frame = client.frame_time
            after = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
            if after - before < 100_000:
                with open(path + ".new", "w") as file:
                    file.write(f"{before} {after} {frame}")
                os.replace(path + ".new", path)
            time.sleep(0.005)


def properties(name):
    with client:
        for key, (value, kind) in jack.get_properties(client.get_port_by_name(name)).items():
            print(f"{key}={value.decode()}")


commands = {"listen": listen, "send": send, "midi-echo": midi_echo, "connect-at-random": connect_at_random,
    "frames": frames, "transport": transport, "properties": properties}
commands[sys.argv[1]](*sys.argv[2:])
