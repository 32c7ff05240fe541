// Compares the facts and prices with the models that the installed SDKs of OpenAI, Anthropic and Google name in
// their own types. A new name fails here until it has facts and a price, or a row in NOT_YET.
// `WAYBILL_SDKS=DIR`: reads the SDKs in another node_modules, for example newer ones.
import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { PRESETS } from '../config/presets.ts'
import { createPricer } from '../pricing/pricing.ts'
import { clock } from '../shared/clock.ts'
import { packageFile } from '../shared/package-root.ts'
import { type Facts, packageFacts, packageTable } from './facts.ts'

const SDKS = { openai: 'openai', anthropic: '@anthropic-ai/sdk', gemini: '@google/genai' } as const

/** Models without facts or without a price, with the day on which this was looked up, and the reason. */
const NOT_YET: Readonly<Record<string, { readonly since: string; readonly reason: string }>> = {
  'openai/gpt-5.1-mini': { since: '2026-11-28', reason: 'the SDK says that no such model exists' },
  'openai/gpt-5.6-cyber': { since: '2026-11-28', reason: 'no public page states its limits' },
  'openai/gpt-6-cyber': { since: '2026-11-28', reason: 'no public page states its limits' },
  'openai/gpt-6-rosalind': { since: '2026-11-28', reason: 'no public page states its limits' },
  'openai/gpt-rosalind-research': { since: '2026-11-28', reason: 'no public page states its limits' },
  'openai/gpt-daybreak-blue-latest': { since: '2026-11-28', reason: 'no price is public' },
  'openai/gpt-daybreak-red-latest': { since: '2026-11-28', reason: 'no price is public' },
  'openai/gpt-6.2-astra-law': { since: '2026-11-28', reason: 'neither its price nor its limits are public' },
  'openai/gpt-image-2.6-sunburst': { since: '2026-11-28', reason: 'no price table has it' },
  'openai/gpt-image-2.6-flare': { since: '2026-11-28', reason: 'no price table has it' },
  'anthropic/claude-mythos-5': {
    since: '2026-11-28',
    reason: 'for invited organizations; no price is public',
  },
  'anthropic/claude-mythos-5-1': {
    since: '2026-11-28',
    reason: 'for invited organizations; no price is public',
  },
  'gemini/gemma-4-26b-a4b-it': {
    since: '2026-11-28',
    reason: 'its limits were not found in pages of Google',
  },
  'gemini/gemma-4-31b-it': { since: '2026-11-28', reason: 'its limits were not found in pages of Google' },
  'gemini/gemini-4-carbon': { since: '2026-11-28', reason: 'its limits were not found in public pages' },
  'gemini/gemini-4-hydrogen': { since: '2026-11-28', reason: 'neither its price nor its limits were found' },
}

/** Needs of a model, by the name of the type that lists it. Other types list models for conversations. */
const NEEDS: readonly (readonly [type: RegExp, needs: readonly ('facts' | 'price')[]])[] = [
  [/^Video/, []], // the gateway has no endpoint for videos
  [/^(Speech|Audio|Moderation)/, ['facts']], // their calls cost nothing, or are billed by time or letters
  [/./, ['facts', 'price']],
]
/** Names of models that make or read sound and pictures, in lists of models for conversations. */
const MEDIA = /-(tts|image|transcribe|audio|realtime|live|robotics|omni)(-|$)|banana|^lyria/
/** A name whose model changes; only a price can be stated. */
const ALIAS = /-latest$/

/** Returns the names in the SDK's types of models, with the name of the type that lists each. */
function namesIn(directory: string): Map<string, string> {
  const names = new Map<string, string>()
  for (const file of globSync('**/*.d.ts', { cwd: directory })) {
    if (/(^|\/)(node_modules|src)\//.test(file)) continue
    const text = readFileSync(join(directory, file), 'utf8').replaceAll(/\/\*[\s\S]*?\*\//g, '')
    for (const [, type = '', union = ''] of text.matchAll(/\btype (\w*Models?(?:_\d+)?) =([^;]*);/g))
      for (const [, name = ''] of union.matchAll(/['"]([^'"]+)['"]/g))
        if (!names.has(name)) names.set(name, type)
  }
  return names
}

const root = process.env.WAYBILL_SDKS ?? packageFile('node_modules')
const price = createPricer({
  baseUrls: Object.fromEntries(PRESETS.map(({ name, baseUrl }) => [name, baseUrl])),
  own: {},
})
const counts = { input: 1, output: 1, cached_input: null, cache_write: null, reasoning: null }

/** Returns the facts about a model, except for its prompt cache, which only estimates need. */
function known(provider: string, model: string): Omit<Facts, 'cache'> {
  const { cache: _, ...facts } = packageTable().of(provider, model, null)
  return facts
}

/** Returns what is not known about a model; nothing for a model that has ended. */
function lacks(provider: string, model: string, type: string): string[] {
  const { retires, ...facts } = known(provider, model)
  if (retires !== undefined && Date.parse(retires) <= clock.now()) return []
  const needs =
    MEDIA.test(model) && !/^(Image|Audio|Speech)/.test(type) ? [] : NEEDS.find(([of]) => of.test(type))![1]
  return needs.filter((need) =>
    need === 'facts'
      ? Object.keys(facts).length === 0 && !ALIAS.test(model)
      : price({ provider, model }, counts, clock.now()).usd === null,
  )
}

for (const [provider, sdk] of Object.entries(SDKS)) {
  const names = namesIn(join(root, sdk))
  test(`every model that ${sdk} names has facts and a price, or a row in NOT_YET`, () => {
    assert.ok(names.size > 15, `${sdk} names only ${names.size} models: its types have changed`)
    const missing = [...names].flatMap(([model, type]) => {
      const lacking = lacks(provider, model, type)
      return lacking.length > 0 && !NOT_YET[`${provider}/${model}`]
        ? [`${model} (${type}): ${lacking.join(' and ')}`]
        : []
    })
    assert.deepEqual(missing, [], 'add lines to models.yaml and prices.yaml, or rows to NOT_YET')
    const done = [...names].flatMap(([model, type]) =>
      NOT_YET[`${provider}/${model}`] && lacks(provider, model, type).length === 0 ? [model] : [],
    )
    assert.deepEqual(done, [], 'these models have all they need: remove their rows from NOT_YET')
  })
}

test('every end of a model that the SDKs announce is in the facts', () => {
  const announced: [string, string][] = []
  for (const file of globSync('resources/**/*.d.ts', { cwd: join(root, SDKS.openai) })) {
    const text = readFileSync(join(root, SDKS.openai, file), 'utf8')
    for (const [comment] of text.matchAll(
      /\/\*\*(?:(?!\*\/)[\s\S])*shutdown date:[\s\S]*?\*\/\s*export type \w*Models?\b/g,
    ))
      for (const [, list = ''] of comment
        .replaceAll(/\n\s*\* ?/g, ' ')
        .matchAll(/- ((?:"[^"]+",? ?)+): +Announced/g))
        announced.push(
          ...[...list.matchAll(/"([^"]+)"/g)].map(([, model = '']) => ['openai', model] as [string, string]),
        )
  }
  for (const file of globSync('**/*.js', { cwd: join(root, SDKS.anthropic) })) {
    const text = readFileSync(join(root, SDKS.anthropic, file), 'utf8')
    for (const [, list = ''] of text.matchAll(/DEPRECATED_MODELS = \{([^}]*)\}/g))
      announced.push(
        ...[...list.matchAll(/'(claude-[^']+)'/g)].map(
          ([, model = '']) => ['anthropic', model] as [string, string],
        ),
      )
  }
  assert.ok(announced.some(([provider]) => provider === 'anthropic'))
  const unknown = announced.filter(([provider, model]) => !packageTable().of(provider, model, null).retires)
  assert.deepEqual(unknown, [])
})

test('a pattern in the package states no limit, no list of accepted values and no refusal', () => {
  const allowed = new Set(['provider', 'model', 'source', 'thinking', 'signatures', 'result_media', 'cache'])
  const wrong = packageFacts().lines.flatMap((line) =>
    line.model.some((name) => name.includes('*')) ? Object.keys(line).filter((key) => !allowed.has(key)) : [],
  )
  assert.deepEqual(wrong, [])
  for (const [provider, model] of [
    ['openai', 'gpt-6.3-sol'],
    ['openai', 'gpt-6-nova'],
    ['openai', 'gpt-5.7-codex'],
    ['openai', 'gpt-4.1-ultra'],
    ['openai', 'gpt-4o-next'],
    ['anthropic', 'claude-fable-5-3'],
    ['gemini', 'gemini-2.5-flash-next'],
    ['gemini', 'gemini-4-neon'],
    ['xai', 'grok-9'],
  ] as const)
    assert.deepEqual(known(provider, model), {}, model)
  assert.deepEqual(known('gemini', 'gemini-3.9-flash'), {
    thinking: ['level'],
    signatures: 'calls',
    result_media: 'yes',
  })
})
