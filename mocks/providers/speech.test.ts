import assert from 'node:assert/strict'
import test from 'node:test'
import type { Endpoint, ModelOutput, Wants } from '../provider.ts'
import { type Recording, readRecordings } from '../recording/format.ts'
import { kindOf, shapeOf } from '../recording/structure.ts'
import { providers } from './registry.ts'

const recordings = readRecordings()

const plain: ModelOutput = {
  model: 'm',
  reasoning: [],
  text: ['One', ' two', ' three.'],
  calls: [],
  finish: 'stop',
  usage: { input: 20, output: 9, cached: 0, reasoning: 0 },
}
const call = { id: 'call_1', name: 'get_weather', arguments: ['{"city":', '"Vienna"}'] }
const turns: Record<string, ModelOutput> = {
  'a text': plain,
  'a thought and a text': {
    ...plain,
    reasoning: ['Hm', '.'],
    usage: { input: 20, output: 9, cached: 0, reasoning: 4 },
  },
  'a call': { ...plain, text: [], calls: [call], finish: 'tool_calls' },
}
const wants: Wants = { model: 'm', stream: true, usage: true, tools: false }

/** Returns the fields that have a value, from all events and bodies: "choices[].delta.content string". */
const fieldsOf = (status: number, body: string) =>
  [...shapeOf({ status, headers: {}, body })]
    .map((fact) => /\S+ (string|number|boolean|array|object)$/.exec(fact)?.[0])
    .filter((field) => field !== undefined)
const textOf = ({ bytes }: Recording) => Buffer.from(bytes).toString()

/** Returns the body of an endpoint's answer, whole or streamed. */
const spoken = ({ speech }: Endpoint, said: ModelOutput, stream: boolean): string =>
  stream ? speech!.events(said, wants).join('') : JSON.stringify(speech!.whole(said))

for (const provider of providers)
  for (const endpoint of provider.endpoints.filter(({ speech }) => speech !== null))
    test(`${provider.name} at ${endpoint.name} sends only fields that its recordings contain`, (t) => {
      for (const [turn, said] of Object.entries(turns))
        for (const stream of [false, true]) {
          const body = spoken(endpoint, said, stream)
          const kind = kindOf({ status: 200, headers: {}, body })
          const same = recordings.filter(
            (one) =>
              one.provider === provider.name &&
              one.endpoint === endpoint.name &&
              kindOf({ status: one.response.status, headers: {}, body: textOf(one) }) === kind,
          )
          if (same.length === 0) {
            t.diagnostic(`${turn}, ${stream ? 'streamed' : 'whole'}: no recording of this kind (${kind})`)
            continue
          }
          const seen = new Set(same.flatMap((one) => fieldsOf(200, textOf(one))))
          const unknown = fieldsOf(200, body).filter((field) => !seen.has(field))
          assert.deepEqual(
            unknown,
            [],
            `${turn}, ${stream ? 'streamed' : 'whole'}, beside ${same.map(({ name }) => name)}`,
          )
        }
    })

test("every provider's refusals have the structure of its recorded errors", () => {
  const refusals = [
    [400, 'invalid_request'],
    [401, 'bad_key'],
    [404, 'unknown_model'],
    [429, 'rate_limited'],
    [500, 'server_error'],
  ] as const
  for (const provider of providers.filter(({ isHost }) => !isHost))
    for (const [, kind] of refusals) {
      const param = kind === 'invalid_request' ? 'field' : undefined
      const { status, body } = provider.refusal(kind, 'words', param)
      const recorded = recordings.filter(
        (one) => one.provider === provider.name && one.response.status === status,
      )
      assert.ok(recorded.length > 0, `${provider.name} ${kind}: no recorded ${status}`)
      const seen = new Set(recorded.flatMap((one) => fieldsOf(status, textOf(one))))
      const unknown = fieldsOf(status, JSON.stringify(body)).filter((field) => !seen.has(field))
      assert.deepEqual(unknown, [], `${provider.name} ${kind}`)
    }
})
