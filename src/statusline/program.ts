// The status-line program: one object in, one line out, whatever happens on the way. Loads nothing that is not
// needed; the gateway gets 150 ms.
import type { Readable } from 'node:stream'
import { isOrdinary } from '../terminal/clean.ts'
import { columnsOf, isColourless, showsLinks } from '../terminal/environment.ts'
import { firstObject } from './client-input.ts'
import { readFlags } from './flags.ts'
import { gatewayAddress } from './gateway-address.ts'
import { gatewaySource } from './gateway-source.ts'
import { learn } from './learn.ts'
import { renderLine } from './line.ts'
import type { Source } from './lookup.ts'
import { memoryDirectory, openMemory } from './memory.ts'
import { type Payload, readPayload } from './payload.ts'
import { placeOf } from './place.ts'
import type { View } from './segments.ts'

const GATEWAY_MS = 150

export interface Surroundings {
  readonly stdin: Readable
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

export interface Printed {
  readonly stdout: string
  /** Reasons without secrets, one a line; the client shows them in its debug mode. */
  readonly stderr: string
}

/** Runs it once. Rejects only where the program itself is broken. */
export async function statusLine(
  args: readonly string[],
  { stdin, env, now }: Surroundings,
): Promise<Printed> {
  const { flags, problems } = readFlags(args)
  const { url: address, key, problem } = gatewayAddress(flags.url, flags.keyFile, env)
  if (problem !== null) problems.push(problem)
  const url = addressOf(address)
  const sourceOf = (agentId?: string) => (url ? gatewaySource(url, key, GATEWAY_MS, agentId) : NOWHERE)
  const linked = flags.links === 'on' || (flags.links === 'auto' && key === null && showsLinks(env))
  const render = async (view: View, columns: number | null) =>
    renderLine(view, {
      segments: flags.segments,
      columns,
      theme: isColourless(env) ? null : flags.theme,
      link: linked && url && view.facts?.id ? recordAt(url, view.facts.id) : null,
      cells: isOrdinary(JSON.stringify(view))
        ? ({ length }) => length
        : (await import('../terminal/width.ts')).cells,
    })
  const source = flags.subagents ? NOWHERE : sourceOf() // already connects while stdin is read
  const input = await firstObject(stdin)

  if (flags.subagents) {
    const { readTasks, subagentLines } = await import('./subagents.ts')
    const { sessionId, columns, tasks } = readTasks(input.json)
    const lines = await subagentLines(sessionId, tasks, sourceOf, ({ label }, facts) =>
      render(
        { ...BLANK, label, facts: label === null ? facts : { ...facts, requested_model: label } },
        columns,
      ),
    ).catch((error: Error) => {
      problems.push(`the gateway ${error.message}`)
      return []
    })
    return printed(lines, problems)
  }

  const payload = withSession(readPayload(input.json), env.WAYBILL_SESSION_ID)
  const columns = columnsOf(env)
  const ours = async () => {
    const memory = openMemory(memoryDirectory(env))
    const learnt = await learn(payload, url?.origin ?? '', source, flags.segments, memory, now)
    if (learnt.problem !== null) problems.push(learnt.problem)
    const place = flags.segments.includes('place') ? placeOf(payload.directory) : null
    const note = learnt.facts ? null : learnt.problem
    return render({ ...payload, ...learnt, note, place }, columns)
  }
  if (flags.wrap === null) return printed([await ours()], problems)
  const { append, outputOf } = await import('./wrap.ts')
  const [theirs, line] = await Promise.all([outputOf(flags.wrap, input.text), ours()])
  return printed([append(theirs, line, columns)], problems)
}

/** `waybill run` ties clients that cannot tell the gateway their own session: it hands the same one to both. */
const withSession = (payload: Payload, given: string | undefined): Payload =>
  given ? { ...payload, sessionId: given } : payload

const BLANK: View = { label: null, facts: null, age: null, note: null, contextUsed: null, place: null }

const printed = (lines: readonly string[], problems: readonly string[]): Printed => ({
  stdout: lines.map((line) => `${line}\n`).join(''),
  stderr: problems.map((problem) => `waybill statusline: ${problem}\n`).join(''),
})

const recordAt = (url: URL, id: string): string =>
  new URL(`/api/usage/request-logs/${encodeURIComponent(id)}`, url.origin).href

function addressOf(text: string): URL | null {
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) ? url : null
}

const nowhere = () => {
  throw new Error('has no address: --url, WAYBILL_URL or ANTHROPIC_BASE_URL is not a URL')
}
const NOWHERE: Source = { newest: nowhere, resolve: nowhere, session: nowhere }
