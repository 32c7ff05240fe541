// `waybill record`: the gateway against a live provider, with a redacted recording of each exchange.

import { accessSync, constants, mkdirSync } from 'node:fs'
import { keepIn } from '../../mocks/recording/digest-key.ts'
import { createRecorder } from '../../mocks/recording/recorder.ts'
import { loadConfig } from '../config/load.ts'
import { curlExample } from '../dialects/chat/example.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { fileReason } from '../terminal/file-error.ts'
import { openLog } from './process-log.ts'
import { UsageError } from './usage-error.ts'

export interface RecordOptions {
  readonly provider: string
  readonly config: string
  readonly out: string
  readonly port?: string
  readonly scenario?: string
  readonly canary?: readonly string[]
  readonly keepAnswers?: boolean
  readonly keepText?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Resolves when the gateway has stopped. Rejects if it cannot start, or if an exchange was not recorded. */
export async function record(options: RecordOptions): Promise<void> {
  const { provider, config: file, out, port, scenario, canary = [], env } = options
  const loaded = loadConfig(file, { env: port === undefined ? env : { ...env, WAYBILL_PORT: port } })
  const { providers } = loaded.config
  const target = providers[provider]
  if (!target)
    throw new UsageError(
      `${file}: there is no provider "${provider}"; there are: ${Object.keys(providers).join(', ') || 'none'}`,
    )
  if (scenario !== undefined && !/^[\w-]+$/.test(scenario))
    throw new UsageError(`--scenario takes letters, digits, "_" and "-", as in a model id, not "${scenario}"`)
  makeFolder(out) // now, before anything is spent
  const keep = keepIn(out, options)
  const say = (line: string) => process.stdout.write(`${line}\n`)
  let recorded = 0
  let refused = 0
  const { log } = await openLog('error', { pretty: true, colour: false, stream: process.stderr })
  const gateway = await createGateway({
    ...loaded,
    wire: createRecorder({
      provider,
      baseUrl: target.base_url,
      out,
      scenario,
      secrets: [...loaded.secrets.values(), ...canary],
      keep,
      now: Date.now,
      onRecorded(name) {
        recorded++
        say(`recorded  ${name}`)
      },
      onRefused(reason) {
        refused++
        say(`not kept  ${reason}`)
      },
    }),
    log,
  })
  say(greeting(gateway.url, provider, target.base_url, `${out}, ${keptWords(options)}`))

  await new Promise((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM']) process.once(name, resolve)
  })
  await gateway.close(30_000)
  say(`${recorded} recorded in ${out}, ${refused} not kept.`)
  if (recorded > 0) {
    say(`Look at them, then: waybill recordings verify ${out}`)
    say(`Play them instead of the provider: waybill serve --replay ${out}`)
  }
  if (refused > 0) throw new Error(`${refused} of ${recorded + refused} exchanges were not recorded`)
}

const keptWords = ({ keepAnswers, keepText }: RecordOptions): string =>
  keepText
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

const greeting = (url: string, provider: string, baseUrl: string, out: string): string => `
  LIVE TRAFFIC: every call reaches a real provider and costs money.

Waybill listens on ${url}
Exchanges with ${provider} (${baseUrl}) are recorded in ${out}.
Calls to other providers are not recorded, and cost money too. Stop with Ctrl-C.

Ask:
  ${curlExample(url, `${provider}/MODEL`)}
`
