import assert from 'node:assert/strict'
import { test } from 'node:test'
import { GatewayError } from '../../core/errors.ts'
import { errorBody } from './errors.ts'

test('a 529, which Google does not use, becomes Google’s overload error, so that clients retry', () => {
  for (const [status, code, word] of [
    [529, 503, 'UNAVAILABLE'],
    [503, 503, 'UNAVAILABLE'],
    [502, 502, 'UNAVAILABLE'],
    [429, 429, 'RESOURCE_EXHAUSTED'],
  ] as const) {
    const { error } = JSON.parse(errorBody(new GatewayError('upstream_error', 'busy', { status }), 'r'))
    assert.deepEqual([error.code, error.status], [code, word])
  }
})
