// The reference of the configuration says something about every setting.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { JsonSchema } from '../src/config/json-schema.ts'
import { configJsonSchema } from '../src/config/schema.ts'
import { configurationPage } from './configuration.ts'

test('the page has every setting of the schema, with type, default and meaning', () => {
  const page = configurationPage(configJsonSchema())
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
    () => configurationPage({ type: 'object', properties: { a: { type: 'string' } } }),
    /^Error: a has no description; describe it in the schema$/,
  )
})

test('the page names every environment variable that the configuration reads', () => {
  const page = configurationPage(configJsonSchema())
  const source = readFileSync(new URL('../src/config.ts', import.meta.url), 'utf8')
  const variables = source.match(/'WAYBILL_\w+'/g)!
  assert.ok(variables.length >= 5)
  for (const variable of variables) assert.ok(page.includes(variable.slice(1, -1)), variable)
})
