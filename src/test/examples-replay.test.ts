// Every target of the shipped examples is answered by its own model in replay, whole and streamed, with and without
// tools, in each dialect; so the costs on record are those of the models that the example names.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { interceptProviders } from '../../mocks/server/intercept.ts'
import { type Config, parseConfig } from '../config/load.ts'
import { createGateway, type Gateway } from '../gateway/create-gateway.ts'
import { isNamed } from '../models/facts.ts'
import { packageFile } from '../shared/package-root.ts'
import { until } from './test-until.ts'

const TOOL = { name: 'get_weather', description: 'weather', parameters: { type: 'object', properties: {} } }
const CALLS: Readonly<
  Record<string, (model: string, stream: boolean, tools: boolean) => readonly [string, object]>
> = {
  chat: (model, stream, tools) => [
    '/v1/chat/completions',
    {
      ...{ model, stream, messages: [{ role: 'user', content: 'Where to?' }] },
      ...(tools && { tools: [{ type: 'function', function: TOOL }] }),
    },
  ],
  responses: (model, stream, tools) => [
    '/v1/responses',
    { model, stream, input: 'Where to?', ...(tools && { tools: [{ type: 'function', ...TOOL }] }) },
  ],
  messages: (model, stream, tools) => [
    '/v1/messages',
    {
      ...{ model, stream, max_tokens: 500, messages: [{ role: 'user', content: 'Where to?' }] },
      ...(tools && { tools: [{ name: TOOL.name, input_schema: TOOL.parameters }] }),
    },
  ],
}

for (const example of ['waybill.yaml', 'claude-code.yaml'])
  suite(`examples/${example} in replay`, () => {
    let config: Config
    let gateway: Gateway
    const data = mkdtempSync(join(tmpdir(), 'waybill-'))
    let interception: { dispose(): void }

    before(async () => {
      const text = readFileSync(packageFile(`examples/${example}`), 'utf8')
      const env = {
        WAYBILL_PORT: '0',
        WAYBILL_DATA: data,
      }
      const loaded = parseConfig(text, example, { env, replay: true })
      config = loaded.config
      interception = interceptProviders({ pace: 'none' })
      gateway = await createGateway({ ...loaded, replay: true })
    })

    after(async () => {
      await gateway.close(100)
      interception.dispose()
      rmSync(data, { recursive: true })
    })

    async function call(dialect: string, model: string, stream: boolean, tools: boolean) {
      const [path, body] = CALLS[dialect]!(model, stream, tools)
      const headers = { 'content-type': 'application/json', 'anthropic-version': '2023-06-01' }
      const response = await fetch(gateway.url + path, {
        method: 'POST',
        headers,
        body: JSON.stringify(body),
      })
      const text = await response.text()
      assert.equal(response.status, 200, text.slice(0, 300))
      const id = response.headers.get('x-gateway-request-id')
      const record: any = await until('the record is closed', async () => {
        const found: any = await (await fetch(`${gateway.url}/api/usage/request-logs/${id}`)).json()
        return found.completed_at && found
      })
      const names = [...text.matchAll(/"model":\s*"([^"]+)"/g)].map(([, name]) => name!)
      return { names: [...new Set(names)], record }
    }

    test('every target is answered by its own model, and its cost is known', async () => {
      const targets = new Set(
        Object.values(config.routes).flatMap((each) => each.targets.map(({ model }) => model)),
      )
      for (const target of targets) {
        const [provider = '', ...name] = target.split('/')
        for (const dialect of Object.keys(CALLS).filter((each) =>
          config.providers[provider]!.dialect.includes(each as never),
        ))
          for (const stream of [false, true])
            for (const tools of [false, true]) {
              const { names, record } = await call(dialect, target, stream, tools)
              const what = `${target}, ${dialect}${stream ? ', streamed' : ''}${tools ? ', with tools' : ''}`
              assert.ok(names.length > 0, what)
              for (const each of names)
                assert.ok(isNamed(new Set([name.join('/')]), each), `${what}: ${each}`)
              assert.ok(record.cost_usd > 0, what)
              assert.deepEqual(record.cost_missing, [], what)
            }
      }
    })

    if (example === 'waybill.yaml')
      test('a call to `auto/cheap` costs less than one to `auto`', async () => {
        for (const stream of [false, true])
          for (const tools of [false, true]) {
            const [auto, cheap] = [
              await call('chat', 'auto', stream, tools),
              await call('chat', 'auto/cheap', stream, tools),
            ]
            assert.ok(
              cheap.record.cost_usd < auto.record.cost_usd,
              `${tools}: ${cheap.record.cost_usd}, ${auto.record.cost_usd}`,
            )
            const { reported_usd: reported, priced_usd: priced } = cheap.record
            if (reported != null) assert.ok(Math.abs(reported - priced) < 1e-9, `${reported}, ${priced}`)
          }
      })
  })
