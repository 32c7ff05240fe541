// Limits of a run. Every run has limits in bytes and time: if a gateway sends without end or never ends an answer, the run
// ends with a reason, and reports the checks completed so far. A run without a mock counts its requests before the first is
// sent, and then checks each request against this count. Independent of judges.
import { clock } from '../../src/shared/clock.ts'
import type { Check } from '../checks/check.ts'
import { CheckContext, countWithoutEnd, MAX_WITHOUT_END } from '../checks/context.ts'
import { dialectFor } from '../checks/requirements.ts'
import { dialects, inDialect, readAnswer } from '../dialects/lookup.ts'
import type { Evidence } from '../evidence/evidence.ts'
import { type Outgoing, type Seen, sendRequest } from '../evidence/http-client.ts'
import { jsonOf } from '../evidence/reading.ts'
import type { Running } from '../target/instance.ts'
import type { MockControl } from '../target/mock.ts'
import { isLoopback, type Target } from '../target/schema.ts'

/** Calls of a run, and their maximum cost. */
export interface LiveSpending {
  readonly calls: number
  /** Sum of the limits in the requests. */
  readonly output_tokens: number
  /** A token has at least one byte of the request, unless the server adds its own text. */
  readonly input_bytes: number
}

const NOTHING: LiveSpending = { calls: 0, output_tokens: 0, input_bytes: 0 }

const LIMITS = Object.values(dialects).flatMap(({ limit }) => limit ?? [])

/** Returns the maximum cost of a request; zero for a read. */
function costOf({ method, body }: Outgoing): LiveSpending {
  if (method !== 'POST' || body === null) return NOTHING
  const json = jsonOf(String(body))
  const members = typeof json === 'object' && json !== null ? (json as Record<string, unknown>) : {}
  const limits = LIMITS.map((name) => members[name]).filter((limit) => typeof limit === 'number')
  return { calls: 1, output_tokens: limits[0] ?? 0, input_bytes: Buffer.byteLength(body) }
}

const plus = (a: LiveSpending, b: LiveSpending): LiveSpending => ({
  calls: a.calls + b.calls,
  output_tokens: a.output_tokens + b.output_tokens,
  input_bytes: a.input_bytes + b.input_bytes,
})

/** Returns the spending of these checks, computed by running their exercises without sending. */
export async function plan(checks: Iterable<Check>, target: Target): Promise<LiveSpending> {
  let sum = NOTHING
  const send: typeof sendRequest = (_, outgoing) => {
    sum = plus(sum, costOf(outgoing))
    return { ...UNSENT, done: Promise.resolve(unanswered()) }
  }
  for (const check of checks) {
    const dialect = dialectFor(check, target) ?? 'chat'
    const session = new CheckContext({
      check: check.id,
      target: inDialect(target, dialect),
      dialect: dialects[dialect],
      running: NOWHERE,
      mock: NO_MOCK,
      secrets: new Map(),
      send,
      another: async () => NOWHERE,
    })
    await check.exercise?.(session)
  }
  return sum
}

/** Counts the requests that are really sent, and refuses requests that were not announced. */
export interface Meter {
  readonly send: typeof sendRequest
  readonly announced: LiveSpending
  spent(): LiveSpending
  /** Returns the tokens that the server's answers have reported. */
  reported(): { readonly input_tokens: number; readonly output_tokens: number }
  /** Returns the reason why the run must end if the server does more than announced; otherwise null. */
  exceeded(): string | null
}

export function openMeter(announced: LiveSpending): Meter {
  let sum = NOTHING
  let [input, output] = [0, 0]
  const count = (path: string, { body }: Seen) => {
    const usage = readAnswer({ request: { method: 'POST', path, headers: {}, body: null }, body }).usage.at(
      -1,
    )
    const { prompt_tokens, completion_tokens } = (usage ?? {}) as Record<string, unknown>
    if (typeof prompt_tokens === 'number') input += prompt_tokens
    if (typeof completion_tokens === 'number') output += completion_tokens
  }
  return {
    announced,
    send(baseUrl, outgoing, ...more) {
      const next = plus(sum, costOf(outgoing))
      if (next.calls > announced.calls || next.output_tokens > announced.output_tokens)
        throw new Error('the check makes more calls than were announced')
      sum = next
      const open = sendRequest(baseUrl, outgoing, ...more)
      if (outgoing.method === 'POST') void open.done.then((seen) => count(outgoing.path, seen))
      return open
    },
    spent: () => sum,
    reported: () => ({ input_tokens: input, output_tokens: output }),
    exceeded: () =>
      output > announced.output_tokens
        ? `the server reports ${output} tokens of output, and all limits together allowed ${announced.output_tokens}`
        : null,
  }
}

/** Returns true if a target runs on this machine, so that checks may burden it. */
export const isHere = ({ start }: Target): boolean =>
  !('url' in start) || isLoopback(new URL(start.url).hostname.replace(/^\[|\]$/g, ''))

const UNSENT = { body: '', until: async () => false, leave() {}, pause() {}, resume() {} }

const unanswered = (): Seen => ({
  at: clock.monotonic(),
  head_at: null,
  end_at: clock.monotonic(),
  end: 'complete',
  error: null,
  status: 200,
  headers: {},
  body: '{}',
  utf8: true,
  chunks: [],
})

const NOWHERE: Running = {
  baseUrl: 'http://nowhere.invalid',
  keys: { client: null, other: null, reader: null },
  files: null,
  alive: () => true,
  output: () => '',
  stop: async () => {},
  second: async () => null,
  start: async () => {},
}

const NO_MOCK: MockControl = {
  entries: async () => [],
  seen: async () => null,
  script: async () => {},
  release: async () => {},
  setReachable: async () => {},
  watchFor: async () => {},
}

/** Default time limit of a run, ms. */
export const MAX_RUN_MS = 60 * 60_000
/** Maximum bytes of all answers of a run. */
const MAX_RUN_BYTES = 160 * 2 ** 20

interface Bounds {
  /** Adds the evidence of a check; returns the reason why the run must end, or null. */
  exceeded(evidence: Evidence): string | null
}

export function openBounds(name: string): Bounds {
  let bytes = 0
  let withoutEnd = 0
  let wasRestarted = false
  return {
    exceeded({ check, exchanges, facts }) {
      // Some gateways need minutes to recover from the flood of the previous check. The count therefore
      // begins again, once, when a gateway that no longer answers is restarted.
      const isNewStart = typeof facts.gone === 'string' && !wasRestarted
      for (const { n, request, end, error, body } of exchanges) {
        bytes += body.length
        if (end === 'too_long')
          return `${name} sent too much in ${check}#${n}, ${request.method} ${request.path.slice(0, 80)}: ${error}`
        withoutEnd = countWithoutEnd(withoutEnd, { end, body })
        if (withoutEnd >= MAX_WITHOUT_END && !isNewStart)
          return `${withoutEnd} answers of ${name} in a row had no end in their time, the last of them ${check}#${n}: ${error}`
      }
      if (isNewStart) {
        wasRestarted = true
        withoutEnd = 0
      }
      if (bytes <= MAX_RUN_BYTES) return null
      return `the answers of ${name} hold more than ${MAX_RUN_BYTES / 2 ** 20} MiB together, which is too much to judge`
    },
  }
}
