// Providers answer in another form than their label or the request says, over real sockets.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type DeviatingDialect, readDeviations } from '../../mocks/deviations/read.ts'
import { dialectOf } from '../dialects/test-crossing.ts'
import { concluded, differences, formsOf } from '../dialects/test-deviations.ts'
import { PLAIN_REQUESTS } from '../dialects/test-loss-cases.ts'
import { sharedGateways } from '../test/test-gateway.ts'
import { sample } from '../test/test-size.ts'

const gatewayOf = sharedGateways()
const DIALECTS = ['chat', 'messages', 'responses', 'gemini'] as const

/** Path and body of a plain request. */
function plain(dialect: DeviatingDialect, isStream: boolean): [path: string, body: object] {
  const request = { ...PLAIN_REQUESTS[dialect], model: 'auto' }
  if (dialect === 'chat' && isStream) Object.assign(request, { stream_options: { include_usage: true } })
  if (dialect !== 'gemini') return [dialectOf(dialect).client.path, { ...request, stream: isStream }]
  const { model: _, ...body } = request
  return [`/v1beta/models/auto:${isStream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`, body]
}

for (const provider of DIALECTS)
  for (const client of DIALECTS)
    test(`a ${client} client gets each form of a ${provider} provider in the form that it asked for (DIAL-18)`, async (t) => {
      const gateway = await gatewayOf(t, {
        dialects: { alpha: [provider] },
        config:
          'routes: { auto: { targets: [ { model: alpha/m } ] } }\nresilience: { retries: 0, cooldown: 1ms }',
      })
      const all = readDeviations().filter(({ dialect, status }) => dialect === provider && status < 400)
      for (const each of sample(all, 6))
        for (const [form, bytes] of formsOf(each))
          for (const isStream of [true, false]) {
            gateway.upstream.alpha!.script = (response) => {
              const usual = form === 'stream' ? 'text/event-stream' : 'application/json'
              const headers = { 'content-type': usual, ...each.headers }
              response.writeHead(
                each.status,
                Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== null)) as Record<
                  string,
                  string
                >,
              )
              response.write(bytes)
              setImmediate(() => (each.cut ? response.destroy() : response.end()))
            }
            const [path, body] = plain(client, isStream)
            const answer = await fetch(gateway.url + path, {
              method: 'POST',
              headers: { 'content-type': 'application/json' },
              body: JSON.stringify(body),
            })
            const text = await answer.text().catch(() => null)
            const what = `${each.id} (${form}), asked for ${isStream ? 'a stream' : 'a whole answer'}`
            const { state } = await gateway.record(answer.headers.get('x-gateway-request-id'))
            if (each.concludes.end === 'failed') {
              if (client !== provider) assert.equal(state, 'failed', what)
              continue
            }
            assert.ok(text !== null, what)
            assert.equal(answer.status, 200, `${what}: ${text}`)
            assert.match(answer.headers.get('content-type')!, isStream ? /event-stream/ : /json/, what)
            const got = { ...concluded(client, Buffer.from(text)), isDoubtful: true }
            const isRelayed = client === provider && isStream === (form === 'stream')
            assert.deepEqual(differences(each, got, isRelayed ? null : client), [], what)
            assert.equal(state, 'completed', what)
          }
    })
