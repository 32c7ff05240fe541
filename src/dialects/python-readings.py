"""Read answers with the official Python clients, as an application would: each line of the input asks for one reading."""
import json
import sys

import anthropic
import openai
from google import genai
from google.genai import types

ENDS = {
    "tool_calls": "calls",
    "function_call": "calls",
    "content_filter": "refusal",
    "end_turn": "stop",
    "tool_use": "calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "max_output_tokens": "length",
    "MAX_TOKENS": "length",
    **dict.fromkeys(["SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY"], "refusal"),
}


def call(name, arguments):
    return {"name": name, "arguments": json.loads(arguments or "{}")}


def result(text, calls, end, ids, reasoning, given, returned):
    return {"text": text, "calls": calls, "end": end, "ids": ids, "reasoning": reasoning, "usage": {"input": given, "output": returned}}


def chat_usage(usage):
    return (usage and usage.prompt_tokens, usage and usage.completion_tokens)


def completion(answer):
    choice = answer.choices[0]
    message = choice.message
    made = [each for each in message.tool_calls or [] if each.type == "function"]
    word = choice.finish_reason
    end = ENDS.get(word, word) if word else "calls" if made else "stop"
    calls = [call(each.function.name, each.function.arguments) for each in made]
    thoughts = getattr(message, "reasoning_content", None) or ""
    return result(message.content or message.refusal or "", calls, end, [each.id for each in made], thoughts, *chat_usage(answer.usage))


def chunks(stream):
    text, thoughts, end, usage, calls = "", "", None, None, {}
    for chunk in stream:
        usage = chunk.usage or usage
        if not chunk.choices:
            continue
        choice = chunk.choices[0]
        end = choice.finish_reason or end
        delta = choice.delta
        if delta is None:
            continue
        text += delta.content or delta.refusal or ""
        thoughts += getattr(delta, "reasoning_content", None) or ""
        for part in delta.tool_calls or []:
            made = calls.setdefault(part.index, {"id": "", "name": "", "arguments": ""})
            made["id"] = made["id"] or part.id or ""
            if part.function:
                made["name"] = made["name"] or part.function.name or ""
                made["arguments"] += part.function.arguments or ""
    made = list(calls.values())
    read = [call(each["name"], each["arguments"]) for each in made]
    return result(text, read, ENDS.get(end, end) if end else "failed", [each["id"] for each in made], thoughts, *chat_usage(usage))


def response(answer):
    made = [item for item in answer.output if item.type == "function_call"]
    parts = [part for item in answer.output if item.type == "message" for part in item.content]
    text = "".join(part.text if part.type == "output_text" else part.refusal for part in parts)
    thoughts = "".join(
        part.text for item in answer.output if item.type == "reasoning" for part in [*item.summary, *(item.content or [])]
    )
    calls = [call(item.name, item.arguments) for item in made]
    return result(text, calls, response_end(answer, made), [item.call_id for item in made], thoughts, *response_usage(answer))


def response_usage(answer):
    usage = answer and answer.usage
    return (usage and usage.input_tokens, usage and usage.output_tokens)


def response_end(answer, calls):
    if answer is not None and answer.status == "incomplete":
        reason = (answer.incomplete_details and answer.incomplete_details.reason) or "max_output_tokens"
        return ENDS.get(reason, reason)
    if answer is None or answer.status != "completed":
        return "failed"
    return "calls" if calls else "stop"


def events(stream):
    text, thoughts, end, made = "", "", None, []
    for event in stream:
        if event.type in ("response.output_text.delta", "response.refusal.delta"):
            text += event.delta
        elif event.type == "response.reasoning_summary_text.delta":
            thoughts += event.delta
        elif event.type == "response.output_item.done" and event.item.type == "function_call":
            made.append(event.item)
        elif event.type in ("response.completed", "response.incomplete", "response.failed"):
            end = event.response
        elif event.type == "error":
            raise RuntimeError(event.message)
    calls = [call(item.name, item.arguments) for item in made]
    return result(text, calls, response_end(end, made), [item.call_id for item in made], thoughts, *response_usage(end))


def message(answer):
    made = [block for block in answer.content if block.type == "tool_use"]
    text = "".join(block.text for block in answer.content if block.type == "text")
    thoughts = "".join(block.thinking for block in answer.content if block.type == "thinking")
    usage = answer.usage
    given = usage.input_tokens + (usage.cache_read_input_tokens or 0) + (usage.cache_creation_input_tokens or 0)
    end = ENDS.get(answer.stop_reason, answer.stop_reason) if answer.stop_reason else "failed"
    calls = [{"name": block.name, "arguments": block.input} for block in made]
    return result(text, calls, end, [block.id for block in made], thoughts, given, usage.output_tokens)


def contents(answers):
    parts = [part for each in answers for one in (each.candidates or [])[:1] if one.content for part in one.content.parts or []]
    made = [part.function_call for part in parts if part.function_call]
    words = [one.finish_reason for each in answers for one in (each.candidates or [])[:1] if one.finish_reason]
    is_blocked = any(each.prompt_feedback and each.prompt_feedback.block_reason for each in answers)
    usage = next((each.usage_metadata for each in reversed(answers) if each.usage_metadata), None)
    word = words[-1].value if words else None
    end = "refusal" if is_blocked else "failed" if not word else ENDS.get(word, word) if word != "STOP" else "calls" if made else "stop"
    text, thoughts = ("".join(part.text or "" for part in parts if bool(part.thought) == wanted) for wanted in (False, True))
    calls = [{"name": each.name, "arguments": each.args or {}} for each in made]
    ids = [each.id for each in made if each.id]
    returned = usage and (usage.candidates_token_count or 0) + (usage.thoughts_token_count or 0)
    return result(text, calls, end, ids, thoughts, usage and usage.prompt_token_count, returned)


def read(client, origin, stream, tool):
    options = {"api_key": "none", "max_retries": 0, "timeout": 30}
    schema = tool["parameters"]
    user = [{"role": "user", "content": "hi"}]
    if client.startswith("openai"):
        with openai.OpenAI(base_url=f"{origin}/v1", **options) as openai_client:
            if "responses" in client:
                ask = {"model": "auto", "input": "hi", "tools": [{"type": "function", "strict": False, **tool}]}
                if client.endswith(".stream"):
                    with openai_client.responses.stream(**ask) as manager:
                        return response(manager.get_final_response())
                made = openai_client.responses.create(**ask, stream=stream)
                return events(made) if stream else response(made)
            ask = {"model": "auto", "messages": user, "tools": [{"type": "function", "function": tool}]}
            with_usage = {"stream_options": {"include_usage": True}}
            if client.endswith(".stream"):
                with openai_client.chat.completions.stream(**ask, **with_usage) as manager:
                    return completion(manager.get_final_completion())
            if stream:
                return chunks(openai_client.chat.completions.create(**ask, **with_usage, stream=True))
            return completion(openai_client.chat.completions.create(**ask))
    if client.startswith("anthropic"):
        ask = {"model": "auto", "max_tokens": 1_000, "messages": user, "tools": [{"name": tool["name"], "input_schema": schema}]}
        with anthropic.Anthropic(base_url=origin, **options) as anthropic_client:
            if not stream:
                return message(anthropic_client.messages.create(**ask))
            with anthropic_client.messages.stream(**ask) as manager:
                return message(manager.get_final_message())
    http = types.HttpOptions(base_url=origin, timeout=30_000, retry_options=types.HttpRetryOptions(attempts=1))
    declared = types.FunctionDeclaration(name=tool["name"], parameters_json_schema=schema)
    config = types.GenerateContentConfig(tools=[types.Tool(function_declarations=[declared])])
    ask = {"model": "auto", "contents": "hi", "config": config}
    with genai.Client(api_key="none", http_options=http) as google_client:
        models = google_client.models
        return contents(list(models.generate_content_stream(**ask)) if stream else [models.generate_content(**ask)])


if sys.argv[1:] == ["--versions"]:
    print(f"openai {openai.__version__}, anthropic {anthropic.__version__}, google-genai {genai.__version__}")
    sys.exit(0)
for line in sys.stdin:
    try:
        said = {"read": read(**json.loads(line))}
    except Exception as error:  # an application sees any exception of the client
        said = {"threw": f"{type(error).__name__}: {str(error)[:300]}"}
    print(json.dumps(said, ensure_ascii=True), flush=True)
