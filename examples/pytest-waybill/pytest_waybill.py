"""Mock providers of Waybill for pytest: the fixture `waybill` is one test's part of one mock server."""

import difflib
import json
import os
import shlex
import socket
import subprocess
import urllib.error
import urllib.parse
import urllib.request
import uuid

import pytest


def pytest_addoption(parser):
    group = parser.getgroup("waybill")
    group.addoption("--waybill-recordings", help="answer from these recordings")
    group.addoption("--waybill-command", default="waybill", help="how to start Waybill (waybill)")


def pytest_configure(config):
    """Start the mock once; the workers of pytest-xdist inherit its address."""
    if "WAYBILL_MOCK" in os.environ or hasattr(config, "workerinput"):
        return
    command = [*shlex.split(config.getoption("--waybill-command")), "mock", "--json"]
    command += ["--port", "0", "--control-port", "0"]
    recordings = config.getoption("--waybill-recordings")
    if recordings:
        command += ["--recordings", recordings]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
    except FileNotFoundError:
        raise pytest.UsageError(f"{command[0]} was not found; install it, or set --waybill-command")
    line = process.stdout.readline()  # the mock prints one line when it is ready
    if not line:
        raise pytest.UsageError("the mock did not start; its reason is above")
    os.environ["WAYBILL_MOCK"] = line.decode()
    config.waybill_process = process


def pytest_unconfigure(config):
    process = getattr(config, "waybill_process", None)
    if process:
        del os.environ["WAYBILL_MOCK"]
        process.terminate()
        process.wait()
        process.stdout.close()


class Waybill:
    """One test's address, key, scripts and ledger."""

    def __init__(self, mock, name):
        self._mock = mock
        self._context = "/t/" + urllib.parse.quote(f"{name[:60]} {uuid.uuid4()}", safe="")

    def base_url(self, provider="openai"):
        path = self._mock["providers"][provider]["base_url"][len(self._mock["url"]) :]
        return self._mock["url"] + self._context + path

    def key(self, provider="openai"):
        return self._mock["providers"][provider]["key"]

    def answer(self, *answers):
        """Script answers to the next call, to every call, or to calls with given content."""
        self._ask("POST", "/answers", list(answers))

    def chaos(self, **numbers):
        """Set the shares of errors, cuts and slow calls, and the pace."""
        self._ask("PUT", "/chaos", numbers)

    def calls(self):
        """Return the calls so far in a readable form."""
        entries = self._ask("GET", "/ledger")["entries"]
        return [_readable(entry) for entry in entries if entry["kind"] == "inference"]

    def sum(self):
        return self._ask("GET", "/sum")

    def assert_calls(self, *expected):
        """Compare the calls in order, but only the given members of each."""
        found = [
            {name: call.get(name) for name in (expected[i] if i < len(expected) else call)}
            for i, call in enumerate(self.calls())
        ]
        if found != list(expected):
            lines = [json.dumps(calls, indent=1, ensure_ascii=False).splitlines() for calls in (expected, found)]
            diff = "\n".join(difflib.unified_diff(*lines, "expected", "called", lineterm=""))
            pytest.fail(f"The calls are not the expected ones.\n{diff}", pytrace=False)

    def assert_within(self, **limits):
        """Compare the sum with the allowed maximum: calls=2, output_tokens=500, cost=0.01."""
        total = self.sum()
        over = [f"{name}: {total[name]}, more than {most}" for name, most in limits.items() if total[name] > most]
        if "cost" in limits and total["without_cost"]:
            over.append(f"cost: unknown for {total['without_cost']} calls")
        if over:
            pytest.fail("\n".join(over), pytrace=False)

    def assert_valid(self):
        """Fail if a provider would have refused a call, or if a call has no recording."""
        total = self.sum()
        missing = total["without_recording"]
        reasons = total["problems"] + ([f"{missing} calls have no recording"] if missing else [])
        if reasons:
            pytest.fail("\n".join(reasons), pytrace=False)

    def _ask(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self._mock["control_url"] + self._context + path, data, method=method)
        try:
            with urllib.request.urlopen(request) as response:
                text = response.read()
        except urllib.error.HTTPError as error:
            raise ValueError(json.load(error)["error"]["message"]) from None
        return json.loads(text) if text else None


def _readable(entry):
    body = entry["body"] if isinstance(entry["body"], dict) else {}
    given = body.get("messages") or body.get("contents") or body.get("input") or []
    turns = [turn for turn in given if isinstance(turn, dict) and turn.get("role") == "user"]
    last = (turns[-1].get("content") or turns[-1].get("parts")) if turns else body.get("input")
    user = "\n".join(part.get("text", "[no text]") for part in last) if turns and isinstance(last, list) else last
    call = {"provider": entry["provider"], "model": entry["model"], "user": user}
    return {**call, "status": entry["answer"]["status"], "problems": entry["problems"]}


@pytest.fixture
def waybill(request, monkeypatch):
    """This test's mock. A connection to another machine fails with an error that says so."""
    connect = socket.socket.connect

    def here_only(self, address):
        if isinstance(address, tuple) and not (address[0] in ("localhost", "::1") or address[0].startswith("127.")):
            raise ConnectionRefusedError(f"a test tried to reach {address[0]}; give your application waybill.base_url()")
        return connect(self, address)

    monkeypatch.setattr(socket.socket, "connect", here_only)
    return Waybill(json.loads(os.environ["WAYBILL_MOCK"]), request.node.name)
