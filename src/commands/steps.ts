// `waybill steps`: a session call by call, with what was new in each and why the dearest cost what they cost. Reads a
// running gateway; only --forget changes something there: it deletes the kept bodies.
import { z } from 'zod'
import type { CallRecord } from '../core/record.ts'
import {
  askedAndAnswered,
  beginningOf,
  continuedBy,
  dearestSteps,
  lasted,
  type SessionStep,
  type StepPart,
  sessionSteps,
  sizeOf,
  stepName,
} from '../core/steps.ts'
import { clean } from '../terminal/clean.ts'
import { costText, duration, formatCount } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { ANSWER_MS, GatewayAccessError, type Get, gatewayAt, namedGateway } from './gateway-client.ts'
import { shownCall } from './logs-table.ts'
import { complain, print, json as toJson } from './output.ts'

export interface GatewayAccess {
  readonly config: string
  readonly url?: string
  readonly keyFile?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

interface StepsOptions extends GatewayAccess {
  readonly session: string
  readonly json?: boolean
  readonly full?: boolean
  readonly forget?: boolean
}

/** A record, of which the fields that must be there are checked. */
export const recordOf = shownCall.transform((record) => record as unknown as CallRecord)
export type Recorded = z.output<typeof recordOf>
const pageOf = z.looseObject({ data: z.array(recordOf), next_cursor: z.string().nullable() })
const sessionOf = z.looseObject({
  session_id: z.string(),
  first_seen: z.string(),
  last_seen: z.string(),
  calls: z.number(),
  cost_usd: z.number().nullable(),
  cost_is_minimum: z.boolean().optional(),
  cost_is_estimated: z.boolean().optional(),
})
const part = z.looseObject({
  role: z.string(),
  kind: z.string(),
  name: z.string().nullable(),
  text: z.string(),
})
/** A call with its kept bodies. */
export const keptBodies = z.looseObject({
  id: z.string(),
  path: z.string(),
  query: z.string(),
  headers: z.record(z.string(), z.string()).default({}),
  request: z.string(),
  input: z.array(part),
  output: z.array(part),
})
export type KeptBodies = z.output<typeof keptBodies>
const keptIds = z.looseObject({
  kept: z.array(z.string()),
  branches: z.array(z.looseObject({ session_id: z.string() })),
})
const artifactOf = z.looseObject({ request: z.looseObject({ bytes: z.number() }) })

/** A step with the size of its request, if that is known. */
export type ShownStep = SessionStep<Recorded> & { readonly bytes: number | null }

export interface SessionSteps {
  readonly session: z.output<typeof sessionOf>
  readonly steps: readonly ShownStep[]
  /** The session and the call from which it branches; null if it is no branch. */
  readonly branchOf: { readonly session: string | null; readonly call: string } | null
  /** Reason why bodies are missing; null if none is. */
  readonly missing: string | null
}

/** Number of calls that are read at the same time. */
const READS = 8

/** Returns a function that reads from the gateway, and one that returns null instead of a 404. */
export function gatewayReads({ url, config, keyFile, env }: GatewayAccess) {
  const get: Get = gatewayAt(namedGateway(url, config, env), env, keyFile)
  const read = <Answer>(path: string, shape: z.ZodType<Answer>, method?: Parameters<Get>[3]) =>
    get(path, shape, AbortSignal.timeout(ANSWER_MS), method)
  const find = <Answer>(path: string, shape: z.ZodType<Answer>): Promise<Answer | null> =>
    read(path, shape).catch((error) => {
      if (error instanceof GatewayAccessError && error.status === 404) return null
      throw error
    })
  return { read, find }
}

/** Beginning of the ids of sessions that `waybill fork` makes. Such a session repeats its parent; others go on after it. */
export const FORK = 'fork-'

const LOGS = '/api/usage/request-logs'
export const recordPath = (id: string): string => `${LOGS}/${encodeURIComponent(id)}`

/** Reads the calls of a session in the order of time. */
export async function sessionCalls(
  session_id: string,
  read: ReturnType<typeof gatewayReads>['read'],
): Promise<Recorded[]> {
  const calls: Recorded[] = []
  for (let cursor: string | null = ''; cursor !== null; ) {
    const query = new URLSearchParams({ session_id, limit: '200', ...(cursor && { cursor }) })
    const page: z.output<typeof pageOf> = await read(`${LOGS}?${query}`, pageOf)
    calls.push(...page.data)
    cursor = page.next_cursor
  }
  return calls.sort((a, b) => (a.id < b.id ? -1 : 1))
}

/** Reads a session with its kept bodies. Rejects if there is no such session. */
export async function readSteps(id: string, access: GatewayAccess): Promise<SessionSteps> {
  const { read, find } = gatewayReads(access)
  const session = await read(`/api/sessions/${encodeURIComponent(id)}`, sessionOf)
  const calls = await sessionCalls(id, read)

  const query = new URLSearchParams({ session_id: id })
  const known = new Set((await find(`/api/kept?${query}`, keptIds))?.kept)
  let missing: string | null = null
  const keptOf = (id: string) => find(`${recordPath(id)}/kept`, keptBodies)
  const bodyOf = async ({ id }: Recorded) => {
    const kept = await (known.has(id) ? keptOf(id) : Promise.resolve(null)).catch((error) => {
      if (!(error instanceof GatewayAccessError && error.status === 500)) throw error
      missing = error.reason
      return null
    })
    if (kept) return { kept, bytes: sizeOf(kept.request) }
    missing ??= NOT_KEPT
    return { kept, bytes: (await find(`${recordPath(id)}/artifact`, artifactOf))?.request.bytes ?? null }
  }
  const parentId = calls.find(({ parent_id }) => parent_id)?.parent_id ?? null
  const parent = parentId === null ? null : await find(recordPath(parentId), recordOf)
  const origin = parent && { call: parent, body: bodyWith(await keptOf(parent.id).catch(() => null)) }
  const add = sessionSteps<Recorded>(origin)
  const steps: ShownStep[] = []
  for (let from = 0; from < calls.length; from += READS) {
    const some = calls.slice(from, from + READS)
    for (const [index, { kept, bytes }] of (await Promise.all(some.map(bodyOf))).entries())
      steps.push({ ...add(some[index]!, bodyWith(kept)), bytes })
  }
  const branchOf = parentId === null ? null : { call: parentId, session: parent?.session_id ?? null }
  return { session, steps, branchOf, missing }
}

const bodyWith = (kept: KeptBodies | null) => kept && { ...kept, continues: continuedBy(kept.request) }

const NOT_KEPT =
  'the bodies of some calls are not kept, or no longer; their steps show sizes instead of what was new. `waybill run --keep -- AGENT` keeps a session'

/** Prints the steps of a session. Rejects if the gateway does not answer, or has no such session. */
export async function printSteps({
  session: id,
  json,
  full = false,
  forget,
  ...access
}: StepsOptions): Promise<void> {
  if (forget) return forgetSteps(id, json ?? false, access)
  const found = await readSteps(id, access)
  if (json) process.stdout.write(`${toJson(asJson(found), 2)}\n`)
  else process.stdout.write(asText(found, full))
  if (found.missing !== null && !json) complain(found.missing)
}

/** Deletes what is kept of a session. Names the branches that hold copies of it. */
async function forgetSteps(id: string, json: boolean, access: GatewayAccess): Promise<void> {
  const { read } = gatewayReads(access)
  await read(`/api/sessions/${encodeURIComponent(id)}`, sessionOf) // refuses a wrong id
  const keptOf = (session_id: string) => read(`/api/kept?${new URLSearchParams({ session_id })}`, keptIds)
  const branches = [...new Set((await keptOf(id)).branches.map(({ session_id }) => session_id))]
  const held = await Promise.all(branches.map(async (each) => (await keptOf(each)).kept.length > 0))
  const copies = branches.filter((_, index) => held[index])
  const path = `/api/kept/${encodeURIComponent(id)}`
  const { deleted } = await read(path, z.looseObject({ deleted: z.number() }), 'DELETE')
  if (json) print(toJson({ deleted, copies }))
  else print(`deleted the kept bodies of ${deleted} ${deleted === 1 ? 'call' : 'calls'}; their records stay`)
  for (const copy of copies)
    complain(
      `the branch ${copy} holds a copy of the conversation; \`waybill steps ${copy} --forget\` deletes it`,
    )
}

const asJson = ({ session, steps, branchOf, missing }: SessionSteps) => ({
  session,
  branch_of: branchOf && { session_id: branchOf.session, call_id: branchOf.call },
  missing,
  steps: steps.map(stepJson),
  dearest: dearestSteps(steps).map(({ step: { n, call }, reason }) => ({
    n,
    cost_usd: call.cost_usd,
    reason,
  })),
})

/** Returns a step with the names of a record. */
export const stepJson = (step: ShownStep) => ({
  n: step.n,
  depth: step.depth,
  started_by: step.startedBy,
  after: step.after,
  kept: step.isKept,
  request_bytes: step.bytes,
  new_input_tokens: step.fresh,
  same_parts: step.same,
  added: step.added,
  resent_parts: step.resent,
  gone_parts: step.gone,
  output: step.output,
  call: step.call,
})

function asText({ session, steps, branchOf }: SessionSteps, full: boolean): string {
  const { session_id, calls, first_seen, last_seen } = session
  const ran = duration(
    lasted(
      first_seen,
      last_seen,
      steps.map(({ call }) => call),
    ),
  )
  const counted = `${calls} ${calls === 1 ? 'call' : 'calls'}`
  const lines = [`${session_id}: ${costText(session)}, ${counted}, ${ran}, since ${first_seen}`]
  if (branchOf)
    lines.push(
      `a branch of the call ${branchOf.call}${branchOf.session === null ? '' : ` of the session ${branchOf.session}`}`,
    )
  const rows = stepRows(steps)
  const details = steps.map((step) => detailsOf(step, full))
  const dearest = dearestSteps(steps).map(({ step, reason }) => [
    `step ${step.n}`,
    costText(step.call),
    reason,
  ])
  const why = dearest.length === 0 ? [] : [`Why it cost ${costText(session)}: the dearest steps`]
  return [
    ...lines.map((line) => `${clean(line)}\n`),
    ...rows.flatMap((row, index) => [`${row}\n`, index === 0 ? '' : details[index - 1]!]),
    ...why.map((line) => `\n${line}\n`),
    table(dearest, { columns: columns(), header: false, right: [1], shrink: [2], indent: '  ' }),
  ].join('')
}

const columns = (): number | null => process.stdout.columns ?? null
export const figure = (value: number | null | undefined): string => (value == null ? '-' : formatCount(value))

/** Returns the lines of a table of steps, the first with the names of its columns. */
export function stepRows(steps: readonly ShownStep[]): string[] {
  const head = [
    'step',
    'time',
    'asked → answered',
    'purpose',
    'new',
    'cached',
    'out',
    'cost',
    'took',
    'state',
  ]
  const rows = steps.map(({ n, depth, call, fresh }) => [
    `${'  '.repeat(depth)}${n}`,
    new Date(call.created_at).toLocaleTimeString('sv'),
    askedAndAnswered(call),
    call.agent_id ? `${call.purpose ?? ''} ${call.agent_id}`.trim() : (call.purpose ?? '-'),
    figure(fresh),
    figure(call.tokens.cached_input),
    figure(call.tokens.output),
    costText(call),
    call.latency_ms === null ? '-' : duration(call.latency_ms),
    [call.state, call.error_code, call.replayed ? 'replayed' : ''].filter(Boolean).join(' '),
  ])
  const right = ['new', 'cached', 'out', 'cost', 'took']
  return table([head, ...rows], {
    columns: columns(),
    right,
    shrink: ['asked → answered', 'purpose', 'state'],
    drop: ['time', 'took', 'cached', 'out', 'new'],
    least: { 'asked → answered': 30, purpose: 10, state: 9 },
  })
    .split('\n')
    .slice(0, -1)
}

/** Returns the lines below a step: what was new in it, and what it answered. */
export function detailsOf(step: ShownStep, full: boolean): string {
  const { added, resent, gone, same, after, isKept, output, bytes, startedBy, depth } = step
  const indent = ' '.repeat(6 + 2 * depth)
  const notes = [
    startedBy !== null && after === null && `started by ${stepName(startedBy)}`,
    !isKept && bytes !== null && `a request of ${sizeText(bytes)}`,
    isKept && after !== null && added.length === 0 && `nothing is new after ${stepName(after)}`,
    gone > 0 &&
      `${gone} of the parts of ${stepName(after!)} ${gone === 1 ? 'is' : 'are'} gone${same === 0 ? ': another conversation' : ''}`,
    resent > 0 &&
      `${resent} ${resent === 1 ? 'part is' : 'parts are'} sent anew, because the conversation changed before them`,
  ].filter((note) => note !== false)
  const rows = [
    ...added.map((each) => partRow('+', each, full)),
    ...output.map((each) => partRow('=', each, full)),
  ]
  const look = { columns: full ? null : columns(), header: false, right: [2], shrink: [3], indent }
  const parts = table(rows, look).split('\n')
  const texts = [...added, ...output].map(({ text }) =>
    text.split(/\r\n|[\n\r]/).map((line) => `${indent}    ${clean(line)}\n`),
  )
  return [
    ...notes.map((note) => `${indent}${clean(note)}\n`),
    ...rows.flatMap((_, index) => [`${parts[index]}\n`, ...(full ? texts[index]! : [])]),
  ].join('')
}

function partRow(mark: string, { role, kind, name, text }: StepPart, full: boolean) {
  return [
    `${mark} ${role}`,
    name === null ? kind : `${kind} ${name}`,
    sizeText(sizeOf(text)),
    full ? '' : beginningOf(text),
  ]
}

const UNITS = ['B', 'kB', 'MB', 'GB']
/** Formats a number of bytes. */
function sizeText(bytes: number): string {
  const power = Math.min(3, Math.floor(Math.log10(Math.max(bytes, 1)) / 3))
  return `${power === 0 ? bytes : (bytes / 1_000 ** power).toFixed(1)} ${UNITS[power]}`
}
