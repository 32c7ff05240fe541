// Checks that the parts of a configuration are consistent: referenced names exist, and unique values occur
// once. Reads the file as written, before the schema parses it, so that a wrong value elsewhere hides no
// problem. Skips values of the wrong type, because the schema reports them.

import { misplacement } from '../core/model-in-path.ts'
import { regionIn } from '../shared/plain-address.ts'
import { nearest, type Problem, quoted } from '../yaml/wording.ts'
import { schema } from './schema.ts'

/** Minimum characters of the key that encrypts stored responses and kept calls. */
export const MIN_RESPONSES_KEY = 32

type Fields = Readonly<Record<string, unknown>>

export function inconsistencies(raw: unknown): Problem[] {
  const config = fields(raw)
  return [
    ...serverProblems(fields(config.server)),
    ...modelProblems(config),
    ...Object.entries(fields(config.routes)).flatMap(([id, route]) =>
      routeProblems(id, fields(route), config).map(({ path, ...rest }) => ({
        ...rest,
        path: ['routes', id, ...path],
      })),
    ),
    ...defaultProblems(config),
    ...passthroughProblems(config),
    ...credentialProblems(config),
    ...traceProblems(config),
    ...keyProblems(list(config.keys).map(fields)),
    ...(config.durability === 'shared' && config.fleet === undefined
      ? [{ path: ['durability'], message: 'shared needs `fleet`, which says where the shared log is' }]
      : []),
  ]
}

/**
 * Returns a problem for each secret that is missing or unusable for its purpose. `unread`: the reason why the kept keys
 * were not read.
 */
export function missingSecrets(
  raw: unknown,
  secretOf: (variable: string) => string | undefined,
  unread: string | null,
): Problem[] {
  const config = fields(raw)
  const store = fields(fields(config.responses).store)
  const named = [
    ...Object.entries(fields(config.providers)).flatMap(([id, provider]) => providerSecrets(id, provider)),
    {
      path: ['telemetry', 'headers'],
      name: fields(config.telemetry).headers,
      remedy: 'take `headers` out',
      isRight: (value: string) => /^[^=\s,]+=[^,]*(,[^=\s,]+=[^,]*)*$/.test(value),
      wrong: 'must have the form name=value,name=value',
    },
    {
      path: ['responses', 'store', 'key'],
      name:
        store.enabled === true || keepsCalls(config) ? (store.key ?? '$WAYBILL_RESPONSES_KEY') : undefined,
      remedy: store.enabled === true ? 'set `enabled` to false' : 'take `keep: true` out',
      isRight: (value: string) => value.length >= MIN_RESPONSES_KEY,
      wrong: 'must have 32 characters or more; `openssl rand -base64 32` makes one',
    },
    {
      path: ['fleet', 'url'],
      name: fields(config.fleet).url,
      remedy: 'take `fleet` out',
      isRight: (value: string) => /^postgres(ql)?:\/\/\S+$/.test(value),
      wrong: 'must have the form postgresql://USER:PASSWORD@HOST/DATABASE',
    },
  ]
  return named.flatMap(({ path, name, remedy, isRight, wrong }) => {
    const [, variable] = (typeof name === 'string' && /^\$([A-Za-z_]\w*)$/.exec(name)) || []
    if (variable === undefined) return []
    const value = secretOf(variable)
    if (!value) {
      const advice = unread ?? `export it, keep it with \`waybill key set ${variable}\`, or ${remedy}`
      return [{ path, message: `environment variable ${variable} is not set; ${advice}` }]
    }
    return isRight(value) ? [] : [{ path, message: `environment variable ${variable} ${wrong}` }]
  })
}

/** Returns true if calls of a key or a route are kept. */
const keepsCalls = ({ keys, routes }: Fields): boolean =>
  [...list(keys), ...Object.values(fields(routes))].some((each) => fields(each).keep === true)

/** Returns all secrets of a provider that a configuration takes from variables. `of`: its name in `Loaded.secrets`. */
export function providerSecrets(id: string, provider: unknown) {
  const secret = (of: string, path: PropertyKey[], name: unknown, remedy: string) => ({
    ...{ of, path: ['providers', id, ...path], name, remedy },
    isRight: (value: string) => /^[\x21-\x7e]+$/.test(value),
    wrong: 'contains characters that no key has',
  })
  const { key, keys } = fields(provider)
  return [
    secret(id, ['key'], key, 'remove the provider'),
    ...list(keys)
      .map(fields)
      .map((each, index) => secret(`${id}/${each.name}`, ['keys', index, 'key'], each.key, 'remove the key')),
  ]
}

/** Checks traces. `telemetry` is present but undefined if the environment switches tracing off. */
function traceProblems(config: Fields): Problem[] {
  const traced = Object.entries(fields(config.providers)).filter(
    ([, provider]) => fields(provider).trace === true,
  )
  const found: Problem[] =
    'telemetry' in config
      ? []
      : traced.map(([id]) => ({
          path: ['providers', id, 'trace'],
          message: 'needs `telemetry`, which makes traces',
        }))
  if (fields(config.telemetry).content === true && fields(config.artifacts).bodies !== true)
    found.push({
      path: ['telemetry', 'content'],
      message: 'needs `artifacts: { bodies: true }`, which keeps requests and answers',
    })
  return found
}

function serverProblems(server: Fields): Problem[] {
  const { headers_timeout, request_timeout } = schema.shape.server.unwrap().shape
  const [head, whole] = [
    headers_timeout.safeParse(server.headers_timeout),
    request_timeout.safeParse(server.request_timeout),
  ]
  return head.success && whole.success && whole.data < head.data
    ? [
        {
          path: ['server', 'request_timeout'],
          message: 'must not be shorter than headers_timeout, which it includes',
        },
      ]
    : []
}

function modelProblems(config: Fields): Problem[] {
  return Object.keys(fields(config.models)).flatMap((id) => {
    const message = unknownTarget(id, config)
    return message === null ? [] : [{ path: ['models', id], message, atName: true }]
  })
}

function credentialProblems({ providers }: Fields): Problem[] {
  return Object.entries(fields(providers)).flatMap(([id, provider]) => {
    const { auth, key, keys } = fields(provider)
    const path = ['providers', id]
    const found = cloudProblems(path, fields(provider))
    for (const [name, value] of Object.entries({ key, keys }))
      if (auth !== undefined && value !== undefined)
        found.push({
          path: [...path, name],
          message: `cannot stand beside \`auth: ${auth}\`, which takes the place of a key; remove one`,
        })
    if (key !== undefined && keys !== undefined)
      found.push({
        path: [...path, 'key'],
        message: 'cannot stand beside `keys`; put it in there, with a name',
      })
    return [...found, ...keyPoolProblems([...path, 'keys'], list(keys).map(fields))]
  })
}

/** Checks that signatures have a region, and that a cloud's settings appear only with this cloud. */
function cloudProblems(path: PropertyKey[], { auth, aws, platform, dialect, base_url, ...rest }: Fields) {
  const found: Problem[] = []
  for (const [name, value] of Object.entries({ aws, entra: rest.entra }))
    if (value !== undefined && auth !== name)
      found.push({ path: [...path, name], message: `needs \`auth: ${name}\`` })
  const url = URL.parse(String(base_url))
  if (auth === 'aws' && url && !fields(aws).region && !regionIn(url.hostname))
    found.push({
      path: [...path, 'base_url'],
      message: 'names no region of AWS; set `aws: { region: … }`',
    })
  if (auth === 'aws' && rest.websocket === 'on')
    found.push({
      path: [...path, 'websocket'],
      message: 'cannot stand beside `auth: aws`, which signs each request, and not a connection; remove it',
    })
  const spoken = [dialect].flat()
  if (platform !== undefined && !spoken.every((each) => each === 'messages' || each === 'anthropic'))
    found.push({ path: [...path, 'platform'], message: 'needs `dialect: messages` and no other' })
  return found
}

function keyPoolProblems(path: PropertyKey[], keys: readonly Fields[]): Problem[] {
  const names = keys.map(({ name }) => name)
  return keys.flatMap(({ name, key, file, command }, index) => {
    const found: Problem[] = []
    if ([key, file, command].filter((source) => source !== undefined).length !== 1)
      found.push({ path: [...path, index], message: 'must have exactly one of `key`, `file` and `command`' })
    if (typeof name === 'string' && names.indexOf(name) < index)
      found.push({ path: [...path, index, 'name'], message: `there is another key ${quoted(name)}` })
    return found
  })
}

/**
 * Checks that a caller's own credential reaches only one provider. A route with two providers would send it to both.
 */
function callersProblems(targets: readonly Fields[], config: Fields): Problem[] {
  const providerOf = ({ model }: Fields) => String(model).split('/')[0]!
  const takesCallers = (id: string) => fields(fields(config.providers)[id]).auth === 'caller'
  const first = targets.map(providerOf).find(takesCallers)
  return targets.flatMap((target, index) => {
    const id = providerOf(target)
    return takesCallers(id) && id !== first
      ? [
          {
            path: ['targets', index, 'model'],
            message: `${quoted(id)} and ${quoted(first!)} both have \`auth: caller\`, and a caller's credential is for one of them; use two routes`,
          },
        ]
      : []
  })
}

/** Checks a route. Paths of problems are relative to it. */
function routeProblems(id: string, route: Fields, config: Fields): Problem[] {
  const targets = list(route.targets).map(fields)
  const found: Problem[] = []
  if (Object.hasOwn(fields(config.providers), id.split('/')[0]!))
    found.push({ path: [], message: 'a route may not begin with the name of a provider', atName: true })
  const seen = new Set<unknown>()
  for (const [index, { model }] of targets.entries()) {
    if (typeof model !== 'string') continue
    const unknown = unknownTarget(model, config)
    const path = ['targets', index, 'model']
    if (unknown !== null) found.push({ path, message: unknown })
    else if (seen.has(model))
      found.push({ path, message: `${quoted(model)} is already a target of this route` })
    seen.add(model)
  }
  found.push(...callersProblems(targets, config))
  if (targets.length > 0 && targets.every(({ weight }) => weight === 0))
    found.push({ path: ['targets'], message: 'all weights are 0; give at least one target a weight' })
  const models = fields(config.models)
  const tiers = targets.map((target) => target.tier ?? fields(models[String(target.model)]).tier)
  const ids = targets.map(({ model }) => model)
  for (const [index, rule] of list(route.rules).map(fields).entries())
    found.push(...ruleProblems(['rules', index], rule, tiers, ids))
  return found
}

function ruleProblems(
  path: PropertyKey[],
  { when, use }: Fields,
  tiers: readonly unknown[],
  ids: readonly unknown[],
): Problem[] {
  const found: Problem[] = []
  if (isFields(when) && Object.keys(when).length === 0)
    found.push({ path: [...path, 'when'], message: 'has no condition' })
  if (!isFields(use)) return found
  const { tier, target } = use
  if ((tier === undefined) === (target === undefined))
    found.push({ path: [...path, 'use'], message: 'must name either a tier or a target' })
  else if (typeof tier === 'string' && !tiers.includes(tier))
    found.push({
      path: [...path, 'use', 'tier'],
      message: `no target of the route has the tier ${quoted(tier)}${meant(tier, tiers)}`,
    })
  else if (typeof target === 'string' && !ids.includes(target))
    found.push({
      path: [...path, 'use', 'target'],
      message: `the route has no target ${quoted(target)}${meant(target, ids)}`,
    })
  return found
}

function defaultProblems({ defaults, routes }: Fields): Problem[] {
  const names = Object.keys(fields(routes))
  return Object.entries(fields(defaults)).flatMap(([dialect, route]) =>
    typeof route !== 'string' || names.includes(route)
      ? []
      : [
          {
            path: ['defaults', dialect],
            message: `there is no route ${quoted(route)}${meant(route, names)}`,
          },
        ],
  )
}

function passthroughProblems({ passthrough, passthrough_providers, providers }: Fields): Problem[] {
  const known = Object.keys(fields(providers))
  return Object.entries(fields(passthrough_providers)).flatMap(([endpoint, chosen]) => [
    ...(list(passthrough).includes(endpoint)
      ? []
      : [
          {
            path: ['passthrough_providers', endpoint],
            message: `${quoted(endpoint)} is not open; add it to \`passthrough\``,
          },
        ]),
    ...list(chosen).flatMap((provider, index) => {
      if (typeof provider !== 'string') return []
      const path = ['passthrough_providers', endpoint, index]
      if (!known.includes(provider))
        return [{ path, message: `there is no provider ${quoted(provider)}${meant(provider, known)}` }]
      const { platform } = fields(fields(providers)[provider])
      // The paths and signatures of a cloud exist only for messages.
      return platform === undefined
        ? []
        : [{ path, message: `${quoted(provider)} is at ${String(platform)}, which has no such endpoints` }]
    }),
  ])
}

function keyProblems(keys: readonly Fields[]): Problem[] {
  const found: Problem[] = []
  const names = new Set<unknown>()
  const owners = new Map<unknown, unknown>()
  for (const [index, { name, digest }] of keys.entries()) {
    if (typeof name === 'string' && names.has(name))
      found.push({ path: ['keys', index, 'name'], message: `${quoted(name)} is used twice` })
    // A key with two names would have the rights of the last entry.
    else if (typeof digest === 'string' && owners.has(digest))
      found.push({
        path: ['keys', index, 'digest'],
        message: `${quoted(String(name))} and ${quoted(String(owners.get(digest)))} have the same digest, so they would be one key; make another with \`waybill key new\``,
      })
    names.add(name)
    owners.set(digest, name)
  }
  return found
}

/** Returns the reason why an id is not a target; null if its provider exists. */
function unknownTarget(id: string, config: Fields): string | null {
  const providers = Object.keys(fields(config.providers))
  const [provider = '', ...model] = id.split('/')
  if (model.join('/') === '')
    return `${quoted(id)} must be provider/model; known providers: ${providers.map(quoted).join(', ') || 'none'}`
  if (providers.includes(provider)) {
    const why = misplacement(model.join('/'))
    return why === null ? null : `${quoted(id)} is not the name of a model: it ${why}`
  }
  const near = nearest(provider, providers)
  return `there is no provider ${quoted(provider)}; ${
    near === null
      ? `there are: ${providers.map(quoted).join(', ') || 'none'}`
      : `did you mean ${quoted([near, ...model].join('/'))}?`
  }`
}

const meant = (word: string, known: readonly unknown[]): string => {
  const near = nearest(
    word,
    known.filter((each) => typeof each === 'string'),
  )
  return near === null ? '' : `; did you mean ${quoted(near)}?`
}

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const fields = (value: unknown): Fields => (isFields(value) ? value : {})
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : [])
