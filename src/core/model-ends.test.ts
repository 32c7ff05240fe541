// Announced ends of models, where an operator sees them: Health, `resolve`, `waybill doctor`, `waybill routes`,
// and the start of `waybill serve`. The dates come from the package and from the list that `models sync` wrote.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer } from '../../mocks/test-upstream.ts'
import { parseConfig } from '../config/load.ts'
import { listedModels } from '../models/listed.ts'
import { clock } from '../shared/clock.ts'
import { dated } from '../shared/test-clock.ts'
import { runCli, startServer } from '../test/test-cli.ts'
import { temporaryDirectory, testGateway } from '../test/test-gateway.ts'
import { until } from '../test/test-until.ts'
import { modelEnds } from './findings.ts'

const day = (text: string) => () => Date.parse(text)
const CONFIG = `
models: { openai/o4-mini: {} }
routes:
  auto: { targets: [ { model: openai/gpt-5-2025-08-07 }, { model: alpha/gpt-5 }, { model: openai/gpt-6-sol } ] }
  other: { targets: [ { model: openai/gpt-5-2025-08-07 }, { model: openai/gpt-4o } ] }
`

test('Health and `resolve` name a model from 60 days before its end, once, and after it', async (t) => {
  for (const [now, ends, texts] of [
    ['2026-08-01', [null, null, null], []],
    [
      '2026-10-12',
      ['2026-12-11', null, null],
      [
        /^openai\/o4-mini ends on 2026-10-23, in 11 days, /,
        /^openai\/gpt-5-2025-08-07 ends on 2026-12-11, in 60 days, /,
      ],
    ],
    [
      '2026-12-10',
      ['2026-12-11', null, null],
      [
        /o4-mini ended on 2026-10-23, /,
        /in a day, according to the types of openai 7/,
        /openai\/gpt-4o ends on 2027-01-14, in 35 days, /,
      ],
    ],
    [
      '2026-12-11',
      ['2026-12-11', null, null],
      [
        /o4-mini/,
        /^openai\/gpt-5-2025-08-07 ended on 2026-12-11, according to .*; route its calls elsewhere$/,
        /gpt-4o/,
      ],
    ],
  ] as const) {
    const { get } = await testGateway(t, {
      providers: { alpha: answer(), openai: answer() },
      config: CONFIG,
      clock: dated(day(now)),
    })
    const { findings } = (await get('/api/health')).json
    const said = findings
      .map(({ verdict, text }: { verdict: string; text: string }) => [verdict, text])
      .filter(([, text]: string[]) => / end(s|ed) on /.test(text!))
    assert.deepEqual(
      said.map(([verdict]: string[]) => verdict),
      texts.map(() => 'note'),
      now,
    )
    for (const [at, text] of texts.entries()) assert.match(said[at][1], text)
    const { candidates } = (await get('/api/cloud/model/resolve?model=auto')).json
    assert.deepEqual(
      candidates.map(({ ends_on }: { ends_on: string }) => ends_on),
      ends,
      now,
    )
  }
})

test('an end holds at the provider that announced it, by name or address, and not at others of its dialect', () => {
  const { config } = parseConfig(
    `providers:
  work: { dialect: responses, base_url: "https://api.openai.com/v1" }
  azure: { dialect: chat, base_url: "https://mine.openai.azure.com/openai/v1" }
routes: { auto: { targets: [ { model: work/gpt-5 }, { model: azure/gpt-5 } ] } }
`,
    'waybill.yaml',
    { env: {} },
  )
  const found = modelEnds(config, Date.parse('2026-12-01'))
  assert.deepEqual(
    found.map(({ id, date }) => [id, date]),
    [['work/gpt-5', '2026-12-11']],
  )
})

test('the lists of Anthropic, OpenAI and OpenRouter say when models end', () => {
  const list = (entry: object) => listedModels(JSON.stringify({ data: [{ id: 'm', ...entry }] }))[0]?.facts
  assert.deepEqual(list({ retires_at: '2027-01-22T00:00:00Z', lifecycle: 'deprecated' }), {
    retires: '2027-01-22',
  })
  assert.deepEqual(list({ context_length: 9, top_provider: { max_completion_tokens: 7 } }), {
    ...{ context: 9, output: 7 },
  })
  assert.deepEqual(list({ shutdown_date: '2026-12-11' }), { retires: '2026-12-11' })
  assert.deepEqual(list({ expiration_date: '2026-12-31' }), { retires: '2026-12-31' })
  for (const entry of [
    { retires_at: null },
    { shutdown_date: 'soon' },
    { expiration_date: 5 },
    { retires_at: '2026-99-99' },
  ])
    assert.deepEqual(list(entry), {})
})

/** A configuration whose provider lists an end in ten days. */
function listed(t: TestContext): string {
  const directory = temporaryDirectory(t)
  const file = join(directory, 'waybill.yaml')
  const end = new Date(clock.now() + 10 * 86_400_000).toISOString().slice(0, 10)
  writeFileSync(
    file,
    `server: { port: 0 }\ndata: data\nproviders: { mine: { dialect: chat, base_url: "http://127.0.0.1:9" } }\nroutes: { auto: { targets: [ { model: mine/m } ] }, again: { targets: [ { model: mine/m } ] } }\n`,
  )
  writeFileSync(
    join(directory, 'waybill.models.yaml'),
    `sources: { mine: { title: the list of models of mine, date: 2026-11-01 } }\nmodels: [ { provider: mine, model: m, retires: ${end}, source: mine } ]\n`,
  )
  return file
}

const SAID =
  /mine\/m ends on \d{4}-\d\d-\d\d, in 10 days, according to the list of models of mine \(2026-11-01\)/g

test('`waybill doctor`, `waybill routes` and the start of `waybill serve` name a synced end in one line', async (t) => {
  const file = listed(t)
  const doctor = await runCli(['doctor', '-c', file])
  assert.equal(doctor.stdout.match(SAID)?.length, 1, doctor.stdout)
  const routes = await runCli(['routes', 'auto', '-c', file])
  assert.equal(routes.stdout.match(SAID)?.length, 1, routes.stdout)
  const { said } = await startServer(t, ['serve', '-c', file])
  await until('the log names the end', () => said.stdout.includes('ends on'))
  assert.equal(said.stdout.match(SAID)?.length, 1, said.stdout)
})
