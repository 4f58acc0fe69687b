# SPDX-License-Identifier: GPL-2.0-only
"""Tests of inspecting a silent guest through a fake QMP monitor, and of blaming the emulator."""

from __future__ import annotations

import itertools
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from fakelab import boot_with_fake_qemu
from fakeqmp import ENTRY, FakeCpu, FakeMonitor
from kmtools.lab import look, symbols, triage, watch
from kmtools.lab.look import UNREADABLE, Cpu, Finding
from kmtools.lab.machine import Request
from kmtools.lab.qmp import Monitor, MonitorError, ShutdownWatch, inject_nmis
from kmtools.lab.result import LOOK_LOG, Result
from kmtools.lab.watch import CODE_FROM, INSPECTIONS, Watch, format_cpu_stack

KERNEL_TEXT = ENTRY - 0x1234560
MODULE_TEXT = 0xFFFFFFFFC0A01230
NO_INTERRUPTS, INTERRUPTS = 0x046, 0x246
# The flag AC, which the kernel sets while it accesses memory of user space.
ACCESS = 1 << 18
SILENCE = 0.3


def make_int3_trap_stack(
    address: int, saved_register: int = 7, flags: int = INTERRUPTS
) -> list[int]:
    """Return the stack of a CPU in the handler of an int3 at `address`; `saved_register` is the
    value of a saved register, and `flags` is RFLAGS at the int3."""
    saved = [saved_register, *range(1, 16), address + 1, 0x10, flags, 0xFFFFC900000F0000, 0x18]
    return [0xFFFFFFFF99123456, 0, ENTRY + 0x39, *saved]


def make_advancing_cpu() -> FakeCpu:
    """Return a CPU whose instruction pointer advances in each inspection."""
    places = itertools.count(KERNEL_TEXT, 0x40)

    def move_to_next_place(cpu: FakeCpu) -> None:
        cpu.place = next(places)

    return FakeCpu(next=move_to_next_place)


def watch_until_finding(
    tmp_path: Path, cpus: list[FakeCpu], memory: dict[int, int]
) -> Finding | None:
    """Watch a silent guest with these CPUs and this memory until there is a finding or a series of
    inspections is complete; return the finding."""
    FakeMonitor(tmp_path / "qmp", cpus, memory)
    watch = Watch(tmp_path / "qmp", [tmp_path / "log"], SILENCE, tmp_path / LOOK_LOG)
    deadline = time.monotonic() + 60
    while not (tmp_path / LOOK_LOG).exists() and time.monotonic() < deadline:
        if finding := watch.inspect_cpus_if_due():
            return finding
        time.sleep(0.002)
    watch.close()
    return None


def make_cpu_in_int3_loop(address: int, flags: int = INTERRUPTS) -> FakeCpu:
    """Return a CPU that executes an int3 at `address` endlessly; each inspection finds the CPU at
    another instruction of the handler."""
    cpu = make_advancing_cpu()
    cpu.flags = NO_INTERRUPTS
    cpu.stack = make_int3_trap_stack(address, flags=flags)
    return cpu


def test_stale_int3_in_core_text_is_attributed_to_the_emulator(tmp_path: Path) -> None:
    cpus = [make_advancing_cpu(), make_cpu_in_int3_loop(KERNEL_TEXT)]
    finding = watch_until_finding(tmp_path, cpus, {KERNEL_TEXT: 0x0F})
    assert finding and finding.stale
    assert f"CPU 1 executes a breakpoint at {KERNEL_TEXT:x} endlessly" in finding.reason
    assert "memory holds 0f" in finding.reason
    record = (tmp_path / LOOK_LOG).read_text()
    assert f"a breakpoint interrupted this CPU; memory from {KERNEL_TEXT:x} holds 0f" in record
    assert "RAX=0000000000000001" in record


@pytest.mark.parametrize(("byte", "stale"), [(0x0F, True), (0xCC, False)])
@pytest.mark.parametrize("more", [0, ACCESS])
def test_stale_int3_in_a_module_with_interrupts_disabled_is_attributed_to_the_emulator(
    tmp_path: Path, byte: int, stale: bool, more: int
) -> None:
    cpus = [make_advancing_cpu(), make_cpu_in_int3_loop(MODULE_TEXT, NO_INTERRUPTS | more)]
    finding = watch_until_finding(tmp_path, cpus, {MODULE_TEXT: byte})
    assert finding and finding.stale == stale


@pytest.mark.parametrize(
    ("address", "memory"),
    [
        # The int3 is in the text of a module, not of the kernel, and interrupts are enabled.
        (MODULE_TEXT, {MODULE_TEXT: 0x0F}),
        # Memory really holds an int3 at this address.
        (KERNEL_TEXT, {KERNEL_TEXT: 0xCC}),
        # Memory cannot be read at this address.
        (KERNEL_TEXT, {}),
    ],
)
def test_other_int3_loops_are_not_attributed_to_the_emulator(
    tmp_path: Path, address: int, memory: dict[int, int]
) -> None:
    finding = watch_until_finding(
        tmp_path, [make_advancing_cpu(), make_cpu_in_int3_loop(address)], memory
    )
    assert finding and not finding.stale
    assert f"breakpoint at {address:x} endlessly" in finding.reason


@pytest.mark.parametrize("backs", [(0, 1), (1,)], ids=["sometimes", "always"])
def test_int3_is_found_if_the_handler_decremented_the_saved_address(
    tmp_path: Path, backs: tuple[int, ...]
) -> None:
    turns = itertools.cycle(backs)

    def decrement_saved_address(cpu: FakeCpu) -> None:
        cpu.stack = make_int3_trap_stack(MODULE_TEXT - next(turns))

    memory = {MODULE_TEXT - 1: 0x00, MODULE_TEXT: 0xCC}
    finding = watch_until_finding(
        tmp_path, [FakeCpu(flags=NO_INTERRUPTS, next=decrement_saved_address)], memory
    )
    assert finding and not finding.stale
    assert f"breakpoint at {MODULE_TEXT:x} endlessly; memory holds cc" in finding.reason


@pytest.mark.parametrize("byte", [0x0F, 0xCC])
def test_int3_after_an_unmapped_page_is_read(tmp_path: Path, byte: int) -> None:
    """The int3 is at the start of a module's text. The handler has decremented the saved address,
    so the saved address is in the unmapped page before the text."""

    def save_address_before_text(cpu: FakeCpu) -> None:
        cpu.stack = make_int3_trap_stack(MODULE_TEXT - 1)

    cpus = [FakeCpu(flags=NO_INTERRUPTS, next=save_address_before_text)]
    finding = watch_until_finding(tmp_path, cpus, {MODULE_TEXT: byte})
    assert finding and not finding.stale
    said = f"breakpoint at {MODULE_TEXT:x} endlessly; memory holds {byte:02x} there"
    assert said in finding.reason


@pytest.mark.parametrize("between", [KERNEL_TEXT, KERNEL_TEXT + 1, ENTRY, ENTRY + 3])
def test_cpu_between_int3_and_handler_is_in_the_loop(tmp_path: Path, between: int) -> None:
    turns = itertools.count()

    def alternate_between_int3_and_handler(cpu: FakeCpu) -> None:
        handles = next(turns) % 2
        cpu.place = KERNEL_TEXT + 0x5000 if handles else between
        cpu.stack = make_int3_trap_stack(KERNEL_TEXT) if handles else [0]

    memory = {KERNEL_TEXT: 0x0F}
    finding = watch_until_finding(
        tmp_path, [FakeCpu(flags=NO_INTERRUPTS, next=alternate_between_int3_and_handler)], memory
    )
    assert finding and finding.stale
    assert f"breakpoint at {KERNEL_TEXT:x} endlessly; memory holds 0f" in finding.reason


def test_cpu_with_changing_registers_makes_progress(tmp_path: Path) -> None:
    counter = itertools.count()

    def take_next_int3(cpu: FakeCpu) -> None:
        cpu.place += 8
        cpu.stack = make_int3_trap_stack(KERNEL_TEXT, next(counter))

    cpu = FakeCpu(flags=NO_INTERRUPTS, next=take_next_int3)
    assert watch_until_finding(tmp_path, [cpu, make_advancing_cpu()], {KERNEL_TEXT: 0xCC}) is None
    assert "every CPU makes progress" in (tmp_path / LOOK_LOG).read_text()


@pytest.mark.parametrize("more", [0, ACCESS])
def test_cpu_with_interrupts_disabled_at_one_address_hangs(tmp_path: Path, more: int) -> None:
    cpus = [make_advancing_cpu(), FakeCpu(MODULE_TEXT, NO_INTERRUPTS | more)]
    finding = watch_until_finding(tmp_path, cpus, {})
    assert finding == Finding(f"CPU 1 takes no interrupt and stays at {MODULE_TEXT:x}")


@pytest.mark.parametrize("cpu", [FakeCpu(MODULE_TEXT), FakeCpu(0x401000, user=True)])
def test_cpu_in_a_loop_with_interrupts_enabled_does_not_hang(tmp_path: Path, cpu: FakeCpu) -> None:
    assert watch_until_finding(tmp_path, [cpu, FakeCpu(halted=True)], {}) is None


def test_guest_with_all_cpus_idle_hangs(tmp_path: Path) -> None:
    finding = watch_until_finding(tmp_path, [FakeCpu(halted=True), FakeCpu(halted=True)], {})
    assert finding and "every CPU is idle" in finding.reason


def test_guest_is_resumed_after_every_inspection(tmp_path: Path) -> None:
    monitor = FakeMonitor(tmp_path / "qmp", [make_advancing_cpu()], {})
    watch = Watch(tmp_path / "qmp", [], SILENCE, tmp_path / LOOK_LOG)
    assert watch.inspect_cpus_at_timeout() is None
    assert monitor.asked.count("stop") == monitor.asked.count("cont") == INSPECTIONS


def test_paused_guest_is_reported_as_finding(tmp_path: Path) -> None:
    monitor = FakeMonitor(tmp_path / "qmp", [make_advancing_cpu()], {})
    monitor.state = "paused"
    watch = Watch(tmp_path / "qmp", [], SILENCE, tmp_path / LOOK_LOG)
    finding = watch.inspect_cpus_at_timeout()
    assert finding == Finding("the emulator says that the guest is paused")


def test_missing_monitor_socket_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(MonitorError, match=r"cannot connect .*: No such file or directory$"):
        Monitor(tmp_path / "none")


def test_error_answer_of_the_monitor_raises_an_error(tmp_path: Path) -> None:
    FakeMonitor(tmp_path / "qmp", [], {})
    with pytest.raises(MonitorError, match="there is no dance"):
        Monitor(tmp_path / "qmp").execute_qmp_command("dance")


@pytest.mark.parametrize(
    ("sent", "message"),
    [
        (b"", "cannot connect to the emulator's monitor: timed out"),
        (b"nonsense\n", "the emulator's monitor sent invalid JSON"),
        (b"{}\n", "the emulator does not answer qmp_capabilities"),
        (b'{}\n{"event": "X"}\n', "the emulator does not answer qmp_capabilities"),
        (b'{}\n{"error": {"desc": "no"}}\n', "the emulator refuses qmp_capabilities: no"),
        (b'{}\n{"return": {}}\n', None),
    ],
)
def test_monitor_that_does_not_answer_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sent: bytes, message: str | None
) -> None:
    class ConnectedSocket(socket.socket):
        def connect(self, address: object) -> None:
            """Do nothing, because the socket is connected already."""

    first, other = socket.socketpair()
    own = ConnectedSocket(fileno=first.detach())
    monkeypatch.setattr("kmtools.lab.qmp.socket.socket", lambda family: own)
    other.sendall(sent)
    with other, own:
        if message is None:
            Monitor(tmp_path, 0.01).close()
            assert other.recv(100) == b'{"execute": "qmp_capabilities"}\n'
            return
        with pytest.raises(MonitorError) as caught:
            Monitor(tmp_path, 0.01)
        assert str(caught.value) == message


def test_qmp_commands_are_sent_with_their_arguments(tmp_path: Path) -> None:
    """The names of arguments have dashes. A human command is for CPU 0 by default."""
    requests: list[dict[str, object]] = []

    class RecordingMonitor(FakeMonitor):
        def _answer_request(self, request: dict[str, Any]) -> dict[str, Any]:
            requests.append(request)
            return {"return": "a\r\nb\r\n"}

    RecordingMonitor(tmp_path / "qmp", [], {})
    monitor = Monitor(tmp_path / "qmp")
    assert monitor.execute_qmp_command("stop") == "a\r\nb\r\n"
    assert monitor.execute_hmp_command("x") == monitor.execute_hmp_command("y", 3) == "a\nb\n"
    monitor.close()
    human = "human-monitor-command"
    assert requests[1:] == [
        {"execute": "stop"},
        {"execute": human, "arguments": {"command-line": "x", "cpu-index": 0}},
        {"execute": human, "arguments": {"command-line": "y", "cpu-index": 3}},
    ]


@pytest.mark.parametrize(
    ("sent", "reason"),
    [
        ("", ""),
        ('{"QMP": {}}\n{"event": "RESET", "data": {"reason": "x"}}\n', ""),
        (
            '{"return": {}}\n{"event": "SHUTDOWN", "data": {"reason": "guest-panic"}}\n',
            "guest-panic",
        ),
        ('{"event": "SHUTDOWN", "data": {"reason": "x"}}', ""),
        ('{"QMP": {}}\n{"event": "SHUT', ""),
    ],
)
def test_reason_of_a_shutdown_is_read_from_qmp_events(sent: str, reason: str) -> None:
    """An incomplete line, which a killed QEMU leaves, has no reason."""
    shutdown = ShutdownWatch()
    number = shutdown.end_of_qemu.fileno()
    assert shutdown.make_qmp_options() == [
        *("-chardev", f"socket,id=shutdown,fd={number}", "-mon", "shutdown,mode=control")
    ]
    assert shutdown.end_of_qemu.recv(100) == b'{"execute": "qmp_capabilities"}\n'
    shutdown.end_of_qemu.sendall(sent.encode())
    assert shutdown.read_shutdown_reason() == reason


@pytest.mark.parametrize("text", [None, "", "ok 1"])
def test_nmis_are_sent_only_after_the_job_has_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str | None
) -> None:
    """NMIs are sent until the `with` block ends, and then the connection is closed."""
    asked: list[str] = []
    sent = threading.Event()

    def record_monitor_command(command: str) -> None:
        asked.append(command)
        if len(asked) == 3:
            sent.set()

    monitor = SimpleNamespace(
        execute_qmp_command=record_monitor_command, close=lambda: asked.append("close")
    )
    monkeypatch.setattr("kmtools.lab.qmp.Monitor", lambda path: monitor)
    status = tmp_path / "status.log"
    if text is not None:
        status.write_text(text)
    with inject_nmis(tmp_path / "nmi", 2000.0, status):
        assert not text or sent.wait(30.0)
    assert (asked[:3], asked[-1:]) == ((["inject-nmi"] * 3, ["close"]) if text else ([], []))


def test_guest_with_output_is_not_inspected(tmp_path: Path) -> None:
    monitor = FakeMonitor(tmp_path / "qmp", [FakeCpu(halted=True)], {})
    log = tmp_path / "log"
    watch = Watch(tmp_path / "qmp", [log], 2.0, tmp_path / LOOK_LOG)
    for number in range(20):
        log.write_text("x" * number)
        assert watch.inspect_cpus_if_due() is None
    assert not monitor.asked


def test_lockup_message_triggers_an_inspection_at_once(tmp_path: Path) -> None:
    FakeMonitor(tmp_path / "qmp", [FakeCpu(halted=True)], {})
    log = tmp_path / "log"
    log.write_text("quiet\n")
    watch = Watch(tmp_path / "qmp", [log], 1000.0, tmp_path / LOOK_LOG)
    assert watch.inspect_cpus_if_due() is None
    log.write_text("quiet\nwatchdog: BUG: soft lockup - CPU#1 stuck for 26s! [sh:102]\n")
    watch.inspect_cpus_if_due()
    assert len(watch.inspections) == 1


class FakeGuest:
    """Replaces the clock and the monitor that the Python module `watch` uses. `times` lists the
    times of the inspections, `open` is the number of open connections. The guest hangs if `finding`
    is set; its monitor fails if `error` is set."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        self.times: list[float] = []
        self.open = self.connections = 0
        self.finding: Finding | None = None
        self.error = ""
        self.places = itertools.count(0x1000, 0x10)
        clock = SimpleNamespace(monotonic=lambda: self.now, sleep=lambda _: None)
        monkeypatch.setattr(watch, "time", clock)
        monkeypatch.setattr(watch, "Monitor", self.open_connection)
        monkeypatch.setattr(watch, "inspect_guest_cpus", self.return_cpu_states)
        monkeypatch.setattr(watch, "find_hang_reason", lambda inspections: self.finding)

    def open_connection(self, path: Path) -> SimpleNamespace:
        """Open a connection to the monitor."""
        self.open += 1
        self.connections += 1
        return SimpleNamespace(close=self.close_connection)

    def close_connection(self) -> None:
        """Close the connection."""
        self.open -= 1

    def return_cpu_states(self, monitor: object) -> list[Cpu]:
        """Return the states of an advancing CPU and of a CPU at one address."""
        if self.error:
            raise MonitorError(self.error)
        self.times.append(self.now)
        advancing = Cpu(0, f"RAX={len(self.times)}", next(self.places), True, False)
        return [advancing, Cpu(1, "RAX=0", 0x2000, True, False, (CODE_FROM,), ENTRY)]

    def advance_clock(self, watched: Watch, end: float) -> None:
        """Let time pass in steps of half a second, as the loop of a boot does."""
        while self.now < end:
            watched.inspect_cpus_if_due()
            self.now += 0.5


@pytest.fixture
def guest(monkeypatch: pytest.MonkeyPatch) -> FakeGuest:
    """Replace the clock and the monitor of inspections by a FakeGuest; return it."""
    return FakeGuest(monkeypatch)


def test_wait_before_inspections_doubles_after_each_series_without_a_hang(
    tmp_path: Path, guest: FakeGuest
) -> None:
    """The guest is silent from 1000 s. A series has 20 inspections, one per second if the wait is
    60 s. New output restores the first wait."""
    log = tmp_path / "log"
    watched = Watch(tmp_path / "qmp", [tmp_path / "none", log], 60.0, tmp_path / LOOK_LOG)
    guest.advance_clock(watched, 1060.0)
    assert guest.times == [] and guest.connections == 0
    guest.advance_clock(watched, 1500.0)
    # A series begins 120 s, then 240 s, after the last inspection of the series before.
    assert guest.times == [*range(1060, 1080), *range(1199, 1219), *range(1458, 1478)]
    assert (guest.connections, guest.open) == (3, 0)
    log.write_text("x")
    guest.advance_clock(watched, 1560.0)
    assert len(guest.times) == 60
    guest.advance_clock(watched, 1699.5)
    assert guest.times[60:] == [*range(1560, 1580), 1699]
    assert guest.open == 1
    log.write_text("xy")
    guest.advance_clock(watched, 1750.0)
    assert guest.open == 0 and watched.inspections == []


@pytest.mark.parametrize(
    ("log_message", "at_once"),
    [
        ("watchdog: BUG: soft lockup - CPU#1 stuck for 26s! [sh:102]", True),
        ("watchdog: CPU1: Watchdog detected hard LOCKUP on cpu 1", True),
        ("rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:", True),
        ("rcu: INFO: rcu_preempt detected expedited stalls on CPUs/tasks: { 1-... }", True),
        ("rcu: INFO: rcu_preempt self-detected stall on CPU", True),
        ("lockup_detector: enabled", False),
    ],
)
def test_inspection_is_due_at_once_after_each_new_lockup_message(
    tmp_path: Path, guest: FakeGuest, log_message: str, at_once: bool
) -> None:
    """A message that a log had before the first check is not new, and neither is a message in a log
    that has become shorter. New lines of both logs are searched."""
    logs = [tmp_path / "status.log", tmp_path / "console.log"]
    logs[0].write_text(f"{log_message}\n")
    watched = Watch(tmp_path / "qmp", logs, 60.0, tmp_path / LOOK_LOG)
    watched.inspect_cpus_if_due()
    with logs[0].open("a") as file:
        file.write("more\n" * 30)
    watched.inspect_cpus_if_due()
    assert guest.times == []
    logs[1].write_text(f"[ 1.0] begin\n{log_message}\n")
    watched.inspect_cpus_if_due()
    assert guest.times == [1000.0] * at_once
    logs[1].write_text(f"{log_message}\n")
    watched.inspect_cpus_if_due()
    assert guest.times == [1000.0] * at_once


def test_guest_is_not_inspected_without_a_period_of_silence(
    tmp_path: Path, guest: FakeGuest
) -> None:
    watched = Watch(tmp_path / "qmp", [], 0.0, tmp_path / LOOK_LOG)
    assert watched.inspect_cpus_if_due() is watched.inspect_cpus_at_timeout() is None
    assert guest.connections == 0 and not (tmp_path / LOOK_LOG).exists()


def test_timeout_begins_a_new_series_of_inspections(tmp_path: Path, guest: FakeGuest) -> None:
    """A complete series is run at the timeout, also if a series had begun."""
    watched = Watch(tmp_path / "qmp", [tmp_path / "log"], 60.0, tmp_path / LOOK_LOG)
    guest.advance_clock(watched, 1065.0)
    assert len(guest.times) == 5
    guest.finding = Finding("it hangs")
    assert watched.inspect_cpus_at_timeout() == guest.finding
    assert len(guest.times) == 25 and len(watched.inspections) == 20
    watched.close()
    watched.close()
    assert (guest.connections, guest.open) == (2, 0)


def test_record_of_inspections_has_each_series_with_addresses(
    tmp_path: Path, guest: FakeGuest
) -> None:
    """The record has the sorted addresses of each CPU and the state of each CPU in the last
    inspection. Inspections before an error are recorded as well."""
    watched = Watch(tmp_path / "qmp", [tmp_path / "log"], 60.0, tmp_path / LOOK_LOG)
    assert watched.inspect_cpus_at_timeout() is None
    ends = [
        *("CPU 1, last inspection:", "RAX=0"),
        *(f"int3 entry code: {ENTRY:x}", "code addresses on the stack:"),
        "+000 ffffffff80000000",
    ]
    places = ", ".join(f"{place:x}" for place in range(0x1000, 0x1140, 0x10))
    first = [
        "== 20 inspections: every CPU makes progress",
        *(f"CPU 0 was at {places}", "CPU 1 was at 2000"),
        *("CPU 0, last inspection:", "RAX=20", *ends),
    ]
    assert (tmp_path / LOOK_LOG).read_text().splitlines() == first
    guest.error = "the emulator has closed its monitor connection"
    assert watched.inspect_cpus_at_timeout() == Finding(guest.error)
    guest.error = ""
    guest.places = itertools.count(0x10010, -0x20)
    watched = Watch(tmp_path / "qmp", [tmp_path / "log"], 60.0, tmp_path / LOOK_LOG)
    for guest.now in (3000.0, 3060.0, 3061.0):
        assert watched.inspect_cpus_if_due() is None
    guest.error, guest.now = "it failed", 3062.0
    assert watched.inspect_cpus_if_due() == Finding("it failed")
    assert (tmp_path / LOOK_LOG).read_text().splitlines() == [
        *(*first, "== 0 inspections: the emulator has closed its monitor connection"),
        *("== 2 inspections: it failed", "CPU 0 was at fff0, 10010", "CPU 1 was at 2000"),
        *("CPU 0, last inspection:", "RAX=22", *ends),
    ]


def test_boot_of_a_silent_guest_ends_before_its_timeout(laboratory: Path) -> None:
    result, _ = boot_with_fake_qemu(laboratory, "exec sleep 1000", timeout=600.0, silence=SILENCE)
    assert not result.ok and result.seconds < 300
    assert "cannot connect to the emulator" in result.reason


@pytest.mark.parametrize("look", ["inspect_cpus_if_due", "inspect_cpus_at_timeout"])
def test_guest_that_powers_off_during_an_inspection_passes(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    def return_closed_connection(_: Watch) -> Finding:
        (laboratory / "looked").touch()
        return Finding("the emulator has closed its monitor connection")

    monkeypatch.setattr(Watch, "inspect_cpus_if_due", lambda _: None)
    monkeypatch.setattr(Watch, look, return_closed_connection)
    ends = 'until [ -e "$HERE/looked" ]; do sleep 0.02; done; sleep 0.1; finish 0'
    result, _ = boot_with_fake_qemu(
        laboratory, ends, timeout=20.0 if look == "inspect_cpus_if_due" else 1.0
    )
    assert (result.ok, result.reason, result.finding) == (True, "", None)


Judge = Callable[[Result], str | None]


@pytest.mark.parametrize("stale", [True, False])
def test_emulator_is_blamed_for_a_stale_int3_only(tmp_path: Path, stale: bool) -> None:
    result = Result(reason="why", out=tmp_path, finding=Finding("CPU 0 stays", stale))
    (tmp_path / "console.log").write_text("[ 1.0] BUG: soft lockup\n")
    (tmp_path / "status.log").write_text("ok 1 x\n")
    found = triage.find_emulator_fault(result, ["patcher"])
    assert (found is not None) is stale


STALE = """\
[  200.0] RIP: 0010:earlier+0x1/0x2
[  200.1][   T57] Oops: int3: 0000 [#1] PREEMPT SMP NOPTI
[  200.2] RIP: 0010:__schedule+0x343/0xbe0
[  200.3] Code: 0f 95 c2 e9 f4 02 00 00 eb <1f> 44 00 00 48 8b 83 88
[  200.4] RIP: 0010:later+0x1/0x2
[  200.5]  ? probe+0x1/0x2 [patcher]
"""
PANIC = "[    9.1][   T57] BUG: unable to handle x\n[    9.2] Kernel panic - not syncing: y\n"


@pytest.mark.parametrize(
    ("result", "status", "console", "expected"),
    [
        (Result(exit_code=0), "ok 1", PANIC, None),
        (Result(exit_code=1), "", PANIC, None),
        (Result(exit_code=0, finding=Finding("CPU 0 stays", True)), "ok 1", "", None),
        (Result(finding=Finding("CPU 0 stays", True)), "", "", "a hang: CPU 0 stays"),
        (Result(finding=Finding("CPU 0 stays"), emulator_failed=True), "", PANIC, None),
        (Result(emulator_failed=True), "ok 1", "", "the emulator exited with an error"),
        (Result(), "", "[ 1.0] booting", "the kernel did not boot"),
        (Result(), "\n", PANIC, "[    9.1][   T57] BUG: unable to handle x"),
        (Result(), "ok 1", STALE, "a breakpoint at __schedule+0x343 that is no longer in memory"),
        (Result(), "ok 1", "[ 9.0] all quiet", None),
        (Result(), "ok 1", PANIC, "BUG: unable to handle x"),
        (Result(), "ok 1", f"{PANIC}[ 9.3]  f+0x1/0x2 [a.b]", None),
        (Result(), "ok 1", f"{PANIC}[ 9.3]  f+0x1/0x2 [a-b]", "BUG: unable to handle x"),
        (Result(), "ok 1", f"{PANIC}[ 9.3]  f+0x1/0x2 [a.b2]", "BUG: unable to handle x"),
    ],
)
def test_fault_of_the_emulator_is_described(
    tmp_path: Path, result: Result, status: str, console: str, expected: str | None
) -> None:
    """A guest that sent its exit code shows no fault of the emulator; nor does a silent guest that
    hangs without a stale int3."""
    (tmp_path / "status.log").write_text(status)
    (tmp_path / "console.log").write_text(console)
    assert triage.find_emulator_fault(replace(result, out=tmp_path), ["patcher", "a.b"]) == expected


@pytest.mark.parametrize(
    ("address", "ours"),
    [
        ("ffffffff9fffffff", False),
        ("ffffffffa0000000", True),
        ("fffffffffeffffff", True),
        ("ffffffffff000000", False),
    ],
)
def test_faults_in_the_area_of_modules_are_attributed_to_kmarkers(address: str, ours: bool) -> None:
    line = f"[    9.1] BUG: unable to handle page fault for address: {address}"
    assert triage.has_address_without_symbol(line) is ours


def test_inspections_are_enabled_by_default(tmp_path: Path) -> None:
    assert Request("6.1", tmp_path, tmp_path).silence > 0


def make_cpu_state(*memory_bytes: int) -> Cpu:
    """Return a CPU with two addresses of kernel code and other words on its stack. If
    `memory_bytes` are given, the CPU handles an int3."""
    stack = [0xFFFFFFFF80000000, 0xFFFFFFFF7FFFFFFF, *[0] * 30, 0xFFFFFFFFC0A01231]
    trap = (*[0] * 16, 0xFFFFFFFFC0A01231, 0x10, 0x246, 0, 0x18) if memory_bytes else ()
    return Cpu(0, "", 0, True, False, tuple(stack), 0xFFFFFFFF9A200B40, trap, memory_bytes)


def test_stack_and_memory_of_an_inspected_cpu_are_logged() -> None:
    """The log has each code address on the stack, with its offset in the function, and the readable
    bytes of memory at an int3."""
    lines = [
        *("int3 entry code: ffffffff9a200b40", "code addresses on the stack:"),
        *("+000 ffffffff80000000", "+100 ffffffffc0a01231"),
    ]
    interrupted = "a breakpoint interrupted this CPU; memory from ffffffffc0a01230 holds"
    assert format_cpu_stack(make_cpu_state()) == lines
    assert format_cpu_stack(make_cpu_state(0x0F, 0x1F)) == [*lines, f"{interrupted} 0f 1f"]
    assert format_cpu_stack(make_cpu_state(UNREADABLE, 0)) == [*lines, f"{interrupted} 00"]
    unreadable = make_cpu_state(UNREADABLE, UNREADABLE)
    assert format_cpu_stack(unreadable) == [*lines, f"{interrupted} nothing that can be read"]
    assert format_cpu_stack(Cpu(0, "", 0, True, False, (1, 2), 0xFFFFFFFF9A200B40)) == []


def make_cpu_states(count: int, **fields: Any) -> list[Cpu]:
    """Return `count` equal states of a CPU that has interrupts disabled."""
    return [
        Cpu(0, "", **{"rip": KERNEL_TEXT, "interrupts": False, "idle": False, **fields})
    ] * count


@pytest.mark.parametrize(
    ("handles", "between", "places", "loops"),
    [(14, 0, 6, True), (13, 0, 7, False), (10, 4, 6, True), (9, 4, 7, False), (0, 20, 0, False)],
)
def test_int3_loop_takes_seven_tenths_of_the_inspections(
    handles: int, between: int, places: int, loops: bool
) -> None:
    """An inspection that finds the CPU before the handler counts if other inspections find the CPU
    in the handler."""
    trap = tuple(make_int3_trap_stack(KERNEL_TEXT)[3:])
    busy = [
        make_cpu_states(1, rip=0xFFFFFFFF91000000 + 64 * n, interrupts=True)[0]
        for n in range(places)
    ]
    handling = make_cpu_states(handles, trap=trap, entry=ENTRY, memory_bytes=(0x0F, 0x1F))
    entering = make_cpu_states(between, rip=KERNEL_TEXT, entry=ENTRY)
    finding = look.find_int3_loop([*busy, *handling, *entering])
    assert (finding is not None) is loops


@pytest.mark.parametrize(
    ("rip", "near"),
    [
        (ENTRY - 1, False),
        (ENTRY, True),
        (ENTRY + 0xFF, True),
        (ENTRY + 0x100, False),
        (KERNEL_TEXT - 2, False),
        (KERNEL_TEXT - 1, True),
        (KERNEL_TEXT + 1, True),
        (KERNEL_TEXT + 2, False),
    ],
)
def test_cpu_near_an_int3_or_its_entry_code_is_found(rip: int, near: bool) -> None:
    (cpu,) = make_cpu_states(1, rip=rip, entry=ENTRY)
    assert look.is_near_int3(cpu, KERNEL_TEXT) is near
    assert not look.is_near_int3(replace(cpu, trap=(0,) * 21), KERNEL_TEXT)


@pytest.mark.parametrize(
    ("first", "places", "hangs"),
    [
        (KERNEL_TEXT, 8, True),
        (KERNEL_TEXT, 9, False),
        (1 << 63, 1, True),
        ((1 << 63) - 1, 2, False),
    ],
)
def test_stuck_cpu_has_at_most_eight_kernel_addresses(first: int, places: int, hangs: bool) -> None:
    states = [make_cpu_states(1, rip=first + n)[0] for n in reversed(range(places))]
    finding = look.find_stuck_cpu(states)
    said = ", ".join(f"{first + n:x}" for n in range(places))
    assert finding == (Finding(f"CPU 0 takes no interrupt and stays at {said}") if hangs else None)
    for fields in ({"interrupts": True}, {"idle": True}):
        assert look.find_stuck_cpu([*states, *make_cpu_states(1, rip=first, **fields)]) is None


def test_guest_with_a_cpu_awake_in_one_inspection_does_not_hang() -> None:
    idle, awake = (
        make_cpu_states(1, idle=True, interrupts=True),
        make_cpu_states(1, interrupts=True),
    )
    assert look.find_hang_reason([]) is look.find_hang_reason([[], []]) is None
    assert look.find_hang_reason([idle * 2] * 20) is not None
    assert look.find_hang_reason([idle * 2] * 19 + [idle + awake]) is None


@pytest.mark.parametrize(
    ("entry", "address", "core"),
    [
        (ENTRY, ENTRY - (64 << 20), False),
        (ENTRY, ENTRY - (64 << 20) + 1, True),
        (ENTRY, ENTRY + (64 << 20) - 1, True),
        (ENTRY, ENTRY + (64 << 20), False),
        (0xFFFFFFFFBFFFF000, 0xFFFFFFFFBFFFFFFF, True),
        (0xFFFFFFFFBFFFF000, 0xFFFFFFFFC0000000, False),
    ],
)
def test_core_text_is_near_the_entry_code_and_below_modules(
    entry: int, address: int, core: bool
) -> None:
    (cpu,) = make_cpu_states(1, entry=entry, trap=(*[0] * 16, address + 1, 0x10, 0x46, 0, 0x18))
    assert cpu.is_in_kernel_text is core


def test_trap_frame_follows_an_address_in_the_entry_code() -> None:
    """The frame has 21 words; a word at the start of the entry code or behind it is no return
    address."""
    frame = tuple(range(1, 22))
    for word, found in ((0, False), (1, True), (0xFF, True), (0x100, False)):
        stack = [7, ENTRY + word, *frame]
        assert look.find_trap_frame(stack, ENTRY) == (frame if found else ())
        assert look.find_trap_frame([*stack, 99], ENTRY) == (frame if found else ())
        assert look.find_trap_frame(stack[:-1], ENTRY) == ()


def test_cpu_outside_64_bit_mode_is_inspected(tmp_path: Path) -> None:
    """The stack of the CPU and the IDT are not read. A register that QEMU does not print is an
    error."""
    monitor = Monitor.__new__(Monitor)
    cpu = look.inspect_cpu(monitor, 1, "EAX=0 EIP=0000fff0 EFL=00000002\nHLT=1\n")
    assert cpu == Cpu(1, "EAX=0 EIP=0000fff0 EFL=00000002\nHLT=1", 0xFFF0, True, True)
    with pytest.raises(MonitorError, match="the emulator does not show the register EIP"):
        look.inspect_cpu(monitor, 1, "HLT=0")


def test_function_names_are_added_if_kaslr_moved_the_kernel() -> None:
    table = symbols.parse_kallsyms(
        "ffffffff81000000 T _text\nffffffff81000100 t f\nffffffff81a00000 T asm_exc_int3\n"
        "ffffffffc0000000 t ours [patcher]\nffffffff82000000 D data\n"
    )
    seen = "int3 entry code: ffffffff91a00000\n+008 ffffffff91000104\nRIP=ffffffff91000104\n"
    named = symbols.add_function_names(seen, table)
    assert "+008 ffffffff91000104 f+0x4\n" in named
    assert symbols.add_function_names("+008 ffffffff91000104", table) == "+008 ffffffff91000104"
    assert symbols.add_function_names(seen, []) == seen


def test_addresses_beyond_functions_get_no_name() -> None:
    """An address gets the name of the last function that starts before it, at most 1 MiB before."""
    table = symbols.parse_kallsyms(
        "ffffffff81000000 T first\nffffffff81200000 W asm_exc_int3\nffffffff81000010 w second\n"
    )
    assert table == [
        (0xFFFFFFFF81000000, "first"),
        (0xFFFFFFFF81000010, "second"),
        (0xFFFFFFFF81200000, "asm_exc_int3"),
    ]
    # The kernel was moved by 0x100000.
    seen = "int3 entry code: ffffffff81300000\n"
    for address, name in (
        ("ffffffff810fffff", ""),
        ("ffffffff81100000", " first+0x0"),
        ("ffffffff8110000f", " first+0xf"),
        ("ffffffff81100010", " second+0x0"),
        ("ffffffff81200010", " second+0x100000"),
        ("ffffffff81200011", ""),
    ):
        named = symbols.add_function_names(f"{seen}RIP={address}\n", table)
        assert named == f"{seen[:-1]} asm_exc_int3+0x0\nRIP={address}{name}\n"
    assert symbols.add_function_names(f"{seen}ffffffff81100000", table[:2]).endswith("00000")


@pytest.mark.parametrize("boots", [True, False])
def test_names_are_added_to_a_record_that_has_the_entry_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, boots: bool
) -> None:
    """The kernel is booted without inspections to read its symbols. Without symbols, or without the
    address of the entry code, the record is not changed."""
    requests: list[Request] = []

    def write_kallsyms(request: Request) -> Result:
        requests.append(request)
        (tmp_path / "kallsyms").write_text("ffffffff81a00000 T asm_exc_int3\n")
        assert "/proc/kallsyms >/results/kallsyms\n" in request.job.read_text()
        return Result(results=tmp_path if boots else None)

    monkeypatch.setattr(symbols, "boot_guest", write_kallsyms)
    record = tmp_path / LOOK_LOG
    record.write_text("CPU 0 was at ffffffff91a00001\n")
    assert symbols.add_function_names_to_file("6.1", record) == record.read_text()
    assert requests == [] and record.read_text() == "CPU 0 was at ffffffff91a00001\n"
    record.write_text("int3 entry code: ffffffff91a00000\n")
    named = symbols.add_function_names_to_file("6.1", record)
    assert named == record.read_text()
    assert named == f"int3 entry code: ffffffff91a00000{' asm_exc_int3+0x0' * boots}\n"
    assert [(one.kernel, one.silence) for one in requests] == [("6.1", 0.0)]
    assert requests[0].out == tmp_path / "symbols"
