// Endpoints that a gateway relays without understanding them: the suite's requests there, and the requests
// that arrive at the mock.
import { hash } from 'node:crypto'
import { isDeepStrictEqual } from 'node:util'
import { type LedgerEntry, writeNonce } from '../../mocks/ledger.ts'
import type { Evidence, Exchange } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'

const BOUNDARY = 'a-boundary-of-the-suite'

/** Content of a file. Software for text or forms might change some of its bytes. */
export const contentOf = (nonce: string): string =>
  `{"custom_id":"${writeNonce(nonce)}", "n":1.50}\r\n\ttab, \\u0041, two  spaces \n--another boundary\n`

/** Returns the upload of a file. */
export const uploadOf = (nonce: string) => ({
  method: 'POST',
  headers: { 'content-type': `multipart/form-data; boundary=${BOUNDARY}` },
  body: [
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n`,
    `--${BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.jsonl"\r\n`,
    `Content-Type: application/jsonl\r\n\r\n${contentOf(nonce)}\r\n--${BOUNDARY}--\r\n`,
  ].join(''),
})

/** Calls at endpoints that can spend: JSON in an unusual format. */
export const RELAYED_CALLS = {
  moderations: {
    path: '/v1/moderations',
    body: (nonce: string) => `{ "input" : "${writeNonce(nonce)} \\u0061b" ,\n "metadata":{"n":1.50} }`,
  },
  audio: {
    path: '/v1/audio/speech',
    body: (nonce: string) =>
      `{ "voice":"alloy", "response_format":"pcm" ,\n"input":"${writeNonce(nonce)}","model":"tts-1" }`,
  },
} as const

export const postJson = (body: string) => ({
  ...{ method: 'POST', headers: { 'content-type': 'application/json' }, body },
})

/** Returns the id of the file in an answer; null if there is none. */
export function fileIn({ status, body }: Exchange): string | null {
  const id = status === 200 ? at(jsonOf(body), '/id') : null
  return typeof id === 'string' && id !== '' ? id : null
}

/** Returns the requests with this nonce that the mock received. */
export const arrivedOf = ({ ledger }: Pick<Evidence, 'ledger'>, nonce: unknown): LedgerEntry[] =>
  ledger.filter((entry) => entry.nonce === nonce)

/** Returns true if a plain ASCII body arrived byte for byte. */
export const isSameBody = ({ body }: Exchange['request'], { body_sha256 }: LedgerEntry): boolean =>
  hash('sha256', body ?? '') === body_sha256

/** Returns true if JSON arrived with all its members and values; a gateway may add members. */
export function keepsJson(sent: string | null, arrived: string | null): boolean {
  const [before, after] = [jsonOf(sent ?? ''), jsonOf(arrived ?? '')]
  return Object.entries(before ?? {}).every(([name, value]) =>
    isDeepStrictEqual(value, at(after, `/${name}`)),
  )
}
