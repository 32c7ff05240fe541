// `waybill run -- PROGRAM`: starts a coding agent with an environment that configures it for the gateway and
// sets its session. Changes no file. Prints the settings without the key, and passes on signals and the exit
// code.
import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants, homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { z } from 'zod'
import { loadConfig } from '../config/load.ts'
import { stray } from '../shared/boundary.ts'
import { clean } from '../terminal/clean.ts'
import { findKey, keysFileOf } from '../terminal/keys.ts'
import { nearest } from '../yaml/wording.ts'
import { agentFor, findProgram, type Launch, launchOf, thisSystem, toldLimits } from './agent-launch.ts'
import { AGENTS, type Agent, ANY_PROGRAM, type LaunchModel, type Limits } from './agent-table.ts'
import { userDirectory } from './find-config.ts'
import { ANSWER_MS, GatewayAccessError, type Get, gatewayAt, namedGateway } from './gateway-client.ts'
import { complain, UsageError } from './output.ts'

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
  /** True to keep the bodies of the calls in the gateway. */
  readonly keep?: boolean
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
const targetLists = z.looseObject({
  models: z.array(z.looseObject({ name: z.string(), model_ids: z.array(z.string()) })),
})
const resolution = z.looseObject({ route: z.string().nullable() })

/**
 * Resolves with the program's exit code. Runs a gateway for it if none answers and none is named. Rejects if a named
 * gateway does not answer or the program is missing.
 */
export async function runAgent(options: RunAgentOptions): Promise<number> {
  const { url, env, program } = options
  if (url || env.WAYBILL_URL) return runWith(options)
  const isThere = (folder: string) => existsSync(join(folder, program))
  if (process.platform !== 'win32' && !program.includes('/') && !env.PATH?.split(':').some(isThere))
    throw new Error(`${program} ${NOT_FOUND}`)
  const config = await configFor(options)
  const stop = await gatewayHere(config, env)
  try {
    return await runWith({ ...options, config })
  } finally {
    await stop?.()
  }
}

/** Returns the configuration. A person without one, and without a gateway, is asked for it first. */
async function configFor({ config, env }: RunAgentOptions): Promise<string> {
  if (existsSync(config) || !(await isAbsent(config, env))) return config
  if (!process.stdin.isTTY)
    throw new UsageError(
      `there is no ${config}, no gateway, and no terminal for questions; write the file with \`waybill init --provider NAME\``,
    )
  complain(`there is no ${config} and no gateway, so these questions come first`)
  // In the directory of the agent's work, it would be one more file of the user's project.
  const file = config === 'waybill.yaml' ? join(userDirectory(env), config) : config
  await (await import('./init.ts')).init({ file, env, isStarted: true })
  return file
}

const isAbsent = (config: string, env: Env): Promise<boolean> =>
  gatewayAt(namedGateway(undefined, config, env), {}, undefined)(
    '/healthz',
    z.unknown(),
    AbortSignal.timeout(ANSWER_MS),
  ).then(
    () => false,
    (error) => error instanceof GatewayAccessError && error.kind === 'absent',
  )

/** Runs the gateway of this configuration in this process, if none answers. Returns a function that stops it. */
async function gatewayHere(config: string, env: Env): Promise<(() => Promise<void>) | null> {
  if (!existsSync(config) || !(await isAbsent(config, env))) return null
  const [{ createGateway }, { watchConfig }] = await Promise.all([
    import('../gateway/create-gateway.ts'),
    import('./serve.ts'),
  ])
  const load = () => loadConfig(config, { env })
  const gateway = await createGateway(load())
  // As in `serve`: a fault that no listener contains does not end the agent's gateway.
  process.on('uncaughtException', stray).on('unhandledRejection', stray)
  const unwatch = [config, keysFileOf(config)].map((file) =>
    watchConfig(file, () => void gateway.reload(load)),
  )
  complain(
    `no gateway answered, so one runs at ${gateway.url} until this agent ends; \`waybill serve\` keeps one running`,
  )
  return async () => {
    for (const end of unwatch) end()
    await gateway.close()
    process.off('uncaughtException', stray).off('unhandledRejection', stray)
  }
}

async function runWith(options: RunAgentOptions): Promise<number> {
  const { program, env, quiet = false } = options
  const agent = options.ownLogin ? withOwnLogin(program) : agentFor(program)
  const base = namedGateway(options.url, options.config, env)
  const keyFile = options.keyFile ?? env.WAYBILL_KEY_FILE
  const get = gatewayAt(base, env, keyFile)
  const kept = options.keep ? await keptFor(get) : null
  const session = sessionOf(options.session, agent, program)
  const models = await modelsOf(get)
  const ids = models.map(({ id }) => id)
  const { note, route } = await checkModel(options.model, agent, program, ids, get)
  const named = options.model ?? (agent.needsModel ? modelOf(ids) : null)
  const limits = models.find(({ id }) => id === named) ?? models.find(({ id }) => id === route) ?? UNKNOWN
  const model = named ?? ((limits.window ?? Infinity) < (agent.leastWindow ?? 0) ? route : null)
  const { key } = findKey(env, keyFile ?? null)

  const directory = agent.file === undefined ? null : mkdtempSync(join(tmpdir(), 'waybill-run-'))
  try {
    const file = join(directory ?? '', agent.file?.name ?? '')
    const url = base.href.replace(/\/+$/, '')
    const input = { url, session, model, limits, env, models, file, keep: options.keep ?? false }
    const launch = launchOf(agent, options.args, { ...input, key })
    if (launch.fileText !== null) writeFileSync(file, launch.fileText, { mode: 0o600 })
    for (const line of [note, signInNote(agent, env), kept]) if (line !== null) complain(line)
    if (!quiet)
      process.stderr.write(told(agent, launchOf(agent, options.args, { ...input, key: key && '***' })))
    const headers = options.ownLogin ? agent.ownLogin?.headers : undefined
    const exitCode = await ended(program, launch, env, keyFile, headers)
    if (!quiet && exitCode === 0 && process.stderr.isTTY && agent.resume !== undefined)
      complain(resumeHint(options, agent, session))
    return exitCode
  } finally {
    if (directory !== null) rmSync(directory, { recursive: true, force: true })
  }
}

/** Returns advice if the user has not chosen the sign-in with which the agent calls the gateway; else null. */
function signInNote({ signIn }: Agent, { HOME = homedir() }: Env): string | null {
  if (!signIn) return null
  const { file, member, wanted, none, other } = signIn
  let chosen: unknown
  try {
    chosen = JSON.parse(readFileSync(join(HOME, file), 'utf8'))
  } catch {}
  for (const name of member) chosen = (chosen as Record<string, unknown> | undefined)?.[name]
  if (chosen === wanted) return null
  return chosen === undefined ? none : other
}

/** Returns what is said about kept calls. Throws if the gateway cannot keep any. */
async function keptFor(get: Get): Promise<string> {
  const state = z.looseObject({ keep_days: z.number().nullish() })
  const { keep_days: days } = await get('/readyz', state, AbortSignal.timeout(ANSWER_MS))
  if (!days)
    throw new Error(
      'the gateway cannot keep calls, because it has no key to encrypt them; `openssl rand -base64 32 | waybill key set WAYBILL_RESPONSES_KEY`, then restart it',
    )
  return `the calls of this run are kept for ${days} days, encrypted; \`waybill sessions\` names their session; see them with \`waybill steps SESSION\`, and delete them with \`waybill steps SESSION --forget\``
}

const UNKNOWN: Limits = { window: null, output: null }

/** Returns the models that an agent may request. A route has the smallest known window of its targets. */
async function modelsOf(get: Get): Promise<LaunchModel[]> {
  const read = <Answer>(path: string, shape: z.ZodType<Answer>) =>
    get(path, shape, AbortSignal.timeout(ANSWER_MS))
  const [{ data }, { models: routes }] = await Promise.all([
    read('/v1/models', catalog),
    read('/v1beta/models', targetLists),
  ])
  const windowOf = new Map(data.map(({ id, context_window }) => [id, context_window]))
  return data
    .filter(({ type }) => type === 'route' || type === 'chat')
    .map(({ id, type, context_window = null, max_completion_tokens: output = null }) => {
      const targets = type === 'route' ? (routes.find(({ name }) => name === id)?.model_ids ?? []) : []
      const known = targets.flatMap((target) => windowOf.get(target) ?? [])
      const window = known.length > 0 ? Math.min(...known) : context_window
      return { id, ...toldLimits({ window, output }) }
    })
}

/** Returns the command that resumes a session through the gateway; the hint of the agent itself leads past it. */
function resumeHint(
  { program, model, ownLogin, keep }: RunAgentOptions,
  agent: Agent,
  session: string,
): string {
  const options = [
    ...(ownLogin ? ['--own-login'] : []),
    ...(keep ? ['--keep'] : []),
    ...(model === undefined ? [] : ['--model', model]),
    ...(agent.session === 'given' ? ['--session', session] : []),
    ...['--', program, agent.resume!],
  ]
  return `to resume this session through the gateway: waybill run ${options.join(' ')} ID`
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
 * Returns the route of the model, or the default route if none is given, and a remark about a model that the gateway
 * does not know. Throws UsageError if no route accepts the model, or if the program's model cannot be set.
 */
async function checkModel(
  model: string | undefined,
  agent: Agent,
  program: string,
  models: readonly string[],
  get: Get,
): Promise<{ readonly note: string | null; readonly route: string | null }> {
  if (model !== undefined && agent === ANY_PROGRAM) {
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
  const byDefault = await resolve({ model: model ?? 'a-model-of-the-agent', dialect: agent.dialect })
  const route = byDefault?.route ?? null
  if (model === undefined || (await resolve({ model }))) return { note: null, route }
  const near = nearest(model, models)
  const advice = near === null ? `there are: ${models.join(', ')}` : `did you mean ${near}?`
  if (!byDefault)
    throw new UsageError(`the gateway has no route or model ${JSON.stringify(model)}; ${advice}`)
  const note = `the gateway knows no ${JSON.stringify(model)}, so its calls go by the default to ${route}${near === null ? '' : `; ${advice}`}`
  return { note, route }
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

const NOT_FOUND = 'was not found; install it, or give its path'

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
      `${program} ${code === 'ENOENT' ? NOT_FOUND : 'cannot be executed; give the path of a program'}`,
      { cause: error },
    )
  } finally {
    for (const signal of FORWARDED) process.off(signal, forward)
  }
}
