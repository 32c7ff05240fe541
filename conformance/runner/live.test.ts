// Tests profile `server`: the announced spending, the requests at a counting server, and requests that must
// not be sent.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { runCli } from '../../src/test/test-cli.ts'
import { SERVED_MODEL, startModelServer } from '../selftest/model-server.ts'
import { bareServer } from '../target/read.ts'
import { conform, spendingOf } from './run.ts'

const DIALECTS = ['chat', 'messages', 'responses', 'embeddings'] as const

test('a run makes exactly the announced calls, and no answer exceeds its announced limit (SUITE-01)', async () => {
  const server = await startModelServer()
  try {
    const target = bareServer(server.url, SERVED_MODEL, { dialects: DIALECTS, window: 2_000 })
    const announced = await spendingOf({ target })
    assert.equal(server.seen.calls, 0, 'announcing sends nothing')
    const { results } = await conform({ target, profile: 'server', live: true })
    assert.equal(results.conclusion, 'conformant', results.reason)
    assert.equal(server.seen.calls, announced.calls)
    assert.ok(server.seen.output > 0 && server.seen.output <= announced.output_tokens)
    assert.ok(server.seen.allowed > 0 && server.seen.allowed <= announced.output_tokens)
    assert.ok(server.seen.input <= announced.input_bytes)
    assert.equal(results.live?.reported.output_tokens, server.seen.output)
    assert.equal(results.live?.made.calls, announced.calls)
  } finally {
    await server.close()
  }
})

test('the run ends if a server reports more tokens than all limits together allow (SUITE-01)', async () => {
  const server = await startModelServer({
    said: (said) => {
      said.output = 100_000
    },
  })
  try {
    const target = bareServer(server.url, SERVED_MODEL, { dialects: ['chat'] })
    const { results } = await conform({ target, profile: 'server', live: true })
    assert.equal(results.conclusion, 'error')
    assert.match(results.reason, /reports 100000 tokens of output, and all limits together allowed \d+/)
    assert.equal(server.seen.calls, 1)
  } finally {
    await server.close()
  }
})

test('without --live, nothing is sent to a live target, and the exit code is 3', async () => {
  const server = await startModelServer()
  try {
    const { code, stdout } = await runCli([
      'conform',
      server.url,
      '--model',
      SERVED_MODEL,
      '--profile',
      'server',
    ])
    assert.match(stdout, /at most \d+ to 127\.0\.0\.1:\d+, for at most [\d,]+ tokens of output/)
    assert.match(stdout, /Nothing was sent/)
    assert.equal(code, 3)
    assert.equal(server.seen.calls, 0)
  } finally {
    await server.close()
  }
})

test('a target on another machine receives hostile bodies and concurrent calls only with --stress', async () => {
  const elsewhere = bareServer('http://192.0.2.1', SERVED_MODEL, { dialects: ['chat'] })
  const here = bareServer('http://127.0.0.1:9', SERVED_MODEL, { dialects: ['chat'] })
  const [gentle, stressed, local] = await Promise.all([
    spendingOf({ target: elsewhere }),
    spendingOf({ target: elsewhere, stress: true }),
    spendingOf({ target: here }),
  ])
  assert.deepEqual(stressed, local)
  assert.equal(stressed.calls - gentle.calls, 9, 'four hostile bodies and a call, four calls at once')
  assert.ok(gentle.input_bytes < 20_000)
})

test('every announced call to a model has an output limit', async () => {
  for (const dialect of ['chat', 'messages', 'responses'] as const) {
    const server = await startModelServer()
    const target = bareServer(server.url, SERVED_MODEL, { dialects: [dialect] })
    try {
      await conform({ target, profile: 'server', live: true })
      // The announced total counts a call without a limit as 1,000 tokens.
      assert.ok(server.seen.allowed <= (await spendingOf({ target })).output_tokens, dialect)
    } finally {
      await server.close()
    }
  }
})
