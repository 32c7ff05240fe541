// The configuration file as commands check and change it. `waybill config check` reports every problem with its
// line, or a summary, and warns about settings that are allowed but may surprise.
import { readFileSync, realpathSync, renameSync, statSync, writeFileSync } from 'node:fs'
import { type Config, loadConfig, parseConfig, routedModels } from '../config/load.ts'
import { priceLine } from '../core/budget.ts'
import { ConfigError } from '../core/errors.ts'
import { createPricer, pricingOf } from '../pricing/pricing.ts'
import { keysFileOf, readKept } from '../terminal/keys.ts'
import { complain, print, json as toJson } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Prepares a change of the configuration's text. Throws ConfigError if the result would be refused. Returns a function
 * that writes it.
 */
export function preparedEdit(file: string, change: (text: string) => string, env: Env): () => void {
  loadConfig(file, { env, replay: true })
  const there = realpathSync(file)
  const text = change(readFileSync(there, 'utf8'))
  parseConfig(text, file, { env, replay: true })
  return () => {
    const temporary = `${there}.${process.pid}.tmp`
    writeFileSync(temporary, text, { mode: statSync(there).mode, flag: 'wx' })
    renameSync(temporary, there)
  }
}

interface ConfigCheckOptions {
  readonly config: string
  readonly json?: boolean
  readonly env: Env
}

/** Throws ConfigError. */
export function configCheck({ config: file, json, env }: ConfigCheckOptions): void {
  let config: Config
  try {
    ;({ config } = loadConfig(file, { env }))
  } catch (error) {
    if (json && error instanceof ConfigError)
      print(toJson({ file, valid: false, problems: error.problems, warnings: [] }, 2))
    throw error
  }
  if (json) {
    print(toJson({ file, valid: true, problems: [], warnings: warnings(config, file) }, 2))
    return
  }
  const count = (things: object, one: string) =>
    `${Object.keys(things).length} ${one}${Object.keys(things).length === 1 ? '' : 's'}`
  for (const warning of warnings(config, file)) complain(`${file}: warning: ${warning}`)
  print(
    `${file}: ok, ${count(config.providers, 'provider')}, ${count(config.routes, 'route')}, ${count(config.keys, 'key')}`,
  )
}

function warnings(config: Config, file: string): string[] {
  const { problem } = readKept(keysFileOf(file))
  return [...(problem === null ? [] : [problem]), ...settingWarnings(config)]
}

function settingWarnings(config: Config): string[] {
  return Object.keys(config.providers).length === 0
    ? ['there are no providers, so every call is refused; name one under providers']
    : [...unpricedWarnings(config), ...sessionWarnings(config)]
}

/** Warns about keys that only a budget of a session limits. */
const sessionWarnings = ({ keys }: Config): string[] =>
  keys
    .filter(({ budget = [] }) => budget.length > 0 && budget.every(({ per }) => per === 'session'))
    .map(
      ({ name }) =>
        `the key ${name} has a budget per session only, which does not limit calls without a session or with a new one; add one per day, week or month`,
    )

/** Warns about models without a price. A budget counts costs, so it does not count calls to these models. */
function unpricedWarnings(config: Config): string[] {
  const limited = config.keys.filter(({ budget }) => budget).map(({ name }) => name)
  if (limited.length === 0) return []
  const price = createPricer(pricingOf(config))
  const one = { input: 1, output: 1, cached_input: null, cache_write: null, reasoning: null }
  const priced = (id: string) => {
    const slash = id.indexOf('/')
    const target = { provider: id.slice(0, slash), model: id.slice(slash + 1) }
    return price(target, one, Date.now()).usd !== null
  }
  return routedModels(config)
    .filter((id) => !priced(id))
    .map(
      (id) =>
        `no price is known for ${id}, so it does not count towards the budget of ${limited.join(', ')}; write under models: ${priceLine(id)}`,
    )
}
