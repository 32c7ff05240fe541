// The official Python clients of OpenAI, Anthropic, Google and Cohere at each relayed endpoint: a call, a stream (if any),
// a 429, and an abort. Needs a Python with the clients; `npm run agents -- python-clients` installs one.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { python, versionOf } from '../test/test-python.ts'
import { CLIENT_KEY, keyRecords, recordedCalls, startForClients } from './test-clients.ts'

const script = fileURLToPath(new URL('python-clients.py', import.meta.url))

/** Modules by the name of their client. */
const MODULES = { openai: 'openai', anthropic: 'anthropic', google: 'google.genai', cohere: 'cohere' }

for (const [name, module] of Object.entries(MODULES)) {
  const version = versionOf(module)
  const skip =
    version === null &&
    `no ${module} in ${python}: run npm run agents -- python-clients, or set WAYBILL_PYTHON`
  test(`${name}: its Python client calls each endpoint, reads streams, raises its own error, and can abort a call`, {
    skip,
  }, async (t) => {
    const { gateway, mock } = await startForClients(t, 'cohere')
    const { stdout } = await promisify(execFile)(
      python,
      [script, name, gateway.url, CLIENT_KEY, mock.controlUrl],
      { timeout: 300_000 },
    )
    const expected: string[] = JSON.parse(stdout)
    t.diagnostic(`${module} ${version}: ${expected.length} calls`)
    assert.deepEqual(await recordedCalls(gateway), expected)
    if (name !== 'openai') return
    const edits = (await keyRecords(gateway)).filter(
      ({ endpoint, stream, state }) => endpoint === '/v1/images/edits' && stream && state === 'completed',
    )
    assert.deepEqual(
      edits.map(({ tokens, cost_usd }) => [tokens.output, cost_usd > 0]),
      [[572, true]],
    )
  })
}
