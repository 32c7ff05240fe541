// Preflight of a target: starts it, makes a whole and a streamed call, and reads the paths that it declares
// readable. Returns the observations as sentences, and the requirements for which the target file lacks
// declarations. Guesses the fields of a log for a first target file, which a person should check.
import type { LedgerEntry } from '../../mocks/ledger.ts'
import type { MockProviders } from '../../mocks/server/create.ts'
import { clock } from '../../src/shared/clock.ts'
import { checks } from '../checks/registry.ts'
import {
  dialectFor,
  type Profile,
  type Requirement,
  readRequirements,
  requirementsFor,
} from '../checks/requirements.ts'
import { WORDLESS } from '../dialects/dialect.ts'
import {
  dialectOf,
  inDialect,
  itemsOf,
  listRequest,
  namesModel,
  namesProvider,
  readAnswer,
  readSent,
  requestsOf,
  servedBy,
  where,
} from '../dialects/lookup.ts'
import { type Evidence, type Exchange, step } from '../evidence/evidence.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { answerIn } from '../judge/causes.ts'
import { type Capability, declares, type Target } from '../target/schema.ts'
import { openWorker } from './worker.ts'

const steps = {
  ...{ read: step('read'), log: step('log'), streamed: step('streamed') },
  probe: step('probe'),
}

/** Dialects that a gateway may serve besides chat. */
const PROBED = ['messages', 'responses', 'gemini', 'interactions'] as const

/** Observation; `ok` if it agrees with the target file. */
interface Sight {
  readonly ok: boolean
  readonly what: string
}

export interface Preflight {
  readonly sights: readonly Sight[]
  /** Time until it was ready and had answered a call, ms. */
  readonly took: number
  /** First call, and its ledger entry at the mock. */
  readonly call: Exchange
  readonly entry: LedgerEntry | null
  /** Paths that it was to read, and that the gateway does not have. */
  readonly absent: readonly string[]
  /** Log as read after the call; null if none is declared. */
  readonly log: Exchange | null
  /** Dialects besides chat that it serves, if they were probed. */
  readonly serves: readonly (typeof PROBED)[number][]
}

/**
 * Starts the target and makes one call, and with `probes` one in each further dialect. Rejects with StartError if the target cannot be started or does not
 * reach the mock.
 */
export async function lookAt(
  template: Target,
  onMock: (mock: MockProviders) => void | Promise<void>,
  {
    probes = false,
    onWait,
  }: { readonly probes?: boolean; readonly onWait?: Parameters<typeof openWorker>[0]['onWait'] } = {},
): Promise<Preflight> {
  // A target without chat is called in the first dialect that it declares, so only later ones are probed.
  const own = template.dialects.chat === false ? PROBED.findIndex((name) => template.dialects[name]) : -1
  const further = probes ? PROBED.slice(own + 1) : []
  const kept = new Map<string, Evidence>()
  const started = clock.now()
  const worker = await openWorker({
    template: {
      ...template,
      instances: 1,
      dialects: { ...template.dialects, ...Object.fromEntries(further.map((name) => [name, PROBES[name]])) },
    },
    preflight: 'preflight',
    quick: true,
    onMock,
    onWait,
    keep: (evidence) => kept.set(evidence.check, evidence),
  })
  const took = clock.now() - started
  try {
    const { evidence } = await worker.run({ id: 'look', exercise: read, judge: () => [] })
    const first = kept.get('preflight')!
    const call = first.exchanges[0]!
    const entry = servedBy(first, call)
    const [log = null] = steps.log.in(evidence)
    const sights = [
      { ok: true, what: `it was ready, and had answered a call, after ${took} ms` },
      ...seenOfCall(worker.target, first, call, entry),
      ...steps.read.in(evidence).map(seenOfReading),
      ...(log === null ? [] : [seenOfLog(worker.target, log)]),
      ...steps.streamed.in(evidence).map(seenOfStream),
    ]
    const absent = steps.read
      .in(evidence)
      .flatMap(({ status, request }) => (status === 404 ? [request.path] : []))
    const serves: Preflight['serves'][number][] = []
    for (const dialect of further) {
      const probe = { id: `look-${dialect}`, dialect, judge: () => [] }
      const { evidence } = await worker.run({
        ...probe,
        exercise: (session) => session.chat(steps.probe).then(() => {}),
      })
      const [answer] = steps.probe.in(evidence)
      if (answer?.status === 200 && readAnswer(answer).content !== '') serves.push(dialect)
    }
    return { sights, took, call, entry, absent, log, serves }
  } finally {
    await worker.close()
  }
}

const NOTHING_KEPT = { websocket: false, continues: false, keeps: false, background: false }
const PROBES = {
  messages: { counts: false },
  responses: NOTHING_KEPT,
  gemini: {},
  interactions: NOTHING_KEPT,
}

const read: NonNullable<Parameters<Awaited<ReturnType<typeof openWorker>>['run']>[0]['exercise']> = async (
  session,
) => {
  const { capabilities, observability } = session.target
  const key = session.running.keys.reader
  for (const path of new Set([capabilities.catalog ?? [], capabilities.read_paths].flat()))
    await session.ask(steps.read, path, { key })
  if (observability.log) {
    await session.wait(observability.log.lag_ms)
    const { path, ...request } = listRequest(observability.log)
    await session.ask(steps.log, path, { ...request, key })
  }
  // Runs last, so that the newest record belongs to the first call until then.
  if (!WORDLESS.includes(session.dialect.name)) await session.chat(steps.streamed, { stream: true })
}

function seenOfCall(
  target: Target,
  evidence: Evidence,
  call: Exchange,
  entry: LedgerEntry | null,
): readonly Sight[] {
  const { model } = JSON.parse(call.request.body ?? '{}') as { model: string }
  const reached = `a call for "${model}" reached the mock as ${entry && where(entry)}`
  const times = requestsOf(evidence, call).length
  const told = (name: 'provider' | 'model' | 'request_id' | 'session', is: (value: string) => boolean) => {
    const header = target.observability.headers[name]
    if (header === undefined || (name === 'session' && call.headers[header.toLowerCase()] === undefined))
      return []
    const value = call.headers[header.toLowerCase()]
    const ok = value !== undefined && is(value)
    const said = value === undefined ? 'is missing' : `is "${value}"`
    return [{ ok, what: `header ${header} (${name}) ${said}` }]
  }
  return [
    { ok: times === 1, what: times === 1 ? reached : `${reached}, ${times} times` },
    { ok: call.status === 200, what: `the answer was ${call.status ?? call.error}` },
    ...told('provider', (value) => entry !== null && namesProvider(target, entry.provider, value)),
    ...told('model', (value) => entry !== null && namesModel(target, entry.provider, entry.model, value)),
    ...told('request_id', (value) => value !== ''),
    ...told('session', () => true),
  ]
}

function seenOfStream(call: Exchange): Sight {
  const { content, done, finish } = readAnswer(call)
  const { end } = dialectOf(call)
  if (call.status !== 200) return { ok: false, what: `a streamed call was answered with ${answerIn(call)}` }
  return {
    ok: call.end === 'complete' && content !== '' && (done === 1 || finish.length > 0),
    what: `a streamed call: 200, ${content.length} characters of text, ${done} ${end}${call.end === 'complete' ? '' : `, ${call.end}`}`,
  }
}

const seenOfReading = ({ request, status, error }: Exchange): Sight => ({
  ok: status !== null && status < 400,
  what: `GET ${request.path}: ${status ?? error}`,
})

function seenOfLog(target: Target, exchange: Exchange): Sight {
  const { path, list, fields } = target.observability.log!
  const items = itemsOf(target, exchange)
  if (items === null)
    return {
      ok: false,
      what: `the log, GET ${path}: ${exchange.status ?? exchange.error}, no list at "${list}"`,
    }
  const [first] = items
  const empty = Object.entries(fields).filter(
    ([name, pointer]) => name !== 'error' && at(first, pointer) === undefined,
  )
  const said =
    empty.length === 0
      ? 'all fields are there'
      : `nothing at ${empty.map((each) => each.join(' ')).join(', ')}`
  return {
    ok: items.length > 0 && empty.length === 0,
    what: `the log, GET ${path}: ${items.length} records${items.length === 0 ? '' : `; in the first one ${said}`}`,
  }
}

/** Requirement, and the missing declarations of the target file. */
interface Applies {
  readonly requirement: Requirement
  readonly missing: readonly string[]
}

/** Returns the requirements that a run would try. */
export const applying = (target: Target, profile: Profile): Applies[] =>
  requirementsFor(readRequirements(), profile).map((requirement) => {
    const check = checks.get(requirement.check!)!
    const place = dialectFor(check, target)
    if (place === null) return { requirement, missing: ['chat, which dialects.chat says is not served'] }
    const there = inDialect(target, place)
    const missing = (check.needs ?? []).filter((need) => !declares(there, need)).map(fieldOf)
    return { requirement, missing: [...new Set(missing)] }
  })

/** Returns the field of the target file that declares a capability. */
function fieldOf(need: Capability): string {
  if (need.startsWith('variant:')) return `variants.${need.slice('variant:'.length)}`
  return FIELDS[need as keyof typeof FIELDS]
}

const FIELDS: Readonly<Record<Exclude<Capability, `variant:${string}`>, string>> = {
  read_paths: 'capabilities.read_paths',
  catalog: 'capabilities.catalog',
  resolve: 'capabilities.resolve',
  logical: 'models.logical',
  direct: 'models.direct',
  fallback: 'capabilities.fallback_statuses, and a model in models.logical with two targets',
  headers: 'observability.headers.provider or .model',
  log: 'observability.log',
  list: 'observability.log without holds_content',
  request_id: 'observability.headers.request_id or .request_id_pointer, and observability.log',
  record: 'observability.log',
  state: 'observability.log.fields.state and .completed',
  attempts: 'observability.log.attempts',
  tokens: 'observability.log.fields.input_tokens',
  session: 'capabilities.session',
  gateway_keys: 'capabilities.gateway_keys',
  time_outs: 'capabilities.time_outs',
  files: 'a start by the suite, not start.url',
  restart: 'capabilities.restart, and a start by the suite',
  process: 'start.command or start.image',
  cache: 'capabilities.cache',
  messages: 'dialects.messages',
  counts: 'dialects.messages.counts',
  responses: 'dialects.responses',
  gemini: 'dialects.gemini',
  websocket: 'dialects.responses.websocket',
  continuation: 'dialects.responses.continues',
  kept_responses: 'dialects.responses.keeps',
  interactions: 'dialects.interactions',
  continued_interactions: 'dialects.interactions.continues',
  kept_interactions: 'dialects.interactions.keeps',
  background_interactions: 'dialects.interactions.background',
  embeddings: 'dialects.embeddings',
  images: 'dialects.images',
  window: 'capabilities.window',
  cost: 'observability.log.cost and .fields.cost',
  budget: 'capabilities.budget',
  learns_refusals: 'capabilities.learns_refusals',
  caller_credentials: 'capabilities.caller_credentials',
  key_pool: 'capabilities.key_pool',
  passthrough: 'capabilities.passthrough',
}

export interface GuessedLog {
  readonly path: string
  readonly list: string
  readonly fields: { readonly id: string } & Readonly<Record<string, string>>
}

/** Maximum depth at which records are searched for. */
const MAX_DEPTH = 6

/** Guesses the log's fields; returns null if the log has no list of records, or no record with an id. */
export function guessLog(
  { log, call, entry }: Preflight,
  model: string,
  idHeader?: string,
): GuessedLog | null {
  if (log === null) return null
  const json = jsonOf(log.body)
  const list = leaves(json, '', true).find(([, value]) => Array.isArray(value) && isRecord(value[0]))?.[0]
  if (list === undefined) return null
  const records = (list === '' ? json : at(json, list)) as unknown[]
  const id = idHeader && call.headers[idHeader.toLowerCase()]
  const has = (record: unknown, value: unknown) => leaves(record).some(([, each]) => each === value)
  const record = records.find((each) => id && has(each, id)) ?? records[0]
  const usage = readSent(entry).usage.at(-1)
  /** Returns the place of a value; if there are several, a place with a fitting name. */
  const placeOf = (value: unknown, name: RegExp): string | undefined => {
    const places = leaves(record).flatMap(([place, each]) => (each === value && value != null ? [place] : []))
    return places.find((place) => name.test(place)) ?? places[0]
  }
  const named = (name: RegExp) => leaves(record).find(([place]) => name.test(place))?.[0]
  const found = {
    id: (id ? placeOf(id, /id$/i) : undefined) ?? named(/\/(id|(request|call|log)_?id)$/i),
    requested_model: placeOf(model, /request|original|asked/i),
    provider: placeOf(entry?.provider, /provider/i),
    model: placeOf(entry?.model, /resolved|target|upstream|served|\/model$/i),
    input_tokens: placeOf(at(usage, '/prompt_tokens'), /input|prompt/i),
    output_tokens: placeOf(at(usage, '/completion_tokens'), /output|completion/i),
  }
  if (found.id === undefined) return null
  const fields = Object.fromEntries(Object.entries(found).filter(([, place]) => place !== undefined))
  return { path: log.request.path, list, fields: fields as GuessedLog['fields'] }
}

const isRecord = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** Returns values with their JSON pointers, outermost first: either whole lists, or all values except lists. */
function leaves(json: unknown, pointer = '', lists = false, depth = 0): [pointer: string, value: unknown][] {
  if (Array.isArray(json)) return lists ? [[pointer, json]] : []
  if (typeof json !== 'object' || json === null) return [[pointer, json]]
  if (depth >= MAX_DEPTH) return []
  return Object.entries(json)
    .flatMap(([name, value]) =>
      leaves(value, `${pointer}/${name.replaceAll('~', '~0').replaceAll('/', '~1')}`, lists, depth + 1),
    )
    .sort(([a], [b]) => a.split('/').length - b.split('/').length)
}
