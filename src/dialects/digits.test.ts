// Numbers that a double cannot hold keep their digits, in call arguments, results and tool schemas. The
// digits survive in every dialect and across dialects, whole and streamed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Script } from '../../mocks/test-upstream.ts'
import { crossedGateway } from './test-crossed-gateway.ts'

const DIGITS = '9007199254740993'
const ARGS = `{"id":${DIGITS},"x":1.0}`
const QUOTED = JSON.stringify(ARGS)
const SCHEMA = `{"type":"object","properties":{"id":{"type":"integer","maximum":${DIGITS}}}}`

interface Wire {
  readonly path: (stream: boolean) => string
  /** A conversation with a tool, a call of the tool, and the result. */
  readonly request: (stream: boolean) => string
  readonly whole: string
  /** Data of the stream events. The arguments arrive in one piece. */
  readonly events: readonly string[]
}

const chatCall = `{"index":0,"id":"c1","type":"function","function":{"name":"f","arguments":${QUOTED}}}`
const chatEnd = '"usage":{"prompt_tokens":3,"completion_tokens":2,"total_tokens":5}'
const messagesCall = (input: string) => `{"type":"tool_use","id":"c1","name":"f","input":${input}}`
const responsesCall = `{"type":"function_call","id":"fc1","call_id":"c1","name":"f","status":"completed","arguments":${QUOTED}}`
const responsesEnd = `"usage":{"input_tokens":3,"output_tokens":2,"total_tokens":5}`
const geminiCall = `{"functionCall":{"id":"c1","name":"f","args":${ARGS}}}`
const geminiAnswer = `{"candidates":[{"content":{"role":"model","parts":[${geminiCall}]},"finishReason":"STOP","index":0}],"usageMetadata":{"promptTokenCount":3,"candidatesTokenCount":2,"totalTokenCount":5},"modelVersion":"m"}`

const WIRES: Readonly<Record<string, Wire>> = {
  chat: {
    path: () => '/v1/chat/completions',
    request: (stream) =>
      `{"model":"auto","stream":${stream},"messages":[{"role":"user","content":"go"},{"role":"assistant","tool_calls":[${chatCall}]},{"role":"tool","tool_call_id":"c1","content":"done"}],"tools":[{"type":"function","function":{"name":"f","parameters":${SCHEMA}}}]}`,
    whole: `{"id":"a","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":{"role":"assistant","content":null,"tool_calls":[${chatCall}]},"finish_reason":"tool_calls"}],${chatEnd}}`,
    events: [
      `{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{"role":"assistant","tool_calls":[${chatCall}]},"finish_reason":null}]}`,
      `{"id":"a","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],${chatEnd}}`,
      '[DONE]',
    ],
  },
  messages: {
    path: () => '/v1/messages',
    request: (stream) =>
      `{"model":"auto","max_tokens":9,"stream":${stream},"messages":[{"role":"user","content":"go"},{"role":"assistant","content":[${messagesCall(ARGS)}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"done"}]}],"tools":[{"name":"f","input_schema":${SCHEMA}}]}`,
    whole: `{"id":"a","type":"message","role":"assistant","model":"m","content":[${messagesCall(ARGS)}],"stop_reason":"tool_use","stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":2}}`,
    events: [
      '{"type":"message_start","message":{"id":"a","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":3,"output_tokens":1}}}',
      // Some servers send the complete input when the block begins.
      `{"type":"content_block_start","index":0,"content_block":${messagesCall(ARGS)}}`,
      '{"type":"content_block_stop","index":0}',
      '{"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":2}}',
      '{"type":"message_stop"}',
    ],
  },
  responses: {
    path: () => '/v1/responses',
    request: (stream) =>
      `{"model":"auto","stream":${stream},"input":[{"type":"message","role":"user","content":"go"},${responsesCall},{"type":"function_call_output","call_id":"c1","output":"done"}],"tools":[{"type":"function","name":"f","parameters":${SCHEMA},"strict":false}]}`,
    whole: `{"id":"a","object":"response","created_at":1,"status":"completed","model":"m","output":[${responsesCall}],${responsesEnd}}`,
    events: [
      '{"type":"response.created","sequence_number":0,"response":{"id":"a","object":"response","status":"in_progress","model":"m","output":[]}}',
      `{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":${responsesCall.replace(QUOTED, '""')}}`,
      `{"type":"response.function_call_arguments.delta","sequence_number":2,"output_index":0,"item_id":"fc1","delta":${QUOTED}}`,
      `{"type":"response.output_item.done","sequence_number":3,"output_index":0,"item":${responsesCall}}`,
      `{"type":"response.completed","sequence_number":4,"response":{"id":"a","object":"response","status":"completed","model":"m","output":[${responsesCall}],${responsesEnd}}}`,
    ],
  },
  gemini: {
    path: (stream) => `/v1beta/models/auto:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    request: () =>
      `{"contents":[{"role":"user","parts":[{"text":"go"}]},{"role":"model","parts":[${geminiCall}]},{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"f","response":{"output":"done"}}}]}],"tools":[{"functionDeclarations":[{"name":"f","parametersJsonSchema":${SCHEMA}}]}]}`,
    whole: geminiAnswer,
    events: [geminiAnswer],
  },
}

/** Answers whole or as a stream, as requested. */
const answering =
  ({ whole, events }: Wire): Script =>
  (response, { path, json }) => {
    if (json.stream !== true && !path.includes('streamGenerateContent')) {
      response.writeHead(200, { 'content-type': 'application/json' }).end(whole)
      return
    }
    response.writeHead(200, { 'content-type': 'text/event-stream' })
    response.end(events.map((data) => `${nameOf(data)}data: ${data}\n\n`).join(''))
  }

const nameOf = (data: string): string => {
  const type = /^\{"type":"([\w.]+)"/.exec(data)?.[1]
  return type === undefined ? '' : `event: ${type}\n`
}

/** Returns all occurrences of the id as a number, including those within a JSON text. */
const idsIn = (text: string): string[] => text.match(/90071992547\d+/g) ?? []

for (const [provider, wire] of Object.entries(WIRES))
  test(`a ${provider} provider and its clients exchange long numbers without losing digits`, async (t) => {
    const gateway = await crossedGateway(t, provider, answering(wire))
    for (const [client, { path, request }] of Object.entries(WIRES))
      for (const stream of [false, true]) {
        const what = `${client}, ${stream ? 'streamed' : 'whole'}`
        const { status, text } = await gateway.get(path(stream), {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' },
          body: request(stream),
        })
        assert.equal(status, 200, `${what}: ${text}`)
        const [came, sent] = [idsIn(text), idsIn(gateway.upstream.alpha!.ledger.at(-1)!.text)]
        assert.ok(came.length > 0, `${what}: ${text}`)
        assert.deepEqual(new Set(came), new Set([DIGITS]), what)
        assert.deepEqual(sent, [DIGITS, DIGITS], `${what}: the call and the schema at the provider`)
        assert.match(text, /1\.0/, what)
      }
  })
