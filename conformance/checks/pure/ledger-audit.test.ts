// Tests the audit of the ledger on handwritten evidence: each kind of hidden spending, and cases that only
// resemble it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type LedgerEntry, writeNonce } from '../../../mocks/ledger.ts'
import type { Evidence, Exchange } from '../../evidence/evidence.ts'
import { entry, evidence, exchange } from '../../evidence/test-evidence.ts'
import { bareTarget } from '../../target/read.ts'
import type { Target } from '../../target/schema.ts'
import { sentenceOf } from '../check.ts'
import { auditLedger } from './spending.ts'

const target = bareTarget('http://127.0.0.1:1', 'auto', {})
const OTHER = 'fedcba9876543210'
const failed = (status: number, over: Partial<LedgerEntry> = {}) =>
  entry(over, { status, body: '{"error":{"message":"synthetic"}}' })

/** Call that begins every run. */
const CONTROL = 'aaaaaaaaaaaaaaaa'
const first = (): Evidence =>
  evidence(
    [exchange({ nonce: CONTROL }, { model: 'auto', content: writeNonce(CONTROL) })],
    [entry({ nonce: CONTROL })],
    {
      check: 'preflight',
    },
  )

const bad = (cases: Evidence[], of: Target = target): string[] => {
  const all = [first(), ...cases]
  return auditLedger(new Map(all.map((each) => [each.check, each])), of).flatMap((each) =>
    each.ok ? [] : [sentenceOf(each)],
  )
}

test('the audit fails for a run that never reached the mock (PURE-08)', () => {
  const [reached] = auditLedger(new Map([['preflight', evidence([exchange()], [])]]), target)
  assert.deepEqual([reached!.ok, reached!.actual], [false, '0'])
})

const PROBE = { messages: [{ content: 'ping' }], max_tokens: 1 }
const declared = {
  provider: 'openai',
  endpoint: 'chat/completions',
  body: { '/messages/0/content': 'ping', '/max_tokens': 1 },
  every_ms: 1_000,
}
const withBackground: Target = {
  ...target,
  capabilities: { ...target.capabilities, background: [declared] },
}

const withTimeOuts: Target = {
  ...target,
  capabilities: { ...target.capabilities, time_outs: { answer_ms: 2_000 } },
}

/** Request for the list of models. */
const reading = (over: Partial<Exchange>) =>
  exchange({
    nonce: null,
    request: { method: 'GET', path: '/models', headers: {}, body: null },
    ...over,
  })

/** Call without its model, and the requests that a gateway may make for it. */
const withoutModel = (over: Partial<Exchange> = {}) =>
  exchange({ status: 400, ...over }, { mode: 'auto', messages: [{ content: writeNonce(OTHER) }] })
const EMPTY: Partial<LedgerEntry> = { nonce: null, body: { model: 'gpt-5-mini' } }

const HIDDEN: [what: string, all: Evidence[], says: RegExp, of?: Target][] = [
  [
    'a call to a judging model before each client call',
    [evidence([exchange()], [entry({ nonce: null, model: 'gpt-secret', body: {} }), entry()])],
    /belong to no call of the suite.*: expected none, seen 1: @\d+ openai\/gpt-secret during ROUTE-01/,
  ],
  [
    'a call to a judging model with the client’s prompt',
    [evidence([exchange()], [entry({ model: 'gpt-secret' }), entry()])],
    /ROUTE-01#1 \(call\) was answered by @\d+ openai\/gpt-secret, and sent again to @\d+ openai\/gpt-5-mini/,
  ],
  ['a call that is sent twice', [evidence([exchange()], [entry(), entry()])], /sent again/],
  [
    'a repeat of the last call during a later check',
    [evidence([exchange()], [entry()]), evidence([], [entry({ at: 9_000 })], { check: 'PURE-02' })],
    /sent again/,
  ],
  [
    'two simultaneous requests for one call, the slower of them cancelled',
    [evidence([exchange()], [entry(), entry({ peer_left_at: 1_070 }, { status: null, complete: false })])],
    /sent again/,
  ],
  [
    'a call that is sent twice within the declared time-out',
    [evidence([exchange({ head_at: 3_400 })], [entry(), entry({ at: 2_900 })])],
    /sent again/,
    withTimeOuts,
  ],
  [
    'a call that is sent again after the client received its answer',
    [evidence([exchange({ head_at: 1_100 })], [entry(), entry({ at: 3_100 })])],
    /sent again/,
    withTimeOuts,
  ],
  [
    'a call that is sent again soon after an answer within the declared time-out',
    [evidence([exchange({ head_at: 2_900 })], [entry(), entry({ at: 3_100 })])],
    /sent again/,
    withTimeOuts,
  ],
  [
    'a failed call that the gateway makes for itself',
    [evidence([], [failed(500, { nonce: null, body: {} })])],
    /belong to no call.*seen 1\b/,
  ],
  [
    'a call that keeps a connection warm',
    [evidence([], [entry({ nonce: null })], { check: 'remainder' })],
    /during remainder/,
  ],
  [
    'a nonce that the suite never made',
    [evidence([exchange()], [entry(), entry({ nonce: OTHER })])],
    /no call/,
  ],
  [
    'a request that was refused with 400 and is repeated unchanged',
    [evidence([exchange({ status: 400 })], [failed(400), failed(400)])],
    /was refused with 400, and the same request was sent again/,
  ],
  [
    'a request that was refused within the declared time-out and is repeated unchanged',
    [evidence([exchange({ status: 422, head_at: 3_400 })], [failed(422), failed(422, { at: 2_900 })])],
    /was refused with 422, and the same request was sent again/,
    withTimeOuts,
  ],
  [
    'more than one request for a body without a nonce',
    [evidence([exchange({ nonce: null }, {})], [entry({ nonce: null }), entry({ nonce: null })])],
    /belong to no call.*seen 1\b/,
  ],
  [
    'a body without a model that is refused with 400 and repeated unchanged',
    [evidence([withoutModel()], [failed(400, EMPTY), failed(400, EMPTY)])],
    /was refused with 400, and the same request was sent again/,
  ],
  [
    'background traffic that looks different from the declared traffic',
    [evidence([], [entry({ nonce: null, body: { ...PROBE, max_tokens: 500 } })])],
    /belong to no call.*seen 1\b/,
    withBackground,
  ],
  [
    'background traffic that is more frequent than declared',
    [
      evidence(
        [],
        Array.from({ length: 40 }, () => entry({ nonce: null, body: PROBE })),
      ),
    ],
    /declared background: expected every 1000 ms at most, seen 40 times in 9 s/,
    withBackground,
  ],
]
for (const [what, all, says, of] of HIDDEN)
  test(`the audit fails for ${what} (PURE-08)`, () => {
    const found = bad(all, of)
    assert.equal(found.length, 1, found.join('\n'))
    assert.match(found[0]!, says)
  })

const SOUND: [what: string, all: Evidence[], of?: Target][] = [
  ['one inference for one call', [evidence([exchange()], [entry()])]],
  [
    'a call to the next provider after a slow provider was abandoned',
    [evidence([exchange()], [entry({ peer_left_at: 1_100 }, { status: null, complete: false }), entry()])],
  ],
  [
    'an answer that came after the declared time-out, on a busy machine',
    [evidence([exchange({ head_at: 3_400 })], [entry(), entry({ at: 3_100 })])],
    withTimeOuts,
  ],
  [
    'a refusal that came after the declared time-out, on a busy machine',
    [evidence([exchange({ status: 422, head_at: 3_400 })], [failed(422), failed(422, { at: 3_100 })])],
    withTimeOuts,
  ],
  [
    'an answer that overtook the second request after the declared time-out, on a busy machine',
    [evidence([exchange({ head_at: 3_050 })], [entry(), entry({ at: 3_100 })])],
    withTimeOuts,
  ],
  ['an answer from a cache', [evidence([exchange()], [])]],
  ['a fallback after an error', [evidence([exchange()], [failed(500), failed(429), entry()])]],
  [
    'another attempt after an answer that broke off',
    [evidence([exchange()], [entry({}, { complete: false }), entry()])],
  ],
  [
    'another attempt after an error inside a 200',
    [evidence([exchange()], [entry({}, { body: '{"error":{"message":"x"}}' }), entry()])],
  ],
  [
    'another attempt after a page of HTML',
    [evidence([exchange()], [entry({}, { body: '<html>' }), entry()])],
  ],
  [
    'a refused request that is corrected and sent again',
    [evidence([exchange()], [failed(400), entry({ body: { messages: [], max_tokens: 5 } })])],
  ],
  [
    'a refused request that goes to another provider',
    [evidence([exchange()], [failed(400), entry({ provider: 'groq' })])],
  ],
  [
    'a request that arrives after the end of its check',
    [evidence([exchange()], []), evidence([], [entry()], { check: 'remainder' })],
  ],
  [
    'token counts and model lists',
    [evidence([], [entry({ kind: 'token_count', nonce: null }), entry({ kind: 'metadata', nonce: null })])],
  ],
  [
    'a free test of a key with a request that the provider refuses for its form',
    [evidence([], [failed(400, { nonce: null, body: {} })])],
  ],
  [
    'an array and then a body without a model, both forwarded as empty requests',
    [
      evidence(
        [
          exchange({ nonce: null, at: 1_000, end_at: 1_020, status: 400 }, []),
          withoutModel({ n: 2, at: 1_030, end_at: 1_050 }),
        ],
        [failed(400, { ...EMPTY, at: 1_010 }), failed(400, { ...EMPTY, at: 1_040 })],
      ),
    ],
  ],
  [
    'two simultaneous bodies without a nonce, with the second ending first',
    [
      evidence(
        [
          exchange({ nonce: null, at: 1_000, end_at: 1_200, status: 400 }, []),
          exchange({ n: 2, nonce: null, at: 1_001, end_at: 1_050, status: 400 }, []),
        ],
        [failed(400, { ...EMPTY, at: 1_040 }), failed(400, { ...EMPTY, at: 1_140 })],
      ),
    ],
  ],
  [
    'a refused empty request at each read of the models, even while a broken body is refused',
    [
      evidence(
        [
          exchange({ nonce: null, at: 1_000, end_at: 1_060, status: 400 }, []),
          reading({ n: 2, at: 1_020, end_at: 1_050 }),
          reading({ n: 3, at: 1_070, end_at: 1_090 }),
        ],
        [failed(400, { ...EMPTY, at: 1_030 }), failed(400, { ...EMPTY, at: 1_080 })],
      ),
    ],
  ],
  ['a body without a nonce', [evidence([exchange({ nonce: null }, {})], [entry({ nonce: null })])]],
  [
    'background traffic as declared',
    [
      evidence(
        [],
        Array.from({ length: 9 }, () => entry({ nonce: null, body: PROBE })),
      ),
    ],
    withBackground,
  ],
]
for (const [what, all, of] of SOUND)
  test(`the audit passes for ${what} (PURE-08)`, () => assert.deepEqual(bad(all, of), []))
