import json
import os
import socket
import time
import urllib.error
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from ask import ask
from pytest_waybill import Waybill


def test_calls_tokens_and_cost_are_those_of_the_test(waybill):
    waybill.answer({"say": {"text": "Bern."}})
    assert ask(waybill, "The capital of Switzerland?") == "Bern."
    waybill.assert_calls({"model": "gpt-6-luna", "user": "The capital of Switzerland?", "status": 200})
    waybill.assert_valid()
    waybill.assert_within(calls=1, input_tokens=100, output_tokens=100, cost=0.01)
    assert waybill.sum()["cost"] > 0


def test_a_difference_is_shown_so_that_a_person_can_read_it(waybill):
    ask(waybill, "Two words")
    with pytest.raises(pytest.fail.Exception) as failure:
        waybill.assert_calls({"user": "Three words"})
    assert '-  "user": "Three words"' in str(failure.value)
    assert '+  "user": "Two words"' in str(failure.value)
    with pytest.raises(pytest.fail.Exception, match="calls: 1, more than 0"):
        waybill.assert_within(calls=0)


def test_what_the_provider_would_refuse_is_no_valid_call(waybill):
    with pytest.raises(urllib.error.HTTPError, match="404"):
        ask(waybill, "Hello", "gpt-nothing")
    with pytest.raises(pytest.fail.Exception, match="unknown model: gpt-nothing"):
        waybill.assert_valid()


def test_a_connection_to_another_machine_fails(waybill):
    with pytest.raises(ConnectionRefusedError, match="a test tried to reach 192.0.2.1"):
        socket.create_connection(("192.0.2.1", 443), timeout=1)


def test_all_calls_fail_if_the_test_asks_for_it(waybill):
    waybill.chaos(errors=1, status=529)
    with pytest.raises(urllib.error.HTTPError, match="529"):
        ask(waybill, "Hello")
    assert waybill.sum()["failed"] == 1


def test_a_mistake_in_a_script_names_its_field(waybill):
    with pytest.raises(ValueError, match="say"):
        waybill.answer({"say": 1})


@pytest.mark.parametrize("i", range(200))
def test_each_of_200_tests_sees_its_own_calls(waybill, i):
    waybill.answer({"say": {"text": f"One of {i}."}}, {"say": {"text": f"Two of {i}."}})
    assert ask(waybill, f"first {i}") == f"One of {i}."
    time.sleep(i * 7 % 20 / 1000)
    assert ask(waybill, f"second {i}") == f"Two of {i}."
    waybill.assert_calls({"user": f"first {i}"}, {"user": f"second {i}"})


def test_200_at_once_see_their_own_calls():
    mock = json.loads(os.environ["WAYBILL_MOCK"])
    at_once = Barrier(200)

    def one(i):
        own = Waybill(mock, "one name for all")
        own.answer({"say": {"text": f"One of {i}."}})
        at_once.wait()
        assert ask(own, f"first {i}") == f"One of {i}."
        own.assert_calls({"user": f"first {i}"})
        return i

    with ThreadPoolExecutor(200) as threads:
        assert list(threads.map(one, range(200))) == list(range(200))
