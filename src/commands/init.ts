// `waybill init`: turns a few answers, or the same values as options, into a commented waybill.yaml. Sends
// nothing unless the user agrees to a request for each provider's list of models. That request costs nothing
// and shows whether the key is accepted.
import { existsSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { PREFERENCES, PRESETS, type Preference, type Preset, STRATEGY_FOR } from '../config/presets.ts'
import { DIALECTS } from '../dialects/registry.ts'
import { boundedBody } from '../shared/bounded-answer.ts'
import { clean } from '../terminal/clean.ts'
import { nearest } from '../yaml/nearest.ts'
import { AGENTS } from './agent-table.ts'
import { configFrom, lineOf } from './init-from.ts'
import { print } from './output.ts'
import { UsageError } from './usage-error.ts'

interface InitOptions {
  readonly file: string
  /** Configuration of another gateway; replaces all questions. */
  readonly from?: string
  /** Names of presets, separated by commas. */
  readonly provider?: string
  readonly prefer?: Preference
  /** Requests the list of models from each provider. */
  readonly check?: boolean
  readonly env: Readonly<Record<string, string | undefined>>
  /** Prints a line. */
  readonly say?: (line: string) => void
}

const LIST_MS = 10_000
const MAX_LIST_BYTES = 8 * 2 ** 20

/** Names of clouds in which each customer has a different address. */
const CLOUDS = [
  'aws',
  'bedrock',
  'amazon-bedrock',
  'vertex',
  'vertex-ai',
  'google-vertex',
  'azure',
  'azure-openai',
  'foundry',
]

/** Rejects with UsageError. */
export async function init({ file, env, say = print, ...given }: InitOptions): Promise<void> {
  if (existsSync(file)) throw new UsageError(`${file} already exists; name another file`)
  if (given.from !== undefined) {
    writeFrom(file, given.from, env, say)
    return
  }
  const { chosen, prefer, check } = await ask(given, env)
  if (check) for (const preset of chosen) say(`  ${await tried(preset, env[preset.keyVariable])}`)
  writeFileSync(file, textOf(chosen, prefer), { flag: 'wx' })
  say(`Written: ${file}. It contains the names of your key variables, but no key.`)
  for (const line of next(file, chosen, env)) say(`  ${line}`)
}

function writeFrom(file: string, from: string, env: InitOptions['env'], say: (line: string) => void): void {
  const { text, format, providers, routes, direct, notes, variables } = configFrom(from, env)
  writeFileSync(file, text, { flag: 'wx' })
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

const counted = (count: number, noun: string): string => `${count} ${noun}${count === 1 ? '' : 's'}`

async function ask(
  given: Pick<InitOptions, 'provider' | 'prefer' | 'check'>,
  env: InitOptions['env'],
): Promise<{ chosen: readonly Preset[]; prefer: Preference; check: boolean }> {
  const withKey = PRESETS.filter(({ keyVariable }) => env[keyVariable])
  if (!process.stdin.isTTY) {
    if (given.provider === undefined)
      throw new UsageError(
        'there is no terminal for questions; give --provider, such as --provider openai,groq',
      )
    return { chosen: chosenOf(given.provider), prefer: given.prefer ?? 'order', check: given.check ?? false }
  }
  const terminal = createInterface({ input: process.stdin, output: process.stdout })
  try {
    const answer = async <Value>(question: string, usual: string, read: (said: string) => Value) => {
      for (;;) {
        const said = (await terminal.question(`${question} (${usual})\n> `)).trim() || usual
        try {
          return read(said)
        } catch (error) {
          if (!(error instanceof UsageError)) throw error
          print(error.message)
        }
      }
    }
    const usual = (withKey.length > 0 ? withKey : PRESETS.slice(0, 1)).map(({ name }) => name).join(',')
    print(`Known providers: ${PRESETS.map(({ name }) => name).join(', ')}.`)
    const chosen =
      given.provider === undefined
        ? await answer('Which ones do you want to use? Name the preferred one first.', usual, chosenOf)
        : chosenOf(given.provider)
    const prefer =
      given.prefer ??
      (await answer(`What matters for everyday calls: ${PREFERENCES.join(', ')}?`, 'order', preferenceOf))
    const check =
      given.check ??
      (await answer(
        'Ask them for their lists of models? This costs nothing and shows whether your keys work.',
        'yes',
        (said) => /^y/i.test(said),
      ))
    return { chosen, prefer, check }
  } finally {
    terminal.close()
  }
}

function chosenOf(text: string): readonly Preset[] {
  const names = [...new Set(text.split(/[\s,]+/).filter(Boolean))]
  if (names.length === 0) throw new UsageError('name at least one provider')
  return names.map((name) => {
    const preset = PRESETS.find((each) => each.name === name)
    if (preset) return preset
    const known = PRESETS.map((each) => each.name)
    if (CLOUDS.includes(name))
      throw new UsageError(
        `there is no preset for ${JSON.stringify(name)}, because its address holds your region, project or resource; begin with another provider, and add this one as in docs/credentials.md`,
      )
    const meant = nearest(name, known)
    throw new UsageError(
      meant
        ? `there is no preset for ${JSON.stringify(name)}; did you mean ${meant}?`
        : `there is no preset for ${JSON.stringify(name)}; the presets are ${known.join(', ')}. You can add others to the file by hand.`,
    )
  })
}

function preferenceOf(text: string): Preference {
  const found = PREFERENCES.find((each) => each === text)
  if (!found) throw new UsageError(`choose one of ${PREFERENCES.join(', ')}`)
  return found
}

/** Requests the list of models, for which no provider charges. Returns the result in one line. */
async function tried({ name, dialect, baseUrl, keyVariable, models }: Preset, key?: string): Promise<string> {
  if (!key) return `- ${name}: ${keyVariable} is not set; set it before you start`
  const { path, headers } = DIALECTS[dialect[0]!].modelList(key)
  const url = `${baseUrl}${path}`
  try {
    const response = await fetch(url, { headers, signal: AbortSignal.timeout(LIST_MS), redirect: 'error' })
    if (!response.ok) return `✗ ${name}: ${response.status}; check ${keyVariable}`
    const text = (await boundedBody(response, MAX_LIST_BYTES)).toString('utf8')
    const missing = models.filter((model) => !text.includes(JSON.stringify(model).slice(1, -1)))
    return missing.length === 0
      ? `✓ ${name}: the key works`
      : `✓ ${name}: the key works, but its list does not name ${missing.join(', ')}; check \`models\` in the file`
  } catch (error) {
    const { cause, message } = error as Error
    return `✗ ${name}: ${clean(cause instanceof Error ? cause.message : message)}`
  }
}

function textOf(chosen: readonly Preset[], prefer: Preference): string {
  const target = (preset: Preset, model: string) => `      - { model: ${preset.name}/${model} }`
  const main = chosen.map((preset) => target(preset, preset.models[0]))
  const cheap = chosen.map((preset) => target(preset, preset.models.at(-1)!))
  return `# Written by \`waybill init\`. Every setting is in docs/configuration.md; \`waybill config check\` checks this file.
server: { host: 127.0.0.1, port: 4949 }

# Where calls can go. \`key\` is the name of an environment variable, never the key itself.
providers:
${chosen
  .map(
    ({ name, dialect, baseUrl, keyVariable }) =>
      `  ${name}: { dialect: ${dialect.length > 1 ? `[${dialect.join(', ')}]` : dialect[0]}, base_url: ${baseUrl}, key: $${keyVariable} }`,
  )
  .join('\n')}

# What clients ask for as their model. An id such as ${chosen[0]!.name}/${chosen[0]!.models[0]} works too.
routes:
  auto:
    strategy: ${STRATEGY_FOR[prefer]}   # priority: the first that answers; cheapest; fastest; and more
    description: everyday work
    targets:
${main.join('\n')}
  auto/cheap:
    strategy: cheapest
    description: what should cost little
    targets:
${cheap.join('\n')}

# Coding agents also call models that no route names, such as claude-…; these calls go here.
defaults: { messages: auto, responses: auto, gemini: auto }
`
}

/** Lists the next steps: missing keys, the start, and installed agents that can be connected. */
function* next(file: string, chosen: readonly Preset[], env: InitOptions['env']): Generator<string> {
  const unset = chosen.map(({ keyVariable }) => keyVariable).filter((variable) => !env[variable])
  if (unset.length > 0) yield `set ${unset.join(' and ')}`
  yield `waybill serve --config ${file}`
  const places = (env.PATH ?? '').split(delimiter).filter(Boolean)
  const found = AGENTS.flatMap(({ programs }) => programs).filter((agent) =>
    places.some((place) => existsSync(join(place, agent))),
  )
  for (const agent of found) yield `waybill run -- ${agent}   # ${agent}, connected to the gateway`
  if (found.includes('claude')) yield 'waybill statusline install   # its status line says where calls went'
}
