// Sessions of agents, with simulated prompt caches and the lowest possible cost, for the tests of `cheapest`. The
// lengths, pauses and token counts are drawn from distributions that resemble three coding agents, or are those of three
// agents at a mock (recorded-sessions.json: ms, estimated tokens, output tokens of each call; made by
// `npm run agents -- sessions --turns FILE`).
import { readFileSync } from 'node:fs'
import { parseConfig } from '../config/load.ts'
import { targetId } from '../core/call.ts'
import { createPricer, type Pricer, pricingOf } from '../pricing/pricing.ts'
import { seeded } from '../shared/chance.ts'
import { createRouter } from './router.ts'
import { input } from './test-router.ts'

/** Facts about a provider's prompt cache, from its documentation. */
interface ProviderFacts {
  readonly dialect: string
  readonly base_url: string
  readonly minutes: number
  /** Smallest cached prompt, and the step in which it grows. */
  readonly minimum: number
  readonly step: number
  /** Tokens of the provider for each estimated token. */
  readonly density: number
}

const PROVIDERS: Readonly<Record<string, ProviderFacts>> = {
  openai: {
    dialect: 'openai',
    base_url: 'https://api.openai.com/v1',
    minutes: 5,
    minimum: 1024,
    step: 128,
    density: 1,
  },
  anthropic: {
    dialect: 'anthropic',
    base_url: 'https://api.anthropic.com',
    minutes: 5,
    minimum: 1024,
    step: 1,
    density: 1.2,
  },
  groq: {
    dialect: 'openai',
    base_url: 'https://api.groq.com/openai/v1',
    minutes: 120,
    minimum: 1024,
    step: 128,
    density: 1,
  },
  deepseek: {
    dialect: 'openai',
    base_url: 'https://api.deepseek.com',
    minutes: 60,
    minimum: 64,
    step: 64,
    density: 0.95,
  },
  gemini: {
    dialect: 'gemini',
    base_url: 'https://generativelanguage.googleapis.com',
    minutes: 5,
    minimum: 2048,
    step: 1,
    density: 1.05,
  },
  xai: {
    dialect: 'openai',
    base_url: 'https://api.x.ai/v1',
    minutes: 5,
    minimum: 1024,
    step: 64,
    density: 1,
  },
  mistral: {
    dialect: 'openai',
    base_url: 'https://api.mistral.ai/v1',
    minutes: 5,
    minimum: 1024,
    step: 1,
    density: 1.1,
  },
}

const MODELS =
  'openai/gpt-6-sol openai/gpt-6-luna openai/gpt-6-astra openai/gpt-5.6-sol openai/gpt-5.6-luna openai/gpt-5.5 openai/gpt-5.4 openai/gpt-5.4-mini openai/gpt-5.4-nano anthropic/claude-fable-5-1 anthropic/claude-opus-5-5 anthropic/claude-sonnet-5-5 anthropic/claude-haiku-5-5 anthropic/claude-haiku-4-5 groq/openai/gpt-oss-120b groq/openai/gpt-oss-20b groq/qwen/qwen3-32b deepseek/deepseek-v4-flash deepseek/deepseek-v4-pro gemini/gemini-3.1-pro-preview gemini/gemini-3.5-flash gemini/gemini-2.5-flash-lite xai/grok-4.5 xai/grok-4.3 mistral/mistral-large-latest mistral/codestral-latest'.split(
    ' ',
  )

/** One call. `input` in estimated tokens. */
interface Turn {
  readonly at: number
  readonly input: number
  readonly output: number
}

/** Medians and spreads (of the logarithm) of an agent's calls, and the share of its calls after which the user pauses. */
const AGENTS = {
  claude: { first: 22_000, growth: [900, 1.2], output: [220, 1], calls: [30, 0.9], pauses: 0.06 },
  codex: { first: 11_000, growth: [700, 1.3], output: [350, 1.1], calls: [25, 0.9], pauses: 0.05 },
  gemini: { first: 8_000, growth: [1_500, 1.2], output: [160, 0.9], calls: [15, 0.9], pauses: 0.08 },
} as const

type Agent = keyof typeof AGENTS

const START = Date.UTC(2026, 10, 27)
/** Length at which an agent summarizes its conversation. */
const MAX_INPUT = 150_000

/** Returns at least so many calls of an agent, in sessions. */
function sessionsOf(agent: Agent, calls: number, random: () => number): Turn[][] {
  const { first, growth, output, calls: length, pauses } = AGENTS[agent]
  const normal = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const drawn = ([median, spread]: readonly [number, number]) =>
    Math.ceil(median * Math.exp(spread * normal()))
  const sessions: Turn[][] = []
  let at = START
  for (let made = 0; made < calls; ) {
    let input = drawn([first, 0.3])
    const turns = Array.from({ length: Math.min(drawn(length), 200) }, (): Turn => {
      const turn = { at, input, output: drawn(output) }
      at += random() < pauses ? drawn([300_000, 1]) : drawn([9_000, 0.8])
      input += turn.output + drawn(growth)
      if (input > MAX_INPUT) input = Math.ceil(first * 1.5)
      return turn
    })
    at += 600_000
    made += turns.length
    sessions.push(turns)
  }
  return sessions
}

/** The calls of a session with what a target has cached of them, if another call was made there earlier. */
class Caches {
  readonly #turns: readonly Turn[]
  readonly #price: Pricer

  constructor(turns: readonly Turn[], price: Pricer) {
    this.#turns = turns
    this.#price = price
  }

  /** Returns the tokens of call `n` at a target whose last call was `last`; -1 if there was none. */
  tokens(model: string, n: number, last: number) {
    const { at, input, output } = this.#turns[n]!
    const { density, minimum, step, minutes } = factsOf(model)
    const count = Math.round(input * density)
    const earlier = this.#turns[last]
    const isThere =
      earlier &&
      at - earlier.at <= minutes * 60_000 &&
      this.#turns.slice(last, n).every((each) => each.input <= input)
    const length = isThere ? Math.round(earlier.input * density) : 0
    const cached_input = length < minimum || !caches(model) ? 0 : length - (length % step)
    const cache_write = reportsWrites(model) && count >= minimum ? count - cached_input : 0
    return { input: count, output, cached_input, cache_write, reasoning: null }
  }

  usd(model: string, n: number, last: number): number {
    return this.#price(targetOf(model), this.tokens(model, n, last), this.#turns[n]!.at).usd!
  }
}

const factsOf = (model: string): ProviderFacts => PROVIDERS[targetOf(model).provider]!
const caches = (model: string): boolean => !/qwen|mistral/.test(model)
const reportsWrites = (model: string): boolean => /^anthropic|gpt-6|gpt-5\.6/.test(model)
const targetOf = (model: string) => {
  const slash = model.indexOf('/')
  return { provider: model.slice(0, slash), model: model.slice(slash + 1) }
}

/** Returns the lowest possible cost of a session: the best of all sequences of targets, found step by step. */
function lowest(models: readonly string[], turns: readonly Turn[], price: Pricer): number {
  const caches = new Caches(turns, price)
  const known = new Map<string, number>()
  const usd = (model: string, n: number, last: number) => {
    const key = `${model} ${n} ${last}`
    const found = known.get(key) ?? caches.usd(model, n, last)
    known.set(key, found)
    return found
  }
  let states = new Map([['', { usd: 0, last: models.map(() => -1) }]])
  for (const n of turns.keys()) {
    const next: typeof states = new Map()
    for (const state of states.values())
      for (const [chosen, model] of models.entries()) {
        const total = state.usd + usd(model, n, state.last[chosen]!)
        const last = state.last.map((each, at) =>
          at === chosen ? n : each >= 0 && caches.tokens(models[at]!, n, each).cached_input > 0 ? each : -1,
        )
        const key = last.join()
        if (total < (next.get(key)?.usd ?? Infinity)) next.set(key, { usd: total, last })
      }
    states = next
  }
  return Math.min(...[...states.values()].map((state) => state.usd))
}

interface Paid {
  paid: number
  lowest: number
  /** Cost with the fixed mix of three input tokens for each output token. */
  fixed: number
}

/** Sends the sessions through a route with these targets, one after the other, and returns the sums. */
function costOfSessions(models: readonly string[], sessions: readonly (readonly Turn[])[]): Paid {
  const used = [...new Set(models.map((model) => targetOf(model).provider))]
  const text = JSON.stringify({
    providers: Object.fromEntries(
      used.map((name) => {
        const { dialect, base_url, minutes } = PROVIDERS[name]!
        return [name, { dialect, base_url, prompt_cache: `${minutes}m` }]
      }),
    ),
    routes: { auto: { strategy: 'cheapest', targets: models.map((model) => ({ model })) } },
  })
  const { config } = parseConfig(text, 'test', { env: {} })
  const price = createPricer(pricingOf(config))
  let now = START
  const noise = seeded(7)
  const router = createRouter(config, { now: () => now, random: noise, canTranslate: () => true })
  const sum: Paid = { paid: 0, lowest: 0, fixed: 0 }
  for (const [number, turns] of sessions.entries()) {
    const caches = new Caches(turns, price)
    const last = new Map<string, number>()
    const lastFixed = new Map<string, number>()
    for (const [n, turn] of turns.entries()) {
      now = turn.at
      const inputTokens = Math.round(turn.input * (0.98 + 0.04 * noise()))
      const { route, tracker } = router.route('auto', input({ inputTokens }, `session ${number}`))!
      const [first] = route.candidates
      const model = targetId(first)
      sum.paid += caches.usd(model, n, last.get(model) ?? -1)
      tracker.attempt(first, 0)
      tracker.answered(1)
      tracker.served(first, null, caches.tokens(model, n, last.get(model) ?? -1), 2)
      tracker.over()
      last.set(model, n)
      const mix = (each: string) =>
        price(targetOf(each), { ...MIX, cached_input: null, cache_write: null, reasoning: null }, now).usd!
      const fixed = models.reduce((best, each) => (mix(each) < mix(best) ? each : best))
      sum.fixed += caches.usd(fixed, n, lastFixed.get(fixed) ?? -1)
      lastFixed.set(fixed, n)
    }
    sum.lowest += lowest(models, turns, price)
  }
  return sum
}

const MIX = { input: 3_000, output: 1_000 }

const PAIRS = MODELS.flatMap((one, n) => MODELS.slice(n + 1).map((other) => [one, other]))

/** Returns all routes with two of the models, each with the recorded sessions four times: the first has no record to learn from. */
export function pairsWithRecordedSessions(): { models: string[]; sessions: Turn[][] }[] {
  const recorded: Record<string, [number, number, number][]> = JSON.parse(
    readFileSync(new URL('recorded-sessions.json', import.meta.url), 'utf8'),
  )
  const sessions = Array.from({ length: 4 }, () => Object.values(recorded))
    .flat()
    .map((calls, n) =>
      calls.map(([ms, input, output]) => ({ at: START + n * 3_600_000 + ms, input, output })),
    )
  return PAIRS.map((models) => ({ models, sessions }))
}

/** Returns all routes with two of the models, each with a session of one of the agents. */
export function pairsWithSessions(): { models: string[]; sessions: Turn[][] }[] {
  const random = seeded(1)
  const agents = Object.keys(AGENTS) as Agent[]
  return PAIRS.map((models, n) => ({ models, sessions: sessionsOf(agents[n % 3]!, 1, random) }))
}

/** Returns the sums over routes with their sessions, and the number of calls. */
export function costOfAll(routes: readonly { models: string[]; sessions: Turn[][] }[]) {
  const sum = { paid: 0, lowest: 0, fixed: 0, calls: 0 }
  for (const { models, sessions } of routes) {
    const { paid, lowest, fixed } = costOfSessions(models, sessions)
    sum.paid += paid
    sum.lowest += lowest
    sum.fixed += fixed
    sum.calls += sessions.flat().length
  }
  return sum
}
