"""The application: summarizes a text in one sentence."""

import json
import urllib.error
import urllib.request


class Busy(Exception):
    pass


def summarize(text, url, key, model):
    question = {"model": model, "messages": [{"role": "user", "content": f"In one sentence: {text}"}]}
    headers = {"authorization": f"Bearer {key}", "content-type": "application/json"}
    request = urllib.request.Request(f"{url}/chat/completions", json.dumps(question).encode(), headers)
    try:
        with urllib.request.urlopen(request) as response:
            return json.load(response)["choices"][0]["message"]["content"]
    except urllib.error.HTTPError as error:
        if error.code == 429:
            raise Busy("the provider is busy; try again later") from error
        raise
