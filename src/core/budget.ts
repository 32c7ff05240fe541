// Estimates the cost of a call before its usage is known. Counts the estimated input, the maximum output, and
// the provider's tools that the call offers, at the requested tier and speed. A budget reserves this amount
// during the call and charges it if no cost is reported. Pure.

import type { Cost } from '../pricing/cost.ts'
import type { Pricer } from '../pricing/pricing.ts'
import { type Target, targetId } from './call.ts'
import type { NamedModel } from './other-models.ts'
import { label, type Served } from './served.ts'
import { binaryParts } from './token-estimate.ts'

/** Output tokens assumed for a call without a maximum. */
const DEFAULT_OUTPUT_TOKENS = 4_096
/** Input tokens assumed for an image, an audio clip or a file. */
const BINARY_TOKENS = 1_500

/** Amount reserved for an open call of a key with a budget. */
export interface Claim {
  readonly callId: string
  readonly keyName: string
  readonly sessionId: string | null
  /** Reserved US dollars, at the most expensive target. */
  readonly usd: number
  /**
   * Returns the cost of the call, or of its input, at a target, in US dollars; 0 if the price is unknown.
   */
  costAt(target: Pick<Target, 'provider' | 'model'>, part: 'input' | 'all'): number
}

export interface ClaimOptions {
  readonly callId: string
  readonly keyName: string
  readonly sessionId: string | null
  readonly targets: readonly Target[]
  /** Estimated tokens of the request's text. */
  readonly textTokens: number
  readonly body: Readonly<Record<string, unknown>>
  readonly price: Pricer
  /** Returns the other models that the provider of a target may use for the call. */
  readonly others?: ((target: Target) => readonly NamedModel[]) | undefined
  /** Returns the output limit that a provider receives if the client sets none, if known. */
  readonly outputOf?: ((provider: string) => number | undefined) | undefined
  /** Milliseconds since the epoch. */
  readonly at: number
}

export function claimOf(options: ClaimOptions): Claim {
  const { callId, keyName, sessionId, targets, textTokens, body, price, at, outputOf, others } = options
  const input = textTokens + BINARY_TOKENS * binaryParts(body)
  const images = outputsOf(body)
  const asked = askedOf(body)
  const costBy = (target: Pick<Target, 'provider' | 'model'>, part: 'input' | 'all', by: string | null) => {
    const output = mostOutput(body, outputOf?.(target.provider))
    const counts = { input, output: part === 'all' ? output : 0, images: part === 'all' ? images : 0 }
    const costOf = (served: Served | undefined) => price(target, { ...NOTHING, ...counts, served }, at, by)
    const { usd, flat } = costOf(undefined)
    if (flat) return 0
    // The provider may serve the call as asked or at the listed price. Unknown prices count as 0.
    return Math.max(
      usd ?? 0,
      (asked && costOf(part === 'all' ? asked : { ...asked, tools: undefined }).usd) ?? 0,
    )
  }
  /** The dearest of the models that may answer, and all that may be used besides. */
  const costAt: Claim['costAt'] = (target, part) => {
    const of = targets.find((each) => targetId(each) === targetId(target)) ?? targets[0]!
    const named = others?.(of) ?? []
    const costs = (isBesides: boolean) =>
      named
        .filter((each) => each.isBesides === isBesides)
        .map(({ name, uses }) => uses * costBy(target, part, name))
    const dearest = Math.max(costBy(target, part, null), ...costs(false))
    return costs(true).reduce((sum, usd) => sum + usd, dearest)
  }
  const usd = Math.max(...targets.map((target) => costAt(target, 'all')))
  return { callId, keyName, sessionId, usd, costAt }
}

/** Number of uses reserved for each of the provider's tools, if the request sets no limit. */
const DEFAULT_TOOL_USES = 5

/** Date or version at the end of a provider tool's name. */
const TOOL_VERSION = /_(preview(_\d[\d_]*)?|\d{8})$/

/** Returns the requested tier, speed and tools; undefined if the request leaves all of them to the provider. */
function askedOf({
  service_tier,
  serviceTier,
  speed,
  inference_geo,
  tools,
  max_tool_calls,
}: ClaimOptions['body']): Served | undefined {
  const named = Array.isArray(tools)
    ? (tools as unknown[]).filter((tool) => typeof tool === 'object' && tool !== null)
    : []
  const uses = (named as { type?: unknown; max_uses?: unknown }[]).flatMap(({ type, max_uses }) =>
    typeof type === 'string' && type !== 'function' && type !== 'custom'
      ? [[type.replace(TOOL_VERSION, ''), largest([max_uses, max_tool_calls]) ?? DEFAULT_TOOL_USES] as const]
      : [],
  )
  const axes = {
    service_tier: label(service_tier) ?? label(serviceTier),
    speed: label(speed),
    region: label(inference_geo),
  }
  if (uses.length === 0 && Object.values(axes).every((axis) => axis === null)) return undefined
  return { ...axes, ...(uses.length > 0 && { tools: Object.fromEntries(uses) }) }
}

const NOTHING = { cached_input: null, cache_write: null, reasoning: null }

/** Returns the name of a model without a known price: the target's, or another that may be used; null if there is none. */
export function unpricedAt(
  price: Pricer,
  target: Target,
  at: number,
  others: readonly NamedModel[] = [],
): string | null {
  const one = { ...NOTHING, input: 1, output: 1, images: 1 }
  if (!isKnown(price(target, one, at))) return target.model
  const unknown = others.find(({ name, isOpen }) => isOpen || !isKnown(price(target, one, at, name)))
  return unknown?.name ?? null
}

/** Returns the line that sets the price of a model, to be written under `models` of the configuration. */
export const priceLine = (id: string): string =>
  `${/^[\w./-]+$/.test(id) ? id : JSON.stringify(id)}: { price: { input: INPUT, output: OUTPUT } }`

/** Returns true for a known cost. A subscription covers any cost. */
const isKnown = ({ usd, flat }: Cost): boolean => flat === true || usd !== null

/**
 * Members of a request that decide how much output it asks for, in lower case and without "_". The one table of all
 * dialects and relayed endpoints.
 */
const OUTPUT = {
  /** Limit of one output, in tokens. */
  limit:
    /^(max(completion|output|new|out)?tokens|maxtokenstosample|maxgenlen|max(output)?length|n(um)?predict)$/,
  /** Output that a provider may add to, or take for, the limit: reasoning with a limit of its own, or a least length. */
  more: /^(budgettokens|(thinking|reasoning)(token)?budget(tokens)?|max(thinking|reasoning)tokens|min(new|output)?tokens)$/,
  /** Number of outputs for one input. A call may set several; the largest counts, as for OpenAI's `n` and `best_of`. */
  outputs:
    /^(n|bestof|candidatecount|candidates|num(berof)?(generations|results|outputs|images|returnsequences)|samples|samplecount|batchsize)$/,
  /** Lists of inputs, each with outputs of its own. A list of numbers is one input, written in tokens. */
  inputs: /^(prompts?|promptembeds|instances|requests)$/,
  /** Members that may contain a limit or a number of outputs, in themselves or in what they contain. */
  settings:
    /^(generationconfig|inferenceconfig|fallbacks|options|provideroptions|parameters|samplingparams|extrabody|thinking|reasoning)$/,
} as const

type OutputKind = keyof typeof OUTPUT
const NO_KINDS: readonly OutputKind[] = []

/** Maximum names of members that are remembered, and their characters, because clients choose them. */
const [MAX_NAMES, MAX_NAME_LENGTH] = [1_000, 64]
const remembered = new Map<string, readonly OutputKind[]>()

/** Returns the rows of the table that a member's name is in. */
function kindsOf(name: string): readonly OutputKind[] {
  const known = remembered.get(name)
  if (known) return known
  const plain = name.replaceAll('_', '').toLowerCase()
  const kinds = (Object.keys(OUTPUT) as OutputKind[]).filter((kind) => OUTPUT[kind].test(plain))
  if (remembered.size < MAX_NAMES && name.length <= MAX_NAME_LENGTH)
    remembered.set(name, kinds.length === 0 ? NO_KINDS : kinds)
  return kinds
}

/** Returns true for a member of a request by which a claim is computed. */
export const countsOutput = (name: string): boolean => kindsOf(name).length > 0

/** Returns the values of an object's members with a name in a row of the table. */
function named(kind: OutputKind, members: object): unknown[] {
  const found: unknown[] = []
  for (const name in members) if (kindsOf(name).includes(kind)) found.push(members[name as never])
  return found
}

/** Returns the request and the objects in it that contain settings, at any depth. */
function settingsOf(body: ClaimOptions['body']): object[] {
  const found: object[] = [body]
  const waiting = named('settings', body)
  while (waiting.length > 0) {
    const value = waiting.pop()
    if (typeof value !== 'object' || value === null) continue
    found.push(value)
    for (const each of Object.values(value)) waiting.push(each)
  }
  return found
}

/** Returns the number of outputs that a call asks for. */
function outputsOf(body: ClaimOptions['body']): number {
  const outputs = largest(settingsOf(body).flatMap((each) => named('outputs', each))) ?? 1
  return named('inputs', body).reduce<number>((product, value) => product * inputsIn(value), outputs)
}

function inputsIn(value: unknown): number {
  if (!Array.isArray(value)) return 1
  const isOne = value.every((each) => typeof each === 'number')
  return isOne ? 1 : value.length
}

/** Returns the output tokens that a call may cause: the largest limit, because providers honour different ones. */
export function mostOutput(body: ClaimOptions['body'], byDefault = DEFAULT_OUTPUT_TOKENS): number {
  const settings = settingsOf(body)
  const limit = largest(settings.flatMap((each) => named('limit', each))) ?? byDefault
  const more = largest(settings.flatMap((each) => named('more', each))) ?? 0
  return Math.max(limit, more) * outputsOf(body)
}

/** A larger number counts as this one. Providers bring it down to their own limit, which may be unknown here. */
const MAX_COUNT = 10 ** 12

/** Returns the largest number, rounded up. Some providers also accept fractions, and numbers in quotes. */
function largest(values: readonly unknown[]): number | null {
  const counts = values.map(numberOf).filter((value) => value > 0)
  return counts.length > 0 ? Math.min(Math.ceil(Math.max(...counts)), MAX_COUNT) : null
}

/** Returns a number, also in quotes in the spellings that Python reads, such as `"10_000"`; else NaN. */
const numberOf = (value: unknown): number => {
  if (typeof value === 'number') return value
  return typeof value === 'string' ? Number(value.normalize('NFKC').replaceAll('_', '')) : Number.NaN
}
