// Both promises for every dialect. Reads and refused requests cause no inference. For any body, path and query, every
// inference is recorded, and every error has the format of its dialect. The call of a client that disconnects early
// is recorded, too. src/test/sigkill.test.ts kills the gateway in all dialects.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { stream } from '../../mocks/test-upstream.ts'
import { SILENT } from '../core/process-log.ts'
import { READS } from '../gateway/endpoints.ts'
import { clock } from '../shared/clock.ts'
import { testGateway } from '../test/test-gateway.ts'
import { IS_FULL } from '../test/test-size.ts'
import { until } from '../test/test-until.ts'
import { DIALECTS } from './registry.ts'
import { type Fuzz, json, text } from './test-fuzz.ts'
import { ALL } from './test-samples.ts'

const CASES = Number(process.env.WAYBILL_FUZZ ?? (IS_FULL ? 3_000 : 100))
const SEED = Number(process.env.WAYBILL_FUZZ_SEED ?? clock.now() % 2 ** 31)

/** Bodies: valid, with one wrong character, other JSON, or arbitrary text. */
const bodyOf = (good: fc.Arbitrary<object>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 6, arbitrary: good.map((value) => JSON.stringify(value)) },
    { weight: 2, arbitrary: json.map((value) => JSON.stringify(value)) },
    {
      weight: 2,
      arbitrary: fc
        .tuple(good, fc.nat(), fc.string({ unit: 'binary', maxLength: 2 }))
        .map(([value, where, piece]) => {
          const text = JSON.stringify(value)
          const at = where % text.length
          return text.slice(0, at) + piece + text.slice(at + 1)
        }),
    },
    { weight: 1, arbitrary: text },
  )

for (const [name, { client }, samples] of ALL) {
  if (!(name in DIALECTS)) continue // the toy dialect of the tests cannot be configured
  const { fuzz: way } = (await import(`./${name}/test-fuzz.ts`)) as { fuzz: Fuzz }
  const { count, counted } = way
  const headers = { 'content-type': 'application/json', ...way.headers }
  const dialects = { alpha: [name] }

  test(`${name}: no kind of read causes a request to a provider (PURE-01)`, async (t) => {
    const gateway = await testGateway(t, { dialects })
    // All other reads are the same in every dialect, see `../endpoints/read-endpoints.test.ts`.
    const paths = READS.map(({ path }) => path.replace('*', 'auto')).filter((path) => path.startsWith('/v1'))
    const [own] = fc.sample(way.path, 1)
    for (const path of [...paths, own!, ...way.beside])
      for (const method of ['GET', 'HEAD', 'OPTIONS', 'DELETE', 'PATCH'])
        await fetch(gateway.url + path, { method, headers }).then((answer) => answer.text())
    for (const path of paths)
      await fetch(gateway.url + path, { method: 'POST', headers, body: '{}' }).then((answer) => answer.text())
    assert.equal(gateway.received(), 0)
  })

  test(`${name}: for any request, errors have the dialect’s format, refused requests cause no inference, and accepted requests are recorded (FAIL-06, LOG-07, PURE-07)`, async (t) => {
    t.diagnostic(`seed ${SEED}, ${CASES} cases (WAYBILL_FUZZ_SEED=${SEED} repeats them)`)
    const gateway = await testGateway(t, {
      providers: {
        alpha: (response, received) =>
          count?.test(received.path)
            ? void response.end(counted)
            : received.json.stream === true || received.path.includes('alt=sse')
              ? stream(samples.stream('m'))(response, received)
              : void response.end(samples.answer('m', {})),
      },
      dialects,
      options: { log: SILENT },
    })
    let calls = 0
    let counts = 0
    await fc.assert(
      fc.asyncProperty(bodyOf(way.body), way.path, async (body, path) => {
        const before = gateway.received()
        const { status, json, headers: said } = await gateway.get(path, { method: 'POST', headers, body })
        const reached = gateway.received() - before
        const isCount = count?.test(path) === true
        if (status === 200) {
          if (isCount) counts++
          else calls++
          // A token count is estimated if no provider can count.
          assert.ok(reached === 1 || (isCount && reached === 0), `${reached} requests`)
          return
        }
        assert.ok([400, 404, 405].includes(status), `${status}`)
        assert.equal(reached, 0)
        const { shaped, id } = way.error(json, status)
        assert.ok(shaped, JSON.stringify(json))
        assert.equal(said.get(client.requestIdHeader), id)
      }),
      { numRuns: CASES, seed: SEED },
    )
    const { json: sums } = await gateway.get('/api/analytics/auto-routing')
    t.diagnostic(`${calls} calls, ${counts} counts, ${gateway.received()} requests to the provider`)
    assert.equal(sums.total_calls, calls)
    assert.ok(
      calls > CASES / 50 && (!count || counts > CASES / 200),
      'some were good enough to reach the provider',
    )
  })

  if (samples.stream('m') !== '')
    test(`${name}: if a client disconnects early, the request to the provider ends, and the record has all known values (USE-07)`, async (t) => {
      const [first] = samples.stream('m').split(/(?<=\n\r?\n)/)
      const at = samples.arrival?.('auto', true) ?? { path: client.path, rest: '', query: '' }
      const gateway = await testGateway(t, { providers: { alpha: stream(first!, 60_000) }, dialects })
      const leave = new AbortController()
      const response = await fetch(`${gateway.url}${at.path.replace('*', at.rest)}?${at.query}`, {
        method: 'POST',
        headers,
        body: samples.request('auto', true),
        signal: leave.signal,
      })
      await response.body!.getReader().read()
      leave.abort()
      const record = await gateway.record(response.headers.get('x-gateway-request-id'))
      const source = way.countsAlways ? 'reported' : 'estimated'
      assert.deepEqual([record.state, record.status, record.tokens.source], ['aborted', 499, source])
      await until('the provider is left', () => gateway.upstream.alpha!.abandoned === 1)
    })
}
