// `waybill record`: runs the gateway with live providers and stores a redacted recording of each exchange.
// Runs for the duration of a program, or until it is stopped.

import { accessSync, constants, mkdirSync } from 'node:fs'
import type { Dispatcher } from 'undici'
import { keepIn } from '../../mocks/recording/digest-key.ts'
import { type Blanked, wordBlanked } from '../../mocks/recording/make.ts'
import { createRecorder, type RecorderOptions } from '../../mocks/recording/recorder.ts'
import { type Config, type Loaded, loadConfig } from '../config/load.ts'
import { curlExample } from '../dialects/chat/client.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { fileReason } from '../terminal/file-error.ts'
import { UsageError } from './output.ts'
import { openLog } from './process-log.ts'
import { type Program, runAgent } from './run.ts'

interface RecordOptions {
  /** Providers to record; all configured providers by default. */
  readonly provider?: string
  readonly config: string
  readonly out: string
  readonly port?: string
  readonly scenario?: string
  readonly canary?: readonly string[]
  readonly keepAnswers?: boolean
  readonly keepText?: boolean
  readonly keepRequests?: boolean
  /** Program whose calls are recorded; without one, the gateway runs until it is stopped. */
  readonly program?: Program
  readonly keyFile?: string
  readonly model?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/**
 * Resolves with the program's exit code when the gateway has stopped. Rejects if the gateway cannot start, or
 * if an exchange was not recorded.
 */
export async function record(options: RecordOptions): Promise<number> {
  const { config: file, out, scenario, program, env } = options
  // A gateway that is already running occupies its port.
  const port = options.port ?? (program ? '0' : undefined)
  const loaded = loadConfig(file, { env: port === undefined ? env : { ...env, WAYBILL_PORT: port } })
  const targets = targetsOf(loaded.config.providers, options)
  if (scenario !== undefined && !/^[\w-]+$/.test(scenario))
    throw new UsageError(`--scenario takes letters, digits, "_" and "-", as in a model id, not "${scenario}"`)
  makeFolder(out) // checked now, before anything is spent
  // Blanked answers could not guide a program through its session again.
  const keep = { ...options, keepAnswers: options.keepAnswers || program !== undefined }
  const stream = program ? process.stderr : process.stdout // the program uses the other stream
  const say = (line: string) => void stream.write(`${line}\n`)
  const book = recorders(
    targets,
    loaded,
    { ...options, keep: keepIn(out, keep, program && process.cwd()) },
    program ? null : say,
  )
  const { log } = await openLog('error', { pretty: true, colour: false, stream: process.stderr })
  const gateway = await createGateway({ ...loaded, wire: book.wire, log })
  say(greeting(gateway.url, targets, `${out}, ${keptWords(keep)}`, program))
  let exitCode = 0
  try {
    if (program) exitCode = await runAgent({ ...options, ...program, url: gateway.url, quiet: true })
    else
      await new Promise((resolve) => {
        for (const name of ['SIGINT', 'SIGTERM']) process.once(name, resolve)
      })
  } finally {
    await gateway.close(30_000)
    sumUp(book, out, program, say)
  }
  const { recorded, refused } = book
  if (refused.length > 0)
    throw new Error(`${refused.length} of ${recorded + refused.length} exchanges were not recorded`)
  return exitCode
}

/**
 * Returns the names and base URLs of the providers to record. Throws UsageError for a name that is not
 * configured.
 */
function targetsOf(
  providers: Config['providers'],
  { provider, config }: Pick<RecordOptions, 'provider' | 'config'>,
): [string, string][] {
  const all = Object.entries(providers).map(([name, { base_url }]): [string, string] => [name, base_url])
  const named = all.filter(([name]) => provider === undefined || name === provider)
  if (named.length === 0)
    throw new UsageError(
      `${config}: there is no provider "${provider}"; there are: ${all.map(([name]) => name).join(', ') || 'none'}`,
    )
  return named
}

/** Recorders of all targets, and their recordings so far. */
interface Book {
  readonly wire: Dispatcher.DispatcherComposeInterceptor
  readonly recorded: number
  /** Reasons why exchanges were not recorded. */
  readonly refused: readonly string[]
  /** Values that were blanked in kept answers, by kind. */
  readonly blanked: readonly Blanked[]
}

function recorders(
  targets: readonly [string, string][],
  { secrets }: Loaded,
  { out, scenario, canary = [], keep }: RecordOptions & Pick<RecorderOptions, 'keep'>,
  say: ((line: string) => void) | null,
): Book {
  const refused: string[] = []
  const blanked: Blanked[] = []
  let recorded = 0
  const wires = targets.map(([provider, baseUrl]) =>
    createRecorder({
      ...{ provider, baseUrl, out, scenario, keep, now: Date.now },
      secrets: [...secrets.values(), ...canary],
      onRecorded(name, replaced) {
        recorded++
        blanked.push(replaced)
        say?.(`recorded  ${name}`)
      },
      onRefused(reason) {
        refused.push(reason)
        say?.(`not kept  ${reason}`)
      },
    }),
  )
  return {
    wire: (dispatch) => wires.reduce((inner, wire) => wire(inner), dispatch),
    refused,
    blanked,
    get recorded() {
      return recorded
    },
  }
}

function sumUp(
  { recorded, refused, blanked }: Book,
  out: string,
  program: Program | undefined,
  say: (line: string) => void,
): void {
  if (program) for (const reason of refused) say(`not kept  ${reason}`)
  say(`${recorded} recorded in ${out}, ${refused.length} not kept.`)
  if (recorded === 0) return
  const words = wordBlanked(blanked)
  if (words !== '') say(`Blanked in kept answers: ${words}`)
  say(`Look at them, then: waybill recordings verify ${out}`)
  say(
    program
      ? `Play them to the same program: waybill replay --recordings ${out} -- ${wordsOf(program)}`
      : `Play them instead of the provider: waybill serve --replay ${out}`,
  )
}

const wordsOf = ({ program, args }: Program): string =>
  [program, ...args]
    .map((word) => (/^[\w./=:@-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`))
    .join(' ')

const keptWords = ({ keepAnswers, keepText, keepRequests }: RecordOptions): string =>
  keepText || keepRequests
    ? 'with the texts of requests and answers; keys, ids and hosts are redacted'
    : keepAnswers
      ? 'with their answers; requests as digests; keys, ids and hosts are redacted'
      : 'redacted: all text is blanked (--keep-answers keeps the answers)'

function makeFolder(out: string): void {
  try {
    mkdirSync(out, { recursive: true, mode: 0o700 })
    accessSync(out, constants.W_OK)
  } catch (cause) {
    throw new UsageError(`--out ${out} cannot be written to: ${fileReason(cause)}; name another folder`)
  }
}

function greeting(
  url: string,
  targets: readonly [string, string][],
  out: string,
  program: Program | undefined,
): string {
  const named = targets.map(([name, baseUrl]) => `${name} (${baseUrl})`).join(', ')
  return [
    '',
    '  LIVE TRAFFIC: every call reaches a real provider and costs money.',
    '',
    `Waybill listens on ${url}`,
    `Exchanges with ${named} are recorded in ${out}.`,
    'Calls to other providers are not recorded, and cost money too.',
    ...(program
      ? [`Starts ${program.program}.`, '']
      : ['Stop with Ctrl-C.', '', 'Ask:', `  ${curlExample(url, `${targets[0]![0]}/MODEL`)}`, '']),
  ].join('\n')
}
