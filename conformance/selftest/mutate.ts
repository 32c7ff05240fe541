// Gateways that are rows of must-fail/*.yaml or must-pass/*.yaml: one mistake, or one unusual thing, in a part of
// a request, of an answer or of the configuration. Knows the members of a row and their operators; knows no
// gateway by name. A must-fail row has `caughtBy`; a must-pass row may have `target`, a change of its target file,
// `on` and `mayWarn`.
//
// Members that choose requests: `of` (a dialect, reads of a `record` or of the `log`, a WebSocket's `upgrade` or `message`), `at`
// (the model's provider), `method`, and the patterns `path` and `body`. `of`, `at`, `on`, `mayWarn` and `profile` at
// the top of a file are its defaults.
//
// Changes of the request: `request` changes its JSON, `url` its path, `sent` its headers; `refuse` answers
// it with a status, or with `status`, `json` and `headers`; `spend` first makes a call with these members. Changes of the answer: `status: [pattern, new]`,
// `headers`, `answer` (the whole JSON), `events` (the JSON of each event), `hold` (keeps events back until one
// matches), `later` (swaps a matching event with the next), `cut` (is sent after a stream broke off), `ignores`.
// To the gateway itself: `config: [[pattern, text]]`, and `provider`, which changes what passes between the
// gateway and its providers.
//
// A header is null (removed), a text ($NAME is a variable of the gateway), or [pattern, text] to change it.
//
// A change of JSON names places by pointers: `*` is each member, `*[type=a|b]` and `*[type!=a]` some of them,
// `*[type=a]+` these but the first, `**` any depth. Operators, in the order in which they apply: `remove`, `set`
// (if it is there), `put`, `fill` (puts what is missing or null), `copy: { to: from }`, `add` (a number, or [from,
// factor]), `times`, `round` (to a multiple), `replace: [pattern, text]`, `slice: [start, end]`, `repeat` (an item of
// a list), `rotate` (exchanges values), `stringify`, `reverse` (the order of the members at the top). They apply if
// `where` holds. `text` changes the text instead, `doubles` rounds all numbers, `indent` writes the JSON with spaces.
// For events, also: `match` and `index` choose events, `drop` and `twice`.
import { readFileSync } from 'node:fs'
import { parse } from 'yaml'
import { z } from 'zod'
import { TESTED_DIALECTS } from '../dialects/dialect.ts'
import type { Target } from '../target/schema.ts'
import {
  changeEvent,
  changeJson,
  failWith,
  type Is,
  isChat,
  isCount,
  isEmbeddings,
  isGemini,
  isImages,
  isInteractions,
  isMessages,
  isResponses,
  type Json,
  LIST,
  type MustFail,
  type MustPass,
  oneLater,
  parseJson,
  RECORD,
  roundNumbers,
  until,
} from './gateway.ts'
import type { GatewayHooks, HookContext, ResponseStart, Wanted } from './wire.ts'

/** Requests that a row changes, by the word in its `of`. */
const OF = {
  ...{ chat: isChat, messages: isMessages, responses: isResponses, gemini: isGemini },
  interactions: isInteractions,
  ...{ count: isCount, embeddings: isEmbeddings, images: isImages },
  record: ({ path }) => path.startsWith(RECORD),
  log: ({ path }) => path.startsWith(LIST),
  // The hooks see a message on a WebSocket as a request.
  upgrade: ({ method, headers }) => method === 'GET' && headers.upgrade !== undefined,
  message: ({ method, headers }) => method === 'POST' && headers.upgrade !== undefined,
  any: () => true,
} satisfies Record<string, Is>

const text = z.string()
const listOf = <Item extends z.ZodType>(item: Item) =>
  z
    .union([item, z.array(item)])
    .transform((given) => (Array.isArray(given) ? given : [given]) as z.output<Item>[])
const pattern = text.transform((source) => new RegExp(source, 'g'))
const replacement = z.tuple([pattern, text])
const byPointer = <Value extends z.ZodType>(value: Value) => z.record(text, value).default({})

const change = z.strictObject({
  where: byPointer(z.unknown()),
  remove: listOf(text).default([]),
  set: byPointer(z.unknown()),
  put: byPointer(z.unknown()),
  fill: byPointer(z.unknown()),
  copy: byPointer(text),
  add: byPointer(z.union([z.number(), z.tuple([text, z.number()])])),
  times: byPointer(z.number()),
  round: byPointer(z.number()),
  replace: byPointer(replacement),
  slice: byPointer(z.array(z.int())),
  repeat: listOf(text).default([]),
  rotate: text.optional(),
  stringify: listOf(text).default([]),
  reverse: z.literal(true).optional(),
})
type Change = z.output<typeof change>

const headers = byPointer(z.union([z.null(), text, replacement]))
const whole = change.extend({
  ...{ doubles: z.literal(true).optional(), text: replacement.optional(), indent: z.int().optional() },
})
const events = change.extend({
  ...{ text: replacement.optional(), match: pattern.optional(), index: z.int().optional() },
  ...{ drop: z.literal(true).optional(), twice: z.literal(true).optional() },
})
const status = z.tuple([text, z.int()])
const row = z.strictObject({
  what: text,
  caughtBy: listOf(text).default([]),
  ...{ target: change.optional(), on: z.array(z.enum(TESTED_DIALECTS).exclude(['chat'])).nullish() },
  mayWarn: z.array(text).optional(),
  profile: z.enum(['observable', 'claude-code']).optional(),
  asCommand: z.boolean().optional(),
  ...{ of: z.enum(Object.keys(OF) as (keyof typeof OF)[]).default('any'), at: text.nullish() },
  ...{ method: text.optional(), path: text.optional(), body: text.optional() },
  ...{ request: whole.optional(), url: replacement.optional(), sent: headers },
  refuse: z
    .union([
      z.int(),
      z.strictObject({ status: z.int(), json: z.json(), headers: z.record(text, text).default({}) }),
    ])
    .optional(),
  spend: z.record(text, z.unknown()).optional(),
  ...{ status: status.optional(), headers, answer: whole.optional(), events: events.optional() },
  ...{ hold: pattern.optional(), later: pattern.optional(), cut: text.optional() },
  ignores: z.enum(['cuts', 'leaving', 'slowness']).optional(),
  config: z.array(replacement).default([]),
  provider: z
    .strictObject({
      ...{ path: text.optional(), url: replacement.optional(), sent: headers },
      request: z.union([replacement, whole]).optional(),
      ...{ status: status.optional(), headers, answer: replacement.optional() },
    })
    .optional(),
})
type Row = z.output<typeof row>

const SELECTOR = /^\*(?:\[(\w+)(!?=)(.*?)\])?(\+)?$/

/** Returns the places that a pointer names, the last first. With `adds`, the last name may be missing. */
function placesOf(value: Json, [name, ...rest]: string[], adds = false): [holder: Json, name: string][] {
  if (typeof value !== 'object' || value === null || name === undefined) return []
  if (name === '**')
    return [
      ...placesOf(value, rest, adds),
      ...Object.values(value).flatMap((each) => placesOf(each, [name, ...rest], adds)),
    ]
  const selector = SELECTOR.exec(name)
  const [, key, is, wanted, furtherOnly] = selector ?? []
  const matching = Object.keys(value).filter((each) =>
    selector ? key === undefined || fits(value[each]?.[key], wanted) === (is === '=') : each === name,
  )
  const found = matching.slice(furtherOnly ? 1 : 0).reverse()
  if (rest.length > 0) return found.flatMap((each) => placesOf(value[each], rest, adds))
  return (found.length === 0 && adds && !selector ? [name] : found).map((each) => [value, each])
}

const at = (value: Json, pointer: string, adds = false) => placesOf(value, pointer.split('/').slice(1), adds)

/** Returns the value of a pointer that names one place. */
function valueAt(value: Json, pointer: string): unknown {
  const [place] = at(value, pointer)
  return place?.[0][place[1]]
}

/** Compares with a pattern if a text is wanted. */
const fits = (got: unknown, wanted: unknown): boolean =>
  typeof wanted === 'string' ? new RegExp(`^(?:${wanted})$`, 's').test(String(got)) : got === wanted

const holds = (value: Json, where: Change['where']): boolean =>
  Object.entries(where).every(([pointer, wanted]) =>
    at(value, pointer).some(([holder, name]) => fits(holder[name], wanted)),
  )

/** Applies the operators to parsed JSON. */
function applied(value: Json, { remove, set, put, copy, slice, repeat, rotate, ...more }: Change): Json {
  const each = (pointer: string, make: (was: Json[string]) => unknown, adds = false) => {
    for (const [holder, name] of at(value, pointer, adds)) holder[name] = make(holder[name])
  }
  const all = <Value>(
    of: Readonly<Record<string, Value>>,
    make: (was: Json[string], by: Value) => unknown,
  ) => {
    for (const [pointer, by] of Object.entries(of)) each(pointer, (was) => make(was, by))
  }
  for (const pointer of remove)
    for (const [holder, name] of at(value, pointer))
      if (Array.isArray(holder)) holder.splice(Number(name), 1)
      else delete holder[name]
  all(set, (_, wanted) => structuredClone(wanted))
  for (const [pointer, wanted] of Object.entries(put)) each(pointer, () => structuredClone(wanted), true)
  for (const [pointer, wanted] of Object.entries(more.fill))
    each(pointer, (was) => was ?? structuredClone(wanted), true)
  for (const [pointer, from] of Object.entries(copy)) each(pointer, () => valueAt(value, from), true)
  all(more.add, (was, by) => {
    const [from, factor] = typeof by === 'number' ? [by, 1] : [valueAt(value, by[0]), by[1]]
    return typeof was === 'number' ? was + Number(from ?? 0) * factor : was
  })
  all(more.times, (was, factor) => (typeof was === 'number' ? was * factor : was))
  all(more.round, (was, step) => (typeof was === 'number' ? Math.round(was / step) * step : was))
  all(more.replace, (was, [from, to]) => (typeof was === 'string' ? was.replace(from, to) : was))
  all(slice, (was, [start, end]) => (Array.isArray(was) ? was.slice(start, end) : was))
  for (const pointer of repeat)
    for (const [holder, name] of at(value, pointer)) holder.splice(Number(name), 0, holder[name])
  if (rotate !== undefined) {
    const places = at(value, rotate)
    const values = places.map(([holder, name]) => holder[name])
    for (const [index, [holder, name]] of places.entries()) holder[name] = values[(index + 1) % values.length]
  }
  for (const pointer of more.stringify) each(pointer, (was) => JSON.stringify(was))
  return more.reverse ? Object.fromEntries(Object.entries(value).reverse()) : value
}

/** Returns a body after a change. If `where` does not hold, every byte stays. */
function changedBody(
  body: string,
  { text: replaced, doubles, indent, ...operators }: z.output<typeof whole>,
): string {
  if (replaced) return body.replace(...replaced)
  if (doubles) return roundNumbers(body)
  let isMeant = false
  const changed = changeJson(body, (json) => {
    isMeant = holds(json, operators.where)
    return isMeant ? applied(json, operators) : json
  })
  if (isMeant && indent !== undefined) return JSON.stringify(parseJson(changed), null, indent)
  return isMeant ? changed : body
}

/** Returns the events that replace an event. An event that is not JSON can only be dropped or repeated. */
function changedEvent(
  event: string,
  index: number,
  { match, index: only = index, text: replaced, twice, drop, ...operators }: z.output<typeof events>,
): readonly string[] {
  if (only !== index || (match && event.search(match) < 0)) return [event]
  if (replaced) return [event.replace(...replaced)]
  if (twice) return [event, event]
  if (drop && Object.keys(operators.where).length === 0) return []
  let isMeant = false
  const changed = changeEvent(event, (json) => {
    isMeant = holds(json, operators.where)
    if (!isMeant) return json
    return drop ? null : applied(json, operators)
  })
  return isMeant ? changed : [event]
}

/** Changes headers; `$NAME` in a value is a variable of the gateway's environment. */
function changeHeaders(all: Wanted['headers'], changes: Row['headers'], { env }: HookContext): void {
  const filled = (value: string) => value.replace(/\$(\w+)/g, (_, key) => env[key] ?? '')
  for (const [name, value] of Object.entries(changes)) {
    if (value === null) delete all[name]
    else if (typeof value === 'string') all[name] = filled(value)
    else if (all[name] !== undefined) all[name] = filled(String(all[name]).replace(...value))
  }
}

function changeStart(
  start: ResponseStart,
  changes: Pick<Row, 'status' | 'headers'>,
  context: HookContext,
): void {
  const [from, to] = changes.status ?? []
  if (from !== undefined && fits(start.status, from)) start.status = to!
  changeHeaders(start.headers, changes.headers, context)
}

/** Returns the hooks between the gateway and its providers. */
const upstreamOf = ({ path = '', url, sent, request, answer, ...start }: NonNullable<Row['provider']>) => ({
  request(wanted: Wanted, context: HookContext) {
    if (!new RegExp(path).test(wanted.path)) return
    if (url) wanted.path = wanted.path.replace(...url)
    changeHeaders(wanted.headers, sent, context)
    if (Array.isArray(request))
      wanted.body = Buffer.from(wanted.body.toString('latin1').replace(...request), 'latin1')
    else if (request) wanted.body = Buffer.from(changedBody(wanted.body.toString('utf8'), request))
  },
  responseStart(head: ResponseStart, context: HookContext) {
    if (answer) delete head.headers['content-length']
    changeStart(head, start, context)
  },
  ...(answer && {
    chunk: (bytes: Buffer) => Buffer.from(bytes.toString('latin1').replace(...answer), 'latin1'),
  }),
})

function refusal(refuse: NonNullable<Row['refuse']>) {
  if (typeof refuse === 'number') return failWith(refuse)
  const { status, headers, body } = { ...failWith(refuse.status), body: JSON.stringify(refuse.json) }
  return { status, headers: { ...headers, ...refuse.headers }, body }
}

/** Returns true for the requests that a row concerns. */
const isOf =
  ({ of, at: provider, method, path, body }: Row): Is =>
  (wanted) =>
    OF[of](wanted) &&
    (provider == null || wanted.body.includes(`"${provider}/`)) &&
    (method === undefined || fits(wanted.method, method)) &&
    (path === undefined || new RegExp(path).test(wanted.path)) &&
    (body === undefined || new RegExp(body).test(wanted.body.toString('latin1')))

function hooksOf(read: Row): GatewayHooks | (() => GatewayHooks) {
  const { request, url, sent, refuse, spend, answer, events: changes, cut, config, provider, ignores } = read
  const is = isOf(read)
  if (read.hold) return until(is, new RegExp(read.hold.source))
  if (read.later) return oneLater(is, new RegExp(read.later.source))
  return {
    async request(wanted, context) {
      if (!is(wanted)) return
      if (spend) await context.spend(spend)
      if (refuse !== undefined) return refusal(refuse)
      if (url) wanted.path = wanted.path.replace(...url)
      changeHeaders(wanted.headers, sent, context)
      if (request) wanted.body = Buffer.from(changedBody(wanted.body.toString('utf8'), request))
    },
    responseStart(start, wanted, context) {
      if (is(wanted)) changeStart(start, read, context)
    },
    ...(changes && {
      event: (event, index, wanted) => (is(wanted) ? changedEvent(event, index, changes) : [event]),
    }),
    ...(answer && { body: (body, wanted) => (is(wanted) ? changedBody(body, answer) : body) }),
    ...(cut !== undefined && {
      async cut(wanted: Wanted) {
        if (!is(wanted)) throw new Error('cut')
        return cut
      },
    }),
    ...(config.length > 0 && {
      config: (before: string) => config.reduce((now, [from, to]) => now.replace(from, to), before),
    }),
    ...(provider && { upstream: upstreamOf(provider) }),
    ...{ hidesCuts: ignores === 'cuts', ignoresLeaving: ignores === 'leaving' },
    ignoresSlowness: ignores === 'slowness',
  }
}

/** Returns the gateway that a row describes; throws an Error that names `where` if the row is wrong. */
export function rowOf(where: string, given: object): MustFail & MustPass {
  const { success, data, error } = row.safeParse(given)
  if (!success) throw new Error(`${where}: ${z.prettifyError(error)}`)
  const { target, ...read } = data
  return {
    ...{ what: read.what, caughtBy: read.caughtBy, hooks: hooksOf(data) },
    ...(target && { target: (was: Target) => applied(structuredClone(was), target) as Target }),
    ...(read.on && { on: read.on }),
    ...(read.mayWarn && { mayWarn: read.mayWarn }),
    ...(read.profile && { profile: read.profile }),
    ...(read.asCommand && { asCommand: read.asCommand }),
  } as MustFail & MustPass
}

/** Reads the rows of a file. Its members `of`, `at`, `on`, `mayWarn` and `profile` are the defaults of all rows. */
export function readRows(file: string): Readonly<Record<string, MustFail & MustPass>> {
  const { of, at, on, mayWarn, profile, ...rows } = parse(readFileSync(file, 'utf8'))
  return Object.fromEntries(
    Object.entries(rows).map(([name, given]) => [
      name,
      rowOf(`${file}: ${name}`, { ...{ of, at, on, mayWarn, profile }, ...(given as object) }),
    ]),
  )
}
