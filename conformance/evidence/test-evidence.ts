// Handwritten evidence for tests of judges: one complete call and its ledger entry. A test changes parts of
// them.
import { type LedgerEntry, writeNonce } from '../../mocks/ledger.ts'
import type { Evidence, Exchange } from './evidence.ts'

export const NONCE = '0123456789abcdef'

/** Short whole answer. */
export const ANSWER = '{"choices":[{"index":0,"message":{"content":"x"},"finish_reason":"stop"}]}'

export const exchange = (
  over: Partial<Exchange> = {},
  body: object = { model: 'auto', content: writeNonce(NONCE) },
): Exchange => ({
  n: 1,
  step: 'call',
  details: {},
  nonce: NONCE,
  request: { method: 'POST', path: '/v1/chat/completions', headers: {}, body: JSON.stringify(body) },
  at: 1_000,
  head_at: 1_100,
  end_at: 1_200,
  end: 'complete',
  error: null,
  status: 200,
  headers: { 'content-type': 'application/json' },
  body: ANSWER,
  utf8: true,
  chunks: [],
  ...over,
})

let n = 0
export const entry = (
  over: Partial<LedgerEntry> = {},
  answer: Partial<LedgerEntry['answer']> = {},
): LedgerEntry => ({
  n: ++n,
  kind: 'inference',
  at: 1_050,
  provider: 'openai',
  method: 'POST',
  path: '/v1/chat/completions',
  query: '',
  endpoint: 'chat/completions',
  model: 'gpt-5-mini',
  stream: false,
  nonce: NONCE,
  credential: 'match',
  canaries: [],
  problems: [],
  headers: {},
  body: { messages: [{ content: writeNonce(over.nonce ?? NONCE) }] },
  body_sha256: '',
  answer: {
    from: 'script',
    status: 200,
    first_byte_at: 1_060,
    last_byte_at: 1_070,
    cut_at: null,
    complete: true,
    bytes: 9,
    body: ANSWER,
    ...answer,
  },
  peer_left_at: null,
  ...over,
})

export const evidence = (
  exchanges: Exchange[],
  ledger: LedgerEntry[],
  over: Partial<Evidence> = {},
): Evidence => ({
  check: 'ROUTE-01',
  started_at: 900,
  ended_at: 10_000,
  exchanges,
  ledger,
  marks: {},
  facts: {},
  untestable: null,
  harness_error: null,
  ...over,
})
