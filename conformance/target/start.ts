// Starts a target: writes its files, runs its command, sends its setup requests, and waits until it is ready.
// Every instance has its own directory, port and keys. Each kind of target has its own file; the setup
// requests are in install.ts.

import { createHash, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { isAbsolute, join, resolve } from 'node:path'
import { clock, sleep } from '../../src/shared/clock.ts'
import { packageFile } from '../../src/shared/package-root.ts'
import { sendRequest } from '../evidence/http-client.ts'
import { withoutSecrets } from '../evidence/reading.ts'
import { type Containers, containerHome, ownImage } from './containers.ts'
import { checkBase, manage, setUp } from './install.ts'
import { filesIn, type Home, type Process, type Running, StartError } from './instance.ts'
import { atExit, reservePort, runCommand, runInProcess } from './local.ts'
import { fillIn, shownKey, type Target, type Values } from './schema.ts'

/** Environment of a start. */
interface StartOptions {
  /** Addresses and keys of the mock as template values: `mock.openai.base_url` and so on. */
  readonly values: Values
  /** Configuration variant of the target file; null for the default. */
  readonly variant: string | null
  /** Containers on the mock's network, if the mock runs in one. */
  readonly containers?: Containers | null
  /**
   * Called every 10 s while it is not ready, with the status of its last answer (null without one), and what is waited
   * for. Returns false to give up.
   */
  readonly onWait?: ((seconds: number, status: number | null, what: string) => boolean) | undefined
}

/** Minimum characters of a key. Answers are searched for keys, and a short word would often occur by chance. */
const MIN_KEY_LENGTH = 8

/**
 * Maximum time for a second process to notice that it may not run, ms; on a busy machine, its start takes
 * seconds.
 */
const SECOND_PROCESS_TIMEOUT_MS = 30_000

/** This program: its runtime, and the path of its package. */
const HERE: Values = {
  node: process.execPath,
  project: packageFile(''),
  image: ownImage(),
}

/** Instance, and the target file with its values filled in. */
export interface Started {
  readonly target: Target
  readonly running: Running
  /** Secrets of the instance: name -> value. */
  readonly secrets: ReadonlyMap<string, string>
  /** Sends the target file's reset requests. Rejects with StartError. */
  reset(): Promise<void>
  /** Stops the instance finally, even during a restart, and removes its directory. */
  dispose(): Promise<void>
}

/** Starts an instance. Rejects with StartError: one sentence with the problem and its remedy. */
export async function start(template: Target, options: StartOptions): Promise<Started> {
  const { containers } = options
  const home =
    containers && 'image' in template.start
      ? containerHome(containers, template.start.port)
      : await homeHere()
  const made = makeKeys()
  const secrets = keysIn(made)
  const redact = (text: string) => withoutSecrets(text, new Map([...secrets, ...keysIn(options.values)]))
  /** Removes keys from the error with which `work` rejects, because a gateway may print its keys in a refusal. */
  const careful = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work()
    } catch (thrown) {
      if (!(thrown instanceof StartError)) throw thrown
      throw new StartError(redact(thrown.message), { cause: thrown.cause })
    }
  }
  try {
    return await careful(() => startIn(home, template, options, { made, secrets, redact, careful }))
  } catch (cause) {
    await home.remove().catch(() => {}) // reports only why the gateway did not start
    throw cause
  }
}

interface Keys {
  /** `key.client`, `digest.client` and so on, made for this instance. */
  readonly made: Values
  /** Secrets by name; grows as more secrets become known. */
  readonly secrets: Map<string, string>
  readonly redact: (text: string) => string
  readonly careful: <T>(work: () => Promise<T>) => Promise<T>
}

async function startIn(
  home: Home,
  template: Target,
  { values, variant, onWait = () => true }: StartOptions,
  { made, secrets, redact, careful }: Keys,
): Promise<Started> {
  const environment = Object.entries(process.env).map(([name, value]) => [`env.${name}`, value ?? ''])
  const all: Values = {
    ...Object.fromEntries(environment),
    ...values,
    ...made,
    ...HERE,
    port: String(home.port),
    dir: home.dir,
    version: template.version ?? '',
  }
  // Values that the setup will provide keep their placeholders until then.
  const later = template.setup.flatMap(({ keep, keep_headers }) =>
    Object.keys({ ...keep, ...keep_headers }).map((name) => [name, `{{${name}}}`]),
  )
  let target: Target
  try {
    target = fillIn({ ...template, setup: [] }, { ...all, ...Object.fromEntries(later) })
  } catch (cause) {
    throw new StartError(`target file of ${template.name}: ${(cause as Error).message}`)
  }

  checkBase(`target file of ${target.name}`, 'url' in target.start ? target.start.url : target.base_url)

  const given = givenKey(target)
  const uses = (name: string) => JSON.stringify(template).includes(`{{${name}`)
  const client = given ?? (uses('key.client') || uses('digest.client') ? made['key.client']! : null)
  const other = uses('key.other') || uses('digest.other') ? made['key.other']! : null
  const reader = uses('key.admin') || uses('digest.admin') ? made['key.admin']! : client
  if (given !== null) secrets.set('key.client', given)

  await home.writeFiles(target, { ...target.files, ...(variant !== null && target.variants[variant]?.files) })
  let running: Process | null = null
  let baseUrl = ''
  let disposed = false
  let beginning: Promise<void> = Promise.resolve()
  const begin = async () => {
    if (disposed) throw new StartError(`${target.name} is not started again: the check is over`)
    const fresh = await home.run(target)
    // Redacts here, because output is truncated later, and half a key would not be found.
    running = { ...fresh, output: () => redact(fresh.output()) }
    baseUrl = baseUrlOf(target, running)
    await ready(target, baseUrl, running, target.keys.client ?? client, onWait)
  }
  await begin()
  try {
    // Sends the setup once, not after each start, because a gateway that has stored its setup would refuse it
    // or apply it twice.
    if (template.setup.length > 0) target = await setUp(template, target, all, baseUrl, secrets)
  } catch (refused) {
    await running!.stop('killed')
    throw refused
  }
  await sleep(target.ready.settle_ms)
  // If clients send the provider's key, this key is not the gateway's own key.
  const providers = new Set(keysIn(values).values())
  for (const [role, key] of Object.entries(target.keys))
    if (key && !providers.has(key)) secrets.set(`key.${role}`, key)

  const instance: Running = {
    get baseUrl() {
      return baseUrl
    },
    ca: target.ca,
    keys: {
      client: target.keys.client ?? client,
      other: target.keys.other ?? other,
      reader: target.keys.reader ?? target.keys.client ?? reader,
    },
    files: 'url' in target.start ? null : home.files,
    alive: () => running!.alive(),
    output: () => running!.output(),
    stop: (how = 'politely') => running!.stop(how),
    start: () => (beginning = careful(begin)),
    second: (env) => startBeside(home, { ...target, env: { ...target.env, ...env } }),
  }
  return {
    target,
    running: instance,
    secrets,
    reset: () =>
      careful(async () => {
        for (const request of target.reset)
          await manage(`reset of ${target.name}`, request, baseUrl, target.ca)
      }),
    async dispose() {
      disposed = true
      await beginning.catch(() => {}) // the caller gets the error
      await running!.stop('politely')
      await home.remove()
    },
  }
}

/** Returns a gateway's key from the environment. Throws StartError if the key is missing or too short. */
function givenKey(target: Target): string | null {
  const given = target.key_env === undefined ? null : (process.env[target.key_env] ?? null)
  if (target.key_env !== undefined && given === null)
    throw new StartError(
      `environment variable ${target.key_env} is not set; it holds the key of ${target.name}`,
    )
  if (given !== null && given.length < MIN_KEY_LENGTH)
    throw new StartError(
      `the key in ${target.key_env} has fewer than ${MIN_KEY_LENGTH} characters, so it cannot be told from other words; give ${target.name} a longer one`,
    )
  return given
}

/**
 * Starts a second process next to an instance, and returns the reason for its end, or null if it had to be
 * stopped.
 */
async function startBeside(home: Home, target: Target): Promise<string | null> {
  try {
    const twin = await home.runBeside(target)
    for (let waited = 0; twin.alive() && waited < SECOND_PROCESS_TIMEOUT_MS; waited += 50) await sleep(50)
    if (!twin.alive()) return twin.output()
    await twin.stop('killed')
    return null
  } catch (refused) {
    return (refused as Error).message
  }
}

/** Creates a directory and reserves a port on this machine. */
async function homeHere(): Promise<Home> {
  const directory = mkdtempSync(join(tmpdir(), 'waybill-conform-'))
  const { port, release } = await reservePort()
  const remove = () => rmSync(directory, { recursive: true, force: true })
  const forget = atExit(remove)
  const files = filesIn(directory)
  const run = async ({ start: how, env }: Target): Promise<Process> => {
    if ('url' in how) return { alive: () => true, output: () => '', stop: async () => {} }
    if ('image' in how) throw new StartError(`${how.image} is an image, but the mock is not in a container`)
    if ('command' in how) return runCommand(how.command, { cwd: directory, env })
    return runInProcess(how.inproc, directory, env)
  }
  return {
    dir: directory,
    port,
    files,
    writeFiles: (_, given) => files.write(given),
    run,
    runBeside: run,
    async remove() {
      remove()
      forget()
      await release()
    },
  }
}

/** Returns the prefix of request URLs: a container has its own address with the path of `base_url`. */
function baseUrlOf({ start: how, base_url }: Target, { origin }: Process): string {
  if ('url' in how) return how.url
  return origin ? origin + new URL(base_url).pathname.replace(/\/$/, '') : base_url
}

/** Waits until the target answers its ready path. */
async function ready(
  target: Target,
  baseUrl: string,
  running: Process,
  key: string | null,
  onWait: NonNullable<StartOptions['onWait']>,
): Promise<void> {
  const { path, status, timeout_ms } = target.ready
  const headers = { ...target.headers, ...(key !== null && shownKey(target, key)) }
  const began = clock.now()
  const deadline = began + timeout_ms
  let seconds = 0
  let last = 'it does not listen'
  while (running.alive() && clock.now() < deadline) {
    const seen = await sendRequest(baseUrl, { method: 'GET', path, headers, body: null }, 2_000, {
      ca: target.ca,
    }).done
    if ([status].flat().some((each) => each === seen.status)) return
    last = seen.status === null ? trouble(target, seen.error) : `it answers with status ${seen.status}`
    if (clock.now() - began >= (seconds + 10) * 1_000) {
      seconds += 10
      const [line = ''] = running.output().trim().split('\n').slice(-1)
      const printed = line && `; it printed: ${line.slice(0, 100)}`
      if (!onWait(seconds, seen.status, `GET ${baseUrl}${path}: ${last}${printed}`)) break
    }
    await sleep(25)
  }
  if (!running.alive())
    throw new StartError(
      `${target.name} ended before it was ready.${elsewhere(target)}${tail(running.output())}`,
    )
  await running.stop('killed')
  throw new StartError(
    `${target.name} is not ready after ${Math.min(timeout_ms, clock.now() - began)} ms: GET ${baseUrl}${path}: ${last}. If it starts slowly, raise ready.timeout_ms in its target file; if it never answers ${[status].flat().join(' or ')} there, name another ready.path.${tail(running.output())}`,
  )
}

/** Returns the reason for a missing answer; for an untrusted certificate, also the remedy. */
function trouble({ ca }: Target, error: string | null): string {
  if (!/CERT|ISSUER|SIGNATURE/.test(error ?? '')) return error ?? 'no answer'
  return ca === undefined
    ? `${error}; name the file of its authority in \`ca\``
    : `${error}; ${ca} ${existsSync(ca) ? 'does not contain its authority' : 'does not exist'}`
}

/**
 * Returns a hint if the command names a file relative to the current directory instead of the target's
 * directory.
 */
function elsewhere({ start: how }: Target): string {
  const words = 'command' in how ? (how.command ?? []) : []
  const here = words.find((word) => !isAbsolute(word) && existsSync(word))
  return here === undefined
    ? ''
    : ` It runs in its own directory: write ${resolve(here)} instead of ${here} in start.command.`
}

const tail = (output: string): string => (output.trim() ? ` It printed: ${output.trim().slice(-500)}` : '')

/**
 * Creates keys for this run only, and their digests. Letters and digits only, because a dash is special in
 * some gateways.
 */
function makeKeys(): Values {
  const values: Record<string, string> = {}
  for (const name of ['client', 'other', 'admin']) {
    const key = `wbconform${name}${randomBytes(12).toString('hex')}`
    values[`key.${name}`] = key
    values[`digest.${name}`] = `sha256:${createHash('sha256').update(key).digest('hex')}`
  }
  return values
}

/** Returns the template values that are keys, not digests or addresses. */
export const keysIn = (values: Values): Map<string, string> =>
  new Map(Object.entries(values).filter(([name]) => /^key\.|\.key$/.test(name)))
