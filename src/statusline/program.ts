// The status-line program. The program reads one object and prints one line, even if something fails. The gateway
// renders the line. This program sends the required facts, and caches the line for when the gateway does not answer.
// Loads only the modules that it needs.

import { readFileSync, statSync } from 'node:fs'
import { basename, dirname, join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { cleanLabel, cut, isOrdinary, type Measure } from '../terminal/clean.ts'
import { isColourless, lineColumns, showsLinks } from '../terminal/environment.ts'
import { ago } from '../terminal/numbers.ts'
import { firstObject, type Payload, readPayload } from './client-input.ts'
import { AGE_PLACEHOLDER, type Flags, readFlags, THEMES, type ThemeName } from './flags.ts'
import { memoryDirectory, openMemory } from './memory.ts'
import { askForLine, dial, gatewayAddress, NoGatewayError, type RemoteGateway, sound } from './remote-line.ts'

const GATEWAY_MS = 150
/** Maximum length that the gateway accepts. */
const MAX_COLUMNS = 99_999

interface LineEnvironment {
  readonly stdin: Readable
  readonly env: Readonly<Record<string, string | undefined>>
  /** Milliseconds since the epoch. */
  readonly now: () => number
}

interface Printed {
  readonly stdout: string
  /** Reasons without secrets, one on each line. The client shows them in its debug mode. */
  readonly stderr: string
}

/** Runs the program once. Rejects only if the program itself is broken. */
export async function statusLine(args: readonly string[], surroundings: LineEnvironment): Promise<Printed> {
  const { stdin, env } = surroundings
  const { flags, problems } = readFlags(args)
  const { url: address, key, problem } = gatewayAddress(flags.url, flags.keyFile, env)
  if (problem !== null) problems.push(problem)
  const url = addressOf(address)
  const linked = flags.links === 'on' || (flags.links === 'auto' && key === null && showsLinks(env))
  const gateway = url && { url, key }
  const look: Record<string, string> = {
    segments: flags.segments.join(','),
    theme: isColourless(env) ? 'none' : flags.theme,
    ...(linked && url && { link: url.origin }),
  }
  // Connects while stdin is still being read.
  const connected = gateway && !flags.subagents ? { ...gateway, socket: dial(gateway.url) } : null
  const input = await firstObject(stdin)
  if (flags.subagents) return printed(await subagentRows(input.json, gateway, look, problems), problems)
  const payload = withSession(readPayload(input.json), env.WAYBILL_SESSION_ID)
  const ours = () => drawLine(payload, connected, look, flags, problems, surroundings)
  if (flags.wrap === null) return printed([await ours()], problems)
  const { append, outputOf } = await import('./wrap.ts')
  const [theirs, line] = await Promise.all([outputOf(flags.wrap, input.text), ours()])
  return printed([append(theirs, line, lineColumns(env))], problems)
}

/**
 * Returns the gateway's line, otherwise the cached line with its age, otherwise the client's own label
 * (LINE-05).
 */
async function drawLine(
  payload: Payload,
  gateway: RemoteGateway | null,
  look: Readonly<Record<string, string>>,
  flags: Flags,
  problems: string[],
  { env, now }: LineEnvironment,
): Promise<string> {
  const { sessionId, modelAsGiven, label, directory, contextUsed } = payload
  const columns = lineColumns(env)
  const memory = openMemory(memoryDirectory(env))
  const subject = [gateway?.url.origin ?? '', sessionId, modelAsGiven, look.segments!, look.theme!]
  const place = flags.segments.includes('place') ? directoryLabel(directory) : null
  const context = flags.segments.includes('context') ? contextUsed : null
  let note: string | null = null
  try {
    if (gateway === null)
      throw new Error('has no address: --url, WAYBILL_URL or ANTHROPIC_BASE_URL is not a URL')
    if (sessionId !== null || modelAsGiven !== null) {
      const query = {
        ...look,
        ...given({ session_id: sessionId, model: modelAsGiven, label, place, context, columns }),
      }
      const { line, aged, at } = await askForLine(gateway, query, GATEWAY_MS)
      if (sessionId !== null) keep(() => memory.keep(subject, aged, at), problems)
      return sound(line, columns, await measureOf(line))
    }
  } catch (error) {
    note = `the gateway ${(error as Error).message}`
    problems.push(note)
    const last = sessionId === null ? null : memory.recall(subject)
    if (last !== null) {
      const why = error instanceof NoGatewayError ? 'no gateway' : 'no answer'
      const line = last.aged.replace(AGE_PLACEHOLDER, `${why}, ${ago(now() - last.at)}`)
      return sound(line, columns, await measureOf(line))
    }
  }
  const parts = [
    cleanLabel(label ?? '').trim() || 'waybill',
    note,
    context === null ? null : `context ${Math.round(context)} %`,
    place && cleanLabel(place),
  ].filter((part) => part !== null)
  const theme = isColourless(env) ? null : flags.theme
  return ownLine(parts, columns, theme, await measureOf(parts.join('')))
}

/** Returns a row for each subagent with a recorded call. Other subagents keep the client's own row. */
async function subagentRows(
  json: unknown,
  gateway: Omit<RemoteGateway, 'socket'> | null,
  look: Readonly<Record<string, string>>,
  problems: string[],
): Promise<string[]> {
  const { readTasks, subagentLines } = await import('./subagents.ts')
  const { sessionId, columns, tasks } = readTasks(json)
  if (sessionId === null || gateway === null) return []
  try {
    return await subagentLines(tasks, async ({ id, label }) => {
      const query = { ...look, ...given({ session_id: sessionId, agent_id: id, label, columns }) }
      const { line } = await askForLine({ ...gateway, socket: dial(gateway.url) }, query, GATEWAY_MS)
      return sound(line, columns, await measureOf(line))
    })
  } catch (error) {
    problems.push(`the gateway ${(error as Error).message}`)
    return []
  }
}

/** Returns the query parameters of a request, except unknown ones. */
function given({
  columns,
  ...texts
}: Readonly<Record<string, string | number | null>> & { readonly columns: number | null }): Record<
  string,
  string
> {
  const known = Object.entries(texts).filter(([, value]) => value !== null)
  return {
    ...Object.fromEntries(known.map(([name, value]) => [name, String(value)])),
    columns: String(Math.min(columns ?? 0, MAX_COLUMNS)),
  }
}

/** A failing cache must not hide current facts. */
function keep(write: () => void, problems: string[]): void {
  try {
    write()
  } catch (error) {
    problems.push((error as Error).message)
  }
}

/** Loads the tables of wide characters only for a text that may contain some. */
const measureOf = async (text: string): Promise<Measure> =>
  isOrdinary(text.replaceAll('\u001b', '').replaceAll('\u0007', ''))
    ? ({ length }) => length
    : (await import('../terminal/width.ts')).cells

/** `waybill run` passes the client's session to this program if the client cannot send its own. */
const withSession = (payload: Payload, session: string | undefined): Payload =>
  session ? { ...payload, sessionId: session } : payload

const printed = (lines: readonly string[], problems: readonly string[]): Printed => ({
  stdout: lines.map((line) => `${line}\n`).join(''),
  stderr: problems.map((problem) => `waybill statusline: ${problem}\n`).join(''),
})

function addressOf(text: string): URL | null {
  const url = URL.parse(text)
  return url && /^https?:$/.test(url.protocol) ? url : null
}

/**
 * Returns one line of at most `columns` cells. The first part always stays, and the last part is dropped first
 * (LINE-06).
 */
function ownLine(
  parts: readonly string[],
  columns: number | null,
  theme: ThemeName | null,
  cells: Measure,
): string {
  const limit = columns ?? Number.POSITIVE_INFINITY
  const count = parts.findLastIndex((_, at) => cells(parts.slice(0, at + 1).join(' · ')) <= limit)
  const rest = parts.slice(1, count + 1).map((part) => ` · ${part}`)
  const quiet = theme === null || rest.length === 0 ? '' : `\u001b[${THEMES[theme].quiet}m`
  return `${cut(parts[0]!, limit, cells)}${quiet}${rest.join('')}${quiet && '\u001b[0m'}`
}

/**
 * Returns `directory (branch)`, read from Git's files without starting a process; null without a directory. Never throws.
 */
function directoryLabel(directory: string | null): string | null {
  if (directory === null) return null
  const branch = branchOf(directory)
  return branch === null ? basename(directory) : `${basename(directory)} (${branch})`
}

function branchOf(directory: string): string | null {
  try {
    for (let at = resolve(directory); ; at = dirname(at)) {
      const dot = join(at, '.git')
      const found = statSync(dot, { throwIfNoEntry: false })
      if (found) return headOf(found.isFile() ? linked(dot) : dot)
      if (at === dirname(at)) return null
    }
  } catch {
    return null
  }
}

/** In a worktree, `.git` is a file that contains the path of its directory. */
const linked = (file: string): string =>
  resolve(
    dirname(file),
    readFileSync(file, 'utf8')
      .replace(/^gitdir: /, '')
      .trim(),
  )

function headOf(gitDirectory: string): string {
  const head = readFileSync(join(gitDirectory, 'HEAD'), 'utf8').trim()
  return head.replace(/^ref: refs\/heads\//, '').slice(0, /^[0-9a-f]{40}/.test(head) ? 8 : undefined)
}
