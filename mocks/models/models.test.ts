// The mocks refuse what the models refuse: every row of the table over a real socket, and the table against facts of which
// one is missing.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createFactTable, type FactLayer, packageFacts, packageTable } from '../../src/models/facts.ts'
import { providers } from '../providers/registry.ts'
import { createMockProviders } from '../server/create.ts'
import { mockFor } from '../server/test-mock.ts'
import { createModelJudge } from './judge.ts'
import { type Row, TABLE } from './test-table.ts'

const messageOf = (body: any): string => body.error?.message ?? body.error ?? ''

test('the mocks agree with every row of the table', async (t) => {
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
        'content-type': 'application/json',
        'anthropic-version': '2023-06-01',
        'x-goog-api-key': mock.key(provider),
        ...(provider !== 'gemini' && { authorization: `Bearer ${mock.key(provider)}` }),
      },
      body: JSON.stringify(body),
    })
    const text = await response.text()
    const row = `${model} ${JSON.stringify(body).slice(0, 200)}: ${text.slice(0, 200)}`
    assert.equal(response.status, status, row)
    if (refused !== null) assert.ok(messageOf(JSON.parse(text)).includes(refused), row)
  }
})

/** Rows on which mocks with these facts disagree with the table. */
function disagreeing(layer: FactLayer): Row[] {
  const table = createFactTable([layer])
  const judge = createModelJudge([], () => table)
  return TABLE.filter(({ provider: name, endpoint: path, model, body, headers, refused }) => {
    const provider = providers.find((each) => each.name === name)!
    const endpoint = provider.endpoints.find((each) => each.name === path)!
    const verdict = judge(provider, endpoint, { model, body, headers })
    return refused === null
      ? verdict !== null
      : !(verdict && messageOf(verdict.refused.body).includes(refused))
  })
}

/** Facts that no provider's refusal shows, because only translation and routing read them. */
const NEVER_REFUSED = new Set(['result_media', 'reasoning_for'])

test('a fact that is missing is found by the table', () => {
  const facts = packageFacts()
  assert.deepEqual(disagreeing(facts), [])
  for (const [at, line] of facts.lines.entries()) {
    if (line.unverified) continue
    const { provider, model, source, like, ...said } = line
    const changed = (lines: typeof line | null) => ({
      ...facts,
      lines: facts.lines.flatMap((each, n) => (n !== at ? [each] : lines ? [lines] : [])),
    })
    for (const name of model) {
      const rest = model.filter((each) => each !== name)
      const without = changed(rest.length > 0 ? { ...line, model: rest } : null)
      assert.notDeepEqual(disagreeing(without), [], `no row needs the model ${name}`)
    }
    for (const fact of Object.keys(said).filter((each) => !NEVER_REFUSED.has(each))) {
      const without = changed({ ...line, [fact]: undefined })
      assert.notDeepEqual(disagreeing(without), [], `no row needs ${fact} of ${model}`)
    }
  }
  for (const fact of NEVER_REFUSED) assert.ok(facts.lines.some((line) => fact in line))
})

test('an unverified line refuses nothing, and is listed', () => {
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
