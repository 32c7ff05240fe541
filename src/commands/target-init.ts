// `waybill target init`: asks a few questions, or uses options without a terminal. Tests the answers and
// writes them as a target file with comments.
import { existsSync, writeFileSync } from 'node:fs'
import { basename, dirname, extname, relative, resolve } from 'node:path'
import { createInterface } from 'node:readline/promises'
import type { Preflight } from '../../conformance/runner/preflight.ts'
import { type GuessedLog, guessLog } from '../../conformance/target/guess-log.ts'
import { targetSchemaFile } from '../../conformance/target/read.ts'
import { targetSchema } from '../../conformance/target/schema.ts'
import { holdsCredential } from '../shared/plain-address.ts'
import { endOnSignal, reportError } from './conform.ts'
import { print } from './output.ts'
import { look } from './target-check.ts'
import { UsageError } from './usage-error.ts'

/** The user's answers, as typed. */
export interface Answers {
  readonly start?: string
  readonly call?: string
  readonly keyEnv?: string
  readonly name?: string
  /** Request headers, each `NAME: VALUE`. */
  readonly header?: readonly string[]
  readonly headers?: string
  readonly log?: string
  readonly read?: string
  readonly ready?: string
}

interface Question {
  readonly name: Exclude<keyof Answers, 'header'>
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
  { name: 'keyEnv', question: 'Which environment variable holds its key? (none)' },
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
    const known = fieldsOf(answers)
    refuseCredentials(known)
    const logAt = answers.log ? { path: answers.log, list: '', fields: { id: '/id' } } : null
    const target = targetSchema.safeParse({
      ...known,
      ...(logAt && { observability: { ...known.observability, log: logAt } }),
    })
    if (!target.success) {
      const { path, message } = target.error.issues[0]!
      throw new UsageError(`${path.join('.')}: ${message}`)
    }
    print(`Trying ${known.name} …`)
    endOnSignal()
    let failure: unknown = null
    const seen = await look(target.data).catch((thrown) => {
      failure = thrown
      return null
    })
    const log = seen && guessLog(seen, answers.call!, known.observability.headers.request_id)
    const own = (what: string) => !what.startsWith('the log, ')
    for (const { ok, what } of seen?.sights ?? []) if (own(what)) print(`  ${ok ? '✓' : '✗'} ${what}`)
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
    return reportError(failure)
  } catch (thrown) {
    return reportError(thrown)
  }
}

async function askFor(given: Answers): Promise<Answers> {
  const missing = QUESTIONS.filter(({ name, must }) => must && !given[name]).map(({ must }) => must)
  if (!process.stdin.isTTY) {
    if (missing.length > 0)
      throw new UsageError(`there is no terminal for questions; give ${missing.join(' and ')}`)
    return given
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answers = await askEach(given, (text) => terminal.question(text))
  terminal.close()
  return answers
}

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

function fieldsOf({ start = '', call = '', keyEnv, headers, read, ready, name, header = [] }: Answers) {
  const words = wordsOf(start)
  const split = words.findIndex((word) => !/^[A-Za-z_]\w*=/.test(word))
  const env = words
    .slice(0, Math.max(0, split))
    .map((word) => [word.slice(0, word.indexOf('=')), word.slice(word.indexOf('=') + 1)])
  // The gateway will run in a separate directory, so local files need absolute paths.
  const command = (split < 0 ? [] : words.slice(split)).map((word, index) =>
    (index > 0 || word.includes('/')) && existsSync(word) ? resolve(word) : word,
  )
  const isAddress = /^https?:\/\//.test(start)
  const paths = (read || '/v1/models').split(',').map((path) => path.trim())
  return {
    name: name || (isAddress && URL.canParse(start) ? new URL(start).host : nameOf(command)),
    start: isAddress ? { url: start.replace(/\/+$/, '').replace(/\/v1$/, '') } : { command },
    ready: { path: ready || paths[0]! },
    ...(header.length > 0 && { headers: Object.fromEntries(header.map(headerIn)) }),
    ...(keyEnv && { key_env: keyEnv }),
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
function refuseCredentials({ start, headers = {}, env = {} }: ReturnType<typeof fieldsOf>): void {
  if ('url' in start && start.url !== undefined && holdsCredential(start.url))
    throw new UsageError(
      '--start: the address may not contain a user, a password, a query or a fragment; name the variable of the key with --key-env',
    )
  const options = 'command' in start ? optionsIn(start.command ?? []) : []
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
  {
    name,
    start,
    ready,
    providers,
    models,
    observability,
    capabilities,
    ...more
  }: ReturnType<typeof fieldsOf>,
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
    ...Object.entries(more).map(([field, value]) => line(field, value)),
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
