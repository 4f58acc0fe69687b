# SPDX-License-Identifier: GPL-2.0-only
"""Tests of guests that use this machine's root directory, with a fake QEMU, and of verdicts on the
steps that run in these guests."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from fakelab import use_fake_qemu
from kmtools.base import processes
from kmtools.base.errors import UnableError
from kmtools.base.paths import ROOT, get_cache_dir
from kmtools.lab import accel, catalogue, hostguest
from kmtools.lab.hostguest import HostJob
from kmtools.lab.machine import boot_guest
from kmtools.measure.bench import QUICK_GUEST_BENCHMARKS
from kmtools.measure.rundir import UNIT_EMULATED
from kmtools.runner import least
from kmtools.runner.suite import find_no_obstacle
from kmtools.suites import kernelsuite, kvm
from kmtools.suites.kvm import Step

# Scripts that replace QEMU: WITH_SVM succeeds, and WITHOUT_SVM fails like a QEMU that cannot
# emulate SVM.
WITH_SVM = '[ "$1" = --version ] && { echo "QEMU 10"; exit; }\necho "$@" >"$HERE/probe"\n'
WITHOUT_SVM = f"""{WITH_SVM}
echo "qemu-system-x86_64: TCG doesn't support requested feature: svm" >&2
exit 1
"""


def write_package_modules(*names: str) -> None:
    """Write fake modules without dependencies into the package of the fake kernel."""
    kernel = catalogue.require_unpacked_kernel(catalogue.get_default_kernel_name())
    folder = kernel.tree / "usr/lib/modules" / kernel.release / "kernel"
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"{name.replace('_', '-')}.ko").write_bytes(b"\x7fELF\0depends=\0")


def write_fake_qemu(laboratory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace QEMU by a shell script."""
    qemu = laboratory / "qemu"
    qemu.write_text(f"#!/bin/sh\n{script}")
    qemu.chmod(0o755)
    monkeypatch.setenv("KMARKERS_QEMU", str(qemu))


def write_step_results(folder: Path, steps: Mapping[str, tuple[int, str]]) -> None:
    """Write exit codes and outputs of steps as the job of the suite kvm does."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (code, output) in steps.items():
        (folder / f"{name}.code").write_text(f"{code}\n")
        (folder / f"{name}.log").write_text(output)


def make_kvm_host_job(laboratory: Path) -> HostJob:
    name = catalogue.get_default_kernel_name()
    return HostJob(name, kvm.JOB, laboratory / "logs" / "host", 20.0, settings={"A": "b"})


def test_guest_has_svm_and_the_root_directory_read_only(laboratory: Path) -> None:
    write_package_modules(*hostguest.ROOT_MODULES, *hostguest.KVM_MODULES)
    request = hostguest.make_host_guest_request(
        make_kvm_host_job(laboratory), laboratory / "scratch"
    )
    assert dict(request.settings)["KMARKERS_CACHE"] == get_cache_dir()
    order = (laboratory / "scratch" / "host" / "order").read_text().split()
    assert order == [f"{name}.ko" for name in (*hostguest.ROOT_MODULES, *hostguest.KVM_MODULES)]
    with use_fake_qemu(laboratory, 'echo "$@" >"$HERE/words"; finish 0'):
        assert boot_guest(request).ok
    words = (laboratory / "words").read_text()
    output = laboratory / "logs" / "host-output"
    assert "-accel tcg,thread=multi -cpu max,la57=off,svm=on,npt=on" in words
    assert (
        "-virtfs local,path=/,mount_tag=root,security_model=none,multidevs=remap,readonly=on"
        in words
    )
    assert (
        f"-virtfs local,path={output},mount_tag=output,security_model=none,multidevs=remap "
        in words
    )


def test_missing_svm_or_kernel_module_is_named_as_obstacle(
    laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = catalogue.get_default_kernel_name()
    monkeypatch.setattr(kernelsuite, "make_boot_obstacle_finder", lambda kernel: find_no_obstacle)
    find_obstacle = kvm.make_host_guest_obstacle_finder(name)
    write_fake_qemu(laboratory, WITH_SVM, monkeypatch)
    assert find_obstacle() == (
        f"kernel {name} has no module virtio_pci, 9pnet_virtio, 9p, overlay, kvm, kvm_amd"
    )
    write_package_modules(*hostguest.ROOT_MODULES, "kvm")
    kernel = catalogue.require_unpacked_kernel(name)
    built_in = kernel.tree / "usr/lib/modules" / kernel.release / "modules.builtin"
    built_in.write_text("kernel/arch/x86/kvm/kvm-amd.ko\n")
    assert not find_obstacle()
    assert f"-cpu {hostguest.MODEL},enforce" in (laboratory / "probe").read_text()
    write_fake_qemu(laboratory, WITHOUT_SVM, monkeypatch)
    assert find_obstacle() == (
        "QEMU 10 lacks a feature: TCG doesn't support requested feature: svm"
    )
    write_fake_qemu(laboratory, f"{WITH_SVM}kill -SEGV $$\n", monkeypatch)
    assert find_obstacle() == "QEMU 10 lacks a feature: exit code -11"
    cache = get_cache_dir()
    with monkeypatch.context() as hidden:
        hidden.setattr(hostguest, "HIDDEN", (str(cache.resolve()),))
        assert find_obstacle() == f"{cache} is below {cache}, which the guest does not share"
    monkeypatch.setattr(hostguest, "PROBE_SECONDS", 0.2)
    write_fake_qemu(laboratory, f"{WITH_SVM}exec sleep 9\n", monkeypatch)
    assert find_obstacle() == "QEMU 10 does not start in 0 s"


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("exit 0", "the guest ended without an exit status"),
        ("finish 1", "the job failed with exit code 1"),
        ("echo 'WARNING: CPU: 0' >\"$console\"; finish 0", "lines that report faults"),
    ],
)
def test_kvm_guest_that_vanishes_or_warns_is_a_failure(
    script: str, why: str, laboratory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = catalogue.get_default_kernel_name()
    monkeypatch.setattr(processes, "run_program", lambda *_: 0)
    modules = laboratory / "modules"
    modules.mkdir()
    (modules / "kmarkers_patcher.ko").touch()
    log = laboratory / "logs" / "kvm-choice.log"
    log.parent.mkdir()
    # Results of an earlier run, which must not be judged.
    write_step_results(
        log.with_name("kvm-choice-output"), {"absent": (0, kvm.EMULATED + kvm.ABSENT)}
    )
    with use_fake_qemu(laboratory, script):
        tally = kvm.run_kvm_job_part("kvm-choice", name, modules, log)
    assert tally.passed == 0
    assert tally.failed[:-1] == [f"{step}: the step did not end" for step in kvm.CHOICE]
    assert why in tally.failed[-1]
    settings = json.loads((log.with_suffix("") / "vm.json").read_text())["settings"]
    assert settings["KMARKERS_GUEST_SUITES"].split() == [*kvm.GUEST_SUITES]


@pytest.mark.parametrize(
    ("code", "output", "why"),
    [
        (0, "one\nvm: under KVM\n", ""),
        (2, "vm: under KVM\n", "exit code 2 instead of 0; last line of output: vm: under KVM"),
        (0, "", "the output lacks the line 'vm: under KVM'; last line of output: none"),
        (
            *(0, "vm: under KVM too\n"),
            "the output lacks the line 'vm: under KVM'; last line of output: vm: under KVM too",
        ),
    ],
)
def test_kvm_step_is_judged_by_exit_code_and_output(
    code: int, output: str, why: str, tmp_path: Path
) -> None:
    write_step_results(tmp_path, {"a": (code, output)})
    assert Step(0, [kvm.UNDER_KVM], more=True).describe_step_deviation(tmp_path, "a") == why
    exact = Step(0, [kvm.UNDER_KVM]).describe_step_deviation(tmp_path, "a")
    assert exact == (why or "2 lines of output instead of 1; last line of output: vm: under KVM")


def test_suite_kvm_expects_the_error_messages_of_choose_accel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The texts that the suite expects are the error messages of choose_accel()."""
    monkeypatch.setenv(accel.VARIABLE, "kvm")
    for kvm_file, reason in ((Path("/absent"), kvm.ABSENT), (Path("/dev/null"), kvm.NO_DEVICE)):
        with pytest.raises(UnableError) as error:
            accel.choose_accel("QEMU 10", "6.1", "6.1", pytest.fail, kvm_file)
        said = reason.replace("/dev/kvm", str(kvm_file), 1)
        assert f"vm accel: {error.value}" == kvm.FORCED + said


def write_passed_guest_results(folder: Path, accelerator: str = "kvm") -> None:
    """Write results of the suite's part kvm-guests, in which all steps pass."""
    suites = "".join(
        f"# suite: {name}\nok {number} {name} works\n"
        for number, name in enumerate(kvm.GUEST_SUITES, 1)
    )
    names = "".join(f" {name}: over nop\n" for name in QUICK_GUEST_BENCHMARKS)
    table = f"vm, kernel 6.1: {UNIT_EMULATED} per operation\n{names}"
    write_step_results(
        folder,
        {
            "suites": (0, f"{suites}1..{len(kvm.GUEST_SUITES)}\n"),
            "bench": (0, "[3/5] fetching\n      vm: under KVM\n"),
            "table": (0, table),
        },
    )
    vm = {"accel": accelerator, "emulated": True}
    (folder / "suites").mkdir(exist_ok=True)
    (folder / "suites" / "vm.json").write_text(json.dumps(vm))
    (folder / "env.json").write_text(json.dumps({"tiers": [{"tier": "vm", "vm": vm}]}))


def test_passed_suites_of_test_kernels_under_kvm_are_counted(tmp_path: Path) -> None:
    write_passed_guest_results(tmp_path)
    tally = kvm.judge_kvm_guests(tmp_path)
    assert not tally.failed and tally.passed == len(kvm.GUESTS) + len(kvm.GUEST_SUITES) + 2


@pytest.mark.parametrize(
    ("file", "was", "now", "why"),
    [
        ("suites.log", "ok 2", "not ok 2", "cases works"),
        ("suites.log", "1..6", "", "no plan"),
        ("suites.log", "# suite: sdt", "", "# suite: sdt"),
        ("table.log", "cold-branch", "cold", "cold-branch"),
        ("table.log", "emulated", "guest", "emulated"),
        ("bench.log", "under KVM", "emulated: a reason", "under KVM"),
        ("env.json", "kvm", "tcg", "bench: the test kernel ran with {'accel': 'tcg'"),
        ("env.json", "true", "false", "bench: the test kernel ran with"),
        ("env.json", "}", "", "bench: the test kernel ran with {'accel': None"),
        ("suites/vm.json", "kvm", "tcg", "suites: the test kernel ran with"),
        ("suites/vm.json", "}", "", "suites: the test kernel ran with {'accel': None"),
    ],
)
def test_unexpected_output_of_a_test_kernel_under_kvm_fails(
    file: str, was: str, now: str, why: str, tmp_path: Path
) -> None:
    write_passed_guest_results(tmp_path)
    text = (tmp_path / file).read_text()
    assert was in text
    (tmp_path / file).write_text(text.replace(was, now))
    assert any(why in reason for reason in kvm.judge_kvm_guests(tmp_path).failed)


def test_report_fails_if_it_calls_a_virtual_machine_real(tmp_path: Path) -> None:
    def list_report_page_failures(text: str) -> list[str]:
        (tmp_path / "report.html").write_text(text)
        return [why for why in kvm.judge_bench_host(tmp_path).failed if "page" in why]

    good = (
        "The kernel that runs here, which is the kernel of a virtual machine, emulated: its ticks"
    )
    assert not list_report_page_failures(good)
    assert list_report_page_failures("") and list_report_page_failures(
        f"{good}. The kernel on the real machine."
    )
    assert list_report_page_failures(
        f"{good}. To measure in the kernel of a real machine, run make bench-host."
    )


def test_shell_job_of_suite_kvm_has_all_steps() -> None:
    script = kvm.JOB.read_text()
    assert re.findall(r"^\trun_step (\S+)", script, re.M) == [
        *kvm.CHOICE,
        *kvm.GUESTS,
        *kvm.BENCH_HOST,
    ]
    assert {*re.findall(r"^run_(?!step\b)(\S+)\(\)", script, re.M)} == {*kvm.PARTS}
    assert {*kvm.GUEST_SUITES} <= {path.stem for path in (ROOT / "tests/vm/suites").glob("*.sh")}


def test_guest_job_runs_the_suites_that_a_variable_names(tmp_path: Path) -> None:
    """The job that kvm.sh writes for a test kernel runs the suites that KMARKERS_GUEST_SUITES
    names, each in its short form."""
    found = re.search(r"^write_guest_job\(\) \{\n.*?^\}\n", kvm.JOB.read_text(), re.M | re.S)
    assert found is not None
    write = found[0].replace("/tmp/", f"{tmp_path}/")
    env = {"KMARKERS_GUEST_SUITES": "orders cases", "PATH": "/usr/bin:/bin"}
    processes.capture_output(["bash", "-c", f"{write}write_guest_job"], env=env)
    (tmp_path / "check.sh").write_text('echo "$KMARKERS_SUITES; $KMARKERS_SAMPLE"\n')
    job = (tmp_path / "kvm-job").read_text().replace("/tests/jobs/", f"{tmp_path}/")
    said = processes.capture_output(["sh", "-c", job], env={"PATH": "/usr/bin:/bin"})
    assert said.stdout == "orders cases; many_*[05]0\n"
    assert least.SHORT_SETTING in job


@pytest.mark.parametrize(
    ("stats", "macro", "code", "last"),
    [
        ("hits 12\\ncpu0 12\\n", 0, 0, "hits of mark: 12"),
        ("hits 0\\n", 0, 1, "hits of mark: 0"),
        ("hits -\\n", 0, 1, "hits of mark: -"),
        ("", 0, 1, "hits of mark: "),
        ("hits 12\\n", 3, 3, "--times /tmp/macro.csv --runs 2 --off a --on b -- sh x"),
    ],
)
def test_macro_rounds_fail_if_the_marker_was_not_hit(
    stats: str, macro: int, code: int, last: str, tmp_path: Path
) -> None:
    """A fake `kmarkers macro` writes the hits of the marker, and ends with exit code `macro`."""
    found = re.search(r"^measure_rounds\(\) \{\n.*?^\}\n", kvm.JOB.read_text(), re.M | re.S)
    assert found is not None
    measure = found[0].replace("/sys/kernel/debug", str(tmp_path))
    command = tmp_path / "scripts" / "kmarkers"
    file = tmp_path / "kmarkers" / "markers" / "mark" / "stats"
    for path in (command, file):
        path.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\nshift\necho $*\nprintf '{stats}' >{file}\nexit {macro}\n")
    command.chmod(0o755)
    done = subprocess.run(
        ["bash", "-c", f"{measure}measure_rounds mark a b sh x"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout.splitlines()[-1]) == (code, last)
    absent = ["bash", "-c", f"{measure}measure_rounds mark a b no-such-program x"]
    assert processes.capture_output(absent).stdout == "SKIP no-such-program is not installed\n"


def test_kvm_step_without_its_program_is_skipped(tmp_path: Path) -> None:
    """A step that says SKIP is neither passed nor failed, and its reason is named."""
    write_step_results(tmp_path, {"one": (0, "SKIP perf is not installed\n"), "two": (0, "")})
    tally = kvm.judge_job_steps({"one": Step(0, ["row"]), "two": Step(0)}, tmp_path)
    assert (tally.passed, tally.failed) == (1, [])
    assert tally.skipped == ["one: perf is not installed"]
