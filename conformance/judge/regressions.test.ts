// Tests earlier mistakes of the judges on handwritten evidence: wrong gateways that passed, and correct
// gateways that failed. Over 250 lines, because it is a list of cases.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checks } from '../checks/registry.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { entry, evidence, exchange, NONCE } from '../evidence/test-evidence.ts'
import { type Target, targetSchema } from '../target/schema.ts'

const target = targetSchema.parse({
  name: 'made',
  start: { url: 'http://127.0.0.1:1' },
  providers: { openai: {}, groq: {} },
  models: {
    logical: [
      {
        id: 'auto',
        targets: [
          { provider: 'openai', model: 'gpt-5-mini' },
          { provider: 'groq', model: 'llama' },
        ],
      },
    ],
  },
  observability: {
    headers: { request_id: 'x-request-id' },
    log: {
      path: '/log',
      one: '/log/{id}',
      list: '/data',
      fields: {
        id: '/id',
        requested_model: '/model',
        provider: '/provider',
        model: '/served',
        latency: '/ms',
        state: '/state',
      },
      completed: ['done'],
      failed: ['failed'],
      lag_ms: 1_000,
    },
  },
  capabilities: { fallback_statuses: [500], catalog: '/v1/models', read_paths: ['/v1/models'] },
})

type Json = Record<string, unknown>
const sse = (...events: readonly (Json | string)[]): string =>
  [...events, '[DONE]']
    .map((each) => `data: ${typeof each === 'string' ? each : JSON.stringify(each)}\n\n`)
    .join('')
const delta = (said: Json, finish: string | null = null, index = 0): Json => ({
  choices: [{ index, delta: said, finish_reason: finish }],
})
const END = delta({}, 'stop')

/** Streamed call: the client's answer, and the provider's answer. */
const streamed = (got: string, sent: string, over: Partial<Exchange> = {}): Evidence =>
  evidence(
    [
      exchange({
        details: { scenario: 'plain', stream: true },
        headers: { 'content-type': 'text/event-stream' },
        body: got,
        ...over,
      }),
    ],
    [entry({ stream: true }, { body: sent })],
  )

const usage = (details: Json): string =>
  JSON.stringify({
    choices: [{ index: 0, message: { content: 'x' }, finish_reason: 'stop' }],
    usage: { prompt_tokens: 9, completion_tokens: 5, total_tokens: 14, ...details },
  })
const DETAILS = {
  prompt_tokens_details: { cached_tokens: 4 },
  completion_tokens_details: { reasoning_tokens: 3 },
}

const tool = (more: Json, args: string): Json =>
  delta({ tool_calls: [{ index: 0, ...more, function: { name: 'find', arguments: args } }] })
const TOOL_ONCE = sse(
  delta({ tool_calls: [{ index: 0, id: 'call_1', function: { name: 'find', arguments: '{"a"' } }] }),
  delta({ tool_calls: [{ index: 0, function: { arguments: ':1}' } }] }),
  delta({}, 'tool_calls'),
)

const record = (over: Json = {}): string =>
  JSON.stringify({
    id: 7,
    model: 'auto',
    provider: 'openai',
    served: 'gpt-5-mini',
    ms: 12,
    state: 'done',
    ...over,
  })
const REQUEST = { model: 'auto', messages: [{ content: `waybill-nonce-${NONCE}` }] }
/** Call with a request id, and its record. */
const recorded = (step: string, body: string, reading: Partial<Exchange> = {}): Evidence =>
  evidence(
    [
      exchange({ step, headers: { 'x-request-id': '7' } }, REQUEST),
      exchange({ n: 2, step: 'record', details: { of: 1 }, nonce: null, at: 1_300, body, ...reading }, {}),
    ],
    [entry()],
  )

const catalog = (n: number, ...entries: Json[]): Exchange =>
  exchange({
    n,
    step: 'catalog',
    nonce: null,
    body: JSON.stringify({
      object: 'list',
      data: entries.map((each) => ({ id: 'auto', object: 'model', ...each })),
    }),
  })

const left = (peer_left_at: number): Evidence =>
  evidence(
    [exchange({ step: 'left', end: 'left', end_at: 5_000 })],
    [entry({ peer_left_at }, { complete: false })],
  )

interface Case {
  readonly what: string
  readonly id: string
  readonly seen: Evidence
  readonly waybill?: boolean
  readonly target?: Target
}

const WRONG: readonly Case[] = [
  {
    id: 'FLOW-01',
    what: 'a large number in tool-call arguments loses its last digits',
    seen: streamed(
      sse(tool({ id: 'call_1' }, '{"a": 9007199254740992}'), delta({}, 'tool_calls')),
      sse(tool({ id: 'call_1' }, '{"a":9007199254740993}'), delta({}, 'tool_calls')),
    ),
  },
  {
    id: 'FLOW-01',
    what: 'a text in tool-call arguments loses its spaces',
    seen: streamed(
      sse(tool({ id: 'call_1' }, '{"a":"NewYork"}'), delta({}, 'tool_calls')),
      sse(tool({ id: 'call_1' }, '{"a":"New York"}'), delta({}, 'tool_calls')),
    ),
  },
  ...['soon', '-3ms', '', '12 of 13'].map(
    (ms): Case => ({ id: 'LOG-02', what: `a duration is "${ms}"`, seen: recorded('call', record({ ms })) }),
  ),
  {
    id: 'USE-01',
    what: 'cached tokens are dropped',
    seen: evidence([exchange({ body: usage({}) })], [entry({}, { body: usage(DETAILS) })]),
  },
  {
    id: 'USE-01',
    what: 'reasoning tokens are changed',
    seen: evidence(
      [exchange({ body: usage({ ...DETAILS, completion_tokens_details: { reasoning_tokens: 0 } }) })],
      [entry({}, { body: usage(DETAILS) })],
    ),
  },
  {
    id: 'FLOW-01',
    what: 'a stream has `message` where clients read `delta`',
    seen: streamed(
      sse({ choices: [{ index: 0, message: { content: 'x' }, finish_reason: null }] }, END),
      sse(delta({ content: 'x' }), END),
    ),
  },
  {
    id: 'FLOW-01',
    what: 'the second choice is appended to the first',
    seen: streamed(
      sse(delta({ content: 'one' }), delta({ content: 'two' }), END),
      sse(delta({ content: 'one' }), delta({ content: 'two' }, null, 1), END),
    ),
  },
  {
    id: 'FLOW-01',
    what: 'comments become data that no client can parse',
    seen: streamed(
      sse('ping', delta({ content: 'x' }), END),
      `: ping\n\n${sse(delta({ content: 'x' }), END)}`,
    ),
  },
  {
    id: 'FLOW-01',
    what: 'a stream has the content type application/json',
    seen: streamed(sse(delta({ content: 'x' }), END), sse(delta({ content: 'x' }), END), {
      headers: { 'content-type': 'application/json' },
    }),
  },
  {
    id: 'FLOW-05',
    what: 'the provider’s stream was closed seconds before the client left',
    seen: left(2_000),
  },
  {
    id: 'KEEP-01',
    what: 'an answer contains the key that was sent in the query',
    seen: evidence(
      [
        exchange({
          step: 'read',
          request: { method: 'GET', path: '/v1/models?key=[secret:key-in-query]', headers: {}, body: null },
          body: '[secret:key-in-query]',
        }),
      ],
      [],
    ),
  },
]

const RIGHT: readonly Case[] = [
  {
    id: 'FLOW-01',
    what: 'a second request was cancelled after its start, because the first one was answered',
    seen: ((content) => {
      const seen = streamed(content, content)
      const cut = entry({ peer_left_at: 1_080 }, { body: content.slice(0, 20), complete: false })
      return { ...seen, ledger: [...seen.ledger, cut] }
    })(sse(delta({ content: 'x' }), END)),
  },
  {
    id: 'FLOW-01',
    what: 'a stream begins with a byte order mark',
    seen: streamed(`\ufeff${sse(delta({ content: 'x' }), END)}`, sse(delta({ content: 'x' }), END)),
  },
  {
    id: 'FLOW-07',
    what: 'all lines, including the last, end with CR alone',
    seen: streamed(
      sse(delta({ content: 'x' }), END).replaceAll('\n', '\r'),
      sse(delta({ content: 'x' }), END),
    ),
  },
  {
    id: 'FLOW-01',
    what: 'tool-call arguments contain additional white space',
    seen: streamed(sse(tool({ id: 'call_1' }, '{\n "a": 1\n}'), delta({}, 'tool_calls')), TOOL_ONCE),
  },
  {
    id: 'CAT-03',
    what: 'the members and lists in a catalog entry have another order after a call',
    seen: evidence(
      [
        ...[1, 2, 3].map((n) => catalog(n, { price: { in: 1, out: 2 }, can: ['chat', 'see'] })),
        catalog(4, { can: ['see', 'chat'], price: { out: 2, in: 1 } }),
      ],
      [],
    ),
  },
  ...['12.5ms', '0.5 s', '$ 0.5', '12'].map(
    (ms): Case => ({ id: 'LOG-02', what: `a duration is ${ms}`, seen: recorded('call', record({ ms })) }),
  ),
  {
    id: 'USE-01',
    what: 'token details that the provider did not report are 0',
    seen: evidence(
      [exchange({ body: usage({ prompt_tokens_details: { cached_tokens: 0 } }) })],
      [entry({}, { body: usage({}) })],
    ),
  },
  {
    id: 'FLOW-08',
    what: 'each delta of a tool call repeats the call’s id and name',
    seen: streamed(
      sse(tool({ id: 'call_1' }, '{"a"'), tool({ id: 'call_1' }, ':1}'), delta({}, 'tool_calls')),
      TOOL_ONCE,
    ),
  },
  {
    id: 'LOG-02',
    what: 'the recorded latency is a decimal in quotes',
    seen: recorded('call', record({ ms: '12.5' })),
  },
  { id: 'TELL-03', what: 'the recorded id is a number', seen: recorded('call', record()) },
  {
    id: 'LOG-04',
    what: 'a read of the record begins within the declared lag and ends after it',
    seen: recorded('call', record(), { at: 2_100, end_at: 3_900 }),
  },
  {
    id: 'CAT-01',
    what: 'the catalog lists an id twice because two providers have it',
    seen: evidence([catalog(1, { owned_by: 'a' }, { owned_by: 'b' })], []),
  },
  {
    id: 'CAT-03',
    what: 'catalog entries contain a time that changes with each read',
    seen: evidence(
      [1, 2, 3, 4, 5].map((n) => catalog(n, { last_checked: 1_000 + n })),
      [],
    ),
  },
  {
    id: 'KEEP-01',
    what: 'a redirect repeats the request’s query',
    seen: evidence(
      [
        exchange({
          step: 'read',
          status: 307,
          request: { method: 'GET', path: '/v1/models?key=[secret:key-in-query]', headers: {}, body: null },
          headers: { location: '/v1/models/?key=[secret:key-in-query]' },
          body: '',
        }),
        exchange({ n: 2, step: 'a provider echoes a key', status: 502, body: '' }),
      ],
      [entry({}, { status: 401 })],
    ),
  },
  {
    id: 'ROUTE-07',
    what: 'a model’s second deployment answers',
    seen: evidence(
      [exchange({ step: 'the first target fails', details: { status: 500, stream: false } }, REQUEST)],
      [entry({}, { status: 500 }), entry({ credential: 'match', path: '/v2/chat/completions' })],
    ),
    target: {
      ...target,
      models: {
        ...target.models,
        logical: [
          {
            id: 'auto',
            targets: [
              { provider: 'openai', model: 'gpt-5-mini' },
              { provider: 'openai', model: 'gpt-5-mini' },
            ],
          },
        ],
      },
    },
  },
  {
    id: 'FLOW-01',
    what: "a long stream is still running when the suite's time limit ends",
    seen: streamed(
      sse(delta({ content: 'x' })).replace('data: [DONE]\n\n', ''),
      sse(delta({ content: 'x' }), END),
      {
        end: 'timed_out',
        chunks: [
          [50, 1_150],
          [50, 1_199],
        ],
      },
    ),
  },
]

const wrongFailures = ({ id, seen, waybill = false, target: of = target }: Case): string[] =>
  checks
    .get(id)!
    .judge({ evidence: { ...seen, check: id }, all: new Map(), target: of, waybill })
    .flatMap(({ ok, doubt, what }) => (ok || doubt ? [] : [what]))

for (const each of WRONG)
  test(`the check fails if ${each.what} (${each.id})`, () => assert.notDeepEqual(wrongFailures(each), []))
for (const each of RIGHT)
  test(`the check passes if ${each.what} (${each.id})`, () => assert.deepEqual(wrongFailures(each), []))
