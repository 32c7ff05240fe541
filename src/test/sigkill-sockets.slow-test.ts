// Repeatedly kills the gateway while responses run on open WebSockets. Compares the requests that the
// provider received with the record, call by call. Continues from every answer that a client had before a
// kill.
import assert from 'node:assert/strict'
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import { WebSocket } from 'ws'
import { startMockServer } from '../../mocks/test-upstream.ts'
import { keepsAnswers } from '../dialects/responses/test-continuations.ts'
import { ENVIRONMENT } from './test-cli.ts'
import { temporaryDirectory } from './test-gateway.ts'
import { IS_FULL } from './test-size.ts'

const KILLS = Number(process.env.WAYBILL_KILLS ?? (IS_FULL ? 8 : 2))
const SOCKETS = 8

/** Starts the gateway. Resolves when it listens. */
async function serve(t: TestContext, config: string): Promise<{ child: ChildProcess; url: string }> {
  const child = spawn(process.execPath, ['src/cli.ts', 'serve', '--config', config], {
    cwd: join(import.meta.dirname, '../..'),
    env: ENVIRONMENT,
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.after(() => child.kill('SIGKILL'))
  for await (const text of child.stdout!.setEncoding('utf8')) {
    const url = /listens on ([^\s"]+)/.exec(text)?.[1]
    if (url) return { child, url }
  }
  throw new Error('the gateway ended while it started')
}

/** Answers received by clients, and calls made by them; each call has its own session. */
interface Seen {
  calls: number
  answers: number
  refused: string[]
}

/**
 * Makes one call after the other on one socket until it breaks. Returns the last answer, from which to
 * continue.
 */
async function converse(
  url: string,
  lane: number,
  previous: string | null,
  seen: Seen,
): Promise<string | null> {
  const ws = new WebSocket(`${url.replace(/^http/, 'ws')}/v1/responses`)
  ws.on('error', () => {})
  const broken = once(ws, 'close').then(() => null)
  if (!(await Promise.race([once(ws, 'open'), broken]))) return previous
  for (;;) {
    const call = {
      prompt_cache_key: `call-${lane}-${++seen.calls}`,
      ...(previous && { previous_response_id: previous }),
    }
    ws.send(JSON.stringify({ type: 'response.create', model: 'auto', input: 'x', ...call }))
    for (;;) {
      const message = await Promise.race([once(ws, 'message'), broken])
      if (message === null) return previous
      const event = JSON.parse(String(message[0]))
      if (event.type === 'error') seen.refused.push(JSON.stringify(event))
      if (event.type === 'response.completed') {
        previous = event.response.id
        seen.answers++
      }
      if (['error', 'response.completed'].includes(event.type)) break
    }
  }
}

test(`after ${KILLS} kills with open sockets, every inference is on record once, and every answer can be continued (LIFE-01, RSP-06)`, {
  timeout: 600_000,
}, async (t) => {
  const directory = temporaryDirectory(t)
  const provider = await startMockServer(keepsAnswers())
  t.after(() => provider.close())
  const config = join(directory, 'waybill.yaml')
  writeFileSync(
    config,
    `server: { port: 0 }
data: .
providers: { alpha: { dialect: responses, base_url: "${provider.baseUrl}" } }
routes: { auto: { targets: [ { model: alpha/m } ] } }
`,
  )
  const seen: Seen = { calls: 0, answers: 0, refused: [] }
  let previous: (string | null)[] = Array.from({ length: SOCKETS }, () => null)
  for (let kill = 0; kill < KILLS; kill++) {
    const { child, url } = await serve(t, config)
    const talking = previous.map((before, lane) => converse(url, lane, before, seen))
    await sleep(300 + Math.random() * 700)
    // On a busy machine, nothing may have been answered yet.
    const enough = (kill + 1) * SOCKETS
    for (const end = Date.now() + 60_000; seen.answers < enough && Date.now() < end; ) await sleep(20)
    child.kill('SIGKILL')
    previous = await Promise.all(talking)
  }
  const { child } = await serve(t, config) // closes the open sockets
  child.kill('SIGTERM')
  await once(child, 'exit')

  const db = new Database(join(directory, 'waybill.db'), { readonly: true })
  const rows = db.prepare<[], string>('SELECT session_id FROM call_logs').pluck().all()
  const open = db.prepare('SELECT count(*) FROM call_logs WHERE completed_at IS NULL').pluck().get()
  db.close()
  const received = provider.ledger.map(({ json }) => String(json.prompt_cache_key))
  const recorded = new Set(rows)
  t.diagnostic(
    `${received.length} inferences, ${rows.length} records, ${seen.answers} answers with their end`,
  )
  assert.deepEqual(
    received.filter((call) => !recorded.has(call)),
    [],
    'unrecorded',
  )
  assert.equal(rows.length, recorded.size, 'on record twice')
  assert.equal(new Set(received).size, received.length, 'sent twice')
  assert.deepEqual(seen.refused, [], 'each continuation found the answer before it')
  assert.equal(open, 0)
  assert.ok(seen.answers >= KILLS * SOCKETS, `${seen.answers} answers were seen`)
})
