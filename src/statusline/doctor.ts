// `doctor`: why is there no line? Looks at the settings, runs the command as the client would, and asks the gateway.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createMask } from '../redact.ts'
import { commandOf, readSettings } from './client-settings.ts'
import { type Client, SCOPES } from './clients.ts'
import { type Flags, readFlags } from './flags.ts'
import { type GatewayAddress, gatewayAddress } from './gateway-address.ts'
import { gatewaySource } from './gateway-source.ts'
import { dataDirectory, settingsFile } from './places.ts'
import { readReceipt } from './receipt.ts'

type Env = Readonly<Record<string, string | undefined>>

export interface Finding {
  readonly ok: boolean
  /** What was found, and where it is not well, what to do. */
  readonly text: string
}

export interface DiagnoseOptions {
  readonly client: Client
  readonly env: Env
  readonly cwd: string
  /** Null: what the installed command names, else the environment, else the usual address. */
  readonly url: URL | null
  /** Null: what the installed command names, else the environment. */
  readonly keyFile: string | null
  /** A session whose line is missing; null looks for any. */
  readonly sessionId: string | null
}

/** All that was looked at, in order. */
export async function diagnose(examined: DiagnoseOptions): Promise<Finding[]> {
  const settings = settingsFindings(examined)
  const ran = settings.command === null ? [] : [await runFinding(settings.command, examined)]
  const { env } = examined
  const installed = settings.command === null ? null : flagsOf(settings.command)
  const address = gatewayAddress(
    examined.url?.href ?? installed?.url,
    examined.keyFile ?? installed?.keyFile,
    env,
  )
  const url = URL.parse(address.url)
  const gateway = url
    ? await gatewayFindings(url, address, examined.sessionId)
    : [{ ok: false, text: 'the address of the gateway is not a URL; install again with --url' }]
  return [...settings.findings, ...ran, ...gateway]
}

/** What the client's command is told, where it is one of ours; null for any other. */
function flagsOf(command: string): Flags | null {
  const words = wordsOf(command)
  const at = words.findIndex((word) => /(^|\/)statusline\.(cjs|sh)$/.test(word))
  return at < 0 ? null : readFlags(words.slice(at + 1)).flags
}

/** The words of a command, quotes taken off as a POSIX shell does it; nothing is expanded. */
const wordsOf = (command: string): string[] =>
  (command.match(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/gs) ?? []).map((word) =>
    word.replaceAll(
      /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs,
      (_, single, double, escaped) => single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped,
    ),
  )

function settingsFindings({ client, env, cwd }: DiagnoseOptions): {
  findings: Finding[]
  command: string | null
} {
  const findings: Finding[] = []
  let command: string | null = null
  for (const scope of SCOPES) {
    const file = settingsFile(client, scope, env, cwd)
    if (file === null || !existsSync(file)) continue
    try {
      const settings = readSettings(readFileSync(file, 'utf8'))
      if (settings.disableAllHooks === true)
        findings.push({ ok: false, text: `${file}: disableAllHooks turns status lines off too; remove it` })
      const found = commandOf(settings, client.key)
      if (found === null) continue
      const ours = readReceipt(dataDirectory(env), file, client.key)?.command === found
      const shadows = command === null ? '' : '; it hides the one of the wider scope'
      findings.push({
        ok: true,
        text: `${scope} settings ${file}: ${ours ? 'ours' : 'another command'}${shadows}`,
      })
      command = found
    } catch (error) {
      findings.push({ ok: false, text: `${file}: ${(error as Error).message}` })
    }
  }
  if (command === null)
    findings.push({ ok: false, text: 'no settings file has a status line; run `waybill statusline install`' })
  return { findings, command }
}

function runFinding(command: string, { env, sessionId }: DiagnoseOptions): Promise<Finding> {
  return new Promise((resolve) => {
    const began = performance.now()
    const child = spawn(command, {
      shell: true,
      env: { ...env, COLUMNS: '80', NO_COLOR: '1' },
      timeout: 5_000,
    })
    let stdout = ''
    let stderr = ''
    child.stdout.setEncoding('utf8').on('data', (part) => (stdout += part))
    child.stderr.setEncoding('utf8').on('data', (part) => (stderr += part))
    child.stdin
      .on('error', () => {})
      .write(JSON.stringify({ session_id: sessionId ?? 'doctor', model: { id: 'auto' } }))
    child.on('close', (code) => {
      child.stdin.destroy()
      const ok = code === 0 && stdout.trim() !== ''
      const reason = createMask(env.WAYBILL_KEY ? [env.WAYBILL_KEY] : [])(stderr.trim())
      const said = ok ? stdout.trimEnd() : 'blank: the client shows nothing for an exit code or an empty line'
      const took = `${Math.round(performance.now() - began)} ms, exit ${code}`
      resolve({
        ok,
        text: `the command ran (${took}): ${said}${reason && `\n     ${reason.replaceAll('\n', '\n     ')}`}`,
      })
    })
  })
}

async function gatewayFindings(
  url: URL,
  { key, problem }: GatewayAddress,
  sessionId: string | null,
): Promise<Finding[]> {
  const findings: Finding[] = problem === null ? [] : [{ ok: false, text: problem }]
  const source = gatewaySource(url, key, 2_000)
  try {
    const record = await source.newest(sessionId ?? 'doctor', null)
    findings.push({
      ok: true,
      text: `the gateway at ${url.origin} answers${key === null ? ', without a key' : ' to this key'}`,
    })
    if (sessionId !== null && !record)
      findings.push({
        ok: false,
        text: `this key sees no main call of session ${JSON.stringify(sessionId)}: either none was made through this gateway, or the client uses another key; a key sees only its own calls`,
      })
    else if (record) findings.push({ ok: true, text: 'the session has calls on record' })
  } catch (error) {
    const { message } = error as Error
    const advice =
      message === 'answered 401' ? '; set WAYBILL_KEY or --key-file to a key of this gateway' : ''
    findings.push({ ok: false, text: `the gateway at ${url.origin} ${message}${advice}` })
  }
  return findings
}
