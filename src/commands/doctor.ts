// `waybill doctor`: is everything all right with this configuration, its data directory and the gateway, if it is running?
// Only reports; changes nothing and causes no inference.
import { join } from 'node:path'
import { z } from 'zod'
import { type Config, ConfigError, loadConfig } from '../config.ts'
import { type Finding, priceFindings } from '../findings.ts'
import { isLoopback } from '../gateway.ts'
import { diagnoseData } from '../store/sqlite/diagnose.ts'
import { findKey } from '../terminal/key.ts'
import { addressOf } from './gateway-client.ts'
import { print } from './output.ts'

export interface DoctorOptions {
  readonly config: string
  readonly keyFile?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** How long the gateway may take to answer, ms. */
const ANSWER_MS = 2_000

/** Throws when something is not well, after it has said what. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const findings: Finding[] = []
  const tell = (more: readonly Finding[]) => {
    findings.push(...more)
    for (const { verdict, text } of more) print(`${verdict.padEnd(4)} ${text}`)
  }
  tell([{ verdict: 'ok', text: `Node ${process.versions.node}` }])
  const { config, findings: about } = configFindings(options)
  tell(about)
  if (config) {
    const budgets = config.keys.flatMap(({ name, budget }) =>
      budget ? [{ keyName: name, usd: budget.usd }] : [],
    )
    const data = diagnoseData(config.data, config.retention, budgets, Date.now())
    tell(data.findings)
    if (config.fleet) tell(await (await import('./doctor-fleet.ts')).fleetFindings(config.fleet, options.env))
    tell([await gatewayFinding(config, data.running, options)])
  }
  if (findings.some(({ verdict }) => verdict === 'BAD')) throw new Error('problems were found; see BAD above')
}

function configFindings({ config: file, env }: DoctorOptions): {
  config: Config | null
  findings: Finding[]
} {
  const findings: Finding[] = []
  let config: Config | null = null
  try {
    config = loadConfig(file, { env }).config
    findings.push({ verdict: 'ok', text: `${file} is valid, and every key that it names is set` })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    findings.push(...error.problems.map((text) => ({ verdict: 'BAD' as const, text })))
    try {
      config = loadConfig(file, { env, replay: true }).config // without the keys, what else it says can be looked at
    } catch {
      return { config: null, findings }
    }
  }
  const { server, keys } = config
  const where = `${server.host}:${server.port}`
  if (isLoopback(server.host)) findings.push({ verdict: 'ok', text: `${where} accepts only this machine` })
  else if (keys.length > 0)
    findings.push({ verdict: 'ok', text: `${where} accepts other machines too, with ${keys.length} keys` })
  else
    findings.push({
      verdict: 'BAD',
      text: `${where} would be open to everyone, so \`serve\` refuses it; add keys, or listen on 127.0.0.1`,
    })
  return { config, findings: [...findings, ...priceFindings(config)] }
}

async function gatewayFinding(
  config: Config,
  running: boolean,
  { keyFile, env }: DoctorOptions,
): Promise<Finding> {
  const base = addressOf(config).origin
  const get = (path: string, headers = {}) =>
    fetch(base + path, { headers, signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => null)
  const alive = await get('/readyz')
  if (!alive)
    return running
      ? {
          verdict: 'BAD',
          text: `a gateway runs on the data directory, but none answers at ${base}; does it use this configuration?`,
        }
      : { verdict: 'ok', text: `nothing answers at ${base}, so the port is free` }
  const ready = z.looseObject({
    status: z.literal('ready'),
    configuration: z.looseObject({ state: z.string() }),
    reads: z.string(),
    replay: z.boolean().optional(), // an earlier Waybill does not say
  })
  const answer: unknown = await alive.json().catch(() => null)
  const told = ready.safeParse(answer)
  if (!told.success)
    return z.looseObject({ request_id: z.string() }).safeParse(answer).success
      ? {
          verdict: 'BAD',
          text: `the gateway at ${base} is not ready (status ${alive.status}); its process log says why`,
        }
      : { verdict: 'BAD', text: `something else answers at ${base}; stop it, or set another port` }
  if (told.data.configuration.state !== 'current')
    return {
      verdict: 'BAD',
      text: `the gateway at ${base} runs on an earlier configuration, because it rejected this file; its process log says why`,
    }
  if (told.data.reads !== 'ready')
    return {
      verdict: 'BAD',
      text: `the gateway at ${base} accepts calls, but cannot read the request log; its process log says why`,
    }
  const { key } = findKey(env, keyFile ?? env.WAYBILL_KEY_FILE ?? null)
  const document = await get('/openapi.json', key === null ? {} : { authorization: `Bearer ${key}` })
  const described = z.looseObject({ info: z.looseObject({ version: z.string() }) })
  const { data: about } = described.safeParse(await document?.json().catch(() => null))
  const version = about
    ? `is Waybill ${about.info.version}`
    : 'reports its version only with a key; set WAYBILL_KEY or --key-file'
  const replay = told.data.replay
    ? `; it REPLAYS: no call reaches a provider, and its record is in ${join(config.data, 'replay')}`
    : ''
  return { verdict: 'ok', text: `the gateway at ${base} is ready and ${version}${replay}` }
}
