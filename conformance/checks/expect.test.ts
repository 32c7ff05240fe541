// Tests the comparisons that families share: each accepts and rejects handwritten evidence.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { ANSWER, entry, evidence, exchange } from '../evidence/test-evidence.ts'
import { targetSchema } from '../target/schema.ts'
import type { Finding, Judging } from './check.ts'
import { answersWith, endsInError, requestHolds, sameAs, wentTo } from './expect.ts'
import { sameAnswer } from './flow/parts.ts'
import { headersName } from './tell.ts'

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

type Look = (looked: Judging & { readonly exchange: Exchange }) => Finding

const look = (judge: Look, of: Evidence): Finding =>
  judge({ evidence: of, all: new Map(), target, waybill: false, exchange: of.exchanges[0]! })

type Case = readonly [what: string, judge: Look, good: Evidence, bad: Evidence, seen: RegExp]

const seen = (over: Partial<Exchange>, entries = [entry()]): Evidence =>
  evidence([exchange(over, ASKED)], entries)
const sent = (body: string) => [entry({}, { body })]

const CASES: readonly Case[] = [
  [
    'a status',
    (each) => answersWith('it', { status: 429 }, each),
    seen({ status: 429 }),
    seen({ status: 500 }),
    /^500$/,
  ],
  [
    'a kind of status',
    (each) => answersWith('it', { status: '4xx' }, each),
    seen({ status: 404 }),
    seen({ status: 500 }),
    /^500$/,
  ],
  [
    'a status and words',
    (each) => answersWith('it', { status: '4xx', holds: 'too long' }, each),
    seen({ status: 400, body: 'it is too long' }),
    seen({ status: 400, body: 'bad request' }),
    /bad request/,
  ],
  [
    'words that JSON may escape',
    (each) => answersWith('it', { holds: 'a > b' }, each),
    seen({ status: 400, body: '{"error":{"message":"a \\u003e b"}}' }),
    seen({ status: 400, body: '{"error":{"message":"a u003e b"}}' }),
    /a u003e b/,
  ],
  [
    'a header',
    (each) => answersWith('it', { header: 'retry-after' }, each),
    seen({ headers: { 'retry-after': '7' } }),
    seen({}),
    /no header retry-after/,
  ],
  [
    'the answer',
    ({ evidence, exchange }) => sameAnswer(evidence, exchange),
    seen({}),
    seen({ body: ANSWER.replace('"x"', '"y"') }),
    /"y"/,
  ],
  [
    'the content',
    (each) => sameAs('it', 'content', each),
    seen({}),
    seen({ body: ANSWER.replace('"x"', '"xx"') }),
    /2 characters/,
  ],
  [
    'the end',
    (each) => sameAs('it', 'end', each),
    seen({ body: WHOLE }, sent(WHOLE)),
    seen({ body: CUT }, sent(WHOLE)),
    /0 \[DONE\]/,
  ],
  [
    'the usage of a stream whose provider was not asked for any',
    (each) => sameAs('it', 'usage', each),
    seen({ body: WHOLE }, [entry({ body: { stream: true } }, { body: WHOLE })]),
    seen({ body: WHOLE }, [
      entry({ body: { stream: true, stream_options: { include_usage: true } } }, { body: WHOLE }),
    ]),
    /^no usage$/,
  ],
  [
    'a field of the request',
    (each) => requestHolds('it', '/x', { equals: [1] }, each),
    seen({}, [entry({ body: { x: [1] } })]),
    seen({}, [entry({ body: {} })]),
    /^nothing$/,
  ],
  [
    'where it went, every time',
    (each) => wentTo('it', 'nowhere but to the model', each),
    seen({}),
    seen({}, [entry(), entry({ provider: 'groq' })]),
    /groq\/gpt-5-mini/,
  ],
  [
    'where it went, and with an error',
    (each) => wentTo('it', 'nowhere but to targets of the model', each, 'error'),
    seen({ status: 502 }),
    seen({ status: 200 }),
    /for the client 200/,
  ],
  [
    'who served',
    ({ evidence, target, exchange }) => headersName(evidence, target, exchange),
    seen({ headers: { 'x-model': 'gpt-5-mini' } }),
    seen({ headers: { 'x-model': 'm' } }),
    /^m$/,
  ],
  [
    'an end in an error',
    (each) => endsInError('it', each),
    seen({ body: CUT, end: 'cut' }, sent(CUT)),
    seen({ body: CUT }, sent(CUT)),
    /an ordinary end/,
  ],
  [
    'an end in an error, of a stream that never ends',
    (each) => endsInError('it', each),
    seen({ body: CUT, end: 'cut' }, sent(CUT)),
    seen({ body: CUT, end: 'timed_out', error: 'no end within 30000 ms' }, sent(CUT)),
    /^no end within 30000 ms, and no \[DONE\]$/,
  ],
]

for (const [what, judge, good, bad, says] of CASES)
  test(`a comparison of ${what} accepts good evidence and rejects bad evidence`, () => {
    assert.equal(look(judge, good).ok, true, look(judge, good).actual)
    assert.equal(look(judge, bad).ok, false)
    assert.match(look(judge, bad).actual!, says)
  })

test('a comparison with the provider’s answer fails if the provider sent nothing', () => {
  const of = seen({ body: '{}' }, sent('{}'))
  assert.equal(look(({ evidence, exchange }) => sameAnswer(evidence, exchange), of).ok, false)
  for (const part of ['content', 'tools', 'end', 'usage'] as const)
    assert.equal(look((each) => sameAs('it', part, each), of).ok, false, part)
})

test('an answer that has not ended yet counts as doubtful, not as wrong', () => {
  const of = seen(
    { end: 'timed_out', error: 'no end within 15000 ms', body: CUT },
    sent(WHOLE.replace('"x"', '"x and more"')),
  )
  for (const part of ['content', 'usage'] as const) {
    const found = look((each) => sameAs('it', part, each), of)
    assert.equal(found.doubt, true, part)
    assert.match(found.what, /cannot be compared: no end within 15000 ms/)
  }
})
