// `waybill run -- PROGRAM`: starts a coding agent with the environment that points it at the gateway and sets its session.
// Changes no file. Prints what it set, without the key, and passes on signals and the exit code.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { clean } from '../terminal/clean.ts'
import { findKey } from '../terminal/key.ts'
import { agentOf, type Launch, launchOf } from './agent-launch.ts'
import type { Agent } from './agent-table.ts'
import { gatewayAt, namedGateway } from './gateway-client.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface RunAgentOptions {
  readonly program: string
  readonly args: readonly string[]
  readonly url?: string
  readonly config: string
  readonly keyFile?: string
  /** The id that the agent is to ask for, where it can be told. */
  readonly model?: string
  /** Says nothing of what it set. */
  readonly quiet?: boolean
  readonly env: Env
}

/** How long the gateway may take to answer, ms. */
const ANSWER_MS = 5_000

const catalog = z.looseObject({ data: z.array(z.looseObject({ id: z.string() })) })

/** Resolves with the program's exit code. Rejects where the gateway does not answer, or the program is not there. */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  const { program, env, quiet = false } = options
  const agent = agentOf(program)
  const base = namedGateway(options.url, options.config, env)
  const keyFile = options.keyFile ?? env.WAYBILL_KEY_FILE
  const get = gatewayAt(base, env, keyFile)
  const known = await get('/v1/models', catalog, AbortSignal.timeout(ANSWER_MS))
  const models = known.data.map(({ id }) => id)
  const model = options.model ?? (agent.needsModel ? modelOf(models) : null)
  const { key } = findKey(env, keyFile ?? null)

  const directory = agent.file === undefined ? null : mkdtempSync(join(tmpdir(), 'waybill-run-'))
  try {
    const file = join(directory ?? '', 'settings.json')
    if (agent.file !== undefined) writeFileSync(file, agent.file, { mode: 0o600 })
    const url = base.href.replace(/\/+$/, '')
    const input = { url, session: randomUUID(), model, models, file }
    const launch = launchOf(agent, options.args, { ...input, key })
    if (!quiet)
      process.stderr.write(told(agent, launchOf(agent, options.args, { ...input, key: key && '***' })))
    return await ended(program, launch, env, keyFile)
  } finally {
    if (directory !== null) rmSync(directory, { recursive: true, force: true })
  }
}

/** The model of an agent that has to be told one: `auto`, else the first of the gateway, which are its routes. */
function modelOf(ids: readonly string[]): string {
  const [first] = ids
  if (first === undefined) throw new Error('the gateway lists no model; name one with --model')
  return ids.includes('auto') ? 'auto' : first
}

const SESSIONS: Readonly<Record<Agent['session'], string>> = {
  own: 'it sends its own session id with every call',
  given: 'its calls carry this session',
  none: 'it cannot send a session id to the gateway',
}

/** What was set, a line each; `launch` holds no key. */
function told(agent: Agent, { set, unset, args }: Launch): string {
  const lines = [
    `waybill: ${agent.title}; ${SESSIONS[agent.session]}`,
    ...Object.entries(set).map(([name, value]) => `  ${name}=${value}`),
    ...(unset.length > 0 ? [`  without ${unset.join(', ')}`] : []),
    ...(args.length > 0 ? [`  arguments: ${args.join(' ')}`] : []),
  ]
  return lines.map((line) => `${clean(line)}\n`).join('')
}

const FORWARDED = ['SIGINT', 'SIGTERM', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const

/** Runs it to its end, in this terminal. */
async function ended(
  program: string,
  { set, unset, args }: Launch,
  env: Env,
  keyFile: string | undefined,
): Promise<number> {
  const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !unset.includes(name)))
  const forward = (signal: NodeJS.Signals) => {
    // Ctrl-C and Ctrl-\ reach the program from the terminal already.
    if (process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')) return
    child.kill(signal)
  }
  for (const signal of FORWARDED) process.on(signal, forward) // first, or a signal at once would leave the program behind
  const child = spawn(program, args, {
    stdio: 'inherit',
    env: { ...inherited, ...(keyFile === undefined ? {} : { WAYBILL_KEY_FILE: keyFile }), ...set },
  })
  try {
    const [code, signal] = (await once(child, 'close')) as [number | null, NodeJS.Signals | null]
    return signal === null ? (code ?? 1) : 128 + constants.signals[signal]
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'ENOENT' && code !== 'EACCES') throw error
    throw new Error(
      `${program} ${code === 'ENOENT' ? 'was not found' : 'cannot be executed'}; install it, or give its path`,
      { cause: error },
    )
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward)
  }
}
