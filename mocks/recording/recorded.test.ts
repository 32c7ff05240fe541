import assert from 'node:assert/strict'
import test from 'node:test'
import { endpointOf, type MockProvider } from '../provider.ts'
import { placeAt, providers } from '../providers/registry.ts'
import { readRecordings } from './format.ts'

const recordings = readRecordings()
/** A host of other providers' models answers with the recordings of these providers. */
const recorded = providers.filter(({ isHost }: MockProvider) => !isHost)

test('each recording’s address matches its provider and its endpoint', () => {
  for (const { name, provider, endpoint, request } of recordings) {
    const { origin } = providers.find((one) => one.name === provider)!
    const place = placeAt(providers, new URL(origin + request.path))
    const found = place && endpointOf(place.provider, request.method, place.path)
    assert.deepEqual([place?.provider.name, found?.endpoint.name], [provider, endpoint], name)
  }
})

test('for every endpoint with a model, every provider has a whole and a streamed recording of each kind', () => {
  for (const provider of recorded)
    for (const endpoint of provider.endpoints.filter(({ speech }) => speech !== null))
      for (const scenario of ['plain', 'tools'])
        for (const stream of [false, true])
          assert.ok(
            recordings.some(
              (one) =>
                one.provider === provider.name &&
                one.endpoint === endpoint.name &&
                one.request.scenario === scenario &&
                one.request.stream === stream,
            ),
            `${provider.name} ${endpoint.name} ${scenario} ${stream ? 'streamed' : 'whole'}`,
          )
})

test('every provider has recordings of its model list and its errors, and every endpoint has a recording', () => {
  for (const { name, endpoints } of recorded) {
    const own = recordings.filter((one) => one.provider === name)
    for (const endpoint of endpoints.filter(({ isKept }) => !isKept))
      assert.ok(
        own.some((one) => one.endpoint === endpoint.name),
        `${name} ${endpoint.name}`,
      )
    const statuses = own.map(({ response }) => response.status)
    for (const status of [400, 401, 404, 429, 500]) assert.ok(statuses.includes(status), `${name} ${status}`)
  }
})
