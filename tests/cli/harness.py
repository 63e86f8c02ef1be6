"""What the checks of the command line share: running the program, counting results, reading its documents."""

import json
import os
import pathlib
import resource
import subprocess
import tempfile
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
TIMEOUT = 120  # seconds; a run of the examples takes two


class Skip(Exception):
    """Raised by a check that cannot run here; the reason is shown."""


class Result:
    """A finished run of the program."""

    def __init__(self, args, status, out, err):
        self.args, self.status, self.out, self.err = args, status, out, err

    def document(self):
        """Standard output as exactly one JSON object: nothing before it and nothing but a newline after it."""
        assert self.out.startswith("{") and self.out.endswith("}\n"), f"not one JSON object: {self.out[:200]!r}"
        return json.loads(self.out)

    def expect(self, status):
        assert self.status == status, f"exit status {self.status}, not {status}\n{self}"
        return self

    def __str__(self):
        return f"$ {' '.join(self.args)}\n--- stdout\n{self.out[-2000:]}\n--- stderr\n{self.err[-2000:]}"


class Program:
    """The program under test and the example files that it is run on. Commands run in `root`, so that documents name the files
    by the same relative paths everywhere."""

    def __init__(self, binary, root):
        self.binary, self.root = str(pathlib.Path(binary).resolve()), pathlib.Path(root)
        self.examples = pathlib.Path("examples/mini")
        self.runs = {}

    def environment(self, extra=None):
        """A plain environment: nothing of the caller's may change colours, widths or arithmetic."""
        env = {k: v for k, v in os.environ.items() if k in ("PATH", "HOME", "TMPDIR", "ASAN_OPTIONS", "UBSAN_OPTIONS")}
        env.update({"LC_ALL": "C.UTF-8", "TERM": "xterm", "COLUMNS": "100"})
        env.update(extra or {})
        return env

    def run(self, *args, env=None, stdout=subprocess.PIPE, **kwargs):
        """Standard input is empty, or the bytes of `input`."""
        command = [self.binary, *map(str, args)]
        if "input" not in kwargs:
            kwargs["stdin"] = subprocess.DEVNULL
        done = subprocess.run(command, cwd=self.root, env=self.environment(env), stdout=stdout, stderr=subprocess.PIPE, timeout=TIMEOUT,
                              **kwargs)
        decode = lambda data: (data or b"").decode("utf-8")  # strict: output is always valid UTF-8
        return Result(["qnn-debug", *map(str, args)], done.returncode, decode(done.stdout), decode(done.stderr))

    def need(self, *parts):
        """A file of the examples, or a skip."""
        path = self.examples.joinpath(*parts)
        if not (self.root / path).exists():
            raise Skip(f"{path} is not there")
        return path

    def diagnose_args(self, run="clean", dump=None):
        return ["diagnose", "--model", self.need("model.mnn"), "--inputs", self.need("input", "inputs.json"),
                "--dump", dump or self.need(run, "dump")]

    def diagnose(self, *args, run="clean", dump=None, **kwargs):
        """Runs on the unchanged examples that differ in nothing are made once."""
        command = [*self.diagnose_args(run, dump), *args]
        if dump or "--output" in args or set(kwargs) - {"env"}:
            return self.run(*command, **kwargs)
        key = (*map(str, command), *sorted((kwargs.get("env") or {}).items()))
        if key not in self.runs:
            self.runs[key] = self.run(*command, **kwargs)
        return self.runs[key]


class Suite:
    """Checks in the order in which they were defined."""

    def __init__(self):
        self.checks = []

    def check(self, function):
        self.checks.append(function)
        return function

    def run(self, program, only):
        counts = {"passed": 0, "failed": 0, "skipped": 0}
        for function in self.checks:
            name = function.__name__
            if only and not any(text in name for text in only):
                continue
            outcome, why = self._run_one(function, program)
            counts[outcome] += 1
            if outcome != "passed":
                print(f"{outcome.upper():8}{name}: {why}", flush=True)
        print("{passed} passed, {failed} failed, {skipped} skipped".format(**counts))
        return counts

    @staticmethod
    def _run_one(function, program):
        with tempfile.TemporaryDirectory() as directory:
            try:
                function(program, pathlib.Path(directory))
                return "passed", ""
            except Skip as skip:
                return "skipped", str(skip)
            except Exception as error:  # a check that breaks is a failed check
                where = traceback.extract_tb(error.__traceback__)[-1]
                return "failed", f"{type(error).__name__} at line {where.lineno}: {error}"


def limit_file_size():
    """For preexec_fn: writes beyond 4 KiB fail, as on a full disk."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
