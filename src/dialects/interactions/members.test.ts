// Compares the table of members with the types of Google's client, and each row with what the gateway does.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { DIALECTS } from '../registry.ts'
import { translating } from '../translate.ts'
import { client, InteractionTraits } from './client.ts'
import { interactions } from './interactions.ts'
import { tokensOf } from './read-answer.ts'
import { MEMBER_TABLES } from './test-members.ts'

const types = readFileSync(
  new URL('../../../node_modules/@google/genai/dist/genai.d.ts', import.meta.url),
  'utf8',
).replaceAll('\r', '')

/** Returns the declaration of a type, without its name. */
function declared(name: string): string {
  const [, text] = new RegExp(`^declare type ${name} = (.*?;)$\n\n`, 'ms').exec(types) ?? []
  assert.ok(text, `the client has no type ${name}`)
  return text
}

const membersOf = (name: string): string[] =>
  [...declared(name).matchAll(/^ {4}(\w+)\??: /gm)].map(([, member]) => member!)

/** Returns the words of `type` of a type's alternatives. An alternative without one has no word of its own. */
const alternativesOf = (name: string): string[] =>
  declared(name)
    .replace(/\{.*\}/s, '')
    .split(/[|;]/)
    .flatMap((each) => (each.trim() === '' ? [] : [each.trim()]))
    .map((each) => /^ {4}type: "(\w+)";/m.exec(declared(each))![1]!)

const PLAIN = { model: 'm', input: 'hi' }
/** Translates a request for a provider of chat. */
function translated(body: object) {
  const translation = translating(interactions, DIALECTS.chat, {
    ...{ family: 'own', host: 'localhost', factsOf: () => ({}) },
  }).translation()
  const text = JSON.stringify({ ...PLAIN, ...body })
  const request = { model: 'm', stream: false, text, wantsUsage: true, forwarded: [], query: '' }
  const sent = translation.request(request, 'm', { basePath: '', key: null })
  return { losses: translation.losses, sent: JSON.parse(sent.body) }
}
const to = (body: object) => translated(body).losses

for (const { types: names, title, isUnion, rows, request } of MEMBER_TABLES) {
  test(`the table has every member of ${title} in Google’s client`, () => {
    const found = names.flatMap(isUnion ? alternativesOf : membersOf)
    assert.deepEqual(Object.keys(rows).toSorted(), [...new Set(found)].toSorted())
  })

  test(`each member of ${title} is carried, and towards another dialect translated or named as lost`, () => {
    for (const [name, [value, fate]] of Object.entries(rows)) {
      const given = isUnion ? { type: name, ...(value as object) } : value
      const body = { ...PLAIN, ...request(name, given) }
      const text = JSON.stringify(body)
      const asked = { model: 'm', stream: false, text, wantsUsage: true, forwarded: [], query: '' }
      const sent = interactions.upstream.request(asked, 'm', { basePath: '', key: null })
      const expected = 'agent' in body ? { ...body, agent: 'm' } : body
      assert.deepEqual(JSON.parse(sent.body), expected, `${name} at a provider of interactions`)
      const { nativeOnly } = new InteractionTraits(name === 'agent_config' ? { ...body, agent: 'a' } : body)
      if (fate === 'native') assert.notEqual(nativeOnly, null, name)
      else if (fate === 'gateway') assert.equal(client.storing.previousIn(body), value, name)
      else {
        assert.equal(nativeOnly, null, name)
        assert.deepEqual(to(request(name, given)), fate === 'translated' ? [] : fate, name)
      }
    }
  })
}

test('every counter of a usage in Google’s client is known', () => {
  for (const name of membersOf('Usage')) {
    const value = name.endsWith('_by_modality')
      ? [{ modality: 'text', tokens: 7 }]
      : name === 'grounding_tool_count'
        ? [{ type: 'google_search', count: 7 }]
        : 7
    const { served } = tokensOf({ [name]: value })
    assert.deepEqual([served?.doubts, served?.other], [undefined, undefined], name)
  }
})

test('settings without effect are no loss, and what the client has not named yet is one', () => {
  for (const [body, losses] of [
    [{ store: false }, []],
    [{ background: false }, []],
    [{ response_modalities: ['text'] }, []],
    [{ of_tomorrow: 1 }, ['unknown.field']],
    [{ tools: [{ type: 'of_tomorrow' }] }, ['unknown.tool']],
  ] as const)
    assert.deepEqual(to(body), losses, JSON.stringify(body))
})

test('sound reaches a provider of chat under the name of its format', () => {
  for (const [mime_type, format] of [
    ['audio/mp3', 'mp3'],
    ['audio/mpeg', 'mp3'],
    ['audio/wav', 'wav'],
    ['audio/x-wav', 'wav'],
    ['audio/flac', 'flac'],
  ]) {
    const { sent } = translated({ input: [{ type: 'audio', data: 'QUJD', mime_type }] })
    assert.deepEqual(sent.messages[0].content[0].input_audio, { data: 'QUJD', format }, mime_type)
  }
})
