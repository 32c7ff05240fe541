// Tests which exchanges of a step a judge sees.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Exchange, step } from './evidence.ts'

const read = step('read')

const exchange = (n: number, path: string, status: number, location?: string) =>
  ({
    n,
    step: 'read',
    details: {},
    request: { path },
    status,
    headers: location ? { location } : {},
  }) as Exchange

const numbers = (...exchanges: Exchange[]) => read.in({ exchanges }).map(({ n }) => n)

test('after following a redirect, a judge sees the answer from its destination instead of the redirect itself', () => {
  const there = exchange(2, '/v1/models/', 200)
  assert.deepEqual(numbers(exchange(1, '/v1/models', 307, '/v1/models/'), there), [2])
  assert.deepEqual(numbers(exchange(1, '/v1/models', 301, 'http://127.0.0.1:80/v1/models/'), there), [2])
})

test('a redirect that was not followed is judged like any other answer (SUITE-02)', () => {
  assert.deepEqual(numbers(exchange(1, '/v1/chat/completions', 307, '/elsewhere')), [1])
  assert.deepEqual(numbers(exchange(1, '/a', 307, '/b'), exchange(2, '/b', 307, '/c')), [2])
})
