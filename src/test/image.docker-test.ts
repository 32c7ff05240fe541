// The image on a real engine: its user, the events that it survives, and its messages when it cannot start.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  docker,
  eventually,
  image,
  networkAndVolume,
  noEngine,
  startGateway,
  startMock,
} from './test-image.ts'

const LIVE = `
providers: { openai: { dialect: openai, base_url: "http://mock:4950/openai/v1", key: $OPENAI_API_KEY } }
routes: { auto: { targets: [ { model: openai/gpt-5-mini } ] } }
`

test('the image serves requests as an unprivileged user that can write only to the volume (LIFE-06)', {
  skip: noEngine,
}, async (t) => {
  const gateway = await startGateway(t, { place: await networkAndVolume(t) }, 'serve', '--replay')
  assert.equal((await gateway.ask('where to?')).status, 200)
  const script = `
    const { accessSync, readFileSync, writeFileSync, statSync } = require('node:fs')
    const write = (file) => { try { writeFileSync(file, ''); return 'written' } catch ({ code }) { return code } }
    const [, capabilities] = /CapEff:\\s*(\\w+)/.exec(readFileSync('/proc/1/status', 'utf8'))
    console.log(JSON.stringify({
      user: statSync('/proc/1').uid, capabilities, app: write('/app/x'), tmp: write('/tmp/x'),
      data: (statSync('/data').mode & 0o777).toString(8), database: (statSync('/data/replay/waybill.db').mode & 0o777).toString(8),
    }))`
  assert.deepEqual(JSON.parse(await docker('exec', gateway.id, 'node', '-e', script)), {
    user: 1000,
    capabilities: '0000000000000000',
    app: 'EROFS',
    tmp: 'EROFS',
    data: '700',
    database: '600',
  })
})

test('records survive a restart and a new container on the same volume (LIFE-06)', {
  skip: noEngine,
}, async (t) => {
  const place = await networkAndVolume(t)
  const gateway = await startGateway(t, { place }, 'serve', '--replay')
  await (await gateway.ask('first')).text()
  await docker('restart', gateway.id)
  await gateway.ready()
  await (await gateway.ask('second')).text()
  await docker('rm', '--force', gateway.id)
  const another = await startGateway(t, { place }, 'serve', '--replay')
  const sessions = (await another.records()).map(({ session_id, resolved_provider }) => [
    session_id,
    resolved_provider,
  ])
  assert.deepEqual(sessions, [
    ['second', 'openai'],
    ['first', 'openai'],
  ])
})

test('after `docker stop`, an open stream can finish within the grace time, and the exit code is 0 (LIFE-02)', {
  skip: noEngine,
}, async (t) => {
  const place = await networkAndVolume(t)
  const mock = await startMock(place)
  const gateway = await startGateway(t, { place, config: LIVE })
  const nonce = nonceOf(1)
  await mock.script(nonce, [
    { events: [{ data: said('one') }, { gate: 'go' }, { data: said('two', 'stop') }, { data: '[DONE]' }] },
  ])
  const response = await gateway.ask(nonce, { stream: true })
  assert.equal(response.status, 200)
  const stopped = docker('stop', '--time', '30', gateway.id)
  await eventually(() => assert.rejects(gateway.records(), 'no new connection is taken'))
  await mock.release('go')
  assert.match(await response.text(), /"one".*"two".*data: \[DONE\]\n\n$/s)
  await stopped
  assert.equal(await docker('inspect', '--format', '{{.State.ExitCode}}', gateway.id), '0')
  await gateway.start()
  const [record] = await gateway.records()
  assert.equal(record.state, 'completed')
  assert.equal(record.session_id, nonce)
})

test('a killed container loses no record of a request that the provider received (LIFE-01)', {
  skip: noEngine,
}, async (t) => {
  const [ANSWERS, KILLS, WORKERS] = [120, 4, 24]
  const place = await networkAndVolume(t)
  const mock = await startMock(place)
  const gateway = await startGateway(t, { place, config: LIVE })
  const whole = new Set<string>()
  let begun = 0
  const work = async () => {
    while (whole.size < ANSWERS) {
      const nonce = nonceOf(begun++)
      try {
        const response = await gateway.ask(nonce, { stream: begun % 3 === 0 })
        const text = await response.text()
        if (response.status === 200 && /"finish_reason": ?"stop"/.test(text)) whole.add(nonce)
      } catch {
        await sleep(50) // the gateway was killed, or has not restarted yet
      }
    }
  }
  const kill = async () => {
    for (let kills = 1; kills <= KILLS; kills++) {
      while (whole.size < (ANSWERS / (KILLS + 1)) * kills) await sleep(1)
      await docker('kill', gateway.id)
      await gateway.start()
    }
  }
  await Promise.all([kill(), ...Array.from({ length: WORKERS }, work)])

  const records = await eventually(async () => {
    const all = await gateway.records()
    assert.ok(all.every(({ completed_at }) => completed_at !== null))
    return all
  })
  const received = (await mock.ledger()).entries.filter(({ kind }) => kind === 'inference')
  const bySession = Map.groupBy(records, ({ session_id }) => session_id)
  for (const { nonce, provider, model } of received) {
    const found = bySession.get(nonce) ?? []
    assert.deepEqual(
      found.map(({ resolved_provider, resolved_model, attempts }) => [
        resolved_provider,
        resolved_model,
        attempts,
      ]),
      [[provider, model, 1]],
      `one record for ${nonce}`,
    )
  }
  const seen = new Set(received.map(({ nonce }) => nonce))
  assert.equal(seen.size, received.length, 'nothing was sent twice')
  for (const { session_id, state } of records) {
    if (state === 'completed') assert.ok(seen.has(session_id), `${session_id} is in the ledger`)
    if (whole.has(session_id)) assert.match(state, /^(completed|interrupted)$/)
  }
  const interrupted = records.filter(({ state }) => state === 'interrupted').length
  t.diagnostic(`${received.length} received, ${records.length} on record, ${interrupted} interrupted`)
  assert.ok(interrupted > 0, 'the kills hit nothing')
})

test('the image’s HEALTHCHECK reports a healthy gateway', { skip: noEngine }, async (t) => {
  const gateway = await startGateway(t, { place: await networkAndVolume(t) }, 'serve', '--replay')
  await eventually(async () =>
    assert.equal(await docker('inspect', '--format', '{{.State.Health.Status}}', gateway.id), 'healthy'),
  )
})

test('without a configuration or without keys, the image prints a one-line error with the remedy', {
  skip: noEngine,
}, () => {
  const run = (...args: string[]) => spawnSync('docker', ['run', '--rm', ...args], { encoding: 'utf8' })
  const bare = run(image)
  assert.equal(bare.status, 2)
  assert.match(
    bare.stderr,
    /^waybill: \/data\/waybill\.yaml: no such file; [^\n]*`waybill serve --replay`[^\n]*\n$/,
  )
  const keyless = run('--env', 'WAYBILL_CONFIG=/app/examples/waybill.yaml', ...keysOfExample, image)
  assert.equal(keyless.status, 1)
  assert.match(keyless.stderr, /^waybill: refusing to listen on 0\.0\.0\.0 without keys: [^\n]+\n$/)
})

const nonceOf = (n: number): string => n.toString(16).padStart(16, '0')

/** One event of a stream, in OpenAI's format. */
const said = (content: string, finish_reason: string | null = null) => ({
  id: 'chatcmpl-1',
  object: 'chat.completion.chunk',
  created: 0,
  model: 'gpt-5-mini',
  choices: [{ index: 0, delta: { content }, finish_reason }],
})

const keysOfExample = ['OPENAI', 'GROQ', 'OPENROUTER', 'DEEPSEEK'].flatMap((name) => [
  '--env',
  `${name}_API_KEY=not-a-key`,
])
