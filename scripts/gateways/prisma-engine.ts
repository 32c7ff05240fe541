// Query engine for LiteLLM, which uses its database through Prisma's Python client. The client needs an
// engine that only Prisma's own server distributes, no package registry. Prisma's packages contain the same
// engine and version as WebAssembly, with another interface. This program replaces the missing engine: it
// translates the client's GraphQL for the WebAssembly engine, and translates the answers back. Usage:
// `prisma-engine.ts PACKAGES -p PORT`; PACKAGES is the directory of the packages.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { parseArgs } from 'node:util'

/** Part of the engine's interface that is used here. */
interface Engine {
  connect(trace: string): Promise<void>
  query(body: string, trace: string, transaction: string | undefined): Promise<string>
  startTransaction(options: string, trace: string): Promise<string>
  commitTransaction(id: string, trace: string): Promise<string>
  rollbackTransaction(id: string, trace: string): Promise<string>
}

/** Part of GraphQL's syntax tree that is used here. */
interface Field {
  readonly alias?: { readonly value: string }
  readonly name: { readonly value: string }
  readonly arguments?: readonly { readonly name: { readonly value: string }; readonly value: Value }[]
  readonly selectionSet?: { readonly selections: readonly Field[] }
}
type Value =
  | { readonly kind: 'ObjectValue'; readonly fields: NonNullable<Field['arguments']> }
  | { readonly kind: 'ListValue'; readonly values: readonly Value[] }
  | { readonly kind: 'IntValue' | 'FloatValue'; readonly value: string }
  | { readonly kind: 'StringValue' | 'BooleanValue' | 'EnumValue'; readonly value: string | boolean }
  | { readonly kind: 'NullValue' }

/** Request of the Python client. */
type Sent =
  | { readonly query: string }
  | { readonly batch: readonly { query: string }[]; readonly transaction: boolean }

/** Splits `findManyUser` into action and model. */
const ACTION =
  /^(findUnique|findFirst|findMany|createOne|createMany|updateOne|updateMany|deleteOne|deleteMany|upsertOne|aggregate|groupBy|queryRaw|executeRaw)(.*)$/

/** Types of PostgreSQL that the adapter does not know -> known types with the same format. */
const LIKE: Readonly<Record<number, number>> = { 19: 25, 1003: 1009, 2278: 25 } // name, name[], void: text, text[], text

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: {
    port: { type: 'string', short: 'p' },
    version: { type: 'boolean' },
    'enable-metrics': { type: 'boolean' },
    'enable-raw-queries': { type: 'boolean' },
  },
})
const load = createRequire(join(positionals[0]!, 'package.json'))
if (values.version) {
  process.stdout.write(`query-engine ${load('@prisma/client/package.json').version}\n`)
  process.exit()
}
const { parse } = load('graphql') as {
  parse(text: string): { definitions: readonly { selectionSet: { selections: readonly Field[] } }[] }
}
const datamodel = readFileSync(process.env.PRISMA_DML_PATH!, 'utf8')
/** Fields with JSON, by model. */
const jsonFields = new Map(
  [...datamodel.matchAll(/^model (\w+) \{([\s\S]*?)^\}/gm)].map(([, model, fields]) => [
    model!,
    new Set([...fields!.matchAll(/^\s*(\w+)\s+Json\b/gm)].map(([, field]) => field!)),
  ]),
)
const engine = await openEngine()

createServer(async (request, response) => {
  const [, first, id, what] = new URL(request.url!, 'http://here').pathname.split('/')
  const transaction = request.headers['x-transaction-id'] as string | undefined
  let status = 200
  let answer: string
  try {
    if (request.method === 'GET') answer = '{"status":"ok"}'
    else if (first !== 'transaction') answer = await ask((await json(request)) as Sent, transaction)
    else if (id === 'start') answer = await engine.startTransaction(JSON.stringify(await json(request)), '{}')
    else if (what === 'commit') answer = await engine.commitTransaction(id!, '{}')
    else answer = await engine.rollbackTransaction(id!, '{}')
  } catch (cause) {
    status = 500
    answer = JSON.stringify({ errors: [{ error: String(cause) }] })
  }
  response.writeHead(status, { 'content-type': 'application/json' }).end(answer)
}).listen(Number(values.port), 'localhost')

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit())

async function openEngine(): Promise<Engine> {
  const runtime = join(load.resolve('@prisma/client/package.json'), '../runtime/query_engine_bg.postgresql')
  const bindings = load(`${runtime}.js`)
  const { Module, Instance } = Reflect.get(globalThis, 'WebAssembly')
  const { exports } = new Instance(new Module(readFileSync(`${runtime}.wasm`)), {
    './query_engine_bg.js': bindings,
  })
  bindings.__wbg_set_wasm(exports)
  const { PrismaPg } = load('@prisma/adapter-pg')
  const { bindAdapter } = load('@prisma/driver-adapter-utils')
  const { Pool, Client } = load('pg')
  class Known extends Client {
    query(...given: unknown[]): unknown {
      const told = given.at(-1)
      if (typeof told === 'function')
        given.splice(-1, 1, (error: unknown, found: unknown) => told(error, known(found)))
      const asked = super.query(...given)
      return typeof told === 'function' ? asked : asked?.then?.(known)
    }
  }
  const pool = new Pool({ connectionString: process.env.DATABASE_URL, Client: Known })
  const options = { datamodel, logLevel: 'error', logQueries: false }
  const opened: Engine = new bindings.QueryEngine(options, () => {}, bindAdapter(new PrismaPg(pool)))
  await opened.connect('{}')
  return opened
}

/** Returns a result of the database with types that the adapter knows. */
function known<Result>(found: Result): Result {
  const { fields = [] } = (found ?? {}) as { fields?: { dataTypeID: number }[] }
  for (const field of fields) field.dataTypeID = LIKE[field.dataTypeID] ?? field.dataTypeID
  return found
}

/** Calls the engine, and answers in the format of the missing engine. */
async function ask(sent: Sent, transaction: string | undefined): Promise<string> {
  const queries = 'batch' in sent ? sent.batch : [sent]
  const fields = queries.map(({ query }) => parse(query).definitions[0]!.selectionSet.selections[0]!)
  const one = fields[0]!
  const body =
    'batch' in sent
      ? { batch: fields.map(inJson), ...(sent.transaction && { transaction: {} }) }
      : inJson(one)
  const answer = JSON.parse(await engine.query(JSON.stringify(body), '{}', transaction))
  const named = (result: { data?: object }, { alias, name }: Field) =>
    result.data ? { data: { [(alias ?? name).value]: plain(Object.values(result.data)[0]) } } : result
  return JSON.stringify(
    'batch' in sent && answer.batchResult
      ? { batchResult: answer.batchResult.map((each: object, n: number) => named(each, fields[n]!)) }
      : named(answer, one),
  )
}

function inJson(field: Field): object {
  const [, action, modelName] = ACTION.exec(field.name.value) ?? []
  if (action === undefined) throw new Error(`unknown operation: ${field.name.value}`)
  return { ...(modelName && { modelName }), action, query: asked(field, jsonFields.get(modelName!)) }
}

const asked = ({ arguments: given = [], selectionSet }: Field, holdJson = new Set<string>()): object => ({
  arguments: objectOf(given, holdJson),
  selection: Object.fromEntries(
    (selectionSet?.selections ?? []).map((field) => [
      field.name.value,
      field.selectionSet || field.arguments?.length ? asked(field) : true,
    ]),
  ),
})

/**
 * Converts arguments. The missing engine reads a text in a JSON field as JSON; this engine needs a mark for
 * it.
 */
const objectOf = (fields: NonNullable<Field['arguments']>, holdJson: ReadonlySet<string>): object =>
  Object.fromEntries(
    fields.map(({ name, value }) => {
      const plainly = meaningOf(value, holdJson)
      const isJson = holdJson.has(name.value) && typeof plainly === 'string'
      return [name.value, isJson ? { $type: 'Json', value: plainly } : plainly]
    }),
  )

function meaningOf(node: Value, holdJson: ReadonlySet<string>): unknown {
  switch (node.kind) {
    case 'ObjectValue':
      return objectOf(node.fields, holdJson)
    case 'ListValue':
      return node.values.map((each) => meaningOf(each, holdJson))
    case 'IntValue':
    case 'FloatValue':
      return Number(node.value)
    case 'NullValue':
      return null
    default:
      return node.value
  }
}

/** Removes the type annotations of dates, decimals and JSON. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain)
  if (typeof value !== 'object' || value === null) return value
  if ('$type' in value && 'value' in value) return value.value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, plain(each)]))
}
