// Tests that the configuration reference describes every setting.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { rootCertificates } from 'node:tls'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { loadConfig } from '../../src/config/load.ts'
import { configJsonSchema } from '../../src/config/schema.ts'
import { temporaryDirectory } from '../../src/test/test-gateway.ts'
import type { JsonSchema } from '../../src/yaml/wording.ts'
import { configurationPage } from './reference.ts'

const file = new URL('../../examples/every-setting.yaml', import.meta.url)
const example = readFileSync(file, 'utf8')

test('the configuration page lists every setting of the schema, with type, default and meaning', () => {
  const page = configurationPage(configJsonSchema(), example)
  const names: string[] = []
  const walk = (schema: JsonSchema): void => {
    for (const [name, below] of Object.entries(schema.properties ?? {})) {
      names.push(name)
      walk(below)
    }
    if (schema.items) walk(schema.items)
    if (typeof schema.additionalProperties === 'object') walk(schema.additionalProperties)
  }
  walk(configJsonSchema())
  assert.ok(names.length > 60, String(names.length))
  for (const name of names) assert.match(page, new RegExp(`(\`|## )([\\w.<>[\\]]+\\.)?${name}(\`|\n)`), name)
  assert.match(page, /\| `server\.port` \| whole number, 0 to 65535 \| `4949` \|/)
  assert.match(page, /\| `resilience\.cooldown` \| duration \| `30s` \|/)
  assert.match(page, /\| `routes\.<name>\.strategy` \| `priority`, `weighted`, .* \| `priority` \|/)
  assert.match(page, /\| `providers\.<name>\.base_url` \| address \| required \|/)
  assert.match(page, /\| `keys\[\]\.digest` \| text \| required \|/)
})

test('a setting without a description is refused', () => {
  assert.throws(
    () => configurationPage({ type: 'object', properties: { a: { type: 'string' } } }, ''),
    /^Error: a has no description; describe it in the schema$/,
  )
})

test('the page names every environment variable that the configuration reads', () => {
  const page = configurationPage(configJsonSchema(), example)
  const source = readFileSync(new URL('../../src/config/load.ts', import.meta.url), 'utf8')
  const variables = source.match(/'WAYBILL_\w+'/g)!
  assert.ok(variables.length >= 5)
  for (const variable of variables) assert.ok(page.includes(variable.slice(1, -1)), variable)
})

test('the example has every setting, and the gateway accepts the example', (t) => {
  const env = Object.fromEntries(example.match(/(?<=\$)[A-Z_\d]+/g)!.map((name) => [name, 'any']))
  // The example names certificates, but there are no such files.
  const ca = join(temporaryDirectory(t), 'company.pem')
  writeFileSync(ca, rootCertificates[0]!)
  const copy = join(dirname(ca), 'waybill.yaml')
  const prices = fileURLToPath(new URL('prices.yaml', file))
  writeFileSync(
    copy,
    example.replace('prices: prices.yaml', `prices: ${prices}`).replaceAll('/etc/ssl/company.pem', ca),
  )
  const { config } = loadConfig(copy, {
    env: { ...env, OTEL_HEADERS: 'a=b', WAYBILL_FLEET_URL: 'postgresql://a:b@c/d' },
  })
  assert.equal(config.server.port, 8080)
  const below = (schema: JsonSchema, value: unknown, path: string): void => {
    const values = Array.isArray(value) ? value : [value]
    for (const form of [schema, ...(schema.anyOf ?? [])]) {
      if (form.items) below(form.items, values, path)
      if (typeof form.additionalProperties === 'object')
        below(
          form.additionalProperties,
          values.flatMap((each) => Object.values(each)),
          path,
        )
      for (const [name, part] of Object.entries(form.properties ?? {})) {
        const found = values.map((each) => each[name]).filter((each) => each !== undefined)
        assert.ok(found.length > 0, `${path}.${name} is not in the example`)
        below(part, found.flat(), `${path}.${name}`)
      }
    }
  }
  below(configJsonSchema(), parse(example), '')
})

test('the page marks the settings that need a restart', () => {
  const page = configurationPage(configJsonSchema(), example)
  assert.match(page, /`server\.port`.*\*Restart\.\* \|$/m)
  assert.match(page, /`fleet\.spool\.age`.*\*Restart\.\* \|$/m)
  assert.doesNotMatch(page, /`server\.max_calls`.*Restart/)
})
