import json
import subprocess
import urllib.request

import pytest
from summary import Busy, summarize


@pytest.fixture(scope="session")
def mock():
    command = ["waybill", "mock", "--json", "--port", "0", "--control-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        yield json.loads(process.stdout.readline())  # the mock prints one line when it is ready
        process.terminate()


def ledger(mock):
    with urllib.request.urlopen(mock["control_url"] + "/ledger") as response:
        return json.load(response)["entries"]


def test_a_text_is_summarized_by_one_valid_call(mock):
    openai = mock["providers"]["openai"]
    summary = summarize("A waybill lists goods.", openai["base_url"], openai["key"], "gpt-5.4")

    assert "recorded answer" in summary
    [call] = ledger(mock)
    assert call["problems"] == []  # the provider would have accepted this request
    assert call["model"] == "gpt-5.4"


def test_a_busy_provider_is_reported_in_plain_words(mock):
    openai = mock["providers"]["openai"]
    with pytest.raises(Busy, match="try again later"):
        summarize("Anything.", openai["base_url"], openai["key"], "scenario-429")
