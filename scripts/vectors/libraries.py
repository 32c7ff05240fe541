"""Answers vectors with a library of another project, in process, as the runners in conformance/vectors/runners/ ask it.

    libraries.py litellm | any-llm | llm-rosetta

LiteLLM and any-llm are clients that speak chat: they call a provider on loopback, which keeps their request and answers with
the bytes of the vector. LLM-Rosetta converts without calls. What a library is not asked for here is answered with `cannot`.
"""

import asyncio
import base64
import contextlib
import http.server
import json
import os
import sys
import threading

ENDS = {"stop": "stop", "tool_calls": "calls", "function_call": "calls", "length": "length", "content_filter": "filter"}
PLAIN = [{"role": "user", "content": "hi"}]


class Provider(http.server.BaseHTTPRequestHandler):
    """Keeps the last request, and answers with the bytes that `reply` has."""

    protocol_version = "HTTP/1.1"
    request_body = None
    reply = (200, {}, b"{}", False)

    def do_POST(self):
        Provider.request_body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status, headers, body, is_cut = Provider.reply
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body) + (10 if is_cut else 0)))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_):
        pass


def data_in(text):
    """Returns the JSON of each event of a stream."""
    events = [line[5:].strip() for line in text.splitlines() if line.startswith("data:")]
    return [json.loads(each) for each in events if each and each != "[DONE]"]


def usage_in(usage):
    if not usage:
        return None
    details = usage.get("prompt_tokens_details") or {}
    return {
        "input": usage.get("prompt_tokens"),
        "output": usage.get("completion_tokens"),
        "cached": details.get("cached_tokens"),
        "cache_write": details.get("cache_write_tokens") or details.get("cache_creation_tokens"),
        "reasoning": (usage.get("completion_tokens_details") or {}).get("reasoning_tokens"),
    }


def concluded(parts):
    """Returns what a chat client concludes from the chunks of a stream, or from one whole answer."""
    text, reasoning, calls, end, usage = "", "", {}, None, None
    for part in parts:
        if part.get("error"):
            return {"end": "failed"}
        usage = part.get("usage") or usage
        for choice in (part.get("choices") or [])[:1]:
            said = choice.get("delta") or choice.get("message") or {}
            text += said.get("content") or ""
            thought = said.get("reasoning_content") or said.get("reasoning") or ""
            reasoning += thought.get("content", "") if isinstance(thought, dict) else thought
            end = choice.get("finish_reason") or end
            for at, call in enumerate(said.get("tool_calls") or []):
                own = calls.setdefault(call.get("index") if call.get("index") is not None else at, ["", ""])
                own[0] += (call.get("function") or {}).get("name") or ""
                own[1] += (call.get("function") or {}).get("arguments") or ""
    if end is None:
        return {"end": "failed"}
    return {
        **{"text": text, "reasoning": reasoning, "end": ENDS.get(end, end), "usage": usage_in(usage)},
        "calls": [{"name": name, "arguments": json.loads(written or "{}")} for name, written in calls.values()],
    }


def in_camel_case(value):
    """Renames members to camelCase, as the vectors have them; Google accepts both. Leaves schemas and arguments alone."""
    if isinstance(value, list):
        return [in_camel_case(each) for each in value]
    if not isinstance(value, dict):
        return value
    renamed = {}
    for name, each in value.items():
        first, *others = name.split("_")
        name = first + "".join(part.capitalize() for part in others)
        is_own = name in ("args", "response", "parameters", "parametersJsonSchema", "responseJsonSchema", "responseSchema")
        renamed[name] = each if is_own else in_camel_case(each)
    return renamed


def received(provider, body):
    return {"sent": in_camel_case(body) if provider == "gemini" else body}


class Client:
    """A client library: `call(provider, address, body)` returns an object of the library, or an iterator of chunks."""

    def __init__(self, call, names):
        self.call, self.names = call, names
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{server.server_port}"

    def answer(self, given):
        sent = given["answer"]
        if given["client"] != "chat" or sent["dialect"] not in self.names:
            return {"cannot": "not asked: chat is the dialect of this client"}
        body = base64.b64decode(sent["base64"]) if "base64" in sent else sent["text"].encode()
        kind = "text/event-stream" if sent["form"] == "stream" else "application/json"
        headers = {"content-type": kind, **sent["headers"]}
        Provider.reply = (200, {name: value for name, value in headers.items() if value}, body, sent["cut"])
        is_stream = given["asked"] == "stream"
        request = {"model": "m", "messages": PLAIN, "stream": is_stream}
        if is_stream:
            request["stream_options"] = {"include_usage": True}
        try:
            got = self.call(self.names[sent["dialect"]], self.address, request)
            return concluded([each.model_dump() for each in got] if is_stream else [got.model_dump()])
        except Exception:  # an answer that a client cannot read is a failed one
            return {"end": "failed"}

    def request(self, given):
        if given["client"] != "chat" or given["provider"] not in self.names or "answer" in given:
            return {"cannot": "not asked: chat is the dialect of this client"}
        Provider.request_body, Provider.reply = None, (500, {}, b'{"error":{"message":"seen"}}', False)
        try:
            self.call(self.names[given["provider"]], self.address, given["body"])
        except Exception:
            if Provider.request_body is None:
                return {"refused": 400}
        return received(given["provider"], Provider.request_body)


def litellm():
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it fetches a list of prices
    import litellm

    litellm.suppress_debug_info, litellm.num_retries = True, 0

    def call(provider, address, body):
        rest = {name: value for name, value in body.items() if name != "model"}
        base = f"{address}/v1" if provider.startswith("openai") else address
        return litellm.completion(model=f"{provider}/{body['model']}", api_base=base, api_key="k", max_retries=0, timeout=5, **rest)

    client = Client(call, {"chat": "openai", "messages": "anthropic", "gemini": "gemini"})

    def cost(given):
        if given["dialect"] != "chat":
            return {"cannot": "not asked: chat is the dialect of this client"}
        for name, price in given["prices"].items():
            if set(price) - {"input", "output", "cached_input"} and "over" not in price:
                return {"cannot": "not asked: factors"}
            rates = {"input": "input_cost_per_token", "output": "output_cost_per_token", "cached_input": "cache_read_input_token_cost"}
            entry = {rates[each]: price[each] / 1e6 for each in rates if each in price}
            over = price.get("over")
            if over:
                entry |= {f"{rates[each]}_above_200k_tokens": over[each] / 1e6 for each in rates if each in over}
            tiers = price.get("service_tier") or {}
            for tier, factor in tiers.items():
                entry |= {f"{rates[each]}_{tier}": price[each] * factor / 1e6 for each in rates if each in price}
            litellm.register_model({name: {**entry, "litellm_provider": "openai", "mode": "chat"}})
        response = litellm.ModelResponse(**given["answer"])
        tier = given["answer"].get("service_tier")
        return {"usd": litellm.completion_cost(completion_response=response, custom_llm_provider="openai", service_tier=tier)}

    return {"answer": client.answer, "request": client.request, "cost": cost}


def any_llm():
    import any_llm

    loop = asyncio.new_event_loop()

    async def collected(**asked):
        got = await any_llm.acompletion(**asked)
        return [each async for each in got] if asked.get("stream") else got

    def call(provider, address, body):
        base = f"{address}/v1" if provider == "openai" else address
        extra = {} if provider == "gemini" else {"client_args": {"max_retries": 0, "timeout": 5}}
        return loop.run_until_complete(collected(provider=provider, api_base=base, api_key="k", **extra, **body))

    client = Client(call, {"chat": "openai", "messages": "anthropic", "gemini": "gemini"})
    return {"answer": client.answer, "request": client.request}


def llm_rosetta():
    from llm_rosetta import ConversionPipeline

    names = {"chat": "openai_chat", "messages": "anthropic", "responses": "openai_responses", "gemini": "google"}

    def pipeline(client, provider):
        return ConversionPipeline(names[client], names[provider], google_output_format="rest")

    def request(given):
        if "answer" in given:
            return {"cannot": "it tells no losses"}
        return received(given["provider"], pipeline(given["client"], given["provider"]).convert_request(given["body"]))

    def answer(given):
        sent, form = given["answer"], given["asked"]
        if given["client"] != "chat" or sent["dialect"] == "chat" or sent["form"] != form or "text" not in sent or sent["cut"]:
            return {"cannot": "not asked: it converts JSON, and does not read bytes"}
        try:
            lines = pipeline("chat", sent["dialect"])
            lines.convert_request({"model": "m", "messages": PLAIN, "stream": form == "stream"})
            if form == "whole":
                return concluded([lines.convert_response(json.loads(sent["text"]))])
            processor = lines.create_stream_processor()
            return concluded([event for each in data_in(sent["text"]) for event in processor.process_chunk(each)])
        except Exception:
            return {"end": "failed"}

    return {"answer": answer, "request": request}


def main():
    kinds = {"litellm": litellm, "any-llm": any_llm, "llm-rosetta": llm_rosetta}[sys.argv[1]]()
    for line in sys.stdin:
        asked = json.loads(line)
        result = {"cannot": "not asked"}
        if asked["kind"] in kinds:
            with contextlib.redirect_stdout(sys.stderr):
                try:
                    result = kinds[asked["kind"]](asked["given"])
                except Exception as error:
                    result = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(result), flush=True)


if __name__ == "__main__":
    main()
