// LINE-05 as a table: with any kind of server in the gateway's place, both variants show what they know.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { testGateway } from '../test/test-gateway.ts'
import { judgeIdle, sample } from '../test/test-size.ts'
import {
  answering,
  assertSound,
  bare,
  commands,
  front,
  kept,
  patiently,
  recorded,
  run,
  session,
  surroundings,
  type Treatment,
  VARIANTS,
  WENT,
} from './test-statusline.ts'

const HTML = '<!doctype html><title>Login</title>'
const BROKEN: Readonly<Record<string, Treatment>> = {
  'is dead': null,
  'never answers': () => {},
  'answers after a second': (socket) =>
    void setTimeout(() => answering(200, 'application/json', '{}')(socket), 1_000),
  'answers 401': answering(401, 'application/json', '{"error":{"message":"sk-leak"}}'),
  'answers 404': answering(404, 'application/json', '{}'),
  'answers 500': answering(500, 'text/html', HTML),
  'answers a redirect': answering(302, 'text/plain', 'elsewhere'),
  'answers HTML': answering(200, 'text/html', HTML),
  'answers other JSON': answering(200, 'application/json', '{"data":[{"id":1}]}'),
  'answers broken JSON': answering(200, 'application/json', '{"data":['),
  'answers garbage': (socket) => socket.end('\u0000\u001b[2Jgarbage'),
  'answers nothing': (socket) => socket.end(),
  'cuts its answer': (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-le'),
  'answers without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n\r\n')
    const timer = setInterval(() => socket.write('x'.repeat(65_536)), 1)
    socket.on('close', () => clearInterval(timer))
  },
}

test('with a broken gateway, the status line shows the client’s label, or the last known route with its age (LINE-05, LINE-08)', async (t) => {
  const gateway = await testGateway(t)
  const variants = await commands(t)
  await recorded(gateway, 'auto', { 'x-session-id': 'main' })
  for (const [name, treatment] of sample(Object.entries(BROKEN), 3))
    for (const variant of VARIANTS)
      await t.test(`${variant} variant: the gateway ${name}`, async (t) => {
        const { url, become } = await front(t, gateway.url)
        const env = surroundings(t, { WAYBILL_URL: url, WAYBILL_KEY: 'wb-secret-0123456789', COLUMNS: '80' })
        const draw = async (session_id: string) => {
          const ran = await run(variants[variant], env, JSON.stringify(session(session_id)))
          assertSound(ran)
          assert.doesNotMatch(ran.stdout + ran.stderr, /secret|leak/)
          judgeIdle(t, 'ms', ran.took, 1_000)
          return { ...ran, line: bare(ran.stdout).trimEnd() }
        }
        const well = await patiently(
          () => draw('main'),
          ({ line }) => WENT.test(line),
        )
        assert.match(well.line, WENT)
        await kept(env)
        become(treatment)
        const label = variant === 'sh' ? /^Auto$/ : /^Auto · the gateway .+$/
        const stranger = await patiently(
          () => draw('stranger'),
          ({ line }) => label.test(line),
        )
        assert.match(stranger.line, label)
        assert.match(stranger.stderr, /^waybill statusline: the gateway /m)
        const last = /^auto → alpha\/model-a · priority · .+ m?s · no (answer|gateway), \d+ s ago$/
        const { line, stdout } = await patiently(
          () => draw('main'),
          (ran) => last.test(ran.line),
        )
        assert.match(line, last)
        assert.ok(!stdout.includes('\u001b[1;'), 'dimmed')
      })
  assert.equal(gateway.received(), 1, 'LINE-04: no inference beside the first')
})
