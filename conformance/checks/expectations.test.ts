// Tests the expectations of cases.yaml: each kind accepts and rejects handwritten evidence.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { ANSWER, entry, evidence, exchange } from '../evidence/test-evidence.ts'
import { targetSchema } from '../target/schema.ts'
import { type Expectation, meets } from './expectations.ts'

const target = targetSchema.parse({
  name: 'a gateway',
  start: { url: 'http://127.0.0.1:1' },
  providers: { openai: {}, groq: {} },
  models: { direct: [{ id: 'm', provider: 'openai', model: 'gpt-5-mini' }] },
  observability: { headers: { model: 'x-model' } },
})

const ASKED = { model: 'm' }
const stream = (...events: string[]): string => events.map((each) => `data: ${each}\n\n`).join('')
const WHOLE = stream('{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}', '[DONE]')
const CUT = stream('{"choices":[{"index":0,"delta":{"content":"x"}}]}')

type Case = readonly [
  what: string,
  expected: Omit<Expectation, 'finding'>,
  good: Evidence,
  bad: Evidence,
  seen: RegExp,
]

const seen = (over: Partial<Exchange>, entries = [entry()]): Evidence =>
  evidence([exchange(over, ASKED)], entries)
const sent = (body: string) => [entry({}, { body })]

const CASES: readonly Case[] = [
  ['a status', { status: 429 }, seen({ status: 429 }), seen({ status: 500 }), /^500$/],
  ['a kind of status', { status: '4xx' }, seen({ status: 404 }), seen({ status: 500 }), /^500$/],
  [
    'a status and words',
    { status: '4xx', holds: 'too long' },
    seen({ status: 400, body: 'it is too long' }),
    seen({ status: 400, body: 'bad request' }),
    /bad request/,
  ],
  [
    'words that JSON may escape',
    { holds: 'a > b' },
    seen({ status: 400, body: '{"error":{"message":"a \\u003e b"}}' }),
    seen({ status: 400, body: '{"error":{"message":"a u003e b"}}' }),
    /a u003e b/,
  ],
  [
    'a header',
    { header: 'retry-after' },
    seen({ headers: { 'retry-after': '7' } }),
    seen({}),
    /no header retry-after/,
  ],
  ['the answer', { same: 'answer' }, seen({}), seen({ body: ANSWER.replace('"x"', '"y"') }), /"y"/],
  [
    'the content',
    { same: 'content' },
    seen({}),
    seen({ body: ANSWER.replace('"x"', '"xx"') }),
    /2 characters/,
  ],
  [
    'the end',
    { same: 'end' },
    seen({ body: WHOLE }, sent(WHOLE)),
    seen({ body: CUT }, sent(WHOLE)),
    /0 \[DONE\]/,
  ],
  [
    'the usage of a stream whose provider was not asked for any',
    { same: 'usage' },
    seen({ body: WHOLE }, [entry({ body: { stream: true } }, { body: WHOLE })]),
    seen({ body: WHOLE }, [
      entry({ body: { stream: true, stream_options: { include_usage: true } } }, { body: WHOLE }),
    ]),
    /^no usage$/,
  ],
  [
    'a field of the request',
    { request: { at: '/x', equals: [1] } },
    seen({}, [entry({ body: { x: [1] } })]),
    seen({}, [entry({ body: {} })]),
    /^nothing$/,
  ],
  [
    'where it went, every time',
    { went: 'nowhere but to the model' },
    seen({}),
    seen({}, [entry(), entry({ provider: 'groq' })]),
    /groq\/gpt-5-mini/,
  ],
  [
    'where it went, and with an error',
    { went: 'nowhere but to targets of the model', status: 'error' },
    seen({ status: 502 }),
    seen({ status: 200 }),
    /for the client 200/,
  ],
  [
    'who served',
    { headers: 'name the server' },
    seen({ headers: { 'x-model': 'gpt-5-mini' } }),
    seen({ headers: { 'x-model': 'm' } }),
    /^m$/,
  ],
  [
    'an end in an error',
    { ends: 'in an error' },
    seen({ body: CUT, end: 'cut' }, sent(CUT)),
    seen({ body: CUT }, sent(CUT)),
    /an ordinary end/,
  ],
  [
    'an end in an error, of a stream that never ends',
    { ends: 'in an error' },
    seen({ body: CUT, end: 'cut' }, sent(CUT)),
    seen({ body: CUT, end: 'timed_out', error: 'no end within 30000 ms' }, sent(CUT)),
    /^no end within 30000 ms, and no \[DONE\]$/,
  ],
]

for (const [what, expected, good, bad, says] of CASES)
  test(`an expectation about ${what} accepts good evidence and rejects bad evidence`, () => {
    const found = (of: Evidence) =>
      meets({ finding: 'it', ...expected }, of.exchanges[0]!, {
        evidence: of,
        all: new Map(),
        target,
        waybill: false,
      })
    assert.equal(found(good).ok, true, found(good).actual)
    assert.equal(found(bad).ok, false)
    assert.match(found(bad).actual!, says)
  })

test('a comparison with the provider’s answer fails if the provider sent nothing', () => {
  const of = seen({ body: '{}' }, sent('{}'))
  for (const same of ['answer', 'content', 'tools', 'end', 'usage'] as const) {
    const judging = { evidence: of, all: new Map(), target, waybill: false }
    assert.equal(meets({ finding: 'it', same }, of.exchanges[0]!, judging).ok, false, same)
  }
})

test('an answer that has not ended yet counts as doubtful, not as wrong', () => {
  const of = seen(
    { end: 'timed_out', error: 'no end within 15000 ms', body: CUT },
    sent(WHOLE.replace('"x"', '"x and more"')),
  )
  for (const same of ['content', 'usage'] as const) {
    const found = meets({ finding: 'it', same }, of.exchanges[0]!, {
      evidence: of,
      all: new Map(),
      target,
      waybill: false,
    })
    assert.equal(found.doubt, true, same)
    assert.match(found.what, /cannot be compared: no end within 15000 ms/)
  }
})
