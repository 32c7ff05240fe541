// Skills of OpenAI and Anthropic, and decisions of OpenAI and Google, with the official clients: relayed byte for byte, on
// record, and reachable only for the key that made them.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { type TestContext, test } from 'node:test'
import Anthropic, { toFile as anthropicFile } from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI, { toFile } from 'openai'
import { gatewayTo, recordOf, replyWith, startProvider } from './test-provider.ts'

const KEYS = { ann: 'ann-key-0123456789', bob: 'bob-key-0123456789' }
const digestOf = (key: string) => createHash('sha256').update(key).digest('hex')
const SEVERAL = `keys: [ ${Object.entries(KEYS)
  .map(([name, key]) => `{ name: ${name}, digest: "sha256:${digestOf(key)}" }`)
  .join(', ')} ]`

/** Starts a provider that stores skills. The answers have the form of the vendor. */
function startSkills(t: TestContext, vendor: 'openai' | 'anthropic') {
  const skills = new Map<string, object>()
  const shown = (id: string) =>
    vendor === 'openai'
      ? {
          id,
          object: 'skill',
          name: 'ski',
          description: 'x',
          created_at: 1,
          default_version: '1',
          latest_version: '1',
        }
      : {
          id,
          type: 'skill',
          display_name: 'ski',
          source: { type: 'custom' },
          latest_version_id: 'skillver_1',
        }
  const own = vendor === 'openai' ? 'openai-spreadsheets' : 'pptx'
  return startProvider(t, (response, arrived) => {
    const { method } = arrived
    const [, , id, what, version, last] = new URL(arrived.url, 'http://a').pathname
      .slice(1)
      .split('/')
      .map((each, at) => (at === 1 ? undefined : each)) as string[]
    const reply = (body: unknown, status = 200) => replyWith(body, status)(response, arrived)
    if (id === undefined && method === 'POST') {
      const made = `skill_${vendor}${skills.size}`
      skills.set(made, shown(made))
      return reply(shown(made))
    }
    if (id === undefined)
      return reply({ data: [shown(own), shown('skill_ofTheConsole'), ...skills.values()], has_more: false })
    if (last === 'content' || (version === undefined && what === 'content'))
      return response.end('PK the bytes')
    if (what === 'versions' && method === 'GET' && version === undefined)
      return reply({ data: [{ id: 'skillver_1', version: '1', skill_id: id }], has_more: false })
    if (what === 'versions') return reply({ id: 'skillver_1', version: version ?? '2', skill_id: id })
    if (method === 'DELETE') skills.delete(id)
    return reply(method === 'DELETE' ? { id, deleted: true, type: 'skill_deleted' } : shown(id))
  })
}

async function idsIn(list: AsyncIterable<{ id: string }>): Promise<string[]> {
  const ids: string[] = []
  for await (const { id } of list) ids.push(id)
  return ids
}

const SKILL = '---\nname: ski\n---\nNever ski alone. {"file_id": "file-abcdef1"}'

async function start(t: TestContext, vendor: 'openai' | 'anthropic') {
  const provider = await startSkills(t, vendor)
  const dialect = vendor === 'openai' ? '[chat, responses]' : 'messages'
  const origin = vendor === 'openai' ? `${provider.origin}/v1` : provider.origin
  const gateway = await gatewayTo(t, { one: { dialect, origin } }, `passthrough: [skills]\n${SEVERAL}`)
  const records = async () => {
    const headers = { authorization: `Bearer ${KEYS.ann}` }
    const { data } = (await gateway.get('/api/usage/request-logs?limit=100', { headers })).json
    return data.map((each: any) => [each.method, each.endpoint, each.object_id, each.cost_usd]).reverse()
  }
  return { provider, gateway, records }
}

test('a skill at OpenAI belongs to the key that made it, with its versions and its content (PASS-01, PASS-03)', async (t) => {
  const { provider, gateway, records } = await start(t, 'openai')
  const clientOf = (apiKey: string) =>
    new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey, maxRetries: 0 }).skills
  const [ann, bob] = [clientOf(KEYS.ann), clientOf(KEYS.bob)]
  const files = [await toFile(Buffer.from(SKILL), 'ski/SKILL.md')]
  const { id } = await ann.create({ files })
  assert.ok(provider.arrived[0]!.body.includes(SKILL))
  assert.deepEqual(await idsIn(ann.list()), ['openai-spreadsheets', id])
  assert.deepEqual(await idsIn(bob.list()), ['openai-spreadsheets'])
  assert.equal((await ann.retrieve(id)).id, id)
  assert.equal((await ann.update(id, { default_version: '1' })).id, id)
  assert.equal((await ann.versions.create(id, { files })).version, '2')
  assert.equal((await ann.versions.retrieve('2', { skill_id: id })).version, '2')
  assert.equal((await idsIn(ann.versions.list(id))).length, 1)
  assert.equal(await (await ann.content.retrieve(id)).text(), 'PK the bytes')
  assert.equal(await (await ann.versions.content.retrieve('2', { skill_id: id })).text(), 'PK the bytes')
  const before = provider.arrived.length
  for (const foreign of [
    () => bob.retrieve(id),
    () => bob.update(id, { default_version: '2' }),
    () => bob.versions.create(id, { files }),
    () => bob.versions.retrieve('2', { skill_id: id }),
    () => bob.versions.delete('2', { skill_id: id }),
    () => bob.content.retrieve(id),
    () => bob.delete(id),
    () => bob.retrieve('skill_ofTheConsole'),
    () => bob.delete('openai-spreadsheets'),
  ])
    await assert.rejects(foreign, { status: 404 })
  assert.equal(provider.arrived.length, before)
  assert.equal((await bob.retrieve('openai-spreadsheets')).id, 'openai-spreadsheets')
  // The deletion of a version leaves the skill to its key.
  await ann.versions.delete('2', { skill_id: id })
  assert.equal((await ann.retrieve(id)).id, id)
  await ann.delete(id)
  await assert.rejects(ann.retrieve(id), { status: 404 })
  assert.deepEqual(await records(), [
    ['POST', '/v1/skills', null, 0],
    ['GET', '/v1/skills', null, 0],
    ['GET', '/v1/skills/{id}', id, 0],
    ['POST', '/v1/skills/{id}', id, 0],
    ['POST', '/v1/skills/{id}/versions', id, 0],
    ['GET', '/v1/skills/{id}/versions/{version}', `${id}/2`, 0],
    ['GET', '/v1/skills/{id}/versions', id, 0],
    ['GET', '/v1/skills/{id}/content', id, 0],
    ['GET', '/v1/skills/{id}/versions/{version}/content', `${id}/2`, 0],
    ['DELETE', '/v1/skills/{id}/versions/{version}', `${id}/2`, 0],
    ['GET', '/v1/skills/{id}', id, 0],
    ['DELETE', '/v1/skills/{id}', id, 0],
  ])
})

test('a skill at Anthropic belongs to the key that made it, also in a message, and Anthropic’s own to every key (PASS-03, KEEP-09)', async (t) => {
  const { provider, gateway } = await start(t, 'anthropic')
  const clientOf = (apiKey: string) => new Anthropic({ baseURL: gateway.url, apiKey, maxRetries: 0 })
  const [ann, bob] = [clientOf(KEYS.ann), clientOf(KEYS.bob)]
  const files = [await anthropicFile(Buffer.from(SKILL), 'ski/SKILL.md')]
  const { id } = await ann.skills.create({ files })
  const beta = await ann.beta.skills.create({ files, betas: ['skills-2025-10-02'] })
  assert.equal(provider.arrived.at(-1)!.headers['anthropic-beta'], 'skills-2025-10-02')
  const idsOf = ({ skills }: Anthropic) => idsIn(skills.list())
  assert.deepEqual([await idsOf(ann), await idsOf(bob)], [['pptx', id, beta.id], ['pptx']])
  assert.equal((await ann.skills.retrieve(id)).id, id)
  assert.equal((await bob.skills.retrieve('pptx')).id, 'pptx')
  await ann.skills.versions.create(id, { files })
  await assert.rejects(bob.skills.retrieve(id), { status: 404 })
  await assert.rejects(bob.skills.versions.list(id), { status: 404 })
  const asked = (skill_id: string, type: 'custom' | 'anthropic' = 'custom') => ({
    ...{ model: 'one/m', max_tokens: 9, messages: [{ role: 'user' as const, content: 'hi' }] },
    container: { skills: [{ skill_id, type, version: 'latest' }] },
  })
  const before = provider.arrived.length
  await assert.rejects(bob.messages.create(asked(id) as never), { status: 404 })
  assert.equal(provider.arrived.length, before)
  for (const mine of [
    ann.messages.create(asked(id) as never),
    bob.messages.create(asked('pptx', 'anthropic') as never),
  ])
    await mine.catch(() => {}) // this provider writes no messages
  assert.equal(provider.arrived.length, before + 2)
  await ann.skills.delete(id)
  await assert.rejects(ann.skills.retrieve(id), { status: 404 })
})

test('a decision of OpenAI costs its input, and one of Google all its tokens (PASS-05)', async (t) => {
  const openai = await startProvider(
    t,
    replyWith({
      ...{ model: 'gpt-6-luna', answers: [{ type: 'predicate', name: 'same', probability: 0.9 }] },
      usage: {
        ...{ input_tokens: 10_000, output_tokens: 40, total_tokens: 10_040 },
        ...{ input_tokens_details: { cached_tokens: 8_000, cache_write_tokens: 1_000 } },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    }),
  )
  const google = await startProvider(
    t,
    replyWith({
      answers: { same: { noul: { probability: 0.9 } } },
      usage: {
        total_input_tokens: 10_000,
        total_cached_tokens: 8_000,
        total_output_tokens: 40,
        total_tokens: 10_040,
      },
    }),
  )
  const gateway = await gatewayTo(
    t,
    {
      openai: { dialect: 'openai', origin: openai.origin },
      gemini: { dialect: 'interactions', origin: google.origin },
    },
    `passthrough: [decisions]
routes: { auto: { targets: [ { model: gemini/gemini-3.5-flash } ] } }
keys: [ { name: ann, digest: "sha256:${digestOf(KEYS.ann)}", budget: { usd: 5 } } ]`,
  )
  const client = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: KEYS.ann, maxRetries: 0 })
  const question = { type: 'predicate' as const, name: 'same', instructions: 'The same charge twice.' }
  for (const model of ['openai/gpt-6-luna', 'gpt-6-luna']) {
    const made = await client.decisions
      .create({ model, input: 'I was charged twice.', questions: [question] })
      .asResponse()
    const record = await recordOf(gateway, made, KEYS.ann)
    const { input, output, cached_input } = record.tokens
    assert.deepEqual([record.endpoint, input, output, cached_input], ['/v1/decisions', 10_000, 40, 8_000])
    assert.deepEqual([record.cost_usd, record.cost_missing], [0.001, []])
    assert.equal(JSON.parse(openai.arrived.at(-1)!.body.toString()).model, 'gpt-6-luna')
  }
  const image = { type: 'input_image' as const, image_url: 'https://example.com/a.png' }
  const pictured = [{ role: 'user' as const, content: [image] }]
  await assert.rejects(
    client.decisions.create({ model: 'gpt-6-luna', input: pictured, questions: [question] }),
    {
      status: 403,
    },
  )
  assert.equal(openai.arrived.length, 2)
  const { decisions } = new GoogleGenAI({
    apiKey: KEYS.ann,
    httpOptions: { baseUrl: gateway.url, retryOptions: { attempts: 1 } },
  })
  for (const model of ['models/gemini-3.5-flash', 'models/auto', 'auto']) {
    await decisions.create({
      ...{ model, input: 'I was charged twice.' },
      questions: { same: { noul: { instructions: 'The same charge twice.' } } },
    } as never)
    const [{ id }] = (
      await gateway.get('/api/usage/request-logs?limit=1', {
        headers: { authorization: `Bearer ${KEYS.ann}` },
      })
    ).json.data
    const record = await recordOf(gateway, { headers: new Headers({ 'x-gateway-request-id': id }) }, KEYS.ann)
    const { input, output, cached_input } = record.tokens
    assert.deepEqual([input, output, cached_input], [10_000, 40, 8_000])
    const usd = (2_000 * 1.5 + 8_000 * 0.15 + 40 * 9) / 1e6
    assert.ok(Math.abs(record.cost_usd - usd) < 1e-12, `${model}: ${record.cost_usd}`)
    const { url, body } = google.arrived.at(-1)!
    assert.equal(url, '/v1/decisions')
    assert.equal(JSON.parse(body.toString()).model, 'models/gemini-3.5-flash')
  }
})
