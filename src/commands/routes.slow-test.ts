// `waybill routes` as a child process over a real socket, with a running gateway and without one.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { answer, fail } from '../../mocks/test-upstream.ts'
import { runCli } from '../test/test-cli.ts'
import { ask, TWO_TARGETS, temporaryDirectory, testGateway } from '../test/test-gateway.ts'

/** Writes a file with the two providers, these routes and the port of a gateway. */
function fileFor(t: TestContext, port: string | number, routes: string): string {
  const file = join(temporaryDirectory(t), 'waybill.yaml')
  const provider = '{ dialect: openai, base_url: "http://127.0.0.1:9/v1" }'
  writeFileSync(
    file,
    `server: { port: ${port} }\nproviders: { alpha: ${provider}, beta: ${provider} }\n${routes}\n`,
  )
  return file
}

const routes = (args: readonly string[], env: Record<string, string> = {}) =>
  runCli(['routes', ...args], { env })

test('`waybill routes` queries the running gateway, so it can show that a target is cooling down', async (t) => {
  const { url, chat } = await testGateway(t, {
    providers: { alpha: fail(500), beta: answer() },
    config: TWO_TARGETS,
  })
  await chat(ask('auto'))
  const file = fileFor(t, new URL(url).port, TWO_TARGETS)
  const { code, stdout, stderr } = await routes(['-c', file])
  assert.equal(code, 0, stderr)
  assert.equal(stderr, `waybill: as the gateway at ${url} would route a call now\n`)
  assert.match(stdout, /alpha\/model-a +balanced +0 % +failed; passed over until /)
  assert.match(stdout, /beta\/model-b +cheap +100 %\n/)
  const json = await routes(['auto', '-c', file, '--json'])
  assert.equal(JSON.parse(json.stdout)[0].candidates[0].state, 'cooling')
  const elsewhere = await routes(['auto', '-c', fileFor(t, 9, TWO_TARGETS), '--url', url])
  assert.match(elsewhere.stdout, /beta\/model-b +cheap +100 %\n/)
})

test('if no gateway runs, `waybill routes` reads the configuration file, and reports that it does', async (t) => {
  const { code, stdout, stderr } = await routes(['-c', fileFor(t, 9, TWO_TARGETS)])
  assert.equal(code, 0, stderr)
  assert.match(
    stderr,
    /^waybill: no gateway answers at http:\/\/127\.0\.0\.1:9\. This shows .*waybill\.yaml with every target ready\n$/,
  )
  assert.match(stdout, /alpha\/model-a +balanced +100 %\n/)
  const named = await routes(['-c', fileFor(t, 9, TWO_TARGETS), '--url', 'http://127.0.0.1:9'])
  assert.equal(named.code, 1)
  assert.match(named.stderr, /^waybill: no gateway answers at http:\/\/127\.0\.0\.1:9; [^\n]+\n$/)
})

test('`waybill routes` sends a key to a gateway that requires one, and reports a missing key', async (t) => {
  const key = 'wb_the-key-of-the-test'
  const digest = createHash('sha256').update(key).digest('hex')
  const { url } = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: `keys: [ { name: me, digest: "sha256:${digest}" } ]\n${TWO_TARGETS}`,
  })
  const file = fileFor(t, new URL(url).port, TWO_TARGETS)
  const with_ = await routes(['-c', file], { WAYBILL_KEY: key })
  assert.equal(with_.stderr, `waybill: as the gateway at ${url} would route a call now\n`)
  const without = await routes(['-c', file])
  assert.equal(without.code, 0)
  assert.match(
    without.stderr,
    /^waybill: the gateway at http:\S+ requires a key; set WAYBILL_KEY, [^\n]+\. This shows .*waybill\.yaml with every target ready\n$/,
  )
})

test('routes that exist only in the file are marked as new', async (t) => {
  const { url } = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: TWO_TARGETS,
  })
  const more = `${TWO_TARGETS.slice(0, -1)}, more: { targets: [ { model: beta/model-b } ] } }`
  const { code, stdout, stderr } = await routes(['-c', fileFor(t, new URL(url).port, more)])
  assert.equal(code, 0)
  assert.match(stderr, /: the running gateway has no route "more" yet; this shows the one in the file\n$/)
  assert.match(stdout, /more {2}\(priority\)\n {2}beta\/model-b/)
})

test('targets that take turns have equal shares, and the gateway names the next target', async (t) => {
  const turns =
    'routes: { auto: { strategy: round-robin, targets: [ { model: alpha/model-a }, { model: beta/model-b } ] } }'
  const { url, chat } = await testGateway(t, {
    providers: { alpha: answer(), beta: answer() },
    config: turns,
  })
  const alone = await routes(['-c', fileFor(t, 9, turns)])
  assert.match(alone.stdout, /alpha\/model-a +- +50 %\n {2}beta\/model-b +- +50 %\n$/)
  await chat(ask('auto'))
  const beside = await routes(['-c', fileFor(t, new URL(url).port, turns)])
  assert.match(beside.stdout, /alpha\/model-a +- +50 %\n {2}beta\/model-b +- +50 % +next\n$/)
})
