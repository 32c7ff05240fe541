// Tests target files for gateways that cannot be installed here. Each is tried against a mock gateway that
// serves its paths and reads its configuration. The images themselves were never started.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { conform } from '../runner/run.ts'
import { ownTargets, readTarget } from './read.ts'
import type { Target } from './schema.ts'

const ELSEWHERE = ['agent-router', 'agentgateway', 'bifrost', 'cli-proxy-api', 'tensorzero']

/** Returns the target with a mock gateway instead of its image; `change` edits its configuration. */
function standIn(name: string, change: (text: string) => string = (text) => text): Target {
  const target = readTarget(`${ownTargets}/${name}.yaml`)
  assert.ok('image' in target.start)
  const own = String(target.start.port)
  const told = {
    base_path: new URL(target.base_url.replace('{{port}}', '1')).pathname.replace(/\/$/, ''),
    ready: target.ready,
    models: target.models,
    host: '{{mock.host}}',
    providers: Object.fromEntries(
      Object.keys(target.providers).map((provider) => [
        provider,
        { base_url: `{{mock.${provider}.base_url}}`, key: `{{mock.${provider}.key}}` },
      ]),
    ),
  }
  const here = fileURLToPath(new URL('test-stand-in.ts', import.meta.url))
  const each = (texts: Readonly<Record<string, string>>) =>
    Object.fromEntries(
      Object.entries(texts).map(([key, text]) => [key, change(text).replaceAll(own, '{{port}}')]),
    )
  return {
    ...target,
    start: { command: ['{{node}}', '--import', '{{project}}/node_modules/tsx/dist/loader.mjs', here] },
    // The mock gateway serves chat without keys.
    dialects: {},
    capabilities: { ...target.capabilities, gateway_keys: undefined },
    files: each(target.files),
    env: { ...each(target.env), STAND_IN: JSON.stringify(told).replace(/^\{/, '{"port":{{port}},') },
  }
}

const ONLY = ['PURE-01', 'ROUTE-01', 'ROUTE-02', 'FLOW-01', 'FLOW-06', 'DIAL-01']

describe('target files for gateways that cannot be installed here work with a mock gateway', {
  concurrency: 2,
}, () => {
  for (const name of ELSEWHERE)
    test(`a mock gateway with the configuration of ${name} reaches the mock with every id and path in its target file`, async () => {
      const { results } = await conform({ target: standIn(name), profile: 'core', quick: true, only: ONLY })
      const verdicts = new Map(results.verdicts.map(({ id, outcome }) => [id, outcome]))
      assert.equal(verdicts.get('ROUTE-02'), 'pass', results.reason)
      assert.equal(verdicts.get('FLOW-01'), 'pass')
      assert.deepEqual(
        results.verdicts.filter(({ outcome }) => ['fail', 'harness-error'].includes(outcome)),
        [],
      )
    })

  test("a target file without its provider's address or key is detected", async () => {
    const without = (text: string) => text.replaceAll('{{mock.openai.key}}', 'sk-of-nobody')
    await assert.rejects(
      conform({ target: standIn('bifrost', without), profile: 'core', quick: true, only: ONLY }),
      /lacks the key of openai/,
    )
  })
})
