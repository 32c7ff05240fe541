import json
import subprocess
import urllib.request

import pytest
from summary import Busy, summarize


@pytest.fixture(scope="session")
def witness():
    command = ["waybill", "witness", "--json", "--port", "0", "--control-port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        yield json.loads(process.stdout.readline())  # it prints one line when it is ready
        process.terminate()


def ledger(witness):
    with urllib.request.urlopen(witness["control_url"] + "/ledger") as response:
        return json.load(response)["entries"]


def test_a_text_is_summarized_by_one_valid_call(witness):
    openai = witness["providers"]["openai"]
    summary = summarize("A waybill lists goods.", openai["base_url"], openai["key"], "gpt-5.4")

    assert "recorded answer" in summary
    [call] = ledger(witness)
    assert call["problems"] == []  # the provider would have taken this request
    assert call["model"] == "gpt-5.4"


def test_a_busy_provider_is_said_in_plain_words(witness):
    openai = witness["providers"]["openai"]
    with pytest.raises(Busy, match="try again later"):
        summarize("Anything.", openai["base_url"], openai["key"], "scenario-429")
