// FAIL-06, LOG-07: sends random data over sockets to one gateway, then compares the requests that providers
// received with the record. WAYBILL_FUZZ sets the number of cases. WAYBILL_FUZZ_SEED repeats the cases, but
// not their timing.

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import Database from 'better-sqlite3'
import fc from 'fast-check'
import { answer, chunk, fail, type Script, stream, streamed } from '../../mocks/test-upstream.ts'
import { errorSchema } from '../core/error-schema.ts'
import { CODES } from '../core/errors.ts'
import { SILENT } from '../core/process-log.ts'
import { clock } from '../shared/clock.ts'
import { exchange, type Raw, raw } from './test-fuzz-requests.ts'
import { ask, type TestGateway, testGateway } from './test-gateway.ts'
import { IS_FULL } from './test-size.ts'
import { pause, until } from './test-until.ts'

/** Number of cases: a twentieth in `npm test`, all in `.ci/run`. */
const CASES = Number(process.env.WAYBILL_FUZZ ?? (IS_FULL ? 5_000 : 250))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? clock.now() % 2 ** 31)

/** Answers of the providers in turn. The `number` of the request selects one, so that a seed repeats it. */
const MOODS: readonly Script[] = [
  (response, received) => (received.json.stream ? streamed('a', 'b') : answer())(response, received),
  answer(),
  fail(500),
  streamed('one', 'two', 'three'),
  fail(429, { 'retry-after': '0' }),
  fail(400),
  stream(chunk({ content: 'cut' }), (response) => response.destroy()),
  (response) => void response.destroy(),
  (response) => void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
  stream(chunk({ role: 'assistant' }), 5, chunk({ content: 'no end' })),
  fail(401),
]

const CONFIG = `
routes:
  auto: { targets: [ { model: alpha/model-a }, { model: beta/model-b } ] }
  pair: { strategy: round-robin, targets: [ { model: beta/model-b }, { model: alpha/model-a } ] }
resilience: { answer: 2s, stream_first_event: 2s, idle: 2s, cooldown: 1ms }
`

test('the gateway survives any bytes on a socket, errors keep their shape, and every inference is on record (FAIL-06, FAIL-01, LOG-07)', async (t) => {
  t.diagnostic(`seed ${SEED}, ${CASES} cases (WAYBILL_FUZZ_SEED=${SEED} repeats them)`)
  let requests = 0
  const moody: Script = (response, received) => MOODS[(requests++ * 7) % MOODS.length]!(response, received)
  const gateway = await testGateway(t, {
    providers: { alpha: moody, beta: moody },
    config: CONFIG,
    options: { log: SILENT },
  })
  const seen = new Map<string, number>()
  const count = (what: string) => seen.set(what, (seen.get(what) ?? 0) + 1)

  const crashes: unknown[] = []
  const crashed = (error: unknown) => void crashes.push(error)
  process.on('unhandledRejection', crashed)
  t.after(() => process.off('unhandledRejection', crashed))

  await fc.assert(
    fc.asyncProperty(raw, async (request) => {
      count(check(request, await exchange(gateway.url, request)))
      assert.deepEqual(crashes, [])
    }),
    { numRuns: CASES, seed: SEED },
  )

  gateway.upstream.alpha!.script = answer('the plant')
  await pause(5) // the cooldown
  const plant = await gateway.chat(ask('alpha/plant'))
  assert.equal(plant.json.choices[0].message.content, 'the plant', 'it still works')
  await gateway.record(plant.headers.get('x-gateway-request-id'))
  const { attempts, received } = await compare(gateway)
  t.diagnostic(
    `${[...seen].map(([what, n]) => `${what}: ${n}`).join(', ')}; ${received} inferences, ${attempts} attempts on record`,
  )
  assert.ok(received > CASES / 20, 'many requests were good enough to reach a provider')
})

/** Returns the kind of an answer. Throws if it is not an answer of the gateway. */
function check({ method, framing }: Raw, bytes: Buffer | null): string {
  if (bytes === null) return 'client left'
  const text = bytes.toString('utf8').replace(/^HTTP\/1\.1 1\d\d [^\r]*\r\n(.+\r\n)*\r\n/, '')
  if (text === '' && (method === 'CONNECT' || framing === 'short')) return 'no answer'
  const [, digits] =
    /^HTTP\/1\.1 ([2-5]\d\d) /.exec(text) ?? assert.fail(`no HTTP: ${JSON.stringify(text.slice(0, 200))}`)
  const status = Number(digits)
  if (status < 400 || method === 'HEAD') return String(status)
  const at = text.indexOf('\r\n\r\n')
  const [head, said] = [text.slice(0, at), text.slice(at + 4)]
  const error = JSON.parse(said)
  // A live answer may be a relayed error of the provider. All other answers must be exactly the gateway's
  // own.
  if (/^x-gateway-attempts:/im.test(head) && !('request_id' in error))
    assert.equal(typeof error.error.message, 'string')
  else {
    const { code } = errorSchema.parse(error).error
    assert.ok(code !== null && Object.hasOwn(CODES, code), `the contract has no code ${code}`)
  }
  return String(status)
}

/**
 * Checks promise 2 for each provider and model: every certain entry of the record was received, and every
 * received request is on record.
 */
async function compare(gateway: TestGateway): Promise<{ attempts: number; received: number }> {
  const db = new Database(join(gateway.data, 'waybill.db'), { readonly: true })
  try {
    const open = db.prepare('SELECT count(*) FROM call_logs WHERE completed_at IS NULL').pluck()
    await until('every record is closed', () => open.get() === 0)
    const rows = db.prepare('SELECT provider, model, outcome, status FROM call_attempts').all() as {
      provider: string
      model: string
      outcome: string
      status: number | null
    }[]
    const ledger = Object.entries(gateway.upstream).flatMap(([provider, { ledger }]) =>
      ledger.map(({ json }) => `${provider}/${json.model}`),
    )
    const received = Map.groupBy(ledger, (id) => id)
    const recorded = Map.groupBy(rows, ({ provider, model }) => `${provider}/${model}`)
    for (const id of new Set([...received.keys(), ...recorded.keys()])) {
      const ours = recorded.get(id) ?? []
      const sent = ours.filter(({ outcome }) => outcome !== 'not_sent').length
      const certain = ours.filter(
        ({ outcome, status }) =>
          !['not_sent', 'unknown'].includes(outcome) &&
          (status !== null || !['aborted', 'timed_out'].includes(outcome)),
      ).length
      const theirs = received.get(id)?.length ?? 0
      assert.ok(
        certain <= theirs && theirs <= sent,
        `${JSON.stringify(id)}: ${theirs} received, ${certain} to ${sent} on record`,
      )
    }
    return { attempts: rows.length, received: ledger.length }
  } finally {
    db.close()
  }
}
