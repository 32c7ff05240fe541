// Configurations as saved by editors on Windows.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { parseConfig } from './load.ts'

const text = readFileSync(new URL('../../examples/waybill.yaml', import.meta.url), 'utf8')
const names = [...text.matchAll(/\$([A-Z][A-Z_]*)/g)].map(([, name]) => [name!, 'any'])
const read = (given: string) => parseConfig(given, 'waybill.yaml', { env: Object.fromEntries(names) }).config

test('CR LF line ends and a byte order mark do not change the configuration', () => {
  const plain = read(text)
  assert.ok(Object.keys(plain.routes).length > 0)
  const crlf = text.replaceAll('\n', '\r\n')
  assert.deepEqual(read(crlf), plain)
  assert.deepEqual(read(`\ufeff${crlf}`), plain)
})

test('a path with backslashes stays as written', () => {
  const { data } = read(`${text.replace(/^data:.*$/m, '')}\ndata: C:\\Users\\ann\\waybill\n`)
  assert.ok(data.includes('C:\\Users\\ann\\waybill'), data)
})
