// Tests that the mocks refuse the same requests as the models: every row of the table over a real socket, and
// the table with one fact removed.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFactTable, type FactLayer, packageFacts, packageTable } from '../../src/models/facts.ts'
import { providers } from '../providers/registry.ts'
import { createMockProviders } from '../server/create.ts'
import { mockFor } from '../server/test-mock.ts'
import { createModelJudge } from './judge.ts'
import { type Row, TABLE } from './test-table.ts'

const messageOf = (body: any): string =>
  body.error?.message ?? body.error ?? body.message ?? body.detail ?? ''

const takesForm = (provider: string, endpoint: string): boolean =>
  providers
    .find(({ name }) => name === provider)!
    .endpoints.some((each) => each.name === endpoint && each.takesForm)

function formOf(fields: Row['body']): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.append(name, value)
  return form
}

test('the mocks accept or refuse each request as the table says', async (t) => {
  assert.ok(TABLE.length >= 120, `${TABLE.length} rows`)
  const models = new Set(
    TABLE.filter(({ refused, status }) => refused !== null && status === 400).map(({ model }) => model),
  )
  assert.ok(models.size >= 30, `${models.size} models refuse something`)
  const mock = await mockFor(t, { lenient: false })
  for (const { provider, endpoint, model, body, headers, refused, status } of TABLE) {
    const response = await fetch(`${mock.baseUrl(provider)}/${endpoint.replace('{model}', model)}`, {
      method: 'POST',
      headers: {
        ...(headers as Record<string, string>),
        ...(!takesForm(provider, endpoint) && { 'content-type': 'application/json' }),
        'anthropic-version': '2023-06-01',
        'x-goog-api-key': mock.key(provider),
        ...(provider !== 'gemini' && { authorization: `Bearer ${mock.key(provider)}` }),
      },
      body: takesForm(provider, endpoint) ? formOf(body) : JSON.stringify(body),
    })
    const text = await response.text()
    const row = `${model} ${JSON.stringify(body).slice(0, 200)}: ${text.slice(0, 200)}`
    assert.equal(response.status, status, row)
    if (refused !== null) assert.ok(messageOf(JSON.parse(text)).includes(refused), row)
  }
})

/** Returns a function that says whether mocks with these facts disagree with a row of the table. */
function disagreeing(layer: FactLayer): (row: Row) => boolean {
  const table = createFactTable([layer])
  const judge = createModelJudge([], () => table)
  return ({ provider: name, endpoint: path, model, body, headers, refused }) => {
    const provider = providers.find((each) => each.name === name)!
    const endpoint = provider.endpoints.find((each) => each.name === path)!
    const verdict = judge(provider, endpoint, { model, body, headers })
    return refused === null
      ? verdict !== null
      : !(verdict && messageOf(verdict.refused.body).includes(refused))
  }
}

/** Facts from the same sources that cause no refusal, because only translation and routing read them. */
const READ_BY_US = [
  ['anthropic', 'claude-sonnet-5-5', 'reasoning_for', 'account'],
  ['anthropic', 'claude-haiku-5-5', 'reasoning_for', 'account'],
  ['anthropic', 'claude-opus-5-5', 'reasoning_for', undefined],
  ['gemini', 'gemini-3-flash', 'result_media', 'yes'],
  ['gemini', 'gemini-2.5-flash', 'result_media', undefined],
] as const
const NEVER_REFUSED = new Set<string>(READ_BY_US.map(([, , fact]) => fact))
/**
 * Facts that rows can test only as a whole: no row fills a context window exactly, and only the bounds of
 * Gemini's budget are checked.
 */
const WHOLE_ONLY = new Set([...NEVER_REFUSED, 'context', 'gemini thinking'])

/** Returns a fact with one part changed: a list without one member, or a number one higher or lower. */
function* changesOf(value: unknown): Generator<unknown> {
  if (typeof value === 'number') yield* [value - 1, value + 1].filter((each) => each > 0)
  if (!Array.isArray(value)) return
  for (const [at, each] of value.entries())
    if (typeof each === 'number') for (const other of changesOf(each)) yield value.with(at, other)
    else yield value.toSpliced(at, 1)
}

test('at least one row of the table fails if a fact is missing or partly wrong', () => {
  const known = packageFacts()
  // Prompt caches cause no refusal.
  const facts = { ...known, lines: known.lines.filter(({ cache }) => cache === undefined) }
  assert.deepEqual(TABLE.filter(disagreeing(facts)), [])
  for (const [at, line] of facts.lines.entries()) {
    const { provider, model, source, like, retires, ...said } = line
    if (line.unverified || (retires && Object.keys(said).length === 0)) continue
    const own = TABLE.filter((row) => row.provider === provider).sort(
      (a, b) => Number(model.includes(b.model)) - Number(model.includes(a.model)),
    ) // the likely ones first
    const changed = (lines: typeof line | null) => ({
      ...facts,
      lines: facts.lines.flatMap((each, n) => (n !== at ? [each] : lines ? [lines] : [])),
    })
    for (const name of model) {
      const rest = model.filter((each) => each !== name)
      const without = changed(rest.length > 0 ? { ...line, model: rest } : null)
      assert.ok(own.some(disagreeing(without)), `no row needs the model ${name}`)
    }
    for (const fact of Object.keys(said).filter((each) => !NEVER_REFUSED.has(each))) {
      if (fact === 'responses_lite' && said[fact] === 'yes') continue // an unknown model is not refused either
      const without = changed({ ...line, [fact]: undefined })
      assert.ok(own.some(disagreeing(without)), `no row needs ${fact} of ${model}`)
    }
    for (const [fact, value] of Object.entries(said)) {
      if (WHOLE_ONLY.has(fact) || WHOLE_ONLY.has(`${provider} ${fact}`)) continue
      for (const other of changesOf(value)) {
        const disagrees = disagreeing(changed({ ...line, [fact]: other }))
        assert.ok(own.some(disagrees), `no row tells ${JSON.stringify(other)} from ${fact} of ${model}`)
      }
    }
  }
})

test('facts that cause no refusal match their source, and a missing fact is reported', () => {
  const facts = packageFacts()
  const differing = (layer: FactLayer) =>
    READ_BY_US.filter(
      ([provider, model, fact, value]) => createFactTable([layer]).of(provider, model, null)[fact] !== value,
    )
  assert.deepEqual(differing(facts), [])
  for (const [at, line] of facts.lines.entries())
    for (const fact of Object.keys(line).filter((each) => NEVER_REFUSED.has(each)))
      assert.notDeepEqual(
        differing({ ...facts, lines: facts.lines.with(at, { ...line, [fact]: undefined }) }),
        [],
        `no row needs ${fact} of ${line.model}`,
      )
})

test('unverified lines in the facts are listed, but cause no refusal', () => {
  const of = (unverified: boolean) =>
    packageTable()
      .statements('openai', 'gpt-5.3-codex', null)
      .filter((each) => each.unverified === unverified)
  assert.deepEqual(
    of(true).map(({ fact }) => fact),
    ['chat_tools'],
  )
  assert.equal(packageTable().of('openai', 'gpt-5.3-codex', null).chat_tools, undefined)
})

test('a lenient mock accepts requests that the model refuses, and any model name', async (t) => {
  const mock = await createMockProviders({ lenient: true })
  t.after(() => mock.close())
  for (const model of ['gpt-6-sol', 'gpt-of-nobody']) {
    const response = await fetch(`${mock.baseUrl('openai')}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${mock.key('openai')}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, temperature: 0.5, messages: [{ role: 'user', content: 'Where to?' }] }),
    })
    assert.equal(response.status, 200, await response.text())
  }
})
