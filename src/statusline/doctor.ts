// `doctor`: finds the reason for a missing line. Reads the settings, runs the command, and queries the
// gateway.
import { spawn } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { createMask } from '../shared/redact.ts'
import { isObject } from './client-input.ts'
import { type Flags, readFlags } from './flags.ts'
import {
  type Client,
  commandOf,
  dataDirectory,
  readReceipt,
  readSettings,
  SETTINGS_SCOPES,
  settingsFile,
} from './install.ts'
import {
  dial,
  type GatewayAddress,
  gatewayAddress,
  get,
  KEYLESS,
  NoAnswerError,
  WRONG_KEY,
} from './remote-line.ts'

/** Maximum time for the gateway's answer, ms. */
const GATEWAY_MS = 2_000

type Env = Readonly<Record<string, string | undefined>>

interface LineFinding {
  readonly ok: boolean
  /** The finding and, if something is wrong, the remedy. */
  readonly text: string
}

interface DiagnoseOptions {
  readonly client: Client
  readonly env: Env
  readonly cwd: string
  /**
   * Address of the gateway. If null, it comes from the installed command, the environment, or the default.
   */
  readonly url: URL | null
  /** File with the key. If null, it comes from the installed command or the environment. */
  readonly keyFile: string | null
  /** Session whose line is missing; null to check any session. */
  readonly sessionId: string | null
}

/** Returns all findings in order. */
export async function diagnose(examined: DiagnoseOptions): Promise<LineFinding[]> {
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

/** Returns the options of the configured command if Waybill installed it, otherwise null. */
function flagsOf(command: string): Flags | null {
  const words = wordsOf(command)
  const at = words.findIndex((word) => /(^|\/)statusline\.(cjs|sh)$/.test(word))
  return at < 0 ? null : readFlags(words.slice(at + 1)).flags
}

/** Splits a command into words and removes quotes in the same way as a POSIX shell; expands nothing. */
const wordsOf = (command: string): string[] =>
  (command.match(/(?:'[^']*'|"(?:\\.|[^"\\])*"|\\.|[^\s'"\\])+/gs) ?? []).map((word) =>
    word.replaceAll(
      /'([^']*)'|"((?:\\.|[^"\\])*)"|\\(.)/gs,
      (_, single, double, escaped) => single ?? double?.replaceAll(/\\(["\\$`])/g, '$1') ?? escaped,
    ),
  )

function settingsFindings({ client, env, cwd }: DiagnoseOptions): {
  findings: LineFinding[]
  command: string | null
} {
  const findings: LineFinding[] = []
  let command: string | null = null
  for (const scope of SETTINGS_SCOPES) {
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

function runFinding(command: string, { env, sessionId }: DiagnoseOptions): Promise<LineFinding> {
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
  { key, keyFrom, problem }: GatewayAddress,
  sessionId: string | null,
): Promise<LineFinding[]> {
  const findings: LineFinding[] = problem === null ? [] : [{ ok: false, text: problem }]
  try {
    const record = await newestMainCall(url, key, sessionId ?? 'doctor')
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
    const said =
      message === KEYLESS
        ? `${KEYLESS}; set WAYBILL_KEY, or name a private file with --key-file`
        : message === WRONG_KEY
          ? `does not accept the key from ${keyFrom}; it is not one of its keys`
          : message
    findings.push({ ok: false, text: `the gateway at ${url.origin} ${said}` })
  }
  return findings
}

/** Returns the session's newest main call; undefined if there is none. Rejects with NoAnswerError. */
async function newestMainCall(url: URL, key: string | null, session_id: string): Promise<unknown> {
  const query = new URLSearchParams({ session_id, purpose: 'main', limit: '1' })
  const target = `${url.pathname.replace(/\/+$/, '')}/api/usage/request-logs?${query}`
  const { status, body } = await get(dial(url), url.host, target, key, GATEWAY_MS)
  if (status === 401) throw new NoAnswerError(key === null ? KEYLESS : WRONG_KEY)
  if (status !== 200) throw new NoAnswerError(`answered ${status}`)
  const json = parsed(body)
  if (!isObject(json) || !Array.isArray(json.data)) throw new NoAnswerError('sent an invalid answer')
  return json.data[0]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
