"""Run Google's, OpenAI's and Anthropic's Python clients against a gateway, see python-clients.ts. Print a line for each step."""
import json
import os
import sys
import threading
import time

import anthropic
import openai
from google import genai
from google.genai import errors as google_errors
from google.genai import types

URL, KEY = sys.argv[1:3]
RUNNERS = json.loads(sys.argv[3])
TOOL = {"type": "object", "properties": {"city": {"type": "string"}}}
FAILED = []


def step(client, name, run):
    try:
        said = run()
    except Exception as error:  # every failure is a line of the table
        FAILED.append(name)
        said = f"FAILED: {type(error).__name__}: {str(error)[:160]}"
    print(f"{client} | {name} | {said}", flush=True)


def raised(kinds, run):
    try:
        run()
    except kinds as error:
        status = getattr(error, "status_code", None) or getattr(error, "code", None)
        return f"{type(error).__name__} {status}"
    raise AssertionError("no error")


def with_google():
    version = f"google-genai {genai.__version__}"
    client = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL))
    ask = {"model": "google", "contents": "where to?"}
    tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name="get_weather", parameters_json_schema=TOOL)])]
    config = types.GenerateContentConfig(
        tools=tools, automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True)
    )

    def streamed(model="google", stop_after=None):
        texts = []
        for chunk in client.models.generate_content_stream(model=model, contents="where to?"):
            texts.append(chunk.text or "")
            if stop_after and len(texts) >= stop_after:
                break
        return f"{len(texts)} chunks, {len(''.join(texts))} characters"

    step(version, "whole", lambda: f"{len(client.models.generate_content(**ask).text)} characters")
    step(version, "streamed", streamed)
    step(version, "tool", lambda: client.models.generate_content(**ask, config=config).function_calls[0].name)
    step(version, "count", lambda: f"{client.models.count_tokens(**ask).total_tokens} tokens")
    step(version, "models", lambda: [model.name for model in client.models.list()][0])
    for scenario in ("429", "500"):
        step(version, f"error {scenario}", lambda: raised(google_errors.APIError, lambda: client.models.generate_content(**{**ask, "model": f"gemini/scenario-{scenario}"})))
    step(version, "broken stream", lambda: raised(Exception, lambda: streamed("gemini/scenario-cut-after-3")))
    step(version, "left half-way", lambda: streamed("gemini/scenario-lasts-3", 1))


def with_openai():
    version = f"openai {openai.__version__}"
    client = openai.OpenAI(api_key=KEY, base_url=f"{URL}/v1", max_retries=0)
    messages = [{"role": "user", "content": "where to?"}]
    tools = [{"type": "function", "function": {"name": "get_weather", "parameters": TOOL}}]

    def streamed(model="gpt", stop_after=None):
        texts = []
        with client.chat.completions.create(model=model, messages=messages, stream=True) as stream:
            for chunk in stream:
                texts.append((chunk.choices[0].delta.content or "") if chunk.choices else "")
                if stop_after and len(texts) >= stop_after:
                    break
        return f"{len(texts)} chunks, {len(''.join(texts))} characters"

    step(version, "streamed", streamed)
    step(version, "tool", lambda: client.chat.completions.create(model="gpt", messages=messages, tools=tools).choices[0].message.tool_calls[0].function.name)
    step(version, "embeddings", lambda: f"{len(client.embeddings.create(model='openai/text-embedding-3-small', input='x', dimensions=8, encoding_format='float').data[0].embedding)} numbers")
    step(version, "images", lambda: f"{len(client.images.generate(model='openai/gpt-image-1', prompt='A waybill.').data[0].b64_json)} characters")
    for scenario, kind in (("429", openai.RateLimitError), ("500", openai.InternalServerError)):
        step(version, f"error {scenario}", lambda: raised(kind, lambda: client.chat.completions.create(model=f"openai/scenario-{scenario}", messages=messages)))
    step(version, "broken stream", lambda: raised(Exception, lambda: streamed("openai/scenario-cut-after-3")))
    step(version, "left half-way", lambda: streamed("openai/scenario-lasts-3", 1))


def with_anthropic():
    version = f"anthropic {anthropic.__version__}"
    client = anthropic.Anthropic(api_key=KEY, base_url=URL, max_retries=0)
    ask = {"max_tokens": 64, "messages": [{"role": "user", "content": "where to?"}]}
    tools = [{"name": "get_weather", "input_schema": TOOL}]

    def streamed(model="claude", stop_after=None):
        texts = []
        with client.messages.stream(model=model, **ask) as stream:
            for text in stream.text_stream:
                texts.append(text)
                if stop_after and len(texts) >= stop_after:
                    break
        return f"{len(texts)} chunks, {len(''.join(texts))} characters"

    step(version, "streamed", streamed)
    step(version, "tool", lambda: next(block.name for block in client.messages.create(model="claude", tools=tools, **ask).content if block.type == "tool_use"))
    step(version, "count", lambda: f"{client.messages.count_tokens(model='claude', messages=ask['messages']).input_tokens} tokens")
    for scenario, kind in (("429", anthropic.RateLimitError), ("529", anthropic.InternalServerError)):
        step(version, f"error {scenario}", lambda: raised(kind, lambda: client.messages.create(model=f"anthropic/scenario-{scenario}", **ask)))
    step(version, "broken stream", lambda: raised(Exception, lambda: streamed("anthropic/scenario-cut-after-4")))
    step(version, "left half-way", lambda: streamed("anthropic/scenario-lasts-3", 1))
    for runner in RUNNERS:
        name = f"tool runner, {runner['route']}{', streamed' if runner['stream'] else ''}"
        step(version, name, lambda: tool_runner(client, **runner))


def tool_runner(client, route, stream, prompt):
    cities = []

    @anthropic.beta_tool
    def get_weather(city: str) -> str:
        """The weather in a city."""
        cities.append(city)
        return "sunny"

    runner = client.beta.messages.tool_runner(
        model=route,
        max_tokens=64,
        max_iterations=6,
        tools=[get_weather],
        messages=[{"role": "user", "content": prompt}],
        stream=stream,
    )
    said = runner.until_done().content[-1].text
    assert (cities, said) == (["Bern", "Rome"], "Rome is warmer."), f"{cities} {said}"
    return f"{len(cities)} tools, then: {said}"


def give_up():
    print("python | all | FAILED: not over after 120 s", flush=True)
    time.sleep(0.1)
    os._exit(1)


timer = threading.Timer(120, give_up)
timer.daemon = True
timer.start()
with_google()
with_openai()
with_anthropic()
sys.exit(1 if FAILED else 0)
