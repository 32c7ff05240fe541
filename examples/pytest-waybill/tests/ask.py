"""The application under test."""

import json
import urllib.request


def ask(waybill, content, model="gpt-6-luna"):
    body = json.dumps({"model": model, "messages": [{"role": "user", "content": content}]}).encode()
    headers = {"authorization": f"Bearer {waybill.key()}", "content-type": "application/json"}
    request = urllib.request.Request(f"{waybill.base_url()}/chat/completions", body, headers)
    with urllib.request.urlopen(request) as response:
        return json.load(response)["choices"][0]["message"]["content"]
