// Reads a session as steps: which conversation a call continues, what is new in it, which agent it belongs to, and why it
// cost what it cost. Pure, so that the command line and the page say the same. Knows records and parts of messages, and no
// dialect.
import { isOtherModel } from '../shared/model-names.ts'
import { duration, formatCount } from '../terminal/numbers.ts'
import type { CallRecord } from './record.ts'

/** A part of a message, as the gateway reads it from a kept body. */
export interface StepPart {
  readonly role: string
  readonly kind: string
  /** Name of the tool; null for a part of another kind. */
  readonly name: string | null
  readonly text: string
}

/** What a call said and what was answered, if its bodies are kept. */
export interface StepBody {
  /** The whole conversation, in order. */
  readonly input: readonly StepPart[]
  readonly output: readonly StepPart[]
  /** Id of the stored answer that the request continues, in dialects in which it then leaves out what came before. */
  readonly continues?: string | null
}

/** Fields of a record by which a step is read. */
export type StepCall = Pick<
  CallRecord,
  | 'id'
  | 'created_at'
  | 'completed_at'
  | 'state'
  | 'purpose'
  | 'agent_id'
  | 'resolved_provider'
  | 'resolved_model'
  | 'response_id'
  | 'tokens'
  | 'cost_usd'
  | 'price'
  | 'attempts'
>

export interface SessionStep<Of extends StepCall = StepCall> {
  /** Counts the calls of the session by their time, from 1. */
  readonly n: number
  readonly call: Of
  /** 0 for the conversation itself, 1 for an agent that it started, and so on. */
  readonly depth: number
  /** The step in which the agent was started; null for the conversation itself. */
  readonly startedBy: number | null
  /** The step whose conversation it continues; null if it begins one. */
  readonly after: number | null
  /** Input tokens that no cache of the provider contained; null if not reported. */
  readonly fresh: number | null
  readonly isKept: boolean
  /** Number of parts at the beginning that the step before has, too. */
  readonly same: number
  /** The parts that the step before neither has nor answered. */
  readonly added: readonly StepPart[]
  /** Parts of the step before that follow a change, so that a provider reads them anew. */
  readonly resent: number
  /** Parts of the step before that are no longer sent. */
  readonly gone: number
  readonly output: readonly StepPart[]
  /** Digests of the whole conversation and of its answer; equal ones are equal in every session. */
  readonly asked: string
  readonly answered: string
}

/** A part of a conversation in the tree of all that were seen; the way to it is the conversation up to it. */
interface Place {
  readonly next: Map<number, Place>
  /** The last step that came by; -1 if there is none. */
  last: number
}

/** The conversations of one agent. */
interface Line {
  readonly root: Place
  readonly startedBy: number | null
  readonly depth: number
  readonly lastOf: Map<string, number>
}

/** Minimum length of a text by which the call of a tool is recognized as the start of an agent. */
const MIN_TASK = 8
const MAX_TASK = 200

/**
 * Returns a function that takes the calls of a session in the order of their ids, and returns the step of each. `origin`:
 * the call from which the session branches off; it counts as step 0.
 */
export function sessionSteps<Of extends StepCall>(
  origin: { readonly call: Of; readonly body: StepBody | null } | null = null,
): (call: Of, body: StepBody | null) => SessionStep<Of> {
  const steps: SessionStep<Of>[] = []
  const lines = new Map<string, Line>()
  /** Numbers of all parts by their values, and the digests of these values. */
  const ids = new Map<string, number>()
  const hashes: string[] = []
  /** The parts of each kept step, as numbers that stand for their values: system texts in front, then the conversation. */
  const parts: ({ readonly head: readonly number[]; readonly talk: readonly number[] } | null)[] = []
  const idOf = ({ role, kind, name, text }: StepPart): number => {
    const value = [role, kind, name ?? '', text].join('\0')
    let id = ids.get(value)
    if (id === undefined) {
      id = ids.size
      ids.set(value, id)
      hashes.push(digestOf(value))
    }
    return id
  }
  const hashOf = (part: StepPart): string => hashes[idOf(part)]!

  const lineOf = (call: Of, body: StepBody | null): Line => {
    const key = call.agent_id ?? (call.purpose === 'subagent' ? 'subagent' : '')
    const known = lines.get(key)
    if (known) return known
    const startedBy = key === '' ? null : starterOf(call, body, steps)
    const depth = (stepOf(steps, startedBy)?.depth ?? -1) + 1
    const line = { root: { next: new Map(), last: -1 }, startedBy, depth, lastOf: new Map() }
    lines.set(key, line)
    return line
  }

  const add = (call: Of, body: StepBody | null): SessionStep<Of> => {
    const n = steps.length + (origin ? 0 : 1)
    const { root, lastOf, startedBy, depth } = lineOf(call, body)
    const purpose = call.purpose ?? 'main'
    const usual = lastOf.get(purpose === 'compaction' ? 'main' : purpose) ?? null
    lastOf.set(purpose, n)
    const { input: tokens, cached_input: cached } = call.tokens
    const fresh = tokens === null ? null : tokens - (cached ?? 0)
    const { input = [], output = [] } = body ?? {}
    const digests = { asked: digestOf(input.map(hashOf)), answered: digestOf(output.map(hashOf)) }
    const common = { n, call, depth, startedBy, fresh, isKept: body !== null, output, ...digests }
    const step = (after: number | null, change: Change): SessionStep<Of> => {
      steps.push({ ...common, after, ...change })
      return steps.at(-1)!
    }
    if (body === null) {
      parts.push(null)
      return step(purpose === 'background' ? null : usual, NO_CHANGE)
    }
    const numbers = body.input.map(idOf)
    const at = body.input.findIndex(({ role }) => role !== 'system')
    const own = { head: numbers.slice(0, at < 0 ? undefined : at), talk: at < 0 ? [] : numbers.slice(at) }
    parts.push(own)
    const [found, same] = walk(root, own.talk, n)
    if (body.continues) {
      const stored = steps.findLast(({ call: { response_id } }) => response_id === body.continues)
      return step(stored?.n ?? usual, { ...NO_CHANGE, added: body.input })
    }
    const after = same > 0 ? found : purpose === 'background' ? null : usual
    const before = after === null ? null : parts[after - steps[0]!.n]
    if (!before) return step(after, { ...NO_CHANGE, added: body.input })
    const [head, talk] = [left(before.head), left(before.talk.slice(same))]
    const answer = left(stepOf(steps, after)!.output.map(idOf))
    const newHead = body.input.slice(0, own.head.length).filter((_, i) => !head.take(own.head[i]!))
    const newTalk = body.input.slice(own.head.length + same).filter((_, i) => !talk.take(own.talk[same + i]!))
    return step(after, {
      same: own.head.length - newHead.length + same,
      added: [...newHead, ...newTalk.filter((part) => !answer.take(idOf(part)))],
      resent: own.talk.length - same - newTalk.length,
      gone: head.size() + talk.size(),
    })
  }
  if (origin) add({ ...origin.call, agent_id: null, purpose: 'main' }, origin.body)
  return add
}

/** Returns the id of the stored answer that a request continues; null if it contains the whole conversation. */
export function continuedBy(request: string): string | null {
  try {
    const { previous_response_id: response, previous_interaction_id: interaction } = JSON.parse(request)
    return [response, interaction].find((id) => typeof id === 'string') ?? null
  } catch {
    return null
  }
}

/** Returns a step by its number. */
const stepOf = <Of extends StepCall>(steps: readonly SessionStep<Of>[], n: number | null) =>
  steps.find((step) => step.n === n)

/** Names a step in a sentence. */
export const stepName = (n: number): string => (n === 0 ? 'the call that it branches off' : `step ${n}`)

type Change = Pick<SessionStep, 'same' | 'added' | 'resent' | 'gone'>
const NO_CHANGE: Change = { same: 0, added: [], resent: 0, gone: 0 }

/** Goes along a conversation as far as it is known, and adds the rest. Returns the last step that has the known part. */
function walk(root: Place, talk: readonly number[], n: number): [last: number, known: number] {
  let place = root
  let [last, known] = [0, 0]
  for (const [index, id] of talk.entries()) {
    const next = place.next.get(id) ?? { next: new Map(), last: -1 }
    if (next.last >= 0) [last, known] = [next.last, index + 1]
    next.last = n
    place.next.set(id, next)
    place = next
  }
  return [last, known]
}

/** Returns a digest of 64 bits, by which texts are compared that nobody chose to be alike. */
function digestOf(of: string | readonly string[]): string {
  const text = typeof of === 'string' ? of : of.join(' ')
  let [a, b] = [0x811c9dc5, 0x9e3779b9]
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    a = Math.imul(a ^ code, 0x01000193)
    b = Math.imul(b + code, 0x85ebca6b) ^ (b >>> 13)
  }
  return ((a >>> 0).toString(16) + (b >>> 0).toString(16)).padStart(16, '0')
}

/** Counts what is left of a list of values while some are taken from it. */
function left(values: readonly number[]) {
  const counts = new Map<number, number>()
  for (const value of values) counts.set(value, (counts.get(value) ?? 0) + 1)
  return {
    take(value: number): boolean {
      const count = counts.get(value) ?? 0
      if (count > 0) counts.set(value, count - 1)
      return count > 0
    },
    size: () => [...counts.values()].reduce((sum, count) => sum + count, 0),
  }
}

/**
 * Returns the step that started an agent: the one with a call of a tool that contains the agent's task, else the last step
 * of the conversation itself that had ended; null if there is none.
 */
function starterOf(call: StepCall, body: StepBody | null, steps: readonly SessionStep[]): number | null {
  const tasks = (body?.input ?? []).flatMap(({ role, kind, text }) => {
    const task = JSON.stringify(text.trim().slice(0, MAX_TASK)).slice(1, -1)
    return role === 'user' && kind === 'text' && task.length >= MIN_TASK ? [task] : []
  })
  const starts = ({ kind, text }: StepPart) => kind === 'call' && tasks.some((task) => text.includes(task))
  const isOver = ({ call: { completed_at: end, purpose }, depth }: SessionStep) =>
    depth === 0 && purpose !== 'background' && end !== null && end <= call.created_at
  return (steps.findLast(({ output }) => output.some(starts)) ?? steps.findLast(isOver))?.n ?? null
}

/** Time after which providers usually forget a prompt, ms. */
const USUAL_LIFE_MS = 5 * 60_000
/** Minimum prompt that providers cache, in tokens. */
const MIN_CACHED = 1_024

/** Returns the steps with the highest cost, the highest first, each with its main reason. */
export function dearestSteps<Of extends StepCall>(
  steps: readonly SessionStep<Of>[],
  count = 3,
): { readonly step: SessionStep<Of>; readonly reason: string }[] {
  return steps
    .filter(({ call }) => (call.cost_usd ?? 0) > 0)
    .toSorted((a, b) => b.call.cost_usd! - a.call.cost_usd! || a.n - b.n)
    .slice(0, count)
    .map((step) => ({ step, reason: reasonFor(step, steps) }))
}

function reasonFor(step: SessionStep, steps: readonly SessionStep[]): string {
  const { call, fresh, after } = step
  const { input, output, cached_input: cached } = call.tokens
  const shares = sharesOf(call)
  const main = Object.entries(shares).toSorted(([, a], [, b]) => b - a)[0]![0]
  const tries = call.attempts > 1 ? `, in ${call.attempts} attempts` : ''
  if (input === null && output === null) return `no tokens were reported${tries}`
  if (main === 'output') return `${formatCount(output ?? 0)} tokens of output${tries}`
  if (main === 'cached')
    return `${formatCount(cached ?? 0)} tokens of cached input: the conversation is long${tries}`
  const lost = lostCache(step, steps)
  const why = lost ?? (after === null ? 'it begins a conversation' : null)
  return `${formatCount(fresh ?? 0)} tokens of new input${why === null ? '' : `: ${why}`}${tries}`
}

/** Returns the parts of a cost in US dollars, or, without known rates, the tokens. */
function sharesOf({ tokens, price }: StepCall): Record<'input' | 'cached' | 'output', number> {
  const rate = (name: string, otherwise: number): number => {
    const value = price?.rates?.[name] as number | { readonly base?: number } | undefined
    return (typeof value === 'object' ? value?.base : value) ?? otherwise
  }
  const [input, output] = [rate('input_mtok', 1), rate('output_mtok', 1)]
  const { input: all, cached_input: cached, cache_write: written } = tokens
  const fresh = (all ?? 0) - (cached ?? 0) - (written ?? 0)
  return {
    input: fresh * input + (written ?? 0) * rate('cache_write_mtok', input),
    cached: (cached ?? 0) * rate('cache_read_mtok', input),
    output: (tokens.output ?? 0) * output,
  }
}

/** Explains why a step did not find the prompt of the step before in a cache; null if it did, or none is to be expected. */
function lostCache({ call, after, same, resent, gone, isKept }: SessionStep, steps: readonly SessionStep[]) {
  const before = stepOf(steps, after)
  const prompt = before?.call.tokens.input ?? 0
  const caches = steps.some(
    ({ call: { tokens } }) => (tokens.cached_input ?? 0) + (tokens.cache_write ?? 0) > 0,
  )
  if (!before || !caches || prompt < MIN_CACHED || (call.tokens.cached_input ?? 0) >= prompt / 2) return null
  if (isKept && before.isKept && same === 0 && resent === 0)
    return `another conversation than that of ${stepName(before.n)}, of which ${gone} parts are gone`
  const target = ({ resolved_provider, resolved_model }: StepCall) => `${resolved_provider}/${resolved_model}`
  if (target(call) !== target(before.call))
    return `the cache was lost, because ${stepName(before.n)} went to ${target(before.call)}`
  if (resent > 0)
    return `the cache was lost, because the conversation changed before ${resent} parts that ${stepName(before.n)} has as well`
  const gap = Date.parse(call.created_at) - Date.parse(before.call.completed_at ?? before.call.created_at)
  return gap > USUAL_LIFE_MS
    ? `the cache was lost ${duration(gap)} after ${stepName(before.n)}, probably by its age`
    : `the cache of ${stepName(before.n)} was not found`
}

/** Returns `asked → provider/model → answered` without repetitions. */
export function askedAndAnswered(
  call: Pick<CallRecord, 'requested_model' | 'resolved_provider' | 'resolved_model' | 'response_model'>,
): string {
  const target = [call.resolved_provider, call.resolved_model].filter(Boolean).join('/')
  const other = isOtherModel(call.resolved_model, call.response_model) ? call.response_model : null
  return [...new Set([call.requested_model || null, target, other])].filter(Boolean).join(' → ')
}

/** Returns the time from the first call of a session to the end of its last one, ms. An open call ends no later than it began. */
export function lasted(
  firstSeen: string,
  lastSeen: string,
  calls: readonly Pick<CallRecord, 'completed_at'>[],
): number {
  const ends = calls.flatMap(({ completed_at }) => completed_at ?? [])
  return Math.max(...[lastSeen, ...ends].map(Date.parse)) - Date.parse(firstSeen)
}

/** Returns the size of a text in bytes. */
export const sizeOf = (text: string): number => new TextEncoder().encode(text).length

/** Returns the beginning of a text in one line. */
export function beginningOf(text: string, limit = 100): string {
  const line = text
    .slice(0, 4 * limit)
    .replaceAll(/\s+/g, ' ')
    .trim()
  return line.length > limit || text.length > 4 * limit ? `${line.slice(0, limit)}…` : line
}

/** The first steps at which two sessions differ; null on the side that has no such step. */
interface Difference<Of extends StepCall = StepCall> {
  readonly a: SessionStep<Of> | null
  readonly b: SessionStep<Of> | null
  /** Decides where they differ: what was said, what was answered, or only the records. */
  readonly by: 'input' | 'output' | 'record' | 'end'
}

type RecordedCall = StepCall & Pick<CallRecord, 'requested_model'>

/**
 * Returns the first difference of two sessions; null if there is none. Agents and background calls of two sessions come in
 * another order and with other ids each time, so that each is compared with its counterpart.
 */
export function firstDifference<Of extends RecordedCall>(
  a: readonly SessionStep<Of>[],
  b: readonly SessionStep<Of>[],
): Difference<Of> | null {
  const open = linesIn(b)
  const pairs: (readonly [a: readonly SessionStep<Of>[], b: readonly SessionStep<Of>[]])[] = []
  const alike = (one: readonly SessionStep<Of>[], two: readonly SessionStep<Of>[]) =>
    kindOf(one[0]!) === kindOf(two[0]!)
  const take = (one: readonly SessionStep<Of>[], isSure: boolean) => {
    const at = open.findIndex((two) => alike(one, two) && !(isSure && differenceOf(one[0]!, two[0]!)))
    if (at >= 0) pairs.push([one, open.splice(at, 1)[0]!])
    return at >= 0
  }
  for (const one of linesIn(a).filter((one) => !take(one, true))) if (!take(one, false)) pairs.push([one, []])
  for (const two of open) pairs.push([[], two])
  return pairs
    .flatMap(([one, two]): Difference<Of>[] => {
      for (const [index, x] of one.entries()) {
        const y = two[index]
        if (!y) return [{ a: x, b: null, by: 'end' }]
        const by = differenceOf(x, y)
        if (by) return [{ a: x, b: y, by }]
      }
      const more = two[one.length]
      return more ? [{ a: null, b: more, by: 'end' }] : []
    })
    .reduce<Difference<Of> | null>((first, each) => (first && at(first) <= at(each) ? first : each), null)
}

const at = ({ a, b }: Difference): number => Math.min(a?.n ?? Infinity, b?.n ?? Infinity)
const kindOf = ({ call: { purpose } }: SessionStep): string =>
  purpose === 'compaction' ? 'main' : (purpose ?? 'main')

const linesIn = <Of extends StepCall>(steps: readonly SessionStep<Of>[]): (readonly SessionStep<Of>[])[] => [
  ...Map.groupBy(steps, (step) => `${step.call.agent_id ?? ''} ${kindOf(step)}`).values(),
]

function differenceOf(x: SessionStep<RecordedCall>, y: SessionStep<RecordedCall>): Difference['by'] | null {
  if (!x.isKept || !y.isKept)
    return JSON.stringify(onRecord(x.call)) === JSON.stringify(onRecord(y.call)) ? null : 'record'
  return x.asked !== y.asked ? 'input' : x.answered !== y.answered ? 'output' : null
}

const onRecord = ({ requested_model, resolved_provider, resolved_model, state, tokens }: RecordedCall) => [
  ...[requested_model, resolved_provider, resolved_model, state, tokens.input, tokens.output],
]
