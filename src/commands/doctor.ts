// `waybill doctor`: checks this configuration, its data directory and, if it is running, the gateway. Only
// reports; changes nothing and causes no inference.
import { type ZodType, z } from 'zod'
import { type Config, loadConfig } from '../config/load.ts'
import { ConfigError } from '../core/errors.ts'
import { endFindings, type Finding, priceFindings } from '../core/findings.ts'
import { isLoopback } from '../gateway/create-gateway.ts'
import { createSealer, OtherKeyError } from '../responses-store/response-store.ts'
import { diagnoseData } from '../store/sqlite/diagnose.ts'
import { cleanLabel } from '../terminal/clean.ts'
import { keysFileOf, readKept, withKept } from '../terminal/keys.ts'
import { ANSWER_MS, GatewayAccessError, gatewayAddress, gatewayAt } from './gateway-client.ts'
import { print, json as toJson } from './output.ts'

interface DoctorOptions {
  readonly config: string
  readonly keyFile?: string
  readonly json?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Prints the findings; throws if something is wrong. */
export async function doctor(options: DoctorOptions): Promise<void> {
  const findings: Finding[] = []
  const tell = (more: readonly Finding[]) => {
    findings.push(...more)
    if (!options.json) for (const { verdict, text } of more) print(`${verdict.padEnd(4)} ${text}`)
  }
  tell([{ verdict: 'ok', text: `Node ${process.versions.node}` }])
  const { config, responsesKey, findings: about } = configFindings(options)
  tell(about)
  if (config) {
    const budgets = config.keys.flatMap(({ name, budget = [] }) =>
      budget.map(({ usd, per }) => ({ keyName: name, usd, per })),
    )
    const data = diagnoseData(config.data, config.retention, budgets, Date.now(), foreignTo(responsesKey))
    tell(data.findings)
    if (config.fleet) {
      const { fleetFindings } = await import('./fleet.ts')
      tell(await fleetFindings(config.fleet, withKept(options.config, options.env)))
    }
    tell(await gatewayFindings(config, data.running, options))
  }
  if (options.json) print(toJson({ findings }, 2))
  if (findings.some(({ verdict }) => verdict === 'BAD')) throw new Error('problems were found; see BAD above')
}

/** Returns a function that recognizes texts of another encryption key by their beginning. */
function foreignTo(key: string | null): (sample: string) => boolean {
  if (key === null) return () => true
  const sealer = createSealer(key)
  return (sample) => {
    try {
      return sealer.open(sample, '') === null
    } catch (error) {
      return error instanceof OtherKeyError // any other error: the rest of the text is missing
    }
  }
}

function configFindings({ config: file, env }: DoctorOptions): {
  config: Config | null
  responsesKey: string | null
  findings: Finding[]
} {
  const findings: Finding[] = []
  let config: Config | null = null
  let responsesKey: string | undefined
  try {
    ;({ config, responsesKey } = loadConfig(file, { env }))
    findings.push({ verdict: 'ok', text: `${file} is valid, and every key that it names is set` })
    const { problem } = readKept(keysFileOf(file))
    if (problem !== null) findings.push({ verdict: 'note', text: problem })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    findings.push(...error.problems.map((text) => ({ verdict: 'BAD' as const, text })))
    try {
      ;({ config, responsesKey } = loadConfig(file, { env, replay: true })) // without keys, the remaining checks still work
    } catch {
      return { config: null, responsesKey: null, findings }
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
  return {
    config,
    responsesKey: responsesKey ?? null,
    findings: [...findings, ...priceFindings(config), ...endFindings(config)],
  }
}

const readyOf = z.looseObject({
  status: z.literal('ready'),
  configuration: z.looseObject({ state: z.string() }),
  reads: z.string(),
  replay: z.boolean().optional(), // field is absent in earlier versions of Waybill
})

/**
 * Reports on the gateway at this configuration's address. `running`: true if a gateway holds the data
 * directory.
 */
async function gatewayFindings(config: Config, running: boolean, options: DoctorOptions): Promise<Finding[]> {
  const base = gatewayAddress(config)
  const { origin } = base
  const bad = (text: string): Finding[] => [{ verdict: 'BAD', text }]
  const keyless = gatewayAt(base, {}, undefined)
  let ready: z.output<typeof readyOf>
  try {
    ready = await keyless('/readyz', readyOf, AbortSignal.timeout(ANSWER_MS))
  } catch (error) {
    if (!(error instanceof GatewayAccessError)) throw error
    const { kind, status, message } = error
    if (kind === 'absent')
      return running
        ? bad(
            `a gateway runs on the data directory, but none answers at ${origin}; does it use this configuration?`,
          )
        : [{ verdict: 'ok', text: `nothing answers at ${origin}, so the port is free` }]
    if (kind === 'slow') return bad(message)
    if (kind === 'unreadable' || kind === 'refused')
      return bad(`the gateway at ${origin} is not ready (status ${status}); its process log says why`)
    return bad(`something else answers at ${origin}; stop it, or set another port`)
  }
  if (ready.configuration.state !== 'current')
    return bad(
      `the gateway at ${origin} runs on an earlier configuration, because it rejected this file; its process log says why`,
    )
  if (ready.reads !== 'ready')
    return bad(
      `the gateway at ${origin} accepts calls, but cannot read the request log; its process log says why`,
    )
  return readingFindings(config, ready.replay === true, options)
}

const described = z.looseObject({ info: z.looseObject({ version: z.string() }) })
const healthOf = z.looseObject({
  record: z.looseObject({ directory: z.string().optional() }),
  findings: z.array(z.looseObject({ verdict: z.string(), text: z.string() })).optional(),
})

/** Reports how a ready gateway responds to the given key. */
async function readingFindings(
  config: Config,
  replay: boolean,
  { keyFile, env }: DoctorOptions,
): Promise<Finding[]> {
  const base = gatewayAddress(config)
  const says = `the gateway at ${base.origin} is ready and`
  const replays = replay ? '; it REPLAYS: no call reaches a provider' : ''
  try {
    const get = gatewayAt(base, env, keyFile)
    const ask = <Answer>(path: string, shape: z.ZodType<Answer>) =>
      get(path, shape, AbortSignal.timeout(ANSWER_MS))
    const { info } = await ask('/openapi.json', described)
    const health = await ask('/api/health', healthOf).catch((error) => {
      if (!(error instanceof GatewayAccessError) || error.kind === 'slow') throw error
      return null // for admins only
    })
    const directory = health?.record.directory
    const bad = health?.findings?.filter(({ verdict }) => verdict === 'BAD') ?? []
    const place = directory === undefined ? '' : `${replays ? ', and' : ';'} its record is in ${directory}`
    return [
      { verdict: 'ok', text: `${says} is Waybill ${info.version}${replays}${place}` },
      ...bad.map(({ text }): Finding => ({ verdict: 'BAD', text: cleanLabel(text) })),
      ...(await routingFindings(config, ask)),
    ]
  } catch (error) {
    const { message } = error as Error
    if (error instanceof GatewayAccessError && error.kind === 'keyless')
      return [
        {
          verdict: 'ok',
          text: `${says} reports its version only with a key; set WAYBILL_KEY or --key-file, or keep the key with \`waybill key set WAYBILL_KEY\`${replays}`,
        },
      ]
    return [{ verdict: 'BAD', text: message }]
  }
}

type Ask = <Answer>(path: string, shape: ZodType<Answer>) => Promise<Answer>

const resolution = z.looseObject({
  candidates: z.array(
    z.looseObject({
      provider: z.string(),
      model: z.string(),
      state: z.string(),
      reason: z.string().nullable(),
    }),
  ),
})

const newest = z.looseObject({
  data: z.array(
    z.looseObject({
      id: z.string(),
      state: z.string(),
      completed_at: z.string().nullable(),
      requested_model: z.string(),
      resolved_provider: z.string(),
      resolved_model: z.string(),
      error_code: z.string().nullable(),
    }),
  ),
})

/** Number of newest calls to check. */
const NEWEST_CALLS = 10

/** Rejects with GatewayAccessError. */
async function routingFindings({ routes }: Config, ask: Ask): Promise<Finding[]> {
  const findings: Finding[] = []
  for (const name of Object.keys(routes)) {
    const query = new URLSearchParams({ model: name })
    const found = await ask(`/api/cloud/model/resolve?${query}`, resolution).catch((error) => {
      if (error instanceof GatewayAccessError && error.status === 404) return null // the file contains a new route
      throw error
    })
    if (!found || found.candidates.some(({ state }) => state === 'ready')) continue
    const each = found.candidates.map(({ provider, model, reason }) => `${provider}/${model} ${reason}`)
    findings.push({ verdict: 'BAD', text: cleanLabel(`no target of ${name} is ready: ${each.join('; ')}`) })
  }
  return [...findings, ...(await failureFindings(ask))]
}

/** Reports whether all of the newest calls failed. */
async function failureFindings(ask: Ask): Promise<Finding[]> {
  const { data } = await ask(`/api/usage/request-logs?limit=${NEWEST_CALLS}`, newest)
  const over = data.filter(({ completed_at }) => completed_at !== null)
  const [last] = over
  if (!last || over.some(({ state }) => state !== 'failed')) return []
  const { id, completed_at, requested_model, resolved_provider, resolved_model, error_code } = last
  const which = over.length === 1 ? 'the only call on record' : `each of the newest ${over.length} calls`
  return [
    {
      verdict: 'BAD',
      text: cleanLabel(
        `${which} failed, last ${requested_model} → ${resolved_provider}/${resolved_model} with ${error_code ?? 'an error'} at ${completed_at}; its attempts: /api/usage/request-logs/${id}`,
      ),
    },
  ]
}
