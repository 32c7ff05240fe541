// `waybill models` as a program: facts with their origin, learned refusals, and lists that are requested only
// on demand.
import assert from 'node:assert/strict'
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { loadConfig } from '../config/load.ts'
import { factTableOf } from '../models/facts.ts'
import { openLearnedRefusals } from '../models/learned.ts'
import { listedModels } from '../models/listed.ts'
import { runCli } from '../test/test-cli.ts'
import { temporaryDirectory } from '../test/test-gateway.ts'

async function waybill(...args: string[]): Promise<{ out: string; error: string; code: number | null }> {
  const { code, stdout, stderr } = await runCli(args)
  return { out: stdout, error: stderr, code }
}

/** A provider's list of models, at a local address. */
async function listing(t: TestContext, body: string) {
  const asked: string[] = []
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`)
    response.end(body)
  }).listen(0, '127.0.0.1')
  await new Promise((done) => server.once('listening', done))
  t.after(() => server.close())
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked }
}

function configuration(t: TestContext, url: string): string {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'waybill.yaml')
  writeFileSync(
    file,
    `data: data
providers: { claude: { dialect: messages, base_url: "${url}" } }
models: { claude/claude-opus-5-5: { accepts: { forced_tools: yes } }, claude/claude-next: { accepts: { like: claude-opus-5 } } }
routes: { auto: { targets: [ { model: claude/claude-opus-5-5 }, { model: claude/claude-next } ] } }
`,
  )
  return file
}

const LIST = {
  data: [
    {
      id: 'claude-opus-5-5',
      max_input_tokens: 900_000,
      max_tokens: 99_000,
      capabilities: {
        thinking: {
          supported: true,
          types: { adaptive: { supported: true }, disabled: { supported: false } },
        },
        effort: {
          supported: true,
          low: { supported: true },
          high: { supported: true },
          max: { supported: false },
        },
      },
    },
    { id: 'claude-opus-5-5', max_input_tokens: 1 },
    { id: 'claude-later', max_input_tokens: 5_000_000 },
    { id: 'no\u0000id' },
    { nothing: true },
  ],
}

test('`waybill models` shows each fact with its origin: configuration, synced file, package, learned refusal', async (t) => {
  const { url, asked } = await listing(t, JSON.stringify(LIST))
  const file = configuration(t, url)
  const before = await waybill('models', '--config', file, '--json')
  assert.equal(before.code, 0, before.error)
  assert.deepEqual(asked, [], 'no provider is asked unless it is told to')
  const [opus, next] = JSON.parse(before.out).toSorted((a: any, b: any) => (a.model < b.model ? 1 : -1))
  const originOf = (found: any, fact: string) =>
    found.facts.filter((each: any) => each.fact === fact).map(({ value, origin }: any) => [value, origin])[0]
  assert.deepEqual(originOf(opus, 'forced_tools'), ['yes', 'configuration'])
  assert.deepEqual(originOf(opus, 'context'), [1_000_000, 'package'])
  assert.deepEqual(originOf(next, 'prefill'), ['no', 'package'], 'a model that no table knows, in one line')

  const synced = await waybill('models', 'sync', '--config', file)
  assert.equal(synced.code, 0, synced.error)
  assert.equal(asked.length, 1)
  assert.match(asked[0]!, /^GET \/v1\/models/)
  const { config } = loadConfig(file, { env: {} })
  const facts = factTableOf(config).of('claude', 'claude-opus-5-5', 'messages')
  assert.deepEqual(
    [facts.context, facts.output, facts.thinking, facts.efforts, facts.forced_tools, facts.sampling],
    [900_000, 99_000, ['adaptive'], ['low', 'high'], 'yes', 'none'],
  )
  assert.equal(factTableOf(config).of('claude', 'claude-later', 'messages').context, 5_000_000)
  const after = await waybill('models', 'claude/claude-opus-5-5', '--config', file)
  assert.match(
    after.out,
    /context\s+900000\s+the provider’s list, claude-opus-5-5 \(the list of models of claude, /,
  )
  assert.match(after.out, /forced_tools\s+yes\s+your configuration/)
})

test('`waybill models forget` removes the learned facts about one model or all models', async (t) => {
  const file = configuration(t, 'http://127.0.0.1:9')
  const { data } = loadConfig(file, { env: {} }).config
  mkdirSync(data)
  const learned = openLearnedRefusals(data)
  learned.add({ provider: 'claude', model: 'claude-next', parameter: 'temperature', value: null })
  learned.add({ provider: 'claude', model: 'claude-opus-5-5', parameter: 'top_p', value: '0.5' })
  const shown = await waybill('models', 'claude/claude-next', '--config', file)
  assert.match(shown.out, /refused\s+temperature\s+learned from a refusal on \d{4}-/)
  const one = await waybill('models', 'forget', 'claude/claude-next', '--config', file)
  assert.equal(one.out, 'forgot that claude/claude-next refuses temperature\n')
  const all = await waybill('models', 'forget', '--config', file)
  assert.equal(all.out, 'forgot that claude/claude-opus-5-5 refuses top_p 0.5\n')
  assert.match((await waybill('models', 'forget', '--config', file)).error, /nothing of it was learned/)
})

test('`waybill models sync` says why it skips clouds, logins and external keys, and queries the other providers', async (t) => {
  const { url, asked } = await listing(t, JSON.stringify(LIST))
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  writeFileSync(
    file,
    `providers:
  invoke: { dialect: messages, platform: bedrock, base_url: "${url}", key: $BEDROCK_KEY }
  signed: { dialect: chat, base_url: "${url}/v1", auth: aws, aws: { region: eu-west-1 } }
  gemini-google: { dialect: gemini, base_url: "${url}", auth: google }
  azure: { dialect: chat, base_url: "${url}/v1", auth: entra }
  login: { dialect: messages, base_url: "${url}", auth: caller }
  files: { dialect: chat, base_url: "${url}/v1", keys: [ { name: a, file: /run/secrets/a } ] }
  several: { dialect: messages, base_url: "${url}", keys: [ { name: a, key: $A_KEY }, { name: b, key: $B_KEY } ] }
`,
  )
  const synced = await waybill('models', 'sync', '--config', file)
  assert.equal(synced.code, 0, synced.error)
  assert.deepEqual(asked.length, 1, 'only the one with keys of its own')
  for (const line of [
    /invoke: not asked: `platform: bedrock` has no list of models in this form; name its models/,
    /signed: not asked: `auth: aws` signs calls only/,
    /gemini-google: not asked: `auth: google` signs calls only/,
    /azure: not asked: `auth: entra` signs calls only/,
    /login: not asked: it takes the caller's own credential/,
    /files: not asked: its keys come from files or commands/,
    /several: 2 models/,
  ])
    assert.match(synced.error, line)
})

test('`waybill models` refuses invalid lists and files: too long, not a list, an unknown provider, a wrong field', async (t) => {
  for (const [body, says] of [
    [JSON.stringify({ data: [{ id: 'm', text: 'x'.repeat(20 * 2 ** 20) }] }), /longer than 8388608 bytes/],
    ['<html>', /JSON/],
    ['{"data":[]}', /names no model/],
  ] as const) {
    const { url } = await listing(t, body)
    const file = configuration(t, url)
    const said = await waybill('models', 'sync', '--config', file)
    assert.notEqual(said.code, 0)
    assert.match(said.error, says)
    assert.match(said.error, /nothing was written/)
    assert.ok(!existsSync(file.replace('.yaml', '.models.yaml')))
  }
  const file = configuration(t, 'http://127.0.0.1:9')
  assert.match((await waybill('models', 'sync', 'nobody', '--config', file)).error, /no provider "nobody"/)
  assert.match((await waybill('models', 'claude', '--config', file)).error, /is not provider\/model/)
  const beside = file.replace('.yaml', '.models.yaml')
  writeFileSync(
    beside,
    'sources: { a: { title: x, date: 2026-11-25 } }\nmodels:\n  - { provider: claude, model: m, contxt: 5, source: a }\n',
  )
  const wrong = await waybill('models', '--config', file)
  assert.match(
    wrong.error,
    /waybill\.models\.yaml:3: models\.0: Unrecognized key: "contxt"; remove it, or run/,
  )
  assert.ok(readFileSync(beside, 'utf8').includes('contxt'), 'the file is left as it is')
  assert.equal(
    listedModels('{"models":[{"name":"models/gemini-x","inputTokenLimit":7}]}')[0]!.facts.context,
    7,
  )
})

test('a list that repeats the key is not written, even if JSON escapes the key', async (t) => {
  for (const id of ['sk-the-key-of-the-test', 'sk-the-key-of-the-tes\\u0074']) {
    const { url } = await listing(t, `{"data":[{"id":"${id}","context_length":5}]}`)
    const file = configuration(t, url)
    writeFileSync(file, readFileSync(file, 'utf8').replace('base_url', 'key: $KEY, base_url'))
    const { code, stderr } = await runCli(['models', 'sync', '--config', file], {
      env: { KEY: 'sk-the-key-of-the-test' },
    })
    assert.equal(code, 2)
    assert.match(stderr, /claude: its list repeats the key/)
    assert.ok(!existsSync(join(dirname(file), 'waybill.models.yaml')))
  }
})
