// `npm run bench -- translated`: measures the cost of a translated call (a Messages call at a chat provider),
// in comparison with the same call in the provider's own dialect and with a bare proxy. Uses whole answers,
// and streams of 200 events at full speed, in turns in one run. Prints a table.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startBareProxy, startBenchWaybill, startUpstream } from './targets.ts'
import { BODY, hasWrk, type Round, wrk } from './wrk.ts'

const ROUNDS = 5
const SECONDS = 4
/** Returns the same request with changes, such as a stream or another model. */
const said = (more: object): string => JSON.stringify({ ...JSON.parse(BODY), ...more })
const STREAM = { messages: [{ role: 'user', content: 'stream 200 events 0 ms apart' }], stream: true }
const CLAUDE = { model: 'claude/bench-model' }

if (!hasWrk()) {
  console.error('bench: wrk is missing; install it, for example with `apt-get install wrk`')
  process.exit(2)
}
const directory = mkdtempSync(join(tmpdir(), 'waybill-bench-'))
const upstream = await startUpstream()
const bare = await startBareProxy(upstream)
const waybill = await startBenchWaybill(upstream, directory)
try {
  const rows = [
    { name: 'chat at chat', target: waybill, path: '/v1/chat/completions', more: {} },
    { name: 'messages at chat, translated', target: waybill, path: '/v1/messages', more: {} },
    { name: 'messages at messages', target: waybill, path: '/v1/messages', more: CLAUDE },
    { name: 'messages through the bare proxy', target: bare, path: '/v1/messages', more: CLAUDE },
  ].flatMap(({ name, target, path, more }) => {
    const asked = { ...target, url: new URL(path, target.url).href }
    return [
      { name: `${name}, whole`, asked, body: said(more) },
      { name: `${name}, streamed`, asked, body: said({ ...more, ...STREAM }) },
    ]
  })
  const rounds = new Map<string, Round[]>(rows.map(({ name }) => [name, []]))
  for (let round = -1; round < ROUNDS; round++)
    for (const { name, asked, body } of rows) {
      const one = await wrk(asked, 32, round < 0 ? 2 : SECONDS, body)
      if (one.badStatus + one.socketErrors > 0) throw new Error(`${name}: ${JSON.stringify(one)}`)
      if (round >= 0) rounds.get(name)!.push(one)
    }
  console.log(`${waybill.about}; 32 connections, medians of ${ROUNDS} rounds of ${SECONDS} s`)
  console.log('| calls | per second | p50, ms | p99, ms | main thread, µs per call |\n|---|---|---|---|---|')
  for (const [name, all] of rounds) {
    const [perSecond, p50, p99, main] = (['perSecond', 'p50', 'p99', 'main'] as const).map((key) =>
      median(all.map((each) => each[key] ?? Number.NaN)),
    )
    console.log(
      `| ${name} | ${Math.round(perSecond!)} | ${p50!.toFixed(1)} | ${p99!.toFixed(1)} | ${Math.round(main!)} |`,
    )
  }
} finally {
  await waybill.stop()
  await bare.stop()
  await upstream.stop()
  rmSync(directory, { recursive: true, force: true })
}

function median(values: number[]): number {
  const sorted = values.toSorted((a, b) => a - b)
  return sorted[Math.floor(sorted.length / 2)]!
}
