// `waybill routes [MODEL]`: shows the current target of a call. Queries the running gateway, because only that
// gateway knows cooldowns and turns. If none is running, answers from the configuration, as if all targets were
// ready.
import { z } from 'zod'
import { type Config, loadConfig } from '../config/load.ts'
import { endsIn } from '../core/findings.ts'
import { plainLossesIn, translatable } from '../gateway/providers.ts'
import { createRouter } from '../routing/router.ts'
import { compileRules } from '../routing/rules.ts'
import { clock } from '../shared/clock.ts'
import { clean } from '../terminal/clean.ts'
import { dollars } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { ANSWER_MS, GatewayAccessError, gatewayAddress, gatewayAt, readAddress } from './gateway-client.ts'
import { complain, json as toJson, UsageError } from './output.ts'

interface RoutesOptions {
  readonly model?: string
  readonly config: string
  readonly json?: boolean
  /** True to print only ids, from the configuration. */
  readonly names?: boolean
  readonly url?: string
  readonly keyFile?: string
  readonly env: Readonly<Record<string, string | undefined>>
}

/** Fields of an answer that are shown; a later gateway may send more fields. */
const resolution = z.looseObject({
  model: z.string(),
  route: z.string().nullable(),
  strategy: z.string(),
  depends_on: z.readonly(z.array(z.string())),
  estimate: z
    .looseObject({
      input_tokens: z.number(),
      output_tokens: z.number(),
      targets: z.readonly(z.array(z.looseObject({ target: z.string(), usd: z.number().nullable() }))),
    })
    .nullish(),
  candidates: z.readonly(
    z.array(
      z.looseObject({
        provider: z.string(),
        model: z.string(),
        tier: z.string().nullable(),
        probability: z.number(),
        state: z.string(),
        reason: z.string().nullable(),
      }),
    ),
  ),
})
type Resolution = z.output<typeof resolution>

/** Prints the routes. Rejects with ConfigError or UsageError, and if the given gateway does not answer. */
export async function printRoutes({
  model,
  config: file,
  json,
  names: isList = false,
  url,
  keyFile,
  env,
}: RoutesOptions): Promise<void> {
  const { config } = loadConfig(file, { env, replay: true })
  if (isList) {
    const targets = Object.values(config.routes).flatMap(({ targets }) =>
      targets.map((target) => target.model),
    )
    const ids = new Set([...Object.keys(config.routes), ...Object.keys(config.models), ...targets])
    process.stdout.write([...ids].map((id) => `${clean(id)}\n`).join(''))
    return
  }
  const names = model === undefined ? Object.keys(config.routes) : [model]
  const base =
    url === undefined
      ? env.WAYBILL_URL
        ? readAddress('WAYBILL_URL', env.WAYBILL_URL)
        : gatewayAddress(config)
      : readAddress('--url', url)

  const router = createRouter(config, { now: Date.now, random: Math.random, canTranslate: translatable })
  const lossesAt = plainLossesIn(config)
  const endOf = endsIn(config)
  const running = await resolutionsOf(base, names, env, keyFile)
  if (running instanceof GatewayAccessError) {
    if (url !== undefined) throw running
    const { kind, reason, message } = running
    complain(
      `${kind === 'absent' || kind === 'slow' ? reason : message}. This shows ${file} with every target ready`,
    )
  } else complain(`as the gateway at ${base.origin} would route a call now`)

  const found = names.map((name) => {
    const asked = running instanceof GatewayAccessError ? undefined : running.get(name)
    if (asked) return { ...asked, isRunning: true }
    const alone = router.resolve(name)
    if (!alone) throw new UsageError(unknown(name, file, config))
    if (asked === null)
      complain(`the running gateway has no route ${JSON.stringify(name)} yet; this shows the one in the file`)
    const candidates = alone.candidates.map((each) => ({
      ...each,
      ends_on: endOf(`${each.provider}/${each.model}`, clock.now())?.date ?? null,
      losses: lossesAt(each),
    }))
    return { ...alone, candidates, isRunning: false }
  })
  const text = json
    ? toJson(
        found.map(({ isRunning: _, ...rest }) => rest),
        2,
      )
    : found.map((each) => described(each, config)).join('\n')
  process.stdout.write(json ? `${text}\n` : text)
}

/** Agents use their own model names, for which each dialect has defaults. */
function unknown(name: string, file: string, { defaults }: Config): string {
  const taken = Object.entries(defaults).map(([dialect, route]) => `${dialect} to ${route}`)
  const hint = taken.length > 0 ? `; as an unknown model it goes by its dialect: ${taken.join(', ')}` : ''
  return `${file} has no route and no provider for ${JSON.stringify(name)}${hint}`
}

/**
 * Returns the gateway's answer for each name, null for an unknown name; or the reason why the gateway cannot
 * be queried.
 */
async function resolutionsOf(
  base: URL,
  names: readonly string[],
  env: RoutesOptions['env'],
  keyFile: string | undefined,
): Promise<Map<string, Resolution | null> | GatewayAccessError> {
  const get = gatewayAt(base, env, keyFile)
  const signal = AbortSignal.timeout(ANSWER_MS)
  const found = new Map<string, Resolution | null>()
  try {
    if (names.length === 0) await get('/healthz', z.unknown(), signal)
    for (const name of names) {
      const path = `/api/cloud/model/resolve?${new URLSearchParams({ model: name })}`
      const answer = await get(path, resolution, signal).catch((error) => {
        if (error instanceof GatewayAccessError && error.kind === 'refused' && error.status === 404)
          return null
        throw error
      })
      found.set(name, answer)
    }
    return found
  } catch (error) {
    if (error instanceof GatewayAccessError) return error
    throw error
  }
}

/** `isRunning`: true if the answer is from a running gateway, which knows the turns. */
type Shown = Resolution & { readonly isRunning: boolean }

function described(shown: Shown, config: Config): string {
  const { model, route, strategy, candidates, depends_on, estimate, isRunning } = shown
  const costs = new Map(estimate?.targets.map(({ target, usd }) => [target, costOf(usd)]))
  const shares = sharesOf(shown)
  const rows = candidates.map((candidate, index) => [
    `${candidate.provider}/${candidate.model}`,
    candidate.tier ?? '-',
    `${Math.round(shares[index]! * 100)} %`,
    costs.get(`${candidate.provider}/${candidate.model}`) ?? '',
    candidate.reason ??
      (strategy === 'round-robin' && isRunning && candidate.probability === 1 ? 'next' : ''),
  ])
  const { sticky, rules = [] } = (route !== null && config.routes[route]) || {}
  const said = compileRules(rules).map(({ label }, index) => {
    const { tier, target } = rules[index]!.use
    return `  ${label} → ${tier === undefined ? target : `tier ${tier}`}`
  })
  if (estimate) {
    const [input, output] = [estimate.input_tokens, estimate.output_tokens].map((each) =>
      each.toLocaleString('en-US'),
    )
    said.push(`  the costs are of a first call with ${input} input tokens and ${output} output tokens`)
  }
  if (depends_on.length > 0)
    said.push(`  for a first call in plain text; it depends on ${depends_on.join(', ')}`)
  const endOf = endsIn(config)
  for (const candidate of candidates) {
    const end = endOf(`${candidate.provider}/${candidate.model}`, clock.now())
    if (end) said.push(`  ${end.text}`)
  }
  const title = `${model}  (${strategy}${sticky ? `, sticky: ${sticky}` : ''})`
  const lines = table(rows, { columns: null, header: false, right: [2], indent: '  ' })
  return [`${clean(title)}\n`, lines, ...said.map((line) => `${clean(line)}\n`)].join('')
}

/**
 * Returns the share of each target over many calls. If targets take turns, the next target does not show
 * their shares.
 */
function sharesOf({ strategy, candidates }: Resolution): number[] {
  const taking = candidates.filter(({ state, reason }) => state === 'ready' && reason === null)
  if (strategy !== 'round-robin' || taking.length === 0)
    return candidates.map(({ probability }) => probability)
  return candidates.map((each) => (taking.includes(each) ? 1 / taking.length : 0))
}

const costOf = (usd: number | null): string => (usd === null ? 'price unknown' : `${dollars(usd)} a call`)
