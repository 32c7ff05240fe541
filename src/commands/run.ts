// `waybill run -- PROGRAM`: starts a coding agent with an environment that configures it for the gateway and
// sets its session. Changes no file. Prints the settings without the key, and passes on signals and the exit
// code.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { constants, tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { clean } from '../terminal/clean.ts'
import { findKey } from '../terminal/key.ts'
import { nearest } from '../yaml/nearest.ts'
import { agentFor, type Launch, launchOf } from './agent-launch.ts'
import { AGENTS, type Agent, ANY_PROGRAM } from './agent-table.ts'
import { findProgram, thisSystem } from './find-program.ts'
import { ANSWER_MS, GatewayAccessError, type Get, gatewayAt, namedGateway } from './gateway-client.ts'
import { complain } from './output.ts'
import { UsageError } from './usage-error.ts'

type Env = Readonly<Record<string, string | undefined>>

/** Program to start, with its arguments. */
export interface Program {
  readonly program: string
  readonly args: readonly string[]
}

interface RunAgentOptions extends Program {
  readonly url?: string
  readonly config: string
  readonly keyFile?: string
  /** Model that the agent should request, if it can be set. */
  readonly model?: string
  /** Session of the agent's calls, if it can be set; a new one by default. */
  readonly session?: string
  /** True if the agent keeps its own login; then the gateway's key is sent in a separate header. */
  readonly ownLogin?: boolean
  /** True to print no settings. */
  readonly quiet?: boolean
  readonly env: Env
}

const catalog = z.looseObject({
  data: z.array(
    z.looseObject({
      id: z.string(),
      type: z.string().default('chat'),
      context_window: z.number().optional(),
      max_completion_tokens: z.number().optional(),
    }),
  ),
})
const resolution = z.looseObject({ route: z.string().nullable() })

/**
 * Resolves with the program's exit code. Rejects if the gateway does not answer or the program is missing.
 */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  const { program, env, quiet = false } = options
  const agent = options.ownLogin ? withOwnLogin(program) : agentFor(program)
  const base = namedGateway(options.url, options.config, env)
  const keyFile = options.keyFile ?? env.WAYBILL_KEY_FILE
  const get = gatewayAt(base, env, keyFile)
  const session = sessionOf(options.session, agent, program)
  const known = await get('/v1/models', catalog, AbortSignal.timeout(ANSWER_MS))
  const models = known.data
    .filter(({ type }) => type === 'route' || type === 'chat')
    .map(({ id, type, context_window: context, max_completion_tokens: output }) => {
      return { id, isRoute: type === 'route', context, output }
    })
  const ids = models.map(({ id }) => id)
  const note = options.model === undefined ? null : await checkModel(options.model, agent, program, ids, get)
  const model = options.model ?? (agent.needsModel ? modelOf(ids) : null)
  const { key } = findKey(env, keyFile ?? null)

  const directory = agent.file === undefined ? null : mkdtempSync(join(tmpdir(), 'waybill-run-'))
  try {
    const file = join(directory ?? '', 'settings.json')
    if (agent.file !== undefined) writeFileSync(file, agent.file, { mode: 0o600 })
    const url = base.href.replace(/\/+$/, '')
    const input = { url, session, model, models, file }
    const launch = launchOf(agent, options.args, { ...input, key })
    if (note !== null) complain(note)
    if (!quiet)
      process.stderr.write(told(agent, launchOf(agent, options.args, { ...input, key: key && '***' })))
    return await ended(program, launch, env, keyFile, options.ownLogin ? agent.ownLogin?.headers : undefined)
  } finally {
    if (directory !== null) rmSync(directory, { recursive: true, force: true })
  }
}

/**
 * Returns the model for an agent that needs one: `auto` if it exists, otherwise the gateway's first, which is
 * a route.
 */
function modelOf(ids: readonly string[]): string {
  const [first] = ids
  if (first === undefined) throw new Error('the gateway lists no model; name one with --model')
  return ids.includes('auto') ? 'auto' : first
}

/** Returns the settings of the agent with its own login. Throws UsageError if it cannot keep one. */
function withOwnLogin(program: string): Agent {
  const agent = agentFor(program)
  if (agent.ownLogin) return { ...agent, ...agent.ownLogin }
  const names = AGENTS.filter(({ ownLogin }) => ownLogin).flatMap(({ programs }) => programs)
  throw new UsageError(`--own-login works for ${names.join(', ')}; ${program} is none of them`)
}

/** Throws UsageError if the given session cannot be passed to the agent. */
function sessionOf(named: string | undefined, agent: Agent, program: string): string {
  if (named === undefined) return randomUUID()
  if (agent.session === 'own')
    throw new UsageError(
      `${agent.title} sends a session id of its own, also when it resumes a session; leave out --session`,
    )
  if (agent.session === 'none')
    throw new UsageError(`${program} cannot be told a session; --session works for ${programsWith('given')}`)
  if (!/^[\x21-\x7e]{1,256}$/.test(named))
    throw new UsageError('--session takes up to 256 letters, digits and marks without a blank')
  return named
}

const programsWith = (session: Agent['session']): string =>
  AGENTS.filter((each) => each.session === session)
    .flatMap(({ programs }) => programs)
    .join(', ')

/**
 * Returns a remark about the given model; null if the gateway knows it. Throws UsageError if no route accepts
 * the model, or if the program's model cannot be set.
 */
async function checkModel(
  model: string,
  agent: Agent,
  program: string,
  models: readonly string[],
  get: Get,
): Promise<string | null> {
  if (agent === ANY_PROGRAM) {
    const names = AGENTS.flatMap(({ programs }) => programs)
    throw new UsageError(
      `--model works for ${names.join(', ')}; ${program} is none of them, so name the model in its own way`,
    )
  }
  const resolve = (query: Record<string, string>) =>
    get(
      `/api/cloud/model/resolve?${new URLSearchParams(query)}`,
      resolution,
      AbortSignal.timeout(ANSWER_MS),
    ).catch((error) => {
      if (error instanceof GatewayAccessError && error.status === 404) return null
      throw error
    })
  if (await resolve({ model })) return null
  const byDefault = await resolve({ model, dialect: agent.dialect })
  const near = nearest(model, models)
  const advice = near === null ? `there are: ${models.join(', ')}` : `did you mean ${near}?`
  if (!byDefault)
    throw new UsageError(`the gateway has no route or model ${JSON.stringify(model)}; ${advice}`)
  return `the gateway knows no ${JSON.stringify(model)}, so its calls go by the default to ${byDefault.route}${near === null ? '' : `; ${advice}`}`
}

const SESSIONS: Readonly<Record<Agent['session'], string>> = {
  own: 'it sends its own session id with every call',
  given: 'its calls carry this session, which --session continues',
  none: 'it cannot send a session id to the gateway',
}

/** Describes the settings, one on each line; `launch` contains no key. */
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

/**
 * Runs the program in this terminal until it ends. `headers`: variable that contains the user's own headers.
 */
async function ended(
  program: string,
  { set, unset, args }: Launch,
  env: Env,
  keyFile: string | undefined,
  headers: string | undefined,
): Promise<number> {
  const inherited = Object.fromEntries(Object.entries(env).filter(([name]) => !unset.includes(name)))
  const usersHeaders = headers && env[headers]
  const joined = usersHeaders ? { [headers]: `${usersHeaders}\n${set[headers]}` } : {}
  const { file, before } = findProgram(program, thisSystem(env))
  const forward = (signal: NodeJS.Signals) => {
    // The terminal already sends Ctrl-C and Ctrl-\ to the program.
    if (process.stdin.isTTY && (signal === 'SIGINT' || signal === 'SIGQUIT')) return
    child.kill(signal)
  }
  for (const signal of FORWARDED) process.on(signal, forward) // registered first, otherwise an early signal would be missed
  const child = spawn(file, [...before, ...args], {
    stdio: 'inherit',
    env: { ...inherited, ...(keyFile === undefined ? {} : { WAYBILL_KEY_FILE: keyFile }), ...set, ...joined },
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
