"""Call Interactions with Google's Python client, see python-client.slow-test.ts. Print what the client saw, as JSON."""
import json
import sys

from google import genai
from google.genai import types

URL, KEY, STEP, *REST = sys.argv[1:]
CLIENTS = {}  # a client that nobody holds closes its connections
TOOLS = [{"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}]


def interactions(key=KEY):
    options = types.HttpOptions(base_url=URL, retry_options=types.HttpRetryOptions(attempts=1))
    client = CLIENTS.setdefault(key, genai.Client(api_key=key, http_options=options))
    return client.interactions


def text_of(interaction):
    steps = [step for step in interaction.steps or [] if step.type == "model_output"]
    return "".join(part.text for step in steps for part in step.content if part.type == "text")


def status_of(call):
    try:
        call()
        return 200
    except Exception as error:
        return getattr(error, "status_code", None) or getattr(error, "code", None) or repr(error)


def two_turns(model):
    """Ask with a tool, and give its result. Return the call and the last text."""
    question = {"type": "user_input", "content": [{"type": "text", "text": "Weather?"}]}
    asked = interactions().create(model=model, input=[question], tools=TOOLS, store=False)
    [call] = [step for step in asked.steps if step.type == "function_call"]
    result = {"type": "function_result", "call_id": call.id, "name": "weather", "result": "rain"}
    steps = [step.model_dump(mode="json", exclude_none=True) for step in asked.steps]
    last = interactions().create(model=model, input=[question, *steps, result], tools=TOOLS, store=False)
    return [asked.status, call.name, call.arguments, last.status, text_of(last)]


def plain(model):
    whole = interactions().create(model=model, input="Where to?", store=False)
    streamed, last = "", None
    for event in interactions().create(model=model, input="Where to?", stream=True, store=False):
        last = event.event_type
        if last == "step.delta" and event.delta.type == "text":
            streamed += event.delta.text
    return {"text": text_of(whole), "stream": [streamed, last], "tool": two_turns(model)}


def kept(model, other):
    first = interactions().create(model=model, input="First.")
    second = interactions().create(model=model, input="Second.", previous_interaction_id=first.id)
    stranger = interactions(other)
    refused = [
        status_of(lambda: stranger.get(first.id)),
        status_of(lambda: stranger.delete(first.id)),
        status_of(lambda: stranger.create(model=model, input="x", previous_interaction_id=first.id)),
    ]
    found = text_of(interactions().get(second.id))
    interactions().delete(first.id)
    return {"text": text_of(second), "refused": refused, "found": found, "gone": status_of(lambda: interactions().get(first.id))}


def begin(model):
    begun = interactions().create(model=model, input="Research.", background=True)
    return [begun.id, begun.status]


def poll(name):
    found = interactions().get(name)
    return [found.status, text_of(found)]


STEPS = {"plain": plain, "kept": kept, "begin": begin, "poll": poll}
print(json.dumps(STEPS[STEP](*REST)))
