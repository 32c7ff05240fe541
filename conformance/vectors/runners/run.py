"""Asks a program or an HTTP address for the result of each vector, and compares. Needs Python 3.9 and nothing else.

    python run.py FOLDER --url http://127.0.0.1:8080
    python run.py FOLDER [--kind answer] [--match TEXT] -- COMMAND ARGUMENT…

The program reads a line of JSON with `kind` and `given`, and writes a line with the result; an address gets the same by POST.
A result `{"cannot": "why"}` skips the vector. Exit code 1 if a result is wrong.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import urllib.request

FILES = ["answers", "requests", "models", "costs", "refusals"]
MISSING = object()


def at(value, pointer):
    """Returns the value at a JSON Pointer, or MISSING."""
    for part in pointer[1:].split("/"):
        name = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, list) and name.isdigit() and int(name) < len(value):
            value = value[int(name)]
        elif isinstance(value, dict) and name in value:
            value = value[name]
        else:
            return MISSING
    return value


def is_number(value):
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def is_equal(a, b):
    """Compares two JSON values; numbers with a relative tolerance of 1e-9."""
    if is_number(a) and is_number(b):
        return abs(a - b) <= 1e-9 * max(1e-9, abs(a), abs(b))
    if type(a) is not type(b):
        return False
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(is_equal(a[name], b[name]) for name in a)
    if isinstance(a, list):
        return len(a) == len(b) and all(map(is_equal, a, b))
    return a == b


def text_of(value):
    if value is MISSING:
        return "nothing"
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def wrong(result, check):
    """Returns None if a check holds, "untold" if the result does not have its first name, else why it does not hold."""
    kind, path = check[0], check[1]
    value = check[2] if len(check) > 2 else None
    if at(result, "/" + path.split("/")[1]) is MISSING:
        return "untold"
    found = at(result, path)
    if kind == "absent":
        holds = found is MISSING
    elif kind == "count":
        holds = is_equal(0 if found is MISSING or found is None else found, value)
    elif kind == "one":
        holds = any(is_equal(found, each) for each in value)
    elif kind == "has":
        holds = found is not MISSING and value in text_of(found)
    elif kind == "same":
        holds = found is not MISSING and is_equal(found, at(result, value))
    else:
        holds = is_equal(found, value)
    return None if holds else f"{path}: {text_of(found)}, expected {kind} {text_of(value)}"


def judge(result, expect):
    """Returns pass, untold or fail, and the reason of a failure."""
    found = [[wrong(result, check) for check in checks] for checks in expect]
    if any(all(each is None for each in checks) for checks in found):
        return "pass", ""
    if any(all(each in (None, "untold") for each in checks) for checks in found):
        return "untold", ""
    reasons = [next(each for each in checks if each not in (None, "untold")) for checks in found]
    return "fail", "; or ".join(reasons)


def asker(url, command):
    """Returns a function that sends a text and returns the text of the result."""
    if url:

        def ask(text):
            request = urllib.request.Request(url, text.encode(), {"content-type": "application/json"})
            with urllib.request.urlopen(request) as response:
                return response.read().decode()

        return ask
    program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")

    def ask(text):
        program.stdin.write(text + "\n")
        program.stdin.flush()
        line = program.stdout.readline()
        if not line:
            raise SystemExit("run: the program ended before it answered")
        return line

    return ask


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--url")
    parser.add_argument("--kind")
    parser.add_argument("--match", default="")
    split = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    options, command = parser.parse_args(sys.argv[1:split]), sys.argv[split + 1 :]
    if not options.url and not command:
        parser.error("name --url, or a program after --")
    ask = asker(options.url, command)
    failed = 0
    for name in FILES:
        file = json.loads((options.folder / f"{name}.json").read_text("utf-8"))
        if options.kind not in (None, file["kind"]):
            continue
        counts = {"pass": 0, "fail": 0, "untold": 0, "cannot": 0}
        for vector in file["vectors"]:
            if options.match not in vector["id"]:
                continue
            given = dict(vector["given"])
            if "answers" in file:
                given["answer"] = file["answers"][given["answer"]]
            result = json.loads(ask(json.dumps({"kind": file["kind"], "given": given})))
            verdict, why = ("cannot", "") if "cannot" in result else judge(result, vector["expect"])
            counts[verdict] += 1
            if verdict == "fail":
                print(f"{vector['rule']} {vector['id']}: {why}")
        failed += counts["fail"]
        print(f"{name}: {counts['pass']} pass, {counts['fail']} fail, {counts['untold']} untold, {counts['cannot']} cannot")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
