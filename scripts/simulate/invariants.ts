// Invariants: they hold after every event, whatever happened before. Reads the record with SQL of its own, and the ledger of the providers.
import Database from 'better-sqlite3'
import type { MemoryShare } from '../../src/shared/memory.ts'
import type { FarEnd, Message } from './network.ts'
import { type Inference, NONCE } from './provider.ts'
import { asideOf, type CallEvent, PRICE, RATE, usageOf } from './setup.ts'

/** One request of a client, and what came of it. */
export interface Sent {
  readonly nonce: string
  readonly event: CallEvent
  /** Request whose response this one continues. */
  readonly before: Sent | null
  /** Request that this one repeats; null if it has a prompt of its own. */
  readonly repeated: Sent | null
  /** Name in the prompt. */
  readonly asked: string
  /** True if its key had been replaced before it was sent. */
  readonly hasOldKey: boolean
  /** `rotations` of the world when it was sent. */
  readonly rotations: number
  /** Time, ms. */
  readonly at: number
  /** `losses` of the world when it was sent. */
  readonly losses: number
  /** `stops` of the world when it was sent. */
  readonly stops: number
  head: Message | null
  /** Everything that arrived, as text. */
  answer: Message | null
  isOver: boolean
  isChecked: boolean
  /** True if its record was lost with the database, of which an older copy was put in place. */
  isForgotten: boolean
  /** True if the client did not wait for the end. */
  hasLeft: boolean
  far: FarEnd
}

/** The state that is checked. */
interface SimulatedWorld {
  readonly records: CallRecords
  readonly sent: readonly Sent[]
  /** Inferences by the client's request. */
  readonly inferences: ReadonlyMap<string, readonly Inference[]>
  readonly shares: ReadonlySet<MemoryShare>
  /** True if all calls must succeed. */
  readonly isCalm: boolean
  /** Number of gateways that died, or could not write the ends of their calls. */
  readonly losses: number
  readonly stops: number
  /** Number of all keys that were replaced. */
  readonly rotations: number
  /** US dollars that bob may spend a day. */
  readonly budget: number
  /** Attempts on record when the database was moved away; null while it is in its place. */
  readonly onRecord: ReadonlyMap<string, number> | null
  /** Times at which the windows of all rates ended. */
  readonly breaks: readonly number[]
}

interface CallRow {
  readonly id: string
  readonly state: string
  readonly status: number | null
  readonly key_name: string | null
  readonly resolved_provider: string
  readonly resolved_model: string
  readonly attempts: number
  readonly completed_at: number | null
  readonly tokens_input: number | null
  readonly tokens_output: number | null
  readonly cost_usd: number | null
  readonly error_code: string | null
  readonly cache: string
}

interface AttemptRow {
  readonly n: number
  readonly provider: string
  readonly model: string
  readonly status: number | null
  readonly outcome: string
  readonly cost_usd: number | null
}

export interface CallRecords {
  calls(nonce: string): CallRow[]
  call(id: string): CallRow | undefined
  attempts(id: string): AttemptRow[]
  count(): number
  all<Row>(sql: string): Row[]
  close(): void
}

/** Opens the record of a running gateway for reading. */
export function openRecords(file: string): CallRecords {
  const db = new Database(file, { readonly: true })
  const callsBy = (field: 'session_id' | 'id') =>
    db.prepare<[string], CallRow>(
      `SELECT id, state, status, key_name, resolved_provider, resolved_model, attempts, completed_at, tokens_input,
         tokens_output, cost_usd, error_code, cache FROM call_logs WHERE ${field} = ?`,
    )
  const [calls, call] = [callsBy('session_id'), callsBy('id')]
  const attempts = db.prepare<[string], AttemptRow>(
    'SELECT n, provider, model, status, outcome, cost_usd FROM call_attempts WHERE call_id = ? ORDER BY n',
  )
  const count = db.prepare<[], number>('SELECT count(*) FROM call_logs').pluck()
  return {
    calls: (nonce) => calls.all(nonce),
    call: (id) => call.get(id),
    attempts: (id) => attempts.all(id),
    count: () => count.get()!,
    all: <Row>(sql: string) => db.prepare<[], Row>(sql).all(),
    close: () => void db.close(),
  }
}

/** Returns the number of attempts on record, by session and model. */
export const attemptsOn = (records: CallRecords): Map<string, number> =>
  new Map(
    records
      .all<{ place: string; count: number }>(
        `SELECT session_id || ' ' || provider || '/' || model AS place, count(*) AS count FROM call_attempts
           JOIN call_logs ON id = call_id WHERE outcome <> 'not_sent' GROUP BY place`,
      )
      .map(({ place, count }) => [place, count]),
  )

type AttemptsOf = Pick<SimulatedWorld, 'records' | 'inferences'> & Partial<Pick<SimulatedWorld, 'onRecord'>>

/** Checks that an inference that has just arrived is on record. */
export function checkInference(world: AttemptsOf, { nonce, provider, model }: Inference): string | null {
  if (nonce === null) return `${provider} got an inference that no client asked for`
  const sent = world.inferences
    .get(nonce)!
    .filter((each) => each.provider === provider && each.model === model).length
  const attempts = world.records.calls(nonce).flatMap(({ id }) => world.records.attempts(id))
  const recorded = attempts.filter(
    (each) => each.provider === provider && each.model === model && each.outcome !== 'not_sent',
  ).length
  const kept = world.onRecord ? (world.onRecord.get(`${nonce} ${provider}/${model}`) ?? 0) : recorded
  if (kept < sent)
    return `${nonce}: ${provider}/${model} got ${sent} inferences, ${kept} attempts are on record`
  return null
}

/** Compares the record with what a client was told so far. */
export function checkTold(world: SimulatedWorld, sent: Sent): string | null {
  const { nonce, head, answer } = sent
  if (!head || !answer || sent.isForgotten) return null
  const said = `${head.start} ${JSON.stringify(head.headers)} ${answer.body}`
  if (/sk-sim-|wbkey-/.test(said)) return `${nonce}: a secret reaches the client`
  const own = repeatedBy(sent).map((each) => each.nonce)
  const others = [...said.matchAll(new RegExp(NONCE, 'g'))].filter(([other]) => !own.includes(other))
  if (others.length > 0) return `${nonce}: the client gets data of ${others[0]![0]}`
  return checkRoute(world, sent)
}

/** Compares the record with the route that a client was told. */
function checkRoute(
  { records }: { readonly records: CallRecords },
  { nonce, head, event, isForgotten }: Sent,
) {
  if (!head || isForgotten) return null
  const id = head.headers['x-gateway-request-id']
  const status = Number(head.start.split(' ')[1])
  if (status >= 300 || id === undefined) return null
  const record = records.call(id)
  if (!record) return `${nonce}: the client got the id ${id}, which is not on record`
  if (record.key_name !== event.key) return `${nonce}: the record belongs to ${record.key_name}`
  const attempts = records.attempts(id)
  const isHit = head.headers['x-gateway-cache'] === 'HIT'
  if (isHit !== (record.cache === 'HIT')) return `${nonce}: the record says ${record.cache}`
  const { provider, model } = attempts.at(-1) ?? {
    provider: record.resolved_provider,
    model: record.resolved_model,
  }
  const told = `${head.headers['x-gateway-provider']}/${head.headers['x-gateway-model']} in ${head.headers['x-gateway-attempts']}`
  const count = attempts.filter(({ outcome }) => outcome !== 'not_sent').length
  const isOnRecord = `${provider}/${model} in ${count}`
  if (told !== isOnRecord) return `${nonce}: the client was told ${told}; on record is ${isOnRecord}`
  return null
}

/** Checks the record of a gateway that died, as soon as the next one has opened it. */
export function checkRecovered(
  world: Pick<SimulatedWorld, 'records' | 'sent' | 'inferences'> & { readonly settledCalls: number },
): string | null {
  const { records, sent, inferences, settledCalls } = world
  if (records.count() < settledCalls) return 'calls that had ended are no longer on record'
  const left = records.all<{ what: string }>(
    `SELECT id || ' stays open' AS what FROM call_logs WHERE completed_at IS NULL AND (objects IS NULL OR endpoint NOT LIKE '%/batches')
       AND id NOT IN (SELECT call_id FROM background_calls)
     UNION ALL SELECT 'an attempt of ' || call_id || ' stays open' FROM call_attempts JOIN call_logs ON id = call_id
       WHERE outcome = 'open' AND completed_at IS NOT NULL
     UNION ALL SELECT 'a reservation of ' || call_id || ' remains' FROM key_reservations
       WHERE call_id NOT IN (SELECT id FROM call_logs WHERE completed_at IS NULL)`,
  )
  if (left.length > 0) return left[0]!.what
  for (const each of sent) {
    if (each.isChecked || each.isForgotten) continue
    const problem = checkRoute(world, each) ?? checkLast(world, inferences.get(each.nonce) ?? [])
    if (problem) return problem
  }
  return null
}

const checkLast = (world: AttemptsOf, inferences: readonly Inference[]): string | null =>
  inferences.map((each) => checkInference(world, each)).find((problem) => problem !== null) ?? null

/** Checks everything, once all calls have ended. */
export function checkAll(world: SimulatedWorld): string | null {
  const { records } = world
  for (const sent of world.sent) if (!sent.isOver) return `${sent.nonce} never ends`
  const open = records.all<{ id: string; session_id: string }>(
    'SELECT id, session_id FROM call_logs WHERE completed_at IS NULL',
  )
  if (open.length > 0) return `${open[0]!.session_id}: the record stays open`
  const attempts = records.all<{ call_id: string }>(
    "SELECT call_id FROM call_attempts WHERE outcome = 'open'",
  )
  if (attempts.length > 0) return `an attempt of ${attempts[0]!.call_id} stays open`
  const reserved = records.all<{ usd: number }>('SELECT usd FROM key_reservations')
  if (reserved.length > 0) return `${reserved.length} reservations remain`
  for (const { kind, bytes, keyName } of world.shares)
    if (kind !== 'cache' && bytes > 0) return `${bytes} bytes of memory of ${keyName} remain taken`
  for (const sent of world.sent)
    if (!sent.isChecked && !sent.isForgotten) {
      const problem = checkCall(world, sent)
      if (problem) return problem
      sent.isChecked = true
    }
  return checkBudget(world) ?? checkRate(world)
}

/** Checks one call that has ended. */
function checkCall(world: SimulatedWorld, sent: Sent): string | null {
  const { nonce, head, answer, hasLeft, losses } = sent
  const calls = world.records.calls(nonce)
  const inferences = world.inferences.get(nonce) ?? []
  const start = head?.start ?? 'no answer'
  const { key, ask } = sent.event
  if (sent.hasOldKey && (calls.length > 0 || inferences.length > 0 || start.includes(' 200 ')))
    return `${nonce} has a key that was replaced, and gets ${start}`
  const mayBeRefused =
    (['bob', 'eve'].includes(key) && start.includes(' 429 ')) ||
    (world.rotations !== sent.rotations && start.includes(' 401 ')) ||
    (ask === 'continue' && / 40[04] /.test(start) && sent.before?.event.key !== key)
  if (sent.before && sent.before.event.key !== key && inferences.length > 0)
    return `${nonce} continues ${sent.before.nonce}, which another key made`
  if (world.isCalm && !start.includes(' 200 ') && !mayBeRefused)
    return `${nonce} fails without a cause: ${start}`
  if (calls.length > 1) return `${nonce} has ${calls.length} records`
  const [call] = calls
  if (!call) {
    if (inferences.length > 0) return `${nonce}: ${inferences.length} inferences without a record`
    return null
  }
  const attempts = world.records.attempts(call.id)
  const left = [...inferences]
  for (const { provider, model, outcome, status, n } of attempts) {
    const at = left.findIndex((each) => each.provider === provider && each.model === model)
    if (at >= 0 && outcome !== 'not_sent') left.splice(at, 1)
    else if (at >= 0 && outcome === 'not_sent') continue
    else if (
      !['not_sent', 'unknown'].includes(outcome) &&
      !(['aborted', 'timed_out'].includes(outcome) && status === null)
    )
      return `${nonce}: attempt ${n} is ${outcome}, but nothing reached ${provider}/${model}`
  }
  if (left.length > 0) return `${nonce}: ${left[0]!.provider} got an inference that is no attempt`
  const last = inferences.at(-1)
  const isOdd = last?.deviation || ['breaks an event', 'sends garbage'].includes(last?.deed.how ?? '')
  const isHit = call.cache === 'HIT'
  const wrong = isHit ? checkHit(world, sent, call) : null
  if (wrong !== null) return wrong
  if (call.state === 'completed' && !isHit) {
    if (!last?.isSent) return `${nonce} is completed, but no provider sent a whole answer`
    // Gemini's clients handle an unusable call of a tool themselves, so it is relayed as an answer.
    if (last.deviation?.concludes.end === 'failed' && last.deviation.cause !== 'end-malformed-call')
      return `${nonce} is completed, but ${last.deviation.id} is a failure`
    const usage = isOdd ? null : usageOf(sent.event)
    if (usage && (call.tokens_input !== usage.input || call.tokens_output !== usage.output))
      return `${nonce}: tokens ${call.tokens_input}, ${call.tokens_output} on record`
    const cost = attempts.at(-1)!.cost_usd
    const due = usage && (usage.input * PRICE.input + usage.output * PRICE.output) / 1e6
    if (due !== null && (cost === null || Math.abs(cost - due) > 1e-9))
      return `${nonce} costs ${cost} on record, not ${due}`
  }
  const isCrashed = world.losses !== losses
  const isRight = last?.isSent && last.deed.how === 'answers'
  // Without its record, the gateway cannot tell whose files a list holds.
  const isUnreadable = sent.event.ask === 'list' && call.error_code === 'log_unavailable'
  const mayFail =
    hasLeft || isCrashed || isUnreadable || world.stops !== sent.stops || sent.event.client !== 'reads'
  if (isRight && !mayFail && call.state !== 'completed')
    return `${nonce} got a right answer, but is ${call.state} on record: ${call.error_code}`
  if (answer?.isWhole && head) {
    const status = Number(head.start.split(' ')[1])
    const isGood = status === 200 && call.state !== 'completed'
    if (isGood && !hasLeft && !isCrashed && !head.headers['transfer-encoding'])
      return `${nonce} got a whole answer, but is ${call.state} on record`
    if (call.status !== null && call.status !== status && !isCrashed && !hasLeft)
      return `${nonce} got ${status}; on record is ${call.status}`
  }
  if (call.state === 'completed' && last && !isOdd && answer?.isWhole) {
    if (!answer.body.includes(`said-${nonce}`) || !answer.body.includes(`end-${nonce}`))
      return `${nonce} is completed, but the client's answer is not whole`
  }
  if (call.state === 'completed' && !answer?.isWhole && !hasLeft && !isCrashed)
    return `${nonce} is completed, but the client did not get all of it`
  return null
}

/** Returns a request and those that it repeats, of the same key. */
function repeatedBy(sent: Sent): Sent[] {
  const all = [sent]
  for (let each = sent.repeated; each; each = each.repeated)
    if (each.event.key === sent.event.key) all.push(each)
  return all
}

/** Checks a call that was answered from the cache. */
function checkHit(world: SimulatedWorld, sent: Sent, call: CallRow): string | null {
  const { nonce, answer } = sent
  if (call.attempts > 0 || world.inferences.has(nonce)) return `${nonce} is a hit with an inference`
  if (call.cost_usd !== 0) return `${nonce} is a hit that costs ${call.cost_usd}`
  // It was refused, although its opening arrived: the disk was full or gone.
  if (call.state === 'interrupted' || call.error_code === 'log_unavailable') return null
  const same = repeatedBy(sent).find(
    (each) => each !== sent && (!answer?.isWhole || each.answer!.body === answer.body),
  )
  if (!same) return `${nonce} is a hit, but no answer to this request was the same`
  const [before] = world.records.calls(same.nonce)
  if (before && before.state !== 'completed')
    return `${nonce} is a hit of ${same.nonce}, which is ${before.state}`
  return null
}

/** Checks that a key passes its budget by at most one call, and by what calls cost beyond the amounts set aside. */
function checkBudget(world: SimulatedWorld): string | null {
  const asides = new Map(world.sent.map(({ nonce, event }) => [nonce, asideOf(event)]))
  const days = new Map<string, { usd: number; most: number; beyond: number }>()
  const calls = world.records.all<{ day: string; nonce: string; cost: number }>(
    `SELECT date(created_at / 1000, 'unixepoch') AS day, session_id AS nonce, cost_usd AS cost FROM call_logs
       WHERE key_name = 'bob' AND cost_usd > 0`,
  )
  for (const { day, nonce, cost } of calls) {
    const { usd, most, beyond } = days.get(day) ?? { usd: 0, most: 0, beyond: 0 }
    const over = Math.max(0, cost - asides.get(nonce)!)
    days.set(day, { usd: usd + cost, most: Math.max(most, cost), beyond: beyond + over })
  }
  for (const [day, { usd, most, beyond }] of days)
    if (usd > world.budget + most + beyond + 1e-9)
      return `bob spent ${usd} on ${day}, with a budget of ${world.budget}; a call cost at most ${most}`
  return null
}

/** Checks that a key with a rate makes no more calls than two windows allow, unless something else ended a window. */
function checkRate({ sent, records, breaks }: SimulatedWorld): string | null {
  const admitted = sent.filter(({ nonce, event }) => event.key === 'eve' && records.calls(nonce).length > 0)
  for (const [n, { at, nonce }] of admitted.entries()) {
    const later = admitted[n + 2 * RATE.requests]
    if (!later || later.at - at >= RATE.perMs || breaks.some((each) => each >= at && each <= later.at))
      continue
    return `${nonce} and more than ${2 * RATE.requests} other calls of eve in ${RATE.perMs} ms`
  }
  return null
}
