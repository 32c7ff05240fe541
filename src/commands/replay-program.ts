// `waybill replay -- PROGRAM`: runs a program with a gateway whose providers answer from recordings, and
// lists calls without a recording. Opens no connection to a provider.
import { existsSync } from 'node:fs'
import type { LedgerEntry } from '../../mocks/ledger.ts'
import { loadConfig } from '../config/load.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { UsageError } from './output.ts'
import { openLog } from './process-log.ts'
import { startReplay } from './replay.ts'
import { type Program, runAgent } from './run.ts'

interface ReplayOptions extends Program {
  readonly config: string
  readonly recordings: string
  readonly port?: string
  readonly similar?: boolean
  readonly model?: string
  readonly keyFile?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Maximum number of calls without a recording that are listed. */
const MAX_SHOWN = 5

/** Resolves with the program's exit code. Rejects if it cannot start, or if a call had no recording. */
export async function replayProgram(options: ReplayOptions): Promise<number> {
  const { config: file, recordings, port = '0', similar = false, env } = options
  if (!existsSync(recordings))
    throw new UsageError(
      `--recordings ${recordings} is not there; make it: waybill record --out ${recordings} -- ${options.program}; or replay a kept session with --until`,
    )
  const loaded = loadConfig(file, { env: { ...env, WAYBILL_PORT: port }, replay: true })
  let ownPort: number | null = null
  const replay = startReplay(
    recordings,
    { invent: false, lenient: true, similar, realPort: () => ownPort },
    () => loaded.config,
  )
  const { log } = await openLog('error', { pretty: true, colour: false, stream: process.stderr })
  const gateway = await createGateway({ ...loaded, replay: true, recordings: replay, log })
  ownPort = Number(new URL(gateway.url).port)
  let exitCode: number
  try {
    exitCode = await runAgent({ ...options, url: gateway.url, quiet: true })
  } finally {
    await gateway.close(5_000)
    replay.dispose()
  }
  const calls = replay.entries()
  const names = new Set(replay.list.map(({ name }) => name))
  const missed = calls.filter(({ answer }) => !names.has(answer.from))
  process.stderr.write(
    `waybill: ${calls.length - missed.length} of ${calls.length} calls were answered from ${recordings}\n`,
  )
  for (const entry of missed.slice(0, MAX_SHOWN)) process.stderr.write(`  ${reasonOf(entry)}\n`)
  if (missed.length > MAX_SHOWN) process.stderr.write(`  and ${missed.length - MAX_SHOWN} more\n`)
  if (missed.length > 0) throw new Error(`${missed.length} of ${calls.length} calls have no recording`)
  return exitCode
}

function reasonOf({ answer, endpoint }: LedgerEntry): string {
  const { error } = JSON.parse(answer.body ?? '{}') as { error?: { message?: string } }
  return error?.message ?? `${endpoint} has no recording`
}
