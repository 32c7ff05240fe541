// `waybill serve`: runs the gateway until it is stopped. Exit code 0: stopped. Exit code 1: could not start, or stopped
// because the state of the record was unknown after a fault.

import { type Stats, statSync, unwatchFile, watchFile } from 'node:fs'
import { type Config, loadConfig } from '../config/load.ts'
import { modelEnds } from '../core/findings.ts'
import type { Log } from '../core/process-log.ts'
import { curlExample } from '../dialects/chat/client.ts'
import { createGateway, isLoopback } from '../gateway/create-gateway.ts'
import { collectPieces } from '../http/body.ts'
import { stray } from '../shared/boundary.ts'
import { clock } from '../shared/clock.ts'
import { isColourless } from '../terminal/environment.ts'
import { keysFileOf } from '../terminal/keys.ts'
import { UsageError } from './output.ts'
import { LOG_LEVELS, type LogLevel, openLog } from './process-log.ts'
import { boundYoungGeneration } from './young-generation.ts'

interface ServeOptions {
  readonly config: string
  readonly port?: string
  /** A directory of recordings, or true for the package's own. */
  readonly replay?: string | true
  /** In replay, missing answers are invented. */
  readonly invent?: boolean
  readonly lenient?: boolean
  /** In replay, the nearest recording answers if its last message is the same. */
  readonly similar?: boolean
  readonly logLevel?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Memory for short-lived objects, bytes. Under load at 32 connections, the process uses 200 to 240 MiB with this
 * limit and about 330 MiB without. With 16 MiB it uses the same amount. With 48 or 64 MiB it uses 30 to 40 MiB more,
 * and V8's own threads take as much time.
 */
const YOUNG_BYTES = 32 * 2 ** 20

/** Maximum time for open calls after SIGTERM, ms. */
const GRACE_MS = 30_000

/** Runs the gateway. Resolves when it has stopped. Rejects if it cannot start. */
export async function serve({
  config: file,
  port,
  replay,
  invent = false,
  lenient = false,
  similar = false,
  logLevel,
  env,
}: ServeOptions): Promise<void> {
  // Registered from the start, because the first process of a container ignores every signal without a
  // handler.
  const told = new Promise<string>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, resolve)
  })
  const level = levelOf(logLevel ?? env.WAYBILL_LOG_LEVEL ?? 'info')
  const replaying = replay !== undefined
  const load = () =>
    loadConfig(file, {
      env: port === undefined ? env : { ...env, WAYBILL_PORT: port },
      replay: replaying,
    })
  const since = stateOf(file)
  const loaded = load()
  let { config } = loaded
  if (invent && !replaying)
    throw new UsageError('--invent needs --replay; live providers answer for themselves')
  if (lenient && !replaying)
    throw new UsageError('--lenient needs --replay; live models refuse what they refuse')
  if (similar && !replaying) throw new UsageError('--similar needs --replay; live providers are asked')
  const replayed =
    replay === undefined
      ? null
      : (await import('./replay.ts')).startReplay(replay, { invent, lenient, similar }, () => config)
  const terminal = process.stdout.isTTY === true
  const { log, close: closeLog } = await openLog(level, { pretty: terminal, colour: !isColourless(env) })
  const doubt = Promise.withResolvers<string>()
  const gateway = await createGateway({
    ...loaded,
    replay: replaying,
    log,
    onDoubt: doubt.resolve,
    ...(replayed && { recordings: replayed }),
  })
  boundYoungGeneration(YOUNG_BYTES)
  collectPieces()
  if (terminal) process.stdout.write(greeting(gateway.url, config, replayed?.notes ?? null))
  else {
    log.info({ url: gateway.url, replay: replaying }, `Waybill listens on ${gateway.url}`)
    for (const note of replayed?.notes ?? []) log.info({ replay: true }, note)
  }
  const reportEnds = endReporter(log, replaying)
  reportEnds(config)
  const reload = () => {
    let fresh = config
    const taken = gateway.reload(() => {
      const again = load()
      fresh = again.config
      return again
    })
    if (taken) config = fresh
    reportEnds(config)
  }
  const unwatch = watchConfig(file, reload, { since, lost: (message) => log.warn({}, message) })
  const unwatchKeys = watchConfig(keysFileOf(file), reload)
  process.on('SIGHUP', reload)

  // What no listener of the gateway contains is reported like any other fault, and ends nothing.
  process.on('uncaughtException', stray).on('unhandledRejection', stray)

  const signal = await Promise.race([told, doubt.promise.then(() => null)])
  log.info({ signal }, 'stopping: no new calls; waiting for open ones')
  await gateway.close(GRACE_MS)
  for (const end of [unwatch, unwatchKeys]) end()
  process.off('SIGHUP', reload) // removed last: an unhandled SIGHUP would kill open calls
  replayed?.dispose()
  log.info({}, 'stopped')
  closeLog()
  if (signal === null) throw new Error(`stopped because of a fault: ${await doubt.promise}; start it again`)
}

/** Returns a function that logs the models that end soon or have ended, each once. Recordings do not end. */
function endReporter(log: Log, replaying: boolean): (config: Config) => void {
  const reported = new Set<string>()
  return (config) => {
    const ends = replaying ? [] : modelEnds(config, clock.now()).filter(({ id }) => !reported.has(id))
    for (const { id, date, text } of ends) {
      log.warn({ model: id, ends_on: date }, text)
      reported.add(id)
    }
  }
}

function levelOf(level: string): LogLevel {
  const known = LOG_LEVELS.find((each) => each === level)
  if (!known)
    throw new UsageError(`log level ${JSON.stringify(level)} is not one of ${LOG_LEVELS.join(', ')}`)
  return known
}

/**
 * Returns the message for a person who starts the gateway in a terminal: a sample call, and useful addresses.
 * `replay`: lines about the recordings; null if live.
 */
export function greeting(url: string, config: Config, replay: readonly string[] | null): string {
  const model = Object.keys(config.routes)[0] ?? 'PROVIDER/MODEL'
  const key = config.keys.length > 0 ? ` -H "authorization: Bearer $WAYBILL_KEY"` : ''
  return [
    `Waybill listens on ${url}${replay ? ', on recordings: no key, no network, no cost' : ''}`,
    ...(replay ?? []),
    config.keys.length === 0 && isLoopback(config.server.host)
      ? 'No keys are configured, so it serves this machine only.'
      : null,
    '',
    'Ask:',
    `  ${curlExample(url, model, key)}`,
    'Or connect a coding agent, in a second terminal:',
    '  waybill run -- claude',
    'See where it went, in a browser or in a terminal:',
    `  ${url}/`,
    '  waybill logs',
    '',
    '',
  ]
    .filter((line) => line !== null)
    .join('\n')
}

/**
 * Interval of checks, ms. File system notifications are not used: in a container the file is next to the
 * database, whose writes would all cause notifications.
 */
const LOOK_MS = 1_000
/** Time to wait after a change, ms, because its writer may not be done. */
const SETTLE_MS = 200

/** Returns the present state of a file; null if it cannot be read. */
export function stateOf(file: string): Stats | null {
  try {
    return statSync(file)
  } catch {
    return null
  }
}

interface Watch {
  /**
   * State of the file before the configuration was read, so that a later change counts. Default: its present
   * state.
   */
  readonly since?: Stats | null
  /** Interval of checks, ms. */
  readonly look?: number
  /** Time to wait after a change, ms. */
  readonly settle?: number
  /** Called once with a message if another file has replaced this one and cannot be seen from here. */
  readonly lost?: (message: string) => void
}

/**
 * Watches a file by its name, so that an editor may write into it or replace it, and a link may be moved. Calls `changed`
 * after every change that has settled. Returns a function that stops the watch.
 */
export function watchConfig(
  file: string,
  changed: () => void,
  { since = stateOf(file), look = LOOK_MS, settle = SETTLE_MS, lost = () => {} }: Watch = {},
): () => void {
  let settling: NodeJS.Timeout | undefined
  const soon = (now: Stats, before: Stats) => {
    // A file that a container mounts separately remains after it is replaced outside, but has no name left.
    if (now.nlink === 0 && now.ino !== 0) {
      if (before.nlink !== 0)
        lost(
          `${file} was replaced, but this process still sees the old file: mount its directory instead of the file, and start again`,
        )
      return
    }
    if (isSame(now, before)) return
    clearTimeout(settling)
    settling = setTimeout(changed, settle)
  }
  watchFile(file, { interval: look, persistent: false }, soon)
  // The watch compares with the state at its own first check, which on a busy machine may follow a change.
  const first = setTimeout(() => {
    const now = stateOf(file)
    if (since && now && !isSame(now, since)) soon(now, since)
  }, look).unref()
  return () => {
    clearTimeout(first)
    clearTimeout(settling)
    unwatchFile(file, soon)
  }
}

const isSame = (one: Stats, other: Stats): boolean =>
  one.mtimeMs === other.mtimeMs && one.size === other.size && one.ino === other.ino
