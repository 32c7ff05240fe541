// Tests the guard alone with a table of request headers and its decisions.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { test } from 'node:test'
import { createHostGuard } from './guards.ts'

const isRefused = (bind: string, headers: { host?: string; origin?: string }): boolean => {
  try {
    createHostGuard(bind, ['waybill.lan'], [])({ headers } as IncomingMessage)
    return false
  } catch (error) {
    assert.equal((error as { code: string }).code, 'host_not_allowed')
    return true
  }
}

test('a gateway on one address serves only that address, localhost and the allowed names', () => {
  for (const host of ['127.0.0.1:4949', 'localhost:4949', '[::1]:4949', 'WAYBILL.lan', 'waybill.lan:80'])
    assert.equal(isRefused('127.0.0.1', { host }), false, host)
  for (const host of ['', 'evil.example', '10.0.0.7:4949', '127.0.0.1.evil.example', '[fe80::1]:4949'])
    assert.equal(isRefused('127.0.0.1', { host }), true, host)
})

test('a gateway on all addresses accepts any address as Host, but no foreign names, and no address as Origin', () => {
  for (const everywhere of ['0.0.0.0', '::']) {
    for (const host of ['172.17.0.1:32768', '[fe80::1]:4949', 'localhost'])
      assert.equal(isRefused(everywhere, { host }), false, host)
    for (const host of ['evil.example', '172.17.0.1.evil.example', '172.17.0.1evil', '1.2.3'])
      assert.equal(isRefused(everywhere, { host }), true, host)
    assert.equal(isRefused(everywhere, { host: '172.17.0.1', origin: 'http://6.6.6.6' }), true)
    assert.equal(isRefused(everywhere, { host: '172.17.0.1', origin: 'http://localhost:3000' }), true)
    assert.equal(isRefused(everywhere, { host: '172.17.0.1:80', origin: 'http://172.17.0.1:80' }), false)
  }
})
