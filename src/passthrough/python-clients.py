"""Call each relayed endpoint with one official Python client, see python-clients.slow-test.ts.

First each endpoint is refused with 429, and cancelled while the provider holds its answer; then each answers, and the
answer is checked. Prints the calls that the gateway should have on record, as JSON.
"""
import asyncio
import io
import json
import sys

import httpx

NAME, URL, KEY, CONTROL = sys.argv[1:]
REFUSAL = "Too much for today. This is synthetic."
HELD = {"events": [{"gate": "never"}]}
WAIT_S = 30
# State of a batch on record that has not been fetched after its end.
OPEN = "streaming"

EXPECTED = []


class Mock:
    """The provider, by its control port."""

    def __init__(self):
        self.http = httpx.AsyncClient(base_url=CONTROL)

    async def ledger(self):
        return (await self.http.get("/ledger")).json()["entries"]

    async def clear(self):
        (await self.http.delete("/ledger")).raise_for_status()

    async def answer(self, answers):
        (await self.http.post("/answers", json=answers)).raise_for_status()

    async def until(self, has_come):
        async with asyncio.timeout(WAIT_S):
            while not has_come(await self.ledger()):
                await asyncio.sleep(0.01)


class Endpoint:
    """An endpoint, and a call of it. `first`: a request that the client makes before, and its answer; `begins`: the
    requests that a successful call makes before it; `then`: those that it makes after it;
    `tries`: requests that the client makes before it gives up."""

    def __init__(self, path, run, first=None, state="completed", begins=(), then=(), tries=1):
        self.path, self.run, self.first, self.state = path, run, first, state
        self.begins, self.then, self.tries = begins, then, tries


class Client:
    """A client. `refusal`: the body of a 429; `error`: the class that it raises for it; `status`: reads the error."""

    def __init__(self, refusal, error, status):
        self.mock = Mock()
        self.refusal, self.error, self.status = refusal, error, status

    async def call(self, endpoints, before=()):
        for endpoint in before:
            await self.answered(endpoint)
        for endpoint in endpoints:
            await self.refused(endpoint)
            await self.cancelled(endpoint)
        await self.mock.clear()  # its files and batches, too
        for endpoint in endpoints:
            await self.answered(endpoint)

    async def script(self, endpoint, answer, state):
        answers = [{**endpoint.first[1](), "kind": "metadata"}] if endpoint.first else []
        answers += [{**answer, "kind": kind, "times": "every"} for kind in ("inference", "metadata")]
        await self.mock.clear()
        await self.mock.answer(answers)
        EXPECTED.extend([f"{endpoint.first[0]} completed"] if endpoint.first else [])
        EXPECTED.append(f"{endpoint.path} {state}")

    async def refused(self, endpoint):
        await self.script(endpoint, {"status": 429, "body": self.refusal}, "failed")
        EXPECTED.extend([f"{endpoint.path} failed"] * (endpoint.tries - 1))
        try:
            await endpoint.run()
        except self.error as error:
            same(self.status(error), 429)
            assert REFUSAL in str(error), f"{endpoint.path}: {error}"
        else:
            raise AssertionError(f"{endpoint.path}: not refused")

    async def cancelled(self, endpoint):
        await self.script(endpoint, HELD, "aborted")
        index = 1 if endpoint.first else 0
        task = asyncio.create_task(endpoint.run())
        await self.mock.until(lambda entries: task.done() or len(entries) > index)
        task.cancel()
        try:
            await task
        except asyncio.CancelledError:
            pass
        else:
            raise AssertionError(f"{endpoint.path}: not cancelled")
        await self.mock.until(lambda entries: entries[index]["peer_left_at"])

    async def answered(self, endpoint):
        EXPECTED.extend(f"{each} completed" for each in endpoint.begins)
        EXPECTED.append(f"{endpoint.path} {endpoint.state}")
        EXPECTED.extend(f"{each} completed" for each in endpoint.then)
        await endpoint.run()


def same(found, expected):
    assert found == expected, f"{found} instead of {expected}"


async def with_openai():
    import openai

    refusal = {"error": {"message": REFUSAL, "type": "requests", "param": None, "code": "rate_limit_exceeded"}}
    at = Client(refusal, openai.RateLimitError, lambda error: error.status_code)
    client = openai.AsyncOpenAI(api_key=KEY, base_url=f"{URL}/v1", max_retries=0)
    audio, images, files, batches = client.audio, client.images, client.files, client.batches
    file = batch = ""
    sound, picture = ("a.wav", b"RIFF"), ("a.png", b"png", "image/png")
    ask = {"model": "gpt-3.5-turbo-instruct", "prompt": "It"}
    edit = {"model": "gpt-image-1", "image": picture, "prompt": "blue"}
    line = {"custom_id": "a", "method": "POST", "url": "/v1/chat/completions"}
    line["body"] = {"model": "gpt-6-luna", "messages": [{"role": "user", "content": "hi"}]}

    async def speech():
        answer = await audio.speech.create(model="tts-1", voice="alloy", input="hi", response_format="wav")
        same(len(answer.content), 1644)

    async def streamed_speech():
        create = audio.speech.with_streaming_response.create
        async with create(model="tts-1", voice="alloy", input="hi", stream_format="sse") as answer:
            text = "".join([piece async for piece in answer.iter_text()])
        same([text.count("speech.audio.delta"), text.count("speech.audio.done")], [2, 1])

    async def transcription():
        same((await audio.transcriptions.create(model="whisper-1", file=sound)).text, "Silence.")

    async def streamed_transcription():
        events = await audio.transcriptions.create(model="gpt-4o-transcribe", file=sound, stream=True)
        delta = "transcript.text.delta"
        same([event.type async for event in events], [delta, delta, "transcript.text.done"])

    async def translation():
        same((await audio.translations.create(model="whisper-1", file=sound)).text, "Silence.")

    async def edited():
        same(len((await images.edit(**edit)).data), 1)

    async def streamed_edit():
        events = [event async for event in await images.edit(**edit, stream=True, partial_images=2)]
        partial = "image_edit.partial_image"
        same([event.type for event in events], [partial, partial, "image_edit.completed"])
        same(events[-1].usage.output_tokens, 572)

    async def variation():
        same(len((await images.create_variation(image=picture, n=2)).data), 2)

    async def moderation():
        same((await client.moderations.create(input="hi")).results[0].flagged, False)

    async def completion():
        same((await client.completions.create(**ask)).choices[0].text, " is quiet here.")

    async def streamed_completion():
        events = await client.completions.create(**ask, stream=True)
        same("".join([event.choices[0].text async for event in events if event.choices]), " is quiet here.")

    async def upload():
        nonlocal file
        file = (await files.create(file=("a.jsonl", json.dumps(line).encode()), purpose="batch")).id

    async def order():
        nonlocal batch
        window = {"endpoint": "/v1/chat/completions", "completion_window": "24h"}
        batch = (await batches.create(input_file_id=file, **window)).id

    async def listed():
        same([each.id for each in (await files.list()).data], [file])

    async def retrieved():
        same((await files.retrieve(file)).id, file)

    async def content():
        same(json.loads((await files.content(file)).content), line)

    async def listed_batches():
        same([each.id for each in (await batches.list()).data], [batch])

    async def cancel():
        assert (await batches.cancel(batch)).status in ("cancelling", "cancelled")

    async def retrieved_batch():
        assert (await batches.retrieve(batch)).status in ("cancelling", "cancelled")

    async def delete():
        same((await files.delete(file)).deleted, True)

    makes = [Endpoint("POST /v1/files", upload), Endpoint("POST /v1/batches", order)]
    others = [
        Endpoint("POST /v1/audio/speech", speech),
        Endpoint("POST /v1/audio/speech", streamed_speech),
        Endpoint("POST /v1/audio/transcriptions", transcription),
        Endpoint("POST /v1/audio/transcriptions", streamed_transcription),
        Endpoint("POST /v1/audio/translations", translation),
        Endpoint("POST /v1/images/edits", edited),
        Endpoint("POST /v1/images/edits", streamed_edit),
        Endpoint("POST /v1/images/variations", variation),
        Endpoint("POST /v1/moderations", moderation),
        Endpoint("POST /v1/completions", completion),
        Endpoint("POST /v1/completions", streamed_completion),
        Endpoint("GET /v1/files", listed),
        Endpoint("GET /v1/files/{id}", retrieved),
        Endpoint("GET /v1/files/{id}/content", content),
        Endpoint("GET /v1/batches", listed_batches),
        Endpoint("POST /v1/batches/{id}/cancel", cancel),
        Endpoint("GET /v1/batches/{id}", retrieved_batch),
        Endpoint("DELETE /v1/files/{id}", delete),
    ]
    await at.call([*makes, *others], before=[makes[0], Endpoint("POST /v1/batches", order, state=OPEN)])


async def with_anthropic():
    import anthropic

    refusal = {"type": "error", "error": {"type": "rate_limit_error", "message": REFUSAL}}
    at = Client(refusal, anthropic.RateLimitError, lambda error: error.status_code)
    client = anthropic.AsyncAnthropic(api_key=KEY, base_url=URL, max_retries=0)
    files, batches = client.beta.files, client.messages.batches
    file = batch = ""
    params = {"model": "claude-sonnet-4-5", "max_tokens": 9, "messages": [{"role": "user", "content": "hi"}]}

    async def upload():
        nonlocal file
        file = (await files.upload(file=("a.txt", b"abc", "text/plain"))).id

    async def listed():
        same([each.id for each in (await files.list()).data], [file])

    async def metadata():
        same((await files.retrieve_metadata(file)).size_bytes, 3)

    async def download():
        try:
            await files.download(file)
        except anthropic.BadRequestError as error:
            assert "not downloadable" in str(error), error

    async def delete():
        await files.delete(file)

    async def order():
        nonlocal batch
        batch = (await batches.create(requests=[{"custom_id": "a", "params": params}])).id

    async def listed_batches():
        same(batch in [each.id for each in (await batches.list()).data], True)

    async def ended():
        await batches.retrieve(batch)  # it ends when it is read twice
        same((await batches.retrieve(batch)).processing_status, "ended")

    async def results():
        same([each.result.type async for each in await batches.results(batch)], ["succeeded"])

    async def delete_batch():
        await batches.delete(batch)

    async def cancel():
        assert (await batches.cancel(batch)).processing_status in ("canceling", "ended")

    def address():
        return {"id": batch, "results_url": f"https://api.anthropic.com/v1/messages/batches/{batch}/results"}

    one = "/v1/messages/batches/{id}"
    makes = [Endpoint("POST /v1/files", upload), Endpoint("POST /v1/messages/batches", order)]
    others = [
        Endpoint("GET /v1/files", listed),
        Endpoint("GET /v1/files/{id}", metadata),
        Endpoint("GET /v1/files/{id}/content", download, state="failed"),
        Endpoint("DELETE /v1/files/{id}", delete),
        Endpoint("GET /v1/messages/batches", listed_batches),
        Endpoint(f"GET {one}", ended, begins=[f"GET {one}"]),
        Endpoint(f"GET {one}/results", results, (f"GET {one}", lambda: {"body": address()}), begins=[f"GET {one}"]),
        Endpoint(f"DELETE {one}", delete_batch),
        Endpoint("POST /v1/messages/batches", order, state=OPEN),
        Endpoint(f"POST {one}/cancel", cancel),
    ]
    await at.call([*makes, *others], before=[makes[0], Endpoint("POST /v1/messages/batches", order, state=OPEN)])


async def with_google():
    from google import genai
    from google.genai import errors, types

    refusal = {"error": {"code": 429, "message": REFUSAL, "status": "RESOURCE_EXHAUSTED"}}
    at = Client(refusal, errors.ClientError, lambda error: error.code)
    files = genai.Client(api_key=KEY, http_options=types.HttpOptions(base_url=URL)).aio.files
    name = ""

    async def upload():
        nonlocal name
        name = (await files.upload(file=io.BytesIO(b"abc"), config={"mime_type": "text/plain"})).name

    async def listed():
        same(len([each async for each in await files.list()]), 1)  # of two, one is deleted

    async def get():
        same((await files.get(name=name)).state.name, "ACTIVE")

    async def download():
        try:
            await files.download(file=name)
        except errors.ClientError as error:
            if error.code != 400:
                raise
            assert "can be downloaded" in str(error), error

    async def delete():
        await files.delete(name=name)

    def address():
        return {"body": {}, "headers": {"x-goog-upload-url": "https://google.invalid/upload?upload_id=up-1"}}

    start, part = "POST /upload/v1/files", "POST /upload/v1beta/files"
    uploaded = Endpoint(part, upload, (start, address), begins=[start], tries=3)
    endpoints = [
        Endpoint(start, upload, then=[part]),
        uploaded,
        Endpoint("GET /v1/files/{id}", get),
        Endpoint("GET /v1/files/{id}:download", download, state="failed"),
        Endpoint("DELETE /v1/files/{id}", delete),
        Endpoint("GET /v1/files", listed),
    ]
    await at.call(endpoints, before=[uploaded])


async def with_cohere():
    import cohere
    from cohere.core.api_error import ApiError

    at = Client({"id": "synthetic", "message": REFUSAL}, ApiError, lambda error: error.status_code)
    settings = {"api_key": KEY, "base_url": URL, "max_retries": 0}
    ask = {"model": "rerank-v3.5", "query": "q", "documents": ["a", "b", "c"]}

    def ranked_by(client):
        async def rank():
            answer = await client.rerank(**ask)
            same([len(answer.results), answer.meta.billed_units.search_units], [3, 1])

        return rank

    await at.call(
        [
            Endpoint("POST /v1/rerank", ranked_by(cohere.AsyncClient(**settings))),
            Endpoint("POST /v2/rerank", ranked_by(cohere.AsyncClientV2(**settings))),
        ]
    )


asyncio.run({"openai": with_openai, "anthropic": with_anthropic, "google": with_google, "cohere": with_cohere}[NAME]())
print(json.dumps(EXPECTED))
