// `waybill provider add|list|test`: changes and tests the providers of a configuration. Comments and spaces of the file
// stay. A test requests the list of models; only `--live` makes a call, which is on record.
import { hash, randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { type Config, loadConfig, type ProviderConfig, routedModels } from '../config/load.ts'
import { DIALECT_NAMES } from '../config/schema.ts'
import { SILENT } from '../core/process-log.ts'
import { createGateway } from '../gateway/create-gateway.ts'
import { diagnoseData } from '../store/sqlite/diagnose.ts'
import { findKey, keysFileOf, readKept, withKept } from '../terminal/keys.ts'
import { dollars } from '../terminal/numbers.ts'
import { table } from '../terminal/table.ts'
import { withEntry } from '../yaml/yaml.ts'
import { preparedEdit } from './config-file.ts'
import {
  type FoundProvider,
  modelEntries,
  providerFor,
  settingsOf,
  windowAdvice,
  withList,
} from './found-provider.ts'
import { gatewayAddress } from './gateway-client.ts'
import { keepKeyAndWarn, secretFromStdin } from './gateway-keys.ts'
import { complain, print, json as toJson, UsageError } from './output.ts'

type Env = Readonly<Record<string, string | undefined>>

interface AddOptions {
  /** A preset, a local server, an address, or NAME=ADDRESS. */
  readonly provider: string
  readonly config: string
  readonly dialect?: readonly string[]
  /** Variable of its key. */
  readonly keyEnv?: string
  /** True to read its key from stdin and keep it. */
  readonly stdin?: boolean
  /** Command that prints its key. */
  readonly command?: string
  readonly model?: readonly string[]
  readonly route?: string
  /** False to send nothing. */
  readonly check: boolean
  readonly env: Env
}

/** Adds a provider to the configuration. Rejects with ConfigError or UsageError. */
export async function addToConfig(options: AddOptions): Promise<void> {
  const { config: file, command, stdin, route, env } = options
  const { config } = loadConfig(file, { env, replay: true })
  const given = wantedProvider(options)
  const { name, keyVariable } = given
  if (Object.hasOwn(config.providers, name))
    throw new UsageError(`${file} has a provider ${name} already; give another name, as in NAME=ADDRESS`)
  let key = (keyVariable && withKept(file, env)[keyVariable]?.trim()) || null
  const isAsked = stdin || (keyVariable !== null && key === null && !command && process.stdin.isTTY)
  const typed = isAsked && keyVariable !== null ? await secretFromStdin(keyVariable) : ''
  if (typed !== '') key = typed
  const provider = await checked(given, key, options.check)
  const settings: Record<string, unknown> = {
    ...settingsOf(provider),
    ...(command && { key: undefined, keys: [{ name: 'main', command: command.split(/\s+/) }] }),
  }
  const first = provider.models[0]
  const write = preparedEdit(
    file,
    (text) => {
      let changed = withEntry(text, ['providers'], name, JSON.parse(JSON.stringify(settings)))
      for (const [id, model] of modelEntries(provider))
        if (!Object.hasOwn(config.models, id)) changed = withEntry(changed, ['models'], id, model)
      if (route === undefined || first === undefined) return changed
      const target = { model: `${name}/${first}` }
      return Object.hasOwn(config.routes, route)
        ? withEntry(changed, ['routes', route, 'targets'], null, target)
        : withEntry(changed, ['routes'], route, { targets: [target] })
    },
    env,
  )
  // The key comes first: a running gateway reads both when the configuration changes.
  if (typed !== '') print(`${keyVariable} is kept in ${keepKeyAndWarn(file, keyVariable!, typed)}.`)
  write()
  print(`Added to ${file}: ${name}, ${[settings.dialect].flat().join(' and ')} at ${provider.baseUrl}`)
  if (keyVariable !== null && key === null && !command)
    print(`  set ${keyVariable}, or keep it with \`waybill key set ${keyVariable}\``)
  print(`  ask for ${name}/${first ?? 'MODEL'}${route === undefined ? '' : `, or for the route ${route}`}`)
  print(`  waybill provider test ${name}`)
}

function wantedProvider({
  provider: word,
  dialect,
  keyEnv,
  model,
  stdin,
  command,
  env,
}: AddOptions): FoundProvider {
  const found = providerFor(word, env)
  for (const each of dialect ?? [])
    if (!['openai', 'anthropic', ...DIALECT_NAMES].includes(each))
      throw new UsageError(
        `--dialect takes openai, anthropic, ${DIALECT_NAMES.join(', ')}, not ${JSON.stringify(each)}`,
      )
  const spoken = dialect?.flatMap((each) =>
    each === 'openai' ? ['chat', 'embeddings'] : each === 'anthropic' ? ['messages'] : [each],
  )
  const keyVariable = keyEnv ?? found.keyVariable
  if (stdin && keyVariable === null)
    throw new UsageError(`${found.name} needs no key; if it does, name its variable with --key-env`)
  return {
    ...found,
    ...(spoken && { dialect: spoken as FoundProvider['dialect'] }),
    keyVariable: command ? null : keyVariable,
    models: model ?? found.models,
  }
}

/** Returns the provider with what its list of models tells, or as it is, if that is enough. */
async function checked(provider: FoundProvider, key: string | null, check: boolean): Promise<FoundProvider> {
  const { name, keyVariable, dialect } = provider
  if (check && (keyVariable === null || key !== null || dialect === null))
    try {
      const found = await withList(provider, key)
      print(`✓ ${name}: ${found.listed.length} models`)
      const advice = windowAdvice(found)
      if (advice !== null) print(`- ${advice}`)
      return found
    } catch (error) {
      complain(`${name}: its list of models cannot be read: ${(error as Error).message}`)
    }
  if (dialect === null) complain(`${name}: taken for OpenAI's dialect; name another with --dialect`)
  return { ...provider, dialect: dialect ?? ['chat'] }
}

interface ListOptions {
  readonly config: string
  readonly json?: boolean
  readonly env: Env
}

/** Prints the providers, and where their keys are. Sends nothing. */
export function listProviders({ config: file, json, env }: ListOptions): void {
  const { config } = loadConfig(file, { env, replay: true })
  const rows = Object.entries(config.providers).map(([name, provider]) => ({
    name,
    dialect: provider.dialect,
    base_url: provider.base_url,
    key: placeOfKey(provider, file, env),
    models: routedModels(config).filter((id) => id.startsWith(`${name}/`)),
  }))
  if (json) return void print(toJson(rows, 2))
  const columns = process.stdout.isTTY ? process.stdout.columns : null
  process.stdout.write(
    table(
      [
        ['PROVIDER', 'DIALECT', 'ADDRESS', 'KEY'],
        ...rows.map((row) => [row.name, row.dialect.join(' '), row.base_url, row.key]),
      ],
      { columns, shrink: ['ADDRESS', 'KEY'] },
    ),
  )
}

function placeOfKey({ key, keys, auth }: ProviderConfig, file: string, env: Env): string {
  if (auth) return `auth: ${auth}`
  if (!key)
    return keys
      ? `${keys.length} keys, from ${[...new Set(keys.map((each) => (each.command ? 'a command' : each.file ? 'a file' : 'variables')))].join(' and ')}`
      : 'none needed'
  const variable = key.slice(1)
  if (env[variable]?.trim()) return `${variable}, in the environment`
  const { values, problem } = readKept(keysFileOf(file))
  if (values[variable]?.trim()) return `${variable}, in ${keysFileOf(file)}`
  return `${variable} IS MISSING${problem === null ? '' : `: ${problem}`}`
}

interface TestOptions extends ListOptions {
  /** Providers to test; all by default. */
  readonly providers: readonly string[]
  /** True to make one call to each provider. */
  readonly live?: boolean
  readonly model?: string
  readonly keyFile?: string
}

/** Tests providers. Rejects if one fails. */
export async function testProviders(options: TestOptions): Promise<void> {
  const { config: file, providers, live, env } = options
  const loaded = loadConfig(file, { env, replay: true })
  const { config } = loaded
  const names = providers.length > 0 ? providers : Object.keys(config.providers)
  for (const name of names)
    if (!Object.hasOwn(config.providers, name))
      throw new UsageError(
        `there is no provider ${JSON.stringify(name)} in ${file}; the providers are ${Object.keys(config.providers).join(', ')}`,
      )
  let failed = 0
  for (const name of names)
    try {
      print(
        `✓ ${name}: ${live ? await calledLive(name, options, config) : await listed(name, config, file, env)}`,
      )
    } catch (error) {
      failed++
      print(`✗ ${name}: ${(error as Error).message}`)
    }
  if (failed > 0) throw new Error(`${failed} of ${names.length} providers failed; see ✗ above`)
}

/** Reads the list of models. Returns the result in words. */
async function listed(name: string, config: Config, file: string, env: Env): Promise<string> {
  const { auth, platform, key, keys, dialect, base_url } = config.providers[name]!
  if (auth || platform || (keys && !key))
    throw new Error(
      'its list of models cannot be requested with this sign-in; test it with --live, which costs a call',
    )
  const secret = (key && withKept(file, env)[key.slice(1)]?.trim()) || null
  if (key && secret === null)
    throw new Error(`${key.slice(1)} is not set; keep it with \`waybill key set ${key.slice(1)}\``)
  const dialects = dialect as FoundProvider['dialect']
  const provider = {
    name,
    dialect: dialects,
    baseUrl: base_url.replace(/\/+$/, ''),
    keyVariable: key ?? null,
    models: [],
    facts: {},
    isFree: false,
  }
  const found = await withList(provider, secret, { windows: false })
  const missing = routedModels(config).filter(
    (id) => id.startsWith(`${name}/`) && !found.listed.includes(id.slice(name.length + 1)),
  )
  const but = missing.length === 0 ? '' : `; its list does not name ${missing.join(', ')}`
  return `${found.listed.length} models${but}`
}

const TEST_CALL_TIMEOUT_MS = 60_000
const recorded = z.looseObject({
  cost_usd: z.number().nullable(),
  tokens: z.looseObject({ input: z.number(), output: z.number() }).nullable(),
})

/** Makes one call through a gateway, so that it is on record. Returns the result in words. */
async function calledLive(name: string, options: TestOptions, config: Config): Promise<string> {
  const model =
    options.model ??
    routedModels(config)
      .find((id) => id.startsWith(`${name}/`))
      ?.slice(name.length + 1)
  if (model === undefined) throw new Error('no route has a model of it; name one with --model')
  const { url, key, close } = await gatewayFor(options, config)
  try {
    const headers = {
      'content-type': 'application/json',
      ...(key !== null && { authorization: `Bearer ${key}` }),
    }
    const from = Date.now()
    const response = await fetch(`${url}/v1/chat/completions`, {
      ...{ method: 'POST', headers, signal: AbortSignal.timeout(TEST_CALL_TIMEOUT_MS) },
      body: JSON.stringify({
        model: `${name}/${model}`,
        messages: [{ role: 'user', content: 'Answer with the word OK.' }],
        max_completion_tokens: 64,
      }),
    })
    const answer = (await response.json()) as { error?: { message?: string } }
    if (!response.ok)
      throw new Error(`${response.status}: ${answer.error?.message ?? 'it answered without a reason'}`)
    const replayed = response.headers.has('x-gateway-replay')
      ? '; REPLAYED from a recording, so no provider was asked'
      : ''
    const answered = `${model} answered in ${Date.now() - from} ms`
    const id = response.headers.get('x-gateway-request-id')
    for (let tries = 0; tries < 50; tries++) {
      const found = await fetch(`${url}/api/usage/request-logs/${id}`, { headers })
      const { tokens, cost_usd: usd } = recorded.parse(await found.json())
      if (tokens)
        return `${answered}, ${tokens.input} + ${tokens.output} tokens, ${usd === null ? 'at an unknown price' : dollars(usd)}${replayed}`
      await sleep(50)
    }
    return `${answered}; its cost will be in \`waybill logs\`${replayed}`
  } finally {
    await close()
  }
}

/** Returns the running gateway, or else starts one on the same record for this call. */
async function gatewayFor({ config: file, env, keyFile }: TestOptions, config: Config) {
  if (diagnoseData(config.data, config.retention, [], Date.now()).running) {
    const { key, problem } = findKey(env, keyFile ?? env.WAYBILL_KEY_FILE ?? null)
    if (problem !== null) throw new Error(problem)
    return { url: gatewayAddress(config).origin, key, close: async () => {} }
  }
  const loaded = loadConfig(file, { env })
  const key = `wb_${randomBytes(32).toString('base64url')}`
  const keys = [{ name: 'provider-test', role: 'client' as const, digest: `sha256:${hash('sha256', key)}` }]
  const server = { ...loaded.config.server, host: '127.0.0.1', port: 0 }
  const gateway = await createGateway({ ...loaded, config: { ...loaded.config, server, keys }, log: SILENT })
  return { url: gateway.url, key, close: () => gateway.close(5_000) }
}
