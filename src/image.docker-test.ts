// The image on a real engine: who it runs as, what it survives, what it says when it cannot start.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { docker, eventually, image, noEngine, room, startGateway, startProvider } from './image-under-test.ts'

const LIVE = `
providers: { alpha: { api: openai, base_url: "http://provider:8080/v1" } }
routes: { auto: { targets: [ { model: alpha/model-a } ] } }
`

test('it answers as a user without rights, who can write nothing but the volume (LIFE-06)', {
  skip: noEngine,
}, async (t) => {
  const gateway = await startGateway(t, { place: await room(t) }, 'serve', '--replay')
  assert.equal((await gateway.ask('where to?')).status, 200)
  const script = `
    const { accessSync, readFileSync, writeFileSync, statSync } = require('node:fs')
    const write = (file) => { try { writeFileSync(file, ''); return 'written' } catch ({ code }) { return code } }
    const [, capabilities] = /CapEff:\\s*(\\w+)/.exec(readFileSync('/proc/1/status', 'utf8'))
    console.log(JSON.stringify({
      user: statSync('/proc/1').uid, capabilities, app: write('/app/x'), tmp: write('/tmp/x'),
      data: (statSync('/data').mode & 0o777).toString(8), database: (statSync('/data/waybill.db').mode & 0o777).toString(8),
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

test('records survive a restart, and a new container on the same volume (LIFE-06)', {
  skip: noEngine,
}, async (t) => {
  const place = await room(t)
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

test('docker stop lets an open stream end, within the grace time, and with exit code 0 (LIFE-02)', {
  skip: noEngine,
}, async (t) => {
  const place = await room(t)
  await startProvider(t, place)
  const gateway = await startGateway(t, { place, config: LIVE })
  const response = await gateway.ask('stay', { stream: true })
  assert.equal(response.status, 200)
  const stopped = docker('stop', '--time', '30', gateway.id)
  const text = await response.text()
  assert.equal(text.match(/"content"/g)?.length, 20)
  assert.ok(text.endsWith('data: [DONE]\n\n'))
  await stopped
  assert.equal(await docker('inspect', '--format', '{{.State.ExitCode}}', gateway.id), '0')
  await gateway.start()
  const [record] = await gateway.records()
  assert.equal(record.state, 'completed')
  assert.equal(record.tokens.output, 7)
})

test('a killed container loses nothing that the provider saw (LIFE-01)', { skip: noEngine }, async (t) => {
  const [ANSWERS, KILLS, WORKERS] = [400, 4, 8]
  const place = await room(t)
  const ledger = await startProvider(t, place)
  const gateway = await startGateway(t, { place, config: LIVE })
  const whole = new Set<string>()
  let begun = 0
  const work = async () => {
    while (whole.size < ANSWERS) {
      const nonce = `call-${begun++}`
      try {
        const response = await gateway.ask(nonce, { stream: begun % 40 === 0 })
        const text = await response.text()
        if (response.status === 200 && /"finish_reason":"stop"/.test(text)) whole.add(nonce)
      } catch {
        await sleep(50) // killed under it, or not up again yet
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
  const received = await ledger()
  const byNonce = Map.groupBy(records, ({ session_id }) => session_id)
  for (const { model, messages } of received) {
    const found = byNonce.get(messages[0].content) ?? []
    assert.deepEqual(
      found.map(({ resolved_provider, resolved_model, attempts }) => [
        resolved_provider,
        resolved_model,
        attempts,
      ]),
      [['alpha', model, 1]],
      `one record for ${messages[0].content}`,
    )
  }
  const seen = new Set(received.map(({ messages }) => messages[0].content))
  assert.equal(seen.size, received.length, 'nothing was sent twice')
  for (const { session_id, state } of records) {
    if (state === 'completed') assert.ok(seen.has(session_id), `${session_id} is in the ledger`)
    if (whole.has(session_id)) assert.match(state, /^(completed|interrupted)$/)
  }
  const interrupted = records.filter(({ state }) => state === 'interrupted').length
  t.diagnostic(`${received.length} received, ${records.length} on record, ${interrupted} interrupted`)
  assert.ok(interrupted > 0, 'the kills hit nothing')
})

test('HEALTHCHECK says healthy', { skip: noEngine }, async (t) => {
  const gateway = await startGateway(t, { place: await room(t) }, 'serve', '--replay')
  await eventually(async () =>
    assert.equal(await docker('inspect', '--format', '{{.State.Health.Status}}', gateway.id), 'healthy'),
  )
})

test('without a configuration, and without keys, it says in one line what to do', { skip: noEngine }, () => {
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

const keysOfExample = ['OPENAI', 'GROQ', 'OPENROUTER', 'DEEPSEEK'].flatMap((name) => [
  '--env',
  `${name}_API_KEY=not-a-key`,
])
