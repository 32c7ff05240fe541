// `waybill self-test`: shows that this installation keeps its second promise. Starts a gateway of its own with a mock
// provider in this process, kills it in the middle of a call, starts it again, and compares its record with the mock's ledger.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { createMockProviders } from '../../mocks/server/create.ts'
import { ownCommand } from '../shared/package-root.ts'
import { gatewayAt } from './gateway-client.ts'
import { print } from './output.ts'

/** Maximum time for each wait, ms; a busy machine needs seconds for a start. */
const WAIT_MS = 60_000

const rows = z.looseObject({ data: z.array(z.looseObject({ state: z.string(), attempts: z.number() })) })

/** Prints what was seen. Rejects if anything is wrong. */
export async function selfTest(): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'waybill-self-test-'))
  const mock = await createMockProviders({ keys: 'any' })
  let gateway: Running | undefined
  try {
    const config = join(directory, 'waybill.yaml')
    await writeFile(
      config,
      `server: { port: 0 }\ndata: .\nproviders:\n  openai: { dialect: openai, base_url: ${mock.baseUrl('openai')} }\n`,
    )
    gateway = await start(config)
    const page = await fetch(gateway.url, { signal: AbortSignal.timeout(WAIT_MS) })
    report((await page.text()).includes('<!doctype html>'), 'the gateway starts, and shows its page')

    const whole = await call(gateway.url, false)
    report((await whole.text()).includes('"chat.completion"'), 'a call is answered')
    while ((await rowsAt(gateway.url))[0]?.state !== 'completed'); // a record is closed after its answer
    mock.answer({ events: [{ said: 'The first words' }, { gate: 'never' }] })
    const stream = (await call(gateway.url, true)).body!.getReader()
    await stream.read()
    await end(gateway.child)
    await stream.read().catch(() => {})
    gateway = await start(config)

    const found = await rowsAt(gateway.url)
    const { calls } = mock.sum()
    const attempts = found.reduce((sum, row) => sum + row.attempts, 0)
    report(
      calls === 2 && attempts === calls,
      `the provider received ${calls} calls; after SIGKILL, ${attempts} are on record`,
    )
    const states = found.map(({ state }) => state).join(', ')
    report(states === 'interrupted, completed', `their states, newest first: ${states}`)
  } finally {
    if (gateway) await end(gateway.child)
    await mock.close()
    await rm(directory, { recursive: true, force: true })
  }
}

/** Returns the record's rows, newest first. */
async function rowsAt(url: string) {
  const get = gatewayAt(new URL(url), {}, undefined)
  return (await get('/api/usage/request-logs', rows, AbortSignal.timeout(WAIT_MS))).data
}

function report(isRight: boolean, text: string): void {
  print(`${isRight ? 'ok  ' : 'BAD '} ${text}`)
  if (!isRight) throw new Error('this installation is broken; see BAD above')
}

const call = (url: string, stream: boolean): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'openai/scenario-plain',
      stream,
      messages: [{ role: 'user', content: 'Where do you go?' }],
    }),
    signal: AbortSignal.timeout(WAIT_MS),
  })

interface Running {
  readonly child: ChildProcess
  readonly url: string
}

/** Starts a gateway. Rejects with its output if it ends before it listens. */
async function start(config: string): Promise<Running> {
  const [program, ...words] = ownCommand()
  const child = spawn(program, [...words, 'serve', '--config', config], {
    env: { ...process.env, WAYBILL_PORT: undefined, WAYBILL_DATA: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text) => (output += text))
  for await (const text of child.stdout.setEncoding('utf8').iterator({ destroyOnReturn: false })) {
    output += text
    const url = /listens on (http:[^\s",]+)/.exec(output)?.[1]
    if (url) return { child, url }
  }
  throw new Error(`the gateway did not start: ${output}`)
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const exit = once(child, 'exit')
  child.kill('SIGKILL')
  await exit
}
