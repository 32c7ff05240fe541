// `waybill init`: turns a few answers, or the same values as options, into a commented waybill.yaml. Asks local servers for
// their lists of models, and other providers only if the user agrees. A list costs nothing and shows whether the key is
// accepted.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { stringify } from 'yaml'
import { loadConfig } from '../config/load.ts'
import { LOCAL_SERVERS, PREFERENCES, PRESETS, type Preference, STRATEGY_FOR } from '../config/presets.ts'
import { ConfigError } from '../core/errors.ts'
import { withKept } from '../terminal/keys.ts'
import { wrapped } from '../terminal/width.ts'
import { AGENTS } from './agent-table.ts'
import {
  type FoundProvider,
  modelEntries,
  providerFor,
  runningServers,
  settingsOf,
  windowAdvice,
  withList,
} from './found-provider.ts'
import { keepKeyAndWarn, secretFromStdin } from './gateway-keys.ts'
import { configFrom, lineOf } from './init-from.ts'
import { print, UsageError } from './output.ts'

interface InitOptions {
  readonly file: string
  /** Configuration of another gateway; replaces all questions. */
  readonly from?: string
  /** Names of presets, separated by commas. */
  readonly provider?: string
  readonly prefer?: Preference
  /** Requests the list of models from each provider. */
  readonly check?: boolean
  /** True to keep the keys that are set in the environment. */
  readonly keep?: boolean
  /** True if the caller starts the gateway and the agent, so that no next step is printed. */
  readonly isStarted?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Prints a line. */
  readonly say?: (line: string) => void
}

/** Rejects with UsageError. */
export async function init({ file, env, say = print, ...given }: InitOptions): Promise<void> {
  if (existsSync(file)) throw new UsageError(`${file} already exists; name another file`)
  if (given.from !== undefined) {
    writeFrom(file, given.from, env, say)
    return
  }
  const answers = await ask(given, file, env)
  const chosen: FoundProvider[] = []
  for (const provider of answers.chosen) {
    const { name, keyVariable } = provider
    const key =
      (keyVariable && (answers.keys.get(keyVariable) ?? withKept(file, env)[keyVariable]?.trim())) || null
    const { found, line } = await tried(provider, key, answers.check)
    if (line !== null) say(`  ${line}`)
    if (!found) throw new UsageError(`${name}: without its list of models, no model is known; ${REMEDY}`)
    chosen.push(found)
    const advice = windowAdvice(found)
    if (advice !== null) say(`  - ${advice}`)
  }
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, textOf(chosen, answers.prefer), { flag: 'wx' })
  say(`Written: ${file}. It contains the names of your key variables, but no key.`)
  for (const [variable, key] of answers.keys)
    say(`${variable} is kept in ${keepKeyAndWarn(file, variable, key)}.`)
  if (!given.isStarted) for (const line of next(file, chosen, env)) say(`  ${line}`)
}

const REMEDY =
  'start it and repeat this, name a model as in ollama/MODEL, or write the others first and add it with `waybill provider add`'

function writeFrom(file: string, from: string, env: InitOptions['env'], say: (line: string) => void): void {
  const { text, format, providers, routes, direct, notes, variables } = configFrom(from, env)
  writeFileSync(file, text, { flag: 'wx' })
  refuseUnusable(file, variables)
  say(`Written: ${file}, from a file of ${format}. It contains the names of your key variables, but no key.`)
  say(`Carried over: ${counted(providers, 'provider')}, ${counted(routes, 'route')}.`)
  if (direct.length > 0)
    say(`Asked for as provider/model, without a route: ${counted(direct.length, 'model')}.`)
  if (notes.length > 0) say('Not carried over, or not as it was:')
  for (const note of notes) say(`  - ${lineOf(note)}`)
  const unset = variables.filter((variable) => !env[variable])
  if (unset.length > 0) say(`  set ${unset.join(' and ')}`)
  say(`  waybill serve --config ${file} --replay --invent   # tries it without a key and without cost`)
  say(`  waybill serve --config ${file}`)
}

/** Throws if a gateway would refuse the written file. */
function refuseUnusable(file: string, variables: readonly string[]): void {
  try {
    loadConfig(file, { env: Object.fromEntries(variables.map((name) => [name, 'any'])) })
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    throw new Error(`${file} was written, but the gateway refuses it; mend ${error.problems.join('; ')}`)
  }
}

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

interface Answers {
  readonly chosen: readonly FoundProvider[]
  readonly prefer: Preference
  /** false: send nothing; undefined: only what is needed. */
  readonly check: boolean | undefined
  /** Keys to keep, by their variables. */
  readonly keys: ReadonlyMap<string, string>
}

async function ask(
  given: Pick<InitOptions, 'provider' | 'prefer' | 'check' | 'keep'>,
  file: string,
  env: InitOptions['env'],
): Promise<Answers> {
  const running = given.provider === undefined && given.check !== false ? await runningServers(env) : []
  if (!process.stdin.isTTY) {
    if (given.provider === undefined)
      throw new UsageError(
        `there is no terminal for questions; give --provider, such as --provider ${running.map(({ name }) => name).join() || 'openai,groq'}`,
      )
    const chosen = chosenOf(given.provider, env)
    const keys = given.keep ? keysIn(chosen, env) : new Map<string, string>()
    return { chosen, prefer: given.prefer ?? 'order', check: given.check, keys }
  }
  const answers = await askPerson(given, running, file, env)
  const keys = new Map(answers.keys)
  for (const { keyVariable } of answers.chosen) {
    if (keyVariable === null || keys.has(keyVariable) || withKept(file, env)[keyVariable]) continue
    const key = await secretFromStdin(keyVariable)
    if (key !== '') keys.set(keyVariable, key)
  }
  return { ...answers, keys }
}

/** Asks on the terminal for what is not given. */
async function askPerson(
  given: Pick<InitOptions, 'provider' | 'prefer' | 'check' | 'keep'>,
  running: Awaited<ReturnType<typeof runningServers>>,
  file: string,
  env: InitOptions['env'],
): Promise<Answers> {
  const lines = (text: string) => wrapped(text, process.stdout.columns || 80)
  const show = (text: string) => {
    for (const line of lines(text)) print(line)
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  const answer = async <Value>(question: string, usual: string, read: (said: string) => Value) => {
    for (;;) {
      const said =
        (await terminal.question(`${lines(`${question} (${usual})`).join('\n')}\n> `)).trim() || usual
      try {
        return read(said)
      } catch (error) {
        if (!(error instanceof UsageError)) throw error
        print(error.message)
      }
    }
  }
  const isYes = (said: string) => /^y/i.test(said)
  try {
    show(`Known providers: ${PRESETS.map(({ name }) => name).join(', ')}.`)
    show(
      `On this machine: ${LOCAL_SERVERS.map(({ name }) => name).join(', ')}. Any other: its address, or NAME=ADDRESS.`,
    )
    for (const { name, baseUrl, listed } of running)
      show(`Found here: ${name} at ${baseUrl}, models: ${listed.slice(0, 5).join(', ')}.`)
    const here = [...running, ...PRESETS.filter(({ keyVariable }) => withKept(file, env)[keyVariable])]
    const usual = (here.length > 0 ? here : PRESETS.slice(0, 1)).map(({ name }) => name).join(',')
    const chosen =
      given.provider === undefined
        ? await answer('Which ones do you want to use? Name the preferred one first.', usual, (said) =>
            chosenOf(said, env),
          )
        : chosenOf(given.provider, env)
    const prefer =
      given.prefer ??
      (chosen.length === 1
        ? 'order'
        : await answer(
            'Which one gets an everyday call? order: the first that works, in your order; price: the cheapest for the call; speed: the fastest of late',
            'order',
            preferenceOf,
          ))
    const areFound = chosen.every(({ name }) => running.some((each) => each.name === name)) // they were asked already
    const check =
      given.check ??
      (areFound ||
        (await answer(
          'Ask them for their lists of models? This costs nothing and shows whether your keys work.',
          'yes',
          isYes,
        )))
    const set = keysIn(chosen, env)
    const keep =
      set.size > 0 &&
      (given.keep ??
        (await answer(
          `Keep ${[...set.keys()].join(', ')} in keys.env beside the file, which only you can read? A new terminal then needs no variables.`,
          'yes',
          isYes,
        )))
    return { chosen, prefer, check, keys: keep ? set : new Map() }
  } finally {
    terminal.close()
  }
}

/** Returns the keys of the providers that are set in the environment. */
const keysIn = (chosen: readonly FoundProvider[], env: InitOptions['env']): Map<string, string> =>
  new Map(
    chosen.flatMap(({ keyVariable }) => {
      const key = keyVariable && env[keyVariable]?.trim()
      return key ? [[keyVariable, key]] : []
    }),
  )

function chosenOf(text: string, env: InitOptions['env']): readonly FoundProvider[] {
  const words = [...new Set(text.split(/[\s,]+/).filter(Boolean))]
  if (words.length === 0) throw new UsageError('name at least one provider')
  const chosen = words.map((word) => providerFor(word, env))
  const twice = chosen.find(({ name }, index) => chosen.findIndex((each) => each.name === name) < index)
  if (twice) throw new UsageError(`two providers would have the name ${twice.name}; write NAME=ADDRESS`)
  return chosen
}

function preferenceOf(text: string): Preference {
  const found = PREFERENCES.find((each) => each === text)
  if (!found) throw new UsageError(`choose one of ${PREFERENCES.join(', ')}`)
  return found
}

/** Completes a provider by its list of models, which costs nothing. `line` is the result for the user. */
async function tried(
  provider: FoundProvider,
  key: string | null,
  check: boolean | undefined,
): Promise<{ found: FoundProvider | null; line: string | null }> {
  const { name, keyVariable, models, dialect } = provider
  const known = models.length > 0 ? { ...provider, dialect: dialect ?? (['chat'] as const) } : null
  const isNeeded = known === null || dialect === null
  if (check === false || (!check && !isNeeded)) return { found: known, line: null }
  if (keyVariable !== null && key === null && !isNeeded)
    return { found: known, line: `- ${name}: ${keyVariable} is not set; set it before you start` }
  try {
    const found = await withList(provider, key)
    const missing = models.filter((model) => !found.listed.includes(model))
    const works =
      keyVariable === null
        ? `${counted(found.listed.length, 'model')}, ${found.models[0]} first`
        : 'the key works'
    const but =
      missing.length === 0
        ? ''
        : `, but its list does not name ${missing.join(', ')}; check \`models\` in the file`
    return { found: found.models.length > 0 ? found : null, line: `✓ ${name}: ${works}${but}` }
  } catch (error) {
    const { message } = error as Error
    const advice = /^40[13];/.test(message) && keyVariable !== null ? `; check ${keyVariable}` : ''
    return { found: known, line: `✗ ${name}: ${message}${advice}` }
  }
}

const yaml = (value: unknown): string => stringify(value, { collectionStyle: 'flow', lineWidth: 0 }).trimEnd()

function textOf(chosen: readonly FoundProvider[], prefer: Preference): string {
  const target = ({ name }: FoundProvider, model: string) => `      - ${yaml({ model: `${name}/${model}` })}`
  const main = chosen.map((provider) => target(provider, provider.models[0]!))
  const cheap = chosen.map((provider) => target(provider, provider.models.at(-1)!))
  const [first] = chosen
  const small = `${first!.name}/${first!.models.at(-1)}`
  const facts = chosen.flatMap(modelEntries)
  return `# Written by \`waybill init\`. Every setting is in docs/configuration.md; \`waybill config check\` checks this file.
server: { host: 127.0.0.1, port: 4949 }

# Where calls can go. \`key\` is the name of a variable, never the key itself: it is set in the environment or in keys.env.
providers:
${chosen.map((provider) => `  ${provider.name}: ${yaml(settingsOf(provider))}`).join('\n')}
${
  facts.length === 0
    ? ''
    : `
# What the servers told about their models. \`context\` is the window: a longer call goes elsewhere. Models of this machine cost nothing.
models:
${facts.map(([id, model]) => `  ${yaml(id)}: ${yaml(model)}`).join('\n')}
`
}
# What clients ask for as their model. An id such as ${first!.name}/${first!.models[0]} works too.
routes:
  auto:
    strategy: ${STRATEGY_FOR[prefer]}   # priority: the first that answers; cheapest; fastest; and more
    description: everyday work
    # Coding agents also make calls in the background, for titles and checks. This rule sends them to a cheap model, which
    # must be a target too:
    # rules: [{ when: { purpose: background }, use: { target: ${yaml(small)} } }]
    targets:
${main.join('\n')}
${main.includes(target(first!, first!.models.at(-1)!)) ? '' : `#${target(first!, first!.models.at(-1)!).slice(1)}\n`}  auto/cheap:
    strategy: cheapest
    description: what should cost little
    targets:
${cheap.join('\n')}

# Coding agents also call models that no route names, such as claude-…; these calls go here.
defaults: { messages: auto, responses: auto, gemini: auto }
`
}

/** Lists the next steps: missing keys, the start, and installed agents that can be connected. */
function* next(file: string, chosen: readonly FoundProvider[], env: InitOptions['env']): Generator<string> {
  const known = withKept(file, env)
  const unset = chosen.flatMap(({ keyVariable }) => (keyVariable && !known[keyVariable] ? [keyVariable] : []))
  if (unset.length > 0) yield `set ${unset.join(' and ')}`
  const at = file === 'waybill.yaml' ? '' : ` --config ${file}`
  const places = (env.PATH ?? '').split(delimiter).filter(Boolean)
  const found = AGENTS.flatMap(({ programs }) => programs).filter((agent) =>
    places.some((place) => existsSync(join(place, agent))),
  )
  for (const agent of found)
    yield `waybill run${at} -- ${agent}   # runs the gateway, too, until the agent ends`
  yield `waybill serve${at}${found.length > 0 ? '   # keeps the gateway running' : ''}`
  if (found.includes('claude')) yield 'waybill statusline install   # its status line says where calls went'
}
