// `npm run selftest -- mutants [--sample N] [NAME…]`: must-fail gateways that are generated. Each changes one thing in
// the answers of a dialect: a member of a recorded answer is removed, retyped or doubled, or an event is dropped,
// doubled or sent after the next. Runs N of them (default 8) against the checks of content, without those that compare
// bytes and would catch all. Prints which finding caught each. Exit code 1 if one survived for no reason in SURVIVE.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { packageFile } from '../../src/shared/package-root.ts'
import { readEvents } from '../evidence/reading.ts'
import type { Json, MustFail } from './gateway.ts'
import { rowOf } from './mutate.ts'
import { tryMustFail } from './run.ts'

const COMMON = ['TELL-05', 'USE-01', 'FLOW-01', 'FLOW-07', 'FLOW-08', 'DIAL-12', 'DIAL-14']
const DIALECTS: Readonly<Record<string, { path: string; own: readonly string[] }>> = {
  chat: { path: 'openai/chat', own: ['USE-03', 'DIAL-06'] },
  messages: {
    path: 'anthropic/messages',
    own: ['MSG-02', 'MSG-03', 'MSG-04', 'MSG-05', 'MSG-06', 'MSG-08', 'MSG-15'],
  },
  responses: { path: 'openai/responses', own: ['RSP-01', 'RSP-02', 'RSP-03'] },
  gemini: { path: 'gemini/generate', own: ['GEM-05', 'GEM-06'] },
}

/** Mutants that may survive: what their names match -> why no check has to notice. */
const SURVIVE: readonly (readonly [RegExp, string])[] = [
  [
    /\/(created|created_at|completed_at|system_fingerprint|object|model|modelVersion|service_tier|index|billing):/,
    'a gateway may write its own',
  ],
  [
    /\/(id|responseId|call_id|item_id):(retyped|doubled)$/,
    'a gateway may write its own, and clients send it back',
  ],
  [
    /\/(id|responseId):removed$/,
    'no requirement asks for it, and the official clients read an answer without it',
  ],
  [
    /\/(logprobs|annotations|refusal|obfuscation|metadata|safetyRatings|avgLogprobs)/,
    'no answer here has a value in it',
  ],
  [
    /response\.(created|in_progress):\/response\//,
    'it repeats a setting of the request, or is repeated at the end',
  ],
  [
    /^responses-.*:\/(response\/)?(text|tools|reasoning|\w+_penalty|max_\w+)(\/|:)/,
    'it repeats a setting of the request',
  ],
  [/response\.\w+\.added:\/(item|part)\//, 'an item or part is read when it is done'],
  [/:ping:/, 'clients skip pings'],
  [/_details\/\w*(audio|prediction)\w*:/, 'these tokens have no price of their own'],
]

const retyped = (value: unknown): unknown =>
  typeof value === 'string' ? 7 : typeof value === 'object' ? 'text' : { value }

/** Returns the operators that change the member at `pointer`, by what they do. */
function changesOf(pointer: string, value: unknown): Record<string, object> {
  const doubled =
    typeof value === 'number'
      ? { times: { [pointer]: 2 } }
      : typeof value === 'string'
        ? { replace: { [pointer]: ['^[^]+$', '$&$&'] } }
        : { repeat: `${pointer}/0` }
  const isDoubled =
    typeof value === 'object' ? Array.isArray(value) && value.length > 0 : Boolean(value) && value !== true
  return {
    removed: { remove: pointer },
    retyped: { set: { [pointer]: retyped(value) } },
    ...(isDoubled && { doubled }),
  }
}

/** Returns the members of JSON by their pointers; the items of a list share `*`. */
function membersOf(value: Json, above = ''): [pointer: string, value: unknown][] {
  return Object.entries(value).flatMap(([name, each]) => {
    const pointer = `${above}/${Array.isArray(value) ? '*' : name}`
    const inner = typeof each === 'object' && each !== null ? membersOf(each, pointer) : []
    return Array.isArray(value) ? inner : [[pointer, each], ...inner]
  })
}

function* rowsOf(dialect: string): Generator<[name: string, row: object]> {
  const { path, own } = DIALECTS[dialect]!
  const caughtBy = [...COMMON.map((id) => (dialect === 'chat' ? id : `${id}@${dialect}`)), ...own]
  const read = (file: string) => readFileSync(packageFile(`recordings/${path}-${file}`), 'utf8')
  for (const kind of ['plain', 'tools', 'reasoning']) {
    for (const [pointer, value] of membersOf(JSON.parse(read(`${kind}.body.json`))))
      for (const [how, answer] of Object.entries(changesOf(pointer, value)))
        yield [`${dialect}-${kind}:${pointer}:${how}`, { of: dialect, caughtBy, answer }]
    for (const { data } of readEvents(read(kind === 'plain' ? 'stream.sse' : `${kind}-stream.sse`))) {
      const json = data.startsWith('{') ? (JSON.parse(data) as Json) : {}
      const match = typeof json.type === 'string' ? `"type":\\s*"${json.type}"` : signOf(data)
      const name = `${dialect}-${kind}-stream:${json.type ?? match.replaceAll(/\W+/g, '_')}`
      const row = { of: dialect, caughtBy }
      yield [`${name}:dropped`, { ...row, events: { match, drop: true } }]
      yield [`${name}:twice`, { ...row, events: { match, twice: true } }]
      yield [`${name}:later`, { ...row, later: match }]
      for (const [pointer, value] of membersOf(json))
        for (const [how, change] of Object.entries(changesOf(pointer, value)))
          yield [`${name}:${pointer}:${how}`, { ...row, events: { match, ...change } }]
    }
  }
}

/** Returns a pattern for events like this one, which has no type. */
const signOf = (data: string): string =>
  [
    '\\[DONE\\]',
    '"finish_reason":\\s*"',
    '"finishReason":',
    '"usage":\\s*\\{',
    '"tool_calls":',
    '"functionCall":',
    '"reasoning',
    '"content":',
  ].find((sign) => new RegExp(sign).test(data)) ?? 'data:'

let all: ReadonlyMap<string, object> | undefined

/** Returns a generated gateway by its name. */
export function mutant(name: string): MustFail | undefined {
  all ??= new Map(Object.keys(DIALECTS).flatMap((dialect) => [...rowsOf(dialect)]))
  const row = all.get(name)
  return row && rowOf(name, { what: `${name}.`, ...row })
}

async function main(): Promise<void> {
  const { values, positionals } = parseArgs({
    options: { sample: { type: 'string', default: '8' } },
    allowPositionals: true,
  })
  mutant('')
  const place = (name: string) => createHash('sha256').update(name).digest('hex')
  const drawn = [...all!.keys()]
    .sort((a, b) => (place(a) < place(b) ? -1 : 1))
    .slice(0, Number(values.sample))
  let unexplained = 0
  for (const name of positionals.length > 0 ? positionals : drawn) {
    const { caught, judged, duration } = await tryMustFail(name, mutant(name))
    const why = SURVIVE.find(([sign]) => sign.test(name))?.[1]
    if (caught.size === 0 && !why) unexplained++
    const said =
      caught.size > 0
        ? `caught by ${[...caught.keys()].join(', ')}`
        : `survived ${judged.size} findings: ${why ?? 'NO REASON IS KNOWN'}`
    process.stdout.write(`${name} (${Math.round(duration / 1000)} s) ${said}\n`)
  }
  process.stdout.write(`of ${all!.size} mutants; survived without a reason: ${unexplained}\n`)
  process.exit(unexplained > 0 ? 1 : 0)
}

if (import.meta.main) void main()
