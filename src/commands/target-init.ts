// `waybill target check FILE`: names mistakes in a target file, or tries one call. `waybill target init`: asks a few questions, or uses options without a terminal. Tests the answers and
// writes them as a target file with comments.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, isAbsolute, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { stringify } from 'yaml'
import { checks } from '../../conformance/checks/registry.ts'
import type { Profile } from '../../conformance/checks/requirements.ts'
import { inTime, timeLeft, usualCalls } from '../../conformance/runner/eta.ts'
import {
  applying,
  type GuessedLog,
  guessLog,
  lookAt,
  type Preflight,
} from '../../conformance/runner/preflight.ts'
import { readTarget, targetSchemaFile } from '../../conformance/target/read.ts'
import { type Target, targetSchema } from '../../conformance/target/schema.ts'
import { holdsCredential } from '../shared/plain-address.ts'
import { endOnSignal, explainSetup, profileOf, reportError } from './conform.ts'
import { type MockAddress, withMock } from './mock-options.ts'
import { print, UsageError } from './output.ts'

/** The user's answers, as typed. */
interface Answers {
  readonly start?: string
  readonly call?: string
  readonly keyEnv?: string
  readonly name?: string
  /** Request headers, each `NAME: VALUE`. */
  readonly header?: readonly string[]
  /** Files that the gateway needs, each `NAME=TEXT` or `NAME=@PATH`. */
  readonly file?: readonly string[]
  readonly headers?: string
  readonly log?: string
  readonly read?: string
  readonly ready?: string
  /** Seconds until a started gateway must be ready. */
  readonly wait?: string
}

interface Question {
  readonly name: Exclude<keyof Answers, 'header' | 'file' | 'wait'>
  readonly question: string
  /** Option that replaces the answer; without it, the answer may be empty. */
  readonly must?: string
  /** Returns the mistake in an answer; null without one. The question is then asked again. */
  readonly mistakeIn?: (answer: string) => string | null
}

const HEADERS = ['provider', 'model', 'request_id', 'session'] as const

const headerMistake = (text: string): string | null =>
  pairsIn(text).every(([name, header]) => HEADERS.some((each) => each === name) && header)
    ? null
    : `write NAME=HEADER, where NAME is one of ${HEADERS.join(', ')}`

const pathMistake = (text: string): string | null =>
  text.split(',').every((path) => path.trim().startsWith('/')) ? null : 'write a path that begins with /'

const QUESTIONS: readonly Question[] = [
  {
    name: 'start',
    question:
      'How is it started, or where does it run? A command such as `OPENAI_BASE_URL={{mock.openai.base_url}} OPENAI_API_KEY={{mock.openai.key}} my-gateway --port {{port}}`, or an address',
    must: '--start',
  },
  { name: 'call', question: 'Which model should be called?', must: '--call' },
  {
    name: 'keyEnv',
    question: 'Which environment variable holds the key that its clients send? (none)',
    mistakeIn: variableMistake,
  },
  {
    name: 'headers',
    question:
      'Which response headers report what? For example provider=x-provider,model=x-model,request_id=x-request-id (none)',
    mistakeIn: headerMistake,
  },
  { name: 'log', question: 'Where is its log of calls? A path (none)', mistakeIn: pathMistake },
  { name: 'name', question: 'What is it called? (after its program or address)' },
  {
    name: 'ready',
    question: 'Which path answers 200 when it is ready? (the first of the next question)',
    mistakeIn: pathMistake,
  },
  {
    name: 'read',
    question: 'Which other paths can be read at no cost, separated by commas? (/v1/models)',
    mistakeIn: pathMistake,
  },
]

/**
 * Returns the exit code. 0: the file was written; 2: wrong arguments; 3: the file was written, but the
 * gateway could not be tried.
 */
export async function initTarget(file: string, given: Answers): Promise<number> {
  try {
    if (existsSync(file)) throw new UsageError(`${file} already exists; name another file, or remove it`)
    const answers = await askFor(given)
    let known: Known = fieldsOf(answers)
    refuseCredentials(known)
    const mistake = answers.keyEnv ? variableMistake(answers.keyEnv) : null
    if (mistake !== null) throw new UsageError(`--key-env: ${mistake}, or leave the option out`)
    const logAt = answers.log ? { path: answers.log, list: '', fields: { id: '/id' } } : null
    const target = targetSchema.safeParse({
      ...known,
      ...(logAt && { observability: { ...known.observability, log: logAt } }),
    })
    if (!target.success) {
      const { path, message } = target.error.issues[0]!
      throw new UsageError(`${path.join('.')}: ${message}`)
    }
    const { wait } = answers
    if (wait !== undefined && !/^[1-9]\d{0,4}$/.test(wait))
      throw new UsageError(`--wait: write a number of seconds, such as 300, not "${wait}"`)
    const usual = target.data.ready.timeout_ms
    const timeout_ms = 'url' in known.start && wait === undefined ? usual : 1_000 * Number(wait ?? 300)
    print(`Trying ${known.name} …`)
    endOnSignal()
    let failure: unknown = null
    let seen: Preflight | null = null
    for (const dialects of 'url' in known.start ? [{}] : ALONE) {
      try {
        const ready = { ...target.data.ready, timeout_ms }
        seen = await look({ ...target.data, dialects, ready }, { probes: true, onWait: tellWait })
        if ('chat' in dialects) known = { ...known, dialects }
        failure = null
        break
      } catch (thrown) {
        const isThere = !NOT_THERE.test((thrown as Error).message)
        if (failure === null || isThere) failure = thrown
        if (isThere) break
      }
    }
    const gone = seen?.absent ?? []
    const there = known.capabilities.read_paths.filter((path) => !gone.includes(path))
    const { catalog } = known.capabilities
    const capabilities = { ...(catalog && there.includes(catalog) && { catalog }), read_paths: there }
    known = { ...known, capabilities }
    if (seen && seen.took > usual / 3) known = { ...known, ready: slowStart(known.ready, seen.took) }
    const log = seen && guessLog(seen, answers.call!, known.observability.headers.request_id)
    const own = (what: string) => !what.startsWith('the log, ')
    for (const { ok, what } of seen?.sights ?? []) if (own(what)) print(`  ${ok ? '✓' : '✗'} ${what}`)
    for (const path of gone) print(`    ${path} is not there, so the file does not name it`)
    if (known.dialects) print(`  ✓ it serves ${Object.keys(known.dialects).slice(1).join()}, and not chat`)
    for (const dialect of seen?.serves ?? []) print(`  ✓ it also serves ${dialect}`)
    if (answers.log && seen)
      print(
        `  ${log ? '✓' : '✗'} the log: ${log ? `records at "${log.list}"` : 'no records were found in it'}`,
      )
    writeFileSync(file, textOf(file, known, answers.log, seen, log), { flag: 'wx' })
    if (failure === null) {
      print(`Written: ${file}. Next: waybill target check ${file}`)
      return 0
    }
    print(`Written: ${file}, but it could not be tried. Correct it, then: waybill target check ${file}`)
    print(
      'Or remove it and begin again: --ready names the path that answers when it is ready, --wait the seconds.',
    )
    return reportError(failure)
  } catch (thrown) {
    return reportError(thrown)
  }
}

function variableMistake(name: string): string | null {
  return process.env[name] ? null : `the environment variable ${name} is not set; set it`
}

/** Returns a wait of three times the measured time, because other machines are slower, in tens of seconds. */
const slowStart = (ready: { readonly path: string }, took: number) => ({
  ...ready,
  timeout_ms: Math.ceil((3 * took) / 10_000) * 10_000,
})

/** Says what is waited for. A gateway that answers a wrong path with a refusal will not become ready. */
const tellWait: NonNullable<NonNullable<Parameters<typeof lookAt>[2]>['onWait']> = (
  seconds,
  status,
  what,
) => {
  print(`  … ${seconds} s: ${what}`)
  return seconds < 30 || status === null || status >= 500
}

async function askFor(given: Answers): Promise<Answers> {
  const missing = QUESTIONS.filter(({ name, must }) => must && !given[name]).map(({ must }) => must)
  if (!process.stdin.isTTY) {
    const call = given.call ?? (await firstModel(given.start))
    if (call !== undefined && missing.join() === '--call') return { ...given, call }
    if (missing.length > 0)
      throw new UsageError(`there is no terminal for questions; give ${missing.join(' and ')}`)
    return given
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answers = await askEach(given, (text) => terminal.question(text))
  terminal.close()
  return answers
}

/** Returns the first model that a running gateway lists; undefined if it lists none without a key. */
async function firstModel(start = ''): Promise<string | undefined> {
  if (!/^https?:\/\//.test(start)) return undefined
  try {
    const at = new URL(`${start.replace(/\/+$/, '').replace(/\/v1$/, '')}/v1/models`)
    const list = (await (await fetch(at, { signal: AbortSignal.timeout(LIST_TIMEOUT_MS) })).json()) as {
      data?: { id?: unknown }[]
    }
    const id = list.data?.[0]?.id
    return typeof id === 'string' ? id : undefined
  } catch {
    return undefined
  }
}

const LIST_TIMEOUT_MS = 5_000

/** Asks for each answer that is not given, and asks again after a mistake. */
export async function askEach(given: Answers, ask: (text: string) => Promise<string>): Promise<Answers> {
  const answers: { -readonly [name in keyof Answers]: Answers[name] } = { ...given }
  for (const { name, question, must, mistakeIn } of QUESTIONS) {
    let hint = ''
    while (answers[name] === undefined) {
      const said = (await ask(`${hint}${question}\n> `)).trim()
      const mistake = said === '' ? null : (mistakeIn?.(said) ?? null)
      if (mistake !== null) hint = `  ✗ ${mistake}\n`
      else if (said !== '' || !must) answers[name] = said
    }
  }
  return answers
}

type Known = ReturnType<typeof fieldsOf> & { readonly dialects?: Target['dialects'] }

/** Dialects of a gateway that is tried: chat, or else another one alone. */
const ALONE: readonly Target['dialects'][] = [
  {},
  { chat: false, messages: { counts: false } },
  { chat: false, responses: { websocket: false, continues: false, keeps: false } },
  { chat: false, gemini: {} },
]

/** The failure of a gateway without the path of a dialect. */
const NOT_THERE = /the mock did not see the call.* was answered with 40[45]/s

function fieldsOf({
  start = '',
  call = '',
  keyEnv,
  headers,
  read,
  ready,
  name,
  header = [],
  file = [],
}: Answers) {
  const files = Object.fromEntries(file.map(fileIn))
  const words = wordsOf(start)
  const split = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word))
  const env = words
    .slice(0, Math.max(0, split))
    .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)])
  // The gateway will run in a separate directory, so local files need absolute paths.
  const command = (split < 0 ? [] : words.slice(split)).map((word, index) =>
    !Object.hasOwn(files, word) && (index > 0 || word.includes('/')) && existsSync(word)
      ? resolve(word)
      : word,
  )
  const isAddress = /^https?:\/\//.test(start)
  const paths = (read || '/v1/models').split(',').map((path) => path.trim())
  return {
    name: name || (isAddress && URL.canParse(start) ? new URL(start).host : nameOf(command)),
    start: isAddress ? { url: start.replace(/\/+$/, '').replace(/\/v1$/, '') } : { command },
    ready: { path: ready || paths[0]! } as { readonly path: string; readonly timeout_ms?: number },
    ...(header.length > 0 && { headers: Object.fromEntries(header.map(headerIn)) }),
    ...(keyEnv && { key_env: keyEnv }),
    ...(file.length > 0 && { files }),
    ...(env.length > 0 && !isAddress && { env: Object.fromEntries(env) as Record<string, string> }),
    providers: { openai: {} },
    models: { call },
    observability: { headers: headersOf(headers) },
    capabilities: {
      ...(paths.includes('/v1/models') && { catalog: '/v1/models' }),
      read_paths: paths,
    },
  }
}

/** Names of headers and variables that usually hold a credential. */
const CREDENTIAL = /key|token|secret|passw|authorization|cookie/i

/** Returns the options of a command with their values. */
const optionsIn = (words: readonly string[]): [string, string][] =>
  words.flatMap((word, at): [string, string][] => {
    const [, name, value = words[at + 1] ?? ''] = /^--?([\w-]+)(?:=(.*))?$/s.exec(word) ?? []
    return name === undefined ? [] : [[`--${name}`, value]]
  })

/** Refuses answers with a credential, because the file may be shared. A placeholder is filled in when it is read. */
function refuseCredentials({ start, headers = {}, env = {}, files = {} }: ReturnType<typeof fieldsOf>): void {
  if ('url' in start && start.url !== undefined && holdsCredential(start.url))
    throw new UsageError(
      '--start: the address may not contain a user, a password, a query or a fragment; name the variable of the key with --key-env',
    )
  const options = 'command' in start ? optionsIn(start.command ?? []) : []
  for (const [file, text] of Object.entries(files))
    for (const [, name, value] of text.replaceAll(/\{\{[\w.-]+\}\}/g, '$placeholder').matchAll(MEMBER))
      if (CREDENTIAL.test(name!) && value!.length >= 8 && !NO_CREDENTIAL.test(value!))
        throw new UsageError(
          `--file ${file}: ${name}: the target file is for sharing, so it holds no credential; write {{mock.openai.key}} or {{env.NAME}}`,
        )
  for (const [name, value] of [...Object.entries(headers), ...Object.entries(env), ...options])
    if (CREDENTIAL.test(name) && !value.includes('{{') && value.length >= 8)
      throw new UsageError(
        `${name}: the file is for sharing, so it holds no credential; write {{env.NAME}}, the name of a variable of your environment`,
      )
}

/**
 * Splits words as a shell does. Text in shell quotes stays together and loses the quotes. Other quotes, as in
 * JSON, stay.
 */
function wordsOf(text: string): string[] {
  const words = text.match(/(?:[A-Za-z_]\w*=)?(?:'[^']*'|"[^"]*")(?=\s|$)|\S+/g) ?? []
  return words.map((word) => word.replace(/^((?:[A-Za-z_]\w*=)?)(['"])(.*)\2$/s, '$1$3'))
}

/** Parses `config.yaml=TEXT` or `config.yaml=@PATH` into its name and text. */
function fileIn(given: string): [name: string, text: string] {
  const [, name, text] = /^([^=]+)=(.*)$/s.exec(given) ?? []
  if (name === undefined || isAbsolute(name) || name.split(/[\\/]/).includes('..'))
    throw new UsageError(
      `--file: write NAME=TEXT, with a name in the directory of the gateway, not "${given.slice(0, 60)}"`,
    )
  if (!text!.startsWith('@')) return [name, text!]
  try {
    return [name, readFileSync(text!.slice(1), 'utf8')]
  } catch (thrown) {
    throw new UsageError(`--file: ${(thrown as Error).message}`)
  }
}

/** Members of a configuration file, with their values. */
const MEMBER = /["']?([\w.-]+)["']?\s*[:=]\s*["']?([^\s"',{}#\]]+)/g

/** Values that name a credential without being one: a number, a variable. */
const NO_CREDENTIAL = /^(\d+|true|false|null|none|\$.*|(os\.environ|env)[./(].*|[A-Z][A-Z0-9_]*)$/

/** Parses `x-team: blue` into its name and value. */
function headerIn(text: string): [name: string, value: string] {
  const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):\s*(.+)$/.exec(text.trim()) ?? []
  if (name === undefined) throw new UsageError(`--header: write NAME: VALUE, not "${text}"`)
  return [name, value!]
}

/**
 * Returns the name of the command's script, such as `gateway` for `node gateway.mjs`, or else of its program.
 */
function nameOf(command: readonly string[]): string {
  const script = command.find((word) => /\.([cm]?[jt]s|py|rb|php)$/.test(word))
  const program = command.find((word) => !word.startsWith('{{')) ?? ''
  return script ? basename(script, extname(script)) : basename(program)
}

/** Parses `model=x-model,…` into pairs of a name and a header. */
const pairsIn = (text: string): string[][] =>
  text
    .split(',')
    .filter((pair) => pair.trim() !== '')
    .map((pair) => pair.split('=').map((part) => part.trim()))

function headersOf(text = ''): Partial<Record<(typeof HEADERS)[number], string>> {
  const mistake = headerMistake(text)
  if (mistake !== null) throw new UsageError(`--headers: ${mistake}`)
  return Object.fromEntries(pairsIn(text))
}

/** Returns the text of the file. Values are written as JSON, which is also YAML. */
function textOf(
  file: string,
  { name, start, ready, providers, models, observability, capabilities, dialects, ...more }: Known,
  logPath: string | undefined,
  seen: Preflight | null,
  log: GuessedLog | null,
): string {
  const schema = relative(dirname(resolve(file)), targetSchemaFile)
  const { entry } = seen ?? {}
  const line = (field: string, value: unknown) => `${field}: ${JSON.stringify(value)}`
  const comment = (field: string, value: string) => `# ${field}: ${value}`
  return `${[
    `# yaml-language-server: $schema=${schema}`,
    '# What the conformance suite knows about this gateway. Every field: docs/target-files.md. What is not declared is not tested.',
    line('name', name),
    '',
    '# How it is started, and when it is ready.',
    line('start', start),
    '# install: { npm: ["NAME@{{version}}"] }   # or pypi: what `waybill conform FILE@VERSION --install` installs',
    // The text of a file is a block, which can be edited.
    ...Object.entries(more).map(([field, value]) =>
      field === 'files' ? stringify({ files: value }, { lineWidth: 0 }).trimEnd() : line(field, value),
    ),
    line('ready', ready),
    '',
    '# What can be called. `direct`: ids that mean one provider and model; `logical`: ids with a list of targets.',
    line('providers', entry ? { [entry.provider]: {} } : providers),
    ...(entry?.model
      ? [
          line('models', { direct: [{ id: models.call, provider: entry.provider, model: entry.model }] }),
          '# One call showed one target. If there are more, it is `logical`, with `targets: [{ provider: …, model: … }, …]` in their order.',
        ]
      : [line('models', models)]),
    ...(dialects || (seen && seen.serves.length > 0)
      ? [
          `# Dialects that it serves ${dialects ? 'instead of' : 'besides'} chat.`,
          line('dialects', { ...dialects, ...Object.fromEntries(seen!.serves.map((each) => [each, {}])) }),
        ]
      : []),
    '',
    '# Where it reports the route.',
    'observability:',
    `  ${line('headers', observability.headers)}`,
    ...(log
      ? [
          `  ${line('log', log)}`,
          '  # If a record says how its call ended, or has an error, declare it. Numbers are written as text.',
          '  # fields: { state: /status, error: /error }, completed: ["200"], failed: ["500", "502"]',
        ]
      : logPath
        ? [
            `  # No record of the call was found there; give the places of the list and of the fields of a record.`,
            `  # log: { path: ${JSON.stringify(logPath)}, list: /data, fields: { id: /id } }`,
          ]
        : []),
    '',
    '# What it promises.',
    'capabilities:',
    ...Object.entries(capabilities).map(([field, value]) => `  ${line(field, value)}`),
    ...[
      comment('fallback_statuses', '[429, 500, 502, 503]   # after which the next target is tried'),
      comment('gateway_keys', '{ protected: [/v1/chat/completions] }   # paths that need a key'),
      comment('time_outs', '{ answer_ms: 2000, first_event_ms: 2000 }   # how long it waits for a provider'),
      comment('restart', 'true   # it can be started again on the same data'),
    ].map((text) => `  ${text}`),
  ].join('\n')}\n`
}

/**
 * Returns the exit code. 0: the gateway matches the file; 1: it differs; 2: the file is wrong; 3: no call was
 * made.
 */
export async function check(file: string, options: { profile: string } & MockAddress): Promise<number> {
  try {
    const profile = profileOf(options.profile)
    const target = withMock(readTarget(file), options)
    print(`${file}: no mistakes found. Starting ${target.name} …`)
    endOnSignal()
    const { sights } = await look(target)
    for (const { ok, what } of sights) print(`  ${ok ? '✓' : '✗'} ${what}`)
    tellRequirements(target, profile)
    const ok = sights.every((sight) => sight.ok)
    if (ok) print(`Next: waybill conform ${file} --profile ${profile} --report report`)
    return ok ? 0 : 1
  } catch (thrown) {
    return reportError(thrown)
  }
}

/** Makes one call, and those of `probes`. Before that, waits until a running gateway is configured to use the mock providers. */
const look = (target: Target, options?: Parameters<typeof lookAt>[2]): Promise<Preflight> =>
  lookAt(
    target,
    async (mock) => {
      if ('url' in target.start && target.mock_port === 0) await explainSetup(mock, target.start.url)
    },
    options,
  )

function tellRequirements(target: Target, profile: Profile): void {
  const all = applying(target, profile)
  const applies = all.filter(({ missing }) => missing.length === 0)
  const reasons = Map.groupBy(
    all.filter(({ missing }) => missing.length > 0),
    ({ missing }) => missing.join('; '),
  )
  print(`Profile ${profile}: ${applies.length} of ${all.length} requirements apply:`)
  print(`  ${applies.map(({ requirement }) => requirement.id).join(' ')}`)
  const asked = applies.map(({ requirement }) => requirement.id).filter((id) => !checks.get(id)?.shares)
  const ms = timeLeft(asked, target.instances, { earlier: null, now: () => 0 }).left()
  print(
    `A run makes about ${asked.reduce((sum, id) => sum + usualCalls(id), 0)} calls, and takes ${inTime(ms)}.`,
  )
  if (reasons.size > 0) print('The others do not, because the file does not declare')
  for (const [missing, rows] of reasons)
    print(`  ${missing}: ${rows.map(({ requirement }) => requirement.id).join(' ')}`)
}
