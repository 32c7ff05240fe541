// The process log on stdout: lines for a person in a terminal, JSON lines everywhere else. Only this file
// uses pino.

import { writeSync } from 'node:fs'
import { type DestinationStream, type Logger, pino, stdTimeFunctions } from 'pino'
import { type Log, UNSAID } from '../core/process-log.ts'
import { clean, escaped } from '../terminal/clean.ts'
import { costText, duration, formatCount } from '../terminal/numbers.ts'
import { complain, reasonOf } from './output.ts'

export const LOG_LEVELS = ['silent', 'error', 'warn', 'info', 'debug'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

/**
 * Maximum bytes of unread lines. Additional lines are dropped, because a stuck reader would otherwise fill
 * the memory.
 */
const MAX_WAITING_BYTES = 16 * 2 ** 20

/** Lines are written in batches, after this number of characters or ms. */
const BATCH_LENGTH = 32_768
const BATCH_MS = 50

const ORDINARY = /^[\x20-\x7e]*\n?$/

interface LogLook {
  /** True for lines for a person; otherwise JSON. */
  readonly pretty: boolean
  readonly colour: boolean
  /** Stdout by default. */
  readonly stream?: DestinationStream
}

interface OpenLog {
  readonly log: Log
  /**
   * Flushes pending lines. The process stays alive for them while they have a reader. Log nothing afterwards.
   */
  close(): void
}

export async function openLog(level: LogLevel, { pretty, colour, stream }: LogLook): Promise<OpenLog> {
  const options = {
    level,
    base: null,
    timestamp: stdTimeFunctions.isoTime,
    formatters: { level: (label: string) => ({ level: label }) },
    hooks: { streamWrite: fit },
  }
  if (pretty) {
    const { prettyFactory } = await import('pino-pretty')
    const forPerson = prettyFactory({
      colorize: colour,
      translateTime: 'SYS:HH:MM:ss',
      hideObject: true,
      messageFormat: (fields) => clean(inWords(fields)),
    })
    const terminal = stream ?? process.stdout
    const lines = { write: (line: string) => void terminal.write(forPerson(line)) }
    return { log: pino(options, lines), close: () => {} }
  }
  if (stream) return { log: withPlainInfo(pino(options, stream), stream), close: () => {} }
  const stdout = pino.destination({ dest: 1, sync: false, maxLength: MAX_WAITING_BYTES })
  // Lines that cannot be written are dropped. Without a listener, each would be an exception, which would be logged.
  let isReported = false
  let isClosing = false
  stdout.on('error', (error: Error) => {
    if (!isReported) complain(reasonOf(error))
    isReported = true
    if (isClosing) stdout.destroy() // at the exit it would try for ever
  })
  const lines = together(stdout)
  const close = () => {
    isClosing = true
    lines.flush()
    stdout.end() // in order: flushSync would overtake a line that is being written
  }
  return { log: withPlainInfo(pino(options, lines), lines), close }
}

/**
 * Joins lines before they reach pino's destination. Pino can batch lines itself, but for each line it
 * recounts the bytes of all waiting lines. In pieces of 64 kB, that caused a third of all garbage.
 */
function together(stdout: DestinationStream): DestinationStream & { flush(): void } {
  let waiting = ''
  let timer: NodeJS.Timeout | undefined
  const flush = () => {
    clearTimeout(timer)
    timer = undefined
    if (waiting !== '') stdout.write(waiting)
    waiting = ''
  }
  process.once('exit', () => {
    if (waiting !== '') writeSync(1, waiting) // a write that begins now would never finish
  })
  return {
    write(line) {
      waiting += line
      if (waiting.length >= BATCH_LENGTH) flush()
      else timer ??= setTimeout(flush, BATCH_MS)
    },
    flush,
  }
}

/** Writes the same lines at level info, without pino's generic work: 4 µs less per call. */
function withPlainInfo(log: Logger, lines: DestinationStream): Log {
  const lineOf = (members: string, message: string) => {
    const time = isoTime(Date.now())
    return `{"level":"info","time":"${time}",${members && `${members},`}"msg":${JSON.stringify(message)}}\n`
  }
  const isInfo = log.isLevelEnabled('info')
  return {
    error: log.error.bind(log),
    warn: log.warn.bind(log),
    info: isInfo
      ? (fields, message) => lines.write(fit(lineOf(JSON.stringify(fields).slice(1, -1), message)))
      : UNSAID,
    debug: log.isLevelEnabled('debug') ? log.debug.bind(log) : UNSAID,
    infoText: isInfo ? (members, message) => lines.write(lineOf(members, message)) : undefined,
  }
}

let second = Number.NaN
let secondText = ''

/** Formats a time like `toISOString`, which takes 0.4 µs and is called once a second. */
function isoTime(ms: number): string {
  const millis = ms % 1000
  if (ms - millis !== second) {
    second = ms - millis
    secondText = new Date(second).toISOString().slice(0, -4)
  }
  return `${secondText}${String(millis).padStart(3, '0')}Z`
}

/**
 * JSON does not escape C1 controls or characters that reverse text, and people read logs in terminals too.
 */
const fit = (line: string): string => (ORDINARY.test(line) ? line : `${escaped(line.trimEnd())}\n`)

/** Formats a line for a person: the route and result of a call, or the message and its fields. */
function inWords({ msg, time: _time, level: _level, err: _err, ...fields }: Record<string, unknown>): string {
  if (msg === 'call') return callInWords(fields)
  if (msg === 'call refused') {
    const { endpoint, status, error_code, reason } = fields
    return `${endpoint} · refused ${status} · ${error_code}: ${reason}`
  }
  const said = Object.entries(fields).map(([name, value]) => `${name} ${JSON.stringify(value)}`)
  return [msg, said.join(', ')].filter(Boolean).join(': ')
}

function callInWords(fields: Record<string, unknown>): string {
  const call = fields as {
    id: string
    requested_model: string
    provider: string
    model: string
    state: string
    status: number | null
    fallbacks: number
    latency_ms: number
    tokens: { input: number | null; output: number | null } | null
    cost_usd: number | null
    cost_missing?: readonly string[]
    cost_is_estimated?: boolean
    cache: string
  }
  const { requested_model: asked, provider, model, state, tokens } = call
  const parts = [
    `${asked} → ${provider}/${model}`,
    state === 'failed' ? `failed ${call.status}` : state,
    call.fallbacks > 0 && `${call.fallbacks} fallback${call.fallbacks === 1 ? '' : 's'}`,
    duration(call.latency_ms),
    tokens?.input != null &&
      tokens.output != null &&
      `${formatCount(tokens.input)}→${formatCount(tokens.output)} tokens`,
    call.cost_usd !== null && costText(call),
    call.cache === 'HIT' && 'from the cache',
    state !== 'completed' && call.id,
  ]
  return parts.filter(Boolean).join(' · ')
}
