import assert from 'node:assert/strict'
import test from 'node:test'
import type { Recording } from '../recording/format.ts'
import { createMatcher, type MatchInput, match } from './match.ts'

const recording = (
  name: string,
  request: Partial<Recording['request']> = {},
  endpoint = 'chat/completions',
) =>
  ({
    name,
    provider: name.split('/')[0],
    endpoint,
    request: {
      method: 'POST',
      path: `/v1/${endpoint}`,
      model: null,
      stream: false,
      scenario: 'plain',
      ...request,
    },
    bytes: new Uint8Array(),
  }) as Recording

const asked: MatchInput = {
  provider: 'openai',
  method: 'POST',
  endpoint: 'chat/completions',
  model: 'any-model',
  stream: false,
  scenario: 'plain',
}

const all = [
  recording('openai/plain'),
  recording('openai/stream', { stream: true }),
  recording('openai/named', { model: 'thinker' }),
  recording('openai/429', { scenario: '429', stream: null }),
  recording('groq/plain'),
]

const cases: [string, Partial<MatchInput>, string][] = [
  ['any model is answered by the recording for any model', {}, 'openai/plain'],
  ['a stream by the streamed one', { stream: true }, 'openai/stream'],
  ['a recording that names the model goes first', { model: 'thinker' }, 'openai/named'],
  ['a request without a model by the recording for any', { model: null }, 'openai/plain'],
  ['stream null answers both ways: whole', { scenario: '429' }, 'openai/429'],
  ['stream null answers both ways: streamed', { scenario: '429', stream: true }, 'openai/429'],
  ['each provider by its own', { provider: 'groq' }, 'groq/plain'],
]

for (const [sentence, difference, name] of cases)
  test(sentence, () => {
    const found = match(all, { places: [{ ...asked, ...difference }] })
    assert.equal('bytes' in found && found.name, name)
  })

test('if no recording matches, the error names the nearest recording and the differences (REC-02)', () => {
  const found = match(all, { places: [{ ...asked, model: 'thinker', scenario: '418' }] })
  assert.ok('differs' in found)
  assert.equal(found.nearest?.name, 'openai/plain')
  assert.deepEqual(found.differs, ['scenario "418" (recorded: "plain")'])
})

test('a recording of another scenario at the same endpoint is nearer than one from another provider', () => {
  const found = match([recording('groq/tools', { scenario: 'tools' }), recording('openai/plain')], {
    places: [{ ...asked, scenario: 'tools' }],
  })
  assert.equal('nearest' in found && found.nearest?.name, 'openai/plain')
})

test('an empty set of recordings has no nearest recording', () => {
  assert.deepEqual(match([], { places: [asked] }), { nearest: null, differs: [] })
})

const names = (recordings: Recording[], requests: Partial<MatchInput>[]) => {
  const matcher = createMatcher(recordings)
  return requests.map((difference) => {
    const found = matcher({ places: [{ ...asked, ...difference }] })
    return 'bytes' in found && found.name
  })
}

test('ordered recordings answer in turn, and the last one answers all later calls', () => {
  const turns = [
    recording('openai/third', { order: 3 }),
    recording('openai/first'),
    recording('openai/second', { order: 2 }),
  ]
  assert.deepEqual(names(turns, [{}, {}, {}, {}]), [
    'openai/first',
    'openai/second',
    'openai/third',
    'openai/third',
  ])
})

test('turns are counted separately for each kind of request, and restart in each session', () => {
  const turns = [recording('openai/first'), recording('openai/second', { order: 2 })]
  const requests = [{}, { model: 'another' }, {}, { model: 'another' }]
  const expected = ['openai/first', 'openai/first', 'openai/second', 'openai/second']
  assert.deepEqual(names(turns, requests), expected)
  assert.deepEqual(names(turns, requests), expected)
})

test('the recordings of one path take turns without those of another path (REC-02)', () => {
  const turns = ['A', 'A', 'B', 'A', 'B'].map((project, i) =>
    recording(`openai/${project}-${i + 1}`, {
      path: `/v1/projects/${project}/chat/completions`,
      ...(i > 0 && { order: i + 1 }),
    }),
  )
  const requests = ['B', 'A', 'B', 'A', 'A', 'B'].map((project) => ({
    path: `projects/${project}/chat/completions`,
  }))
  const expected = ['B-3', 'A-1', 'B-5', 'A-2', 'A-4', 'B-5'].map((name) => `openai/${name}`)
  assert.deepEqual(names(turns, requests), expected)
})

test('calls in a different order still match, and a named model takes precedence over the order', () => {
  assert.deepEqual(names([recording('openai/later', { order: 4 })], [{}]), ['openai/later'])
  const named = [recording('openai/any', { order: 2 }), recording('openai/named', { model: 'any-model' })]
  assert.deepEqual(names(named, [{}, {}]), ['openai/named', 'openai/named'])
})
