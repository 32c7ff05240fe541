// The parts of an address that are no secret, and the places that refuse the others.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readAddress } from '../commands/gateway-client.ts'
import { parseConfig } from '../config/load.ts'
import { plainAddress } from './plain-address.ts'

test('an address keeps its scheme, host, port and path, and nothing that may be a credential', () => {
  for (const [address, plain] of [
    ['http://localhost:11434/v1', 'http://localhost:11434/v1'],
    ['https://host.example/', 'https://host.example/'],
    ['https://u:p@host.example', 'https://host.example'],
    ['https://u:p@[::1]:80/a/b/', 'https://[::1]:80/a/b/'],
    ['https://host.example?key=p', 'https://host.example'],
    ['https://host.example/@cf/meta', 'https://host.example/@cf/meta'],
    ['user:p@host.example/v1', 'host.example/v1'],
    ['//user:p@host.example/v1', 'host.example/v1'],
    ['user%3Ap%40host.example/v1?key=p', 'host.example/v1'],
    ['postgresql://u:p@db/x?sslmode=p', 'db/x'],
    ['https://u:1/p@host.example/v1', 'host.example/v1'],
  ] as const)
    assert.equal(plainAddress(address), plain, address)
})

test('options and settings with an address refuse a credential in it, and do not repeat it', () => {
  for (const address of [
    'user:pA55@h:1',
    'http://u:pA55@h',
    'http://h/?key=pA55',
    'http://h/#pA55',
    'pA55@h',
  ])
    assert.throws(
      () => readAddress('--url', address),
      (error: Error) =>
        /^--url (must not contain|takes an address)/.test(error.message) && !/pA55/.test(error.message),
      address,
    )
  for (const name of ['endpoint', 'traces_endpoint'])
    assert.throws(
      () =>
        parseConfig(
          `providers: { p: { dialect: chat, base_url: "https://p.example/v1" } }\nroutes: {}\ntelemetry: { ${name}: "http://u:pA55@h" }`,
          'a.yaml',
          { env: {} },
        ),
      (error: Error) => /must not contain a user name/.test(error.message) && !/pA55/.test(error.message),
    )
})
