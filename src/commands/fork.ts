// `waybill fork`: sends one kept call again to other models, through the gateway and so on record and in the budget. Only
// --live sends; without it, the highest possible cost is printed.
import { randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { partsOfKept } from '../call/kept-parts.ts'
import { loadConfig } from '../config/load.ts'
import { claimOf, mostOutput } from '../core/budget.ts'
import { type Target, targetId } from '../core/call.ts'
import { beginningOf, type StepPart, sizeOf } from '../core/steps.ts'
import { factTableOf } from '../models/facts.ts'
import { createPricer, type Pricer, pricingOf } from '../pricing/pricing.ts'
import { clock } from '../shared/clock.ts'
import { parseExact } from '../shared/exact-json.ts'
import { clean } from '../terminal/clean.ts'
import { costText, duration, estimateText } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { wrapped } from '../terminal/width.ts'
import { GatewayAccessError, namedGateway, senderTo } from './gateway-client.ts'
import { complain, json as toJson, UsageError } from './output.ts'
import {
  FORK,
  figure,
  type GatewayAccess,
  gatewayReads,
  type KeptBodies,
  keptBodies,
  type Recorded,
  recordOf,
  recordPath,
  sessionCalls,
} from './steps.ts'

interface ForkOptions extends GatewayAccess {
  /** Id of a call, or of the session of `step`. */
  readonly call: string
  readonly step?: number
  readonly model: readonly string[]
  readonly times: number
  readonly live?: boolean
  readonly whatif?: boolean
  readonly keep?: boolean
  readonly json?: boolean
}

/** A model that is asked, with the targets to which the gateway would send a call now. */
interface Asked {
  readonly model: string
  readonly targets: readonly Target[]
}

/** Prints the cost, or sends the calls and prints the answers. Rejects if the call is not kept. */
export async function fork(given: ForkOptions): Promise<void> {
  const id = given.step === undefined ? given.call : await callOfStep(given.call, given.step, given)
  const options = { ...given, call: id }
  const { model: names, times, live, whatif, json, config, env } = options
  if (live && whatif) throw new UsageError('--live sends, --whatif only prices; name one of them')
  const { read, find } = gatewayReads(options)
  const parent = await read(recordPath(id), recordOf)
  const kept = await find(`${recordPath(id)}/kept`, keptBodies)
  if (!kept)
    throw new Error(
      `the bodies of the call ${id} are not kept, or no longer; \`waybill run --keep -- AGENT\` keeps those of its session`,
    )
  const models = await Promise.all(
    [...new Set(names)].map(async (model): Promise<Asked> => {
      // Without a dialect, no default takes the place of a wrong name.
      const found = await find(`/api/cloud/model/resolve?${new URLSearchParams({ model })}`, resolution)
      if (!found)
        throw new UsageError(`the gateway has no route and no provider/model ${JSON.stringify(model)}`)
      return { model, targets: found.candidates.map((each) => ({ ...each, weight: 1 })) }
    }),
  )
  if (!live) {
    const settings = existsSync(config)
      ? loadConfig(config, { env, replay: true }).config
      : { providers: {}, models: {} }
    const price = createPricer(pricingOf(settings))
    const prices = models.map((each) =>
      whatif ? sameTokens(each, parent, price) : highest(each, parent, kept, price, factTableOf(settings)),
    )
    const { resolved_provider: provider, resolved_model: own } = parent
    const itself = { model: 'the call itself', targets: [{ provider, model: own, tier: null, weight: 1 }] }
    return announce(prices, options, parent, whatif ? [sameTokens(itself, parent, price)] : [])
  }
  const session = `${FORK}${randomUUID()}`
  const rows: Answered[] = []
  for (const { model } of models)
    for (let n = 1; n <= times; n++) {
      complain(`asking ${model}${times > 1 ? `, ${n} of ${times}` : ''}`)
      rows.push(await sendAgain(options, kept, parent, model, session))
    }
  if (json) {
    const { output } = kept
    process.stdout.write(
      `${toJson({ session_id: session, parent: { output, call: parent }, answers: rows }, 2)}\n`,
    )
  } else process.stdout.write(sideBySide(kept, parent, rows))
  const spent = rows.reduce((sum, { call }) => sum + (call?.cost_usd ?? 0), 0)
  // A refusal without a record cost nothing.
  const isMinimum = rows.some(({ call, error }) =>
    call ? call.cost_usd === null || (call.cost_missing ?? []).length > 0 : !/^4\d\d: /.test(error ?? ''),
  )
  complain(
    `they cost ${costText({ cost_usd: spent, cost_is_minimum: isMinimum })}; on record as the session ${session}`,
  )
}

/** Returns the id of a call by its session and the number that `waybill steps` shows. */
async function callOfStep(session: string, step: number, access: GatewayAccess): Promise<string> {
  const calls = await sessionCalls(session, gatewayReads(access).read)
  const found = calls[step - 1]
  if (!found)
    throw new UsageError(
      calls.length === 0
        ? `the record has no session ${JSON.stringify(session)}; \`waybill sessions\` lists them`
        : `the session has ${calls.length} ${calls.length === 1 ? 'step' : 'steps'}, and no step ${step}`,
    )
  return found.id
}

const resolution = z.looseObject({
  candidates: z.array(
    z.looseObject({ provider: z.string(), model: z.string(), tier: z.string().nullable() }),
  ),
})

interface Price {
  readonly model: string
  /** The dearest target. */
  readonly target: string
  readonly input: number
  /** Null if neither the request nor the model has a known limit. */
  readonly output: number | null
  /** US dollars for one call; null if it is not known. */
  readonly usd: number | null
}

const COUNTS = { cached_input: null, cache_write: null, reasoning: null }

const dearest = (prices: readonly Price[]): Price =>
  prices.reduce((most, each) =>
    most.usd !== null && (each.usd === null || each.usd > most.usd) ? each : most,
  )

/** Returns the highest possible cost of a call: all input written to a cache, the longest output, every tool. */
function highest(
  { model, targets }: Asked,
  { tokens }: Recorded,
  { request }: KeptBodies,
  price: Pricer,
  facts: ReturnType<typeof factTableOf>,
): Price {
  const body = JSON.parse(request)
  const at = clock.now()
  const input = tokens.input ?? sizeOf(request) // a token has at least one byte
  return dearest(
    targets.map((target) => {
      const limit = facts.of(target.provider, target.model, null).output
      const output = mostOutput(body, limit ?? Number.NaN)
      const priceOf = (more: object) => price(target, { ...COUNTS, input, output, ...more }, at).usd
      const plain = priceOf({})
      const common = { model, target: targetId(target), input }
      if (Number.isNaN(output) || plain === null)
        return { ...common, output: Number.isNaN(output) ? null : output, usd: null }
      const claim = claimOf({
        ...{
          callId: '',
          keyName: '',
          sessionId: null,
          targets: [target],
          textTokens: input,
          body,
          price,
          at,
        },
        outputOf: () => limit,
      })
      const hour = request.includes('"1h"') ? input : 0
      const written = Math.max(plain, priceOf({ cache_write: input, cache_write_1h: hour }) ?? 0) - plain
      return { ...common, output, usd: claim.usd === 0 ? 0 : claim.usd + written }
    }),
  )
}

/** Returns the cost of the tokens on record at the price of another model, as if nothing was cached. */
const sameTokens = (
  { model, targets }: Asked,
  { tokens: { input, output } }: Recorded,
  price: Pricer,
): Price =>
  dearest(
    targets.slice(0, 1).map((target) => {
      const cost = price(target, { ...COUNTS, input, output }, clock.now())
      return { model, target: targetId(target), input: input ?? 0, output, usd: cost.flat ? 0 : cost.usd }
    }),
  )

function announce(
  prices: readonly Price[],
  { times, whatif, json, call }: ForkOptions,
  parent: Recorded,
  before: readonly Price[],
): void {
  const usd = prices.some((each) => each.usd === null)
    ? null
    : prices.reduce((sum, each) => sum + each.usd! * (whatif ? 1 : times), 0)
  if (json) {
    const basis = whatif ? 'tokens of the call' : 'highest'
    process.stdout.write(
      `${toJson({ call_id: call, basis, times, cost_usd: usd, models: prices, itself: before[0] ?? null, sent: 0 }, 2)}\n`,
    )
    return
  }
  const rows = [...before, ...prices].map(({ model, target, input, output, usd: each }) => [
    model,
    target,
    figure(input),
    output === null ? 'no limit known' : figure(output),
    estimateText(each, false, 'unknown'),
  ])
  const names = ['model', 'target', 'in', whatif ? 'out' : 'out at most', whatif ? 'cost' : 'cost at most']
  process.stdout.write(
    table([names, ...rows], {
      columns: process.stdout.columns ?? null,
      right: names.slice(2),
      shrink: ['model', 'target'],
    }),
  )
  const calls = prices.length * times
  const said = whatif
    ? `These are the tokens of the call, as if nothing was cached; with its cache it cost ${costText(parent)}. Another model writes more or less.`
    : `${calls} ${calls === 1 ? 'call costs' : 'calls cost'} at most ${estimateText(usd, false, 'an unknown amount')}. Nothing was sent; --live sends.`
  process.stdout.write(`${said}\n`)
}

/** An answer, or the reason why there is none. */
interface Answered {
  readonly model: string
  readonly output: readonly StepPart[]
  /** Null if the call did not arrive. */
  readonly call: Recorded | null
  readonly error: string | null
}

/** Time for the gateway to close the record of a call that has ended, ms. */
const CLOSE_MS = 10_000

/** Sends the request with another model. A failure is part of the result. */
async function sendAgain(
  { url, config, keyFile, env, call: id, keep }: ForkOptions,
  { path, query, headers: relayed, request }: KeptBodies,
  parent: Recorded,
  model: string,
  session: string,
): Promise<Answered> {
  const send = senderTo(namedGateway(url, config, env), env, keyFile)
  const { find } = gatewayReads({ config, env, ...(url && { url }), ...(keyFile && { keyFile }) })
  const { target, body } = withModel(path, request, model)
  const headers = {
    ...relayed,
    'content-type': 'application/json',
    'x-gateway-parent': id,
    'x-gateway-session-id': session,
  }
  let [callId, type, isRefused]: [string | null, string | null, boolean] = [null, null, false]
  let output: readonly StepPart[] = []
  let error: string | null = null
  try {
    const answer = await send(
      `${keep ? '/keep' : ''}${target}${query ? `?${query}` : ''}`,
      { body, headers },
      (response) => {
        callId = response.headers.get('x-gateway-request-id')
        type = response.headers.get('content-type')
      },
    )
    isRefused = answer.status >= 400
    if (isRefused) error = `${answer.status}: ${messageOf(answer.text)}`
    const kept = { request: '{}', status: answer.status, content_type: type, answer: answer.text }
    output = partsOfKept(parent.endpoint, kept).output
  } catch (thrown) {
    error = thrown instanceof GatewayAccessError ? thrown.reason : (thrown as Error).message
  }
  let call: Recorded | null = null
  for (const end = clock.now() + CLOSE_MS; callId !== null && clock.now() < end; await sleep(50)) {
    call = await find(recordPath(callId), recordOf).catch(() => null)
    if (call === null || call.completed_at) break
  }
  if (call && !isRefused && call.state !== 'completed') error = call.error_code ?? call.state
  return { model, output, call, error }
}

/** Returns the path and the body with another model; everything else keeps its value. */
function withModel(path: string, request: string, model: string): { target: string; body: string } {
  const inPath = /^(.*\/models\/)[^/]+(?:\/[^/]+)*?(:\w+)$/.exec(path)
  if (inPath) return { target: `${inPath[1]}${encodeURIComponent(model)}${inPath[2]}`, body: request }
  return { target: path, body: JSON.stringify({ ...(parseExact(request) as object), model }) }
}

function messageOf(text: string): string {
  try {
    const { error, message } = JSON.parse(text)
    return String(error?.message ?? error ?? message ?? text)
  } catch {
    return beginningOf(text)
  }
}

/** Answers beside each other in one table. */
const BESIDE = 3
const LINES = 6
const DEFAULT_WIDTH = 36

/** Returns the kept answer and the new ones, each in a column. */
function sideBySide(kept: KeptBodies, parent: Recorded, rows: readonly Answered[]): string {
  const error = parent.state === 'completed' ? null : (parent.error_code ?? parent.state)
  const answers = [{ model: 'kept', output: kept.output, call: parent, error }, ...rows]
  const columns = process.stdout.columns ?? null
  const tables = []
  for (let from = 0; from < answers.length; from += BESIDE) {
    const some = answers.slice(from, from + BESIDE)
    const width =
      columns === null ? DEFAULT_WIDTH : Math.max(12, Math.floor((columns - 10) / some.length) - 2)
    const line = (name: string, of: (answer: Answered) => string) => [name, ...some.map(of)]
    const texts = some.map(({ output, error }) => linesOf(output, error, width))
    const body = Array.from({ length: Math.max(...texts.map(({ length }) => length)) }, (_, i) => [
      '',
      ...texts.map((lines) => lines[i] ?? ''),
    ])
    const figures = [
      line('asked', ({ model }) => model),
      line('answered', ({ call }) =>
        call
          ? targetId({ provider: call.resolved_provider, model: call.response_model ?? call.resolved_model })
          : '-',
      ),
      line('tokens', ({ call }) => `${figure(call?.tokens.input)}→${figure(call?.tokens.output)}`),
      line('cost', ({ call }) => (call ? costText(call) : '-')),
      line('time', ({ call }) => (call?.latency_ms == null ? '-' : duration(call.latency_ms))),
    ]
    tables.push(table([...figures, ...body], { columns, header: false, shrink: some.map((_, i) => i + 1) }))
  }
  return tables.join('\n')
}

/** Returns the first lines of an answer, and its calls. */
function linesOf(output: readonly StepPart[], error: string | null, width: number): string[] {
  const begin = (text: string, lines: number) =>
    wrapped(clean(beginningOf(text, width * lines)), width).slice(0, lines + 1)
  const said = output.filter(({ kind }) => kind === 'text').map(({ text }) => text)
  const calls = output.filter(({ kind }) => kind === 'call')
  return [
    ...(error === null ? [] : begin(`failed: ${error}`, LINES)),
    ...begin(said.join('\n'), LINES),
    ...calls.flatMap(({ name, text }) => begin(`→ ${name} ${text}`, 2)),
  ]
}
