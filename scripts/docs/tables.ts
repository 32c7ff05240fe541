// Writes tables and pages of the documentation from the data of the project.

import type { RecordingHead } from '../../mocks/recording/format.ts'
import { EXIT_CODES } from '../../src/commands/program.ts'
import { LOSSES, type Loss, MOVE_LOSSES } from '../../src/core/losses.ts'
import type { Field, Kind } from '../../src/core/record.ts'
import { MEMBER_TABLES } from '../../src/dialects/interactions/test-members.ts'
import { DIALECTS, type Dialects } from '../../src/dialects/registry.ts'
import { LOSS_CASES } from '../../src/dialects/test-loss-cases.ts'
import { CALLS, OTHERS, READS } from '../../src/gateway/endpoints.ts'
import { SPENDING } from '../../src/shared/spending.ts'
import type { JsonSchema } from '../../src/yaml/wording.ts'
import { settingsPage } from './reference.ts'

const TYPES: Readonly<Record<Kind, string>> = {
  id: 'string',
  text: 'string',
  enum: '',
  time: 'time',
  boolean: 'boolean',
  count: 'integer',
  status: 'integer',
  ms: 'number',
  usd: 'number',
  tokens: 'object',
  words: 'list of words',
  usage: 'object',
  decision: 'object',
  price: 'object',
}

/** Returns the fields of `src/core/record.ts`. */
export function fieldsTable(fields: Readonly<Record<string, Field>>): string {
  const hasFilters = Object.values(fields).some(({ filter }) => filter)
  const head = hasFilters
    ? ['| field | type | filter | meaning |', '|---|---|---|---|']
    : ['| field | type | meaning |', '|---|---|---|']
  const rows = Object.entries(fields).map(([name, field]) => {
    const filter = hasFilters ? [field.filter ? `\`${field.filter}\`` : ''] : []
    return `| ${[`\`${name}\``, typeOf(field), ...filter, field.about].join(' | ')} |`
  })
  return [...head, ...rows].join('\n')
}

function typeOf({ kind, values, nullable }: Field): string {
  const type = values ? values.map((value) => `\`${value}\``).join(' ') : TYPES[kind]
  return nullable ? `${type}/null` : type
}

const ALL = [
  ...CALLS.flatMap((each) => (each.methods ?? ['POST']).map((method) => ({ ...each, method }))),
  ...READS.map((each) => ({ ...each, method: 'GET' })),
  ...OTHERS,
]

/** Origins of the endpoints in the interface specification; all other endpoints have `B`. */
const ORIGINS: Readonly<Record<string, string>> = {
  '/v1/chat/completions': 'S',
  '/v1/models': 'S',
  '/v1/models/*': 'S, D',
  '/v1beta/models': 'S, B',
  '/api/usage/history': 'S, D',
  '/api/usage/logs': 'S, D',
  '/api/usage/request-logs': 'S, D',
  '/api/usage/request-logs/*': 'S, D',
  '/api/usage/request-logs/*/artifact': 'S, D',
  '/api/sessions': 'S, D',
  '/api/sessions/*': 'S, D',
  '/api/analytics/auto-routing': 'S, D',
  '/api/cloud/model/resolve': 'S, D',
}
for (const path of Object.keys(ORIGINS))
  if (!ALL.some((each) => each.path === path)) throw new Error(`there is no endpoint ${path}`)

const rows = [
  ...Map.groupBy(ALL, ({ method, summary, path }) => `${method} ${summary} ${ORIGINS[path]}`).values(),
].map((alike) => {
  const [{ method, summary, path }] = alike as [(typeof ALL)[number]]
  const paths = alike.map((each) => `\`${each.path.replace('*', '{id}')}\``).join(', ')
  return [method, paths, summary.replaceAll('|', '\\|'), ORIGINS[path] ?? 'B']
})

const table = (heading: readonly string[]): string =>
  [heading, heading.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.slice(0, heading.length).join(' | ')} |`)
    .join('\n')

/** Returns the gateway's own list of endpoints. Those that differ only in their path share a row. */
export const endpointsTable = (): string => table(['method', 'path', 'what'])
export const endpointsTableWithOrigin = (): string => table(['method', 'path', 'what', 'origin'])

export function exitCodesTable(): string {
  const codes = Math.max(...Object.values(EXIT_CODES).map(({ length }) => length))
  const columns = Array.from({ length: codes }, (_, code) => code)
  return [
    `| command | ${columns.join(' | ')} |`,
    `|---|${columns.map(() => '---|').join('')}`,
    ...Object.entries(EXIT_CODES).map(
      ([name, meanings]) => `| \`${name}\` | ${columns.map((code) => meanings[code] ?? '').join(' | ')} |`,
    ),
  ].join('\n')
}

export const exitCodesOfConform = (): string =>
  [
    '| exit code | meaning |',
    '|---|---|',
    ...EXIT_CODES.conform!.map((meaning, code) => `| ${code} | ${meaning} |`),
  ].join('\n')

/**
 * Returns the objects that providers store and requests refer to, from the dialects. A name with two spellings is shown in
 * one of them.
 */
export function keptTable(): string {
  const rows = Object.entries<Dialects[string]>(DIALECTS).flatMap(([dialect, { client }]) =>
    (client.kept ?? []).map(({ what, at, onRecord, isShared, isConversation, refusal, instead }) => {
      const places = new Set(at.map((place) => place.join('.')))
      const shown = at.filter(
        (place) =>
          place[0] !== 'generateContentRequest' &&
          (!place.join().includes('_') || !places.has(camelCase(place.join('.')))),
      )
      const where = shown.map((place) => `\`${place.join('.').replaceAll('.*', '[]')}\``).join(', ')
      const untranslated = isConversation || refusal ? 'refused' : 'a loss'
      return `| ${dialect} | ${what} | ${where} | ${MAY_NAME[isShared ? 'shared' : (onRecord ?? 'none')]} | ${untranslated} | ${instead} |`
    }),
  )
  return [
    '| dialect | what | named in | who may name it | in other dialects | what a client can send instead |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

const MAY_NAME = {
  ...{ answer: 'the key that received it', object: 'the key that made it', none: 'every key' },
  shared: 'the key that made it; every key, if it is not on record',
}

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())

/** Returns docs/losses.md: the meaning of each loss, and the translations in which tests show the loss. */
export function lossesPage(): string {
  const rows = (Object.keys(LOSSES) as Loss[]).map((word) => {
    const pairs = LOSS_CASES.filter(({ loses }) => loses.includes(word)).map(({ from, to, answer }) =>
      answer ? `${to} → ${from} (answer)` : `${from} → ${to}`,
    )
    return `| \`${word}\` | ${LOSSES[word]} | ${[...new Set(pairs)].join('<br>')} |`
  })
  return `# What a translation loses

<!-- Made by \`npm run docs\` from src/core/losses.ts and src/dialects/test-loss-cases.ts; the tests check each case against the translation. -->

If a provider speaks the client's dialect, the bytes are relayed and nothing is lost. If it does not, the call is translated,
and these words name what the other dialect cannot express: in the header \`X-Gateway-Lossy\` of the answer (for a stream,
what was known when it began), in \`losses\` of the attempt in the record, and as a label of \`waybill_losses_total\` in
\`/metrics\`. A route with \`on_loss: refuse\`, or with a list of these words, refuses such a call before anything is sent. The last
column lists what the tests show: from the client's dialect to the provider's, or back in the answer.

| word | what is lost | where |
|---|---|---|
${rows.join('\n')}

## What becomes of each member of an interaction

A provider of Google's Interactions receives every member unchanged, also one that is not in this table. The table has all
members in the types of Google's client. At a provider of another dialect, a member is translated or lost, or the gateway acts on
it; a call with a member that only providers of interactions can serve goes to no other.

| place | member or \`type\` | at a provider of another dialect |
|---|---|---|
${membersTable()}

## What a session loses with its key

A provider may have [several keys](credentials.md#several-keys). If a session has to move to another one, its first call there has
these words, also without a translation. \`on_loss\` does not concern them.

| word | what is lost |
|---|---|
${Object.entries(MOVE_LOSSES)
  .map(([word, meaning]) => `| \`${word}\` | ${meaning} |`)
  .join('\n')}
`
}

const FATES = {
  translated: 'translated',
  gateway: 'the gateway continues the interaction',
  native: 'not sent there',
}

const membersTable = (): string =>
  MEMBER_TABLES.flatMap(({ title, rows }) =>
    Object.entries(rows).map(([name, [, fate]]) => {
      const shown =
        typeof fate === 'string' ? FATES[fate] : fate.map((word) => `lost as \`${word}\``).join(', ')
      return `| ${title} | \`${name}\` | ${shown} |`
    }),
  ).join('\n')

/** Returns the requests that can spend money at a provider. */
export const spendingTable = (): string =>
  [
    '| method | path below the base URL | spends | what |',
    '|---|---|---|---|',
    ...SPENDING.map(
      ({ method, path, spends, about }) =>
        `| ${method === '*' ? 'any other' : method} | ${path === '{…}' ? 'any other' : `\`${path}\``} | ${spends} | ${about} |`,
    ),
  ].join('\n')

const HEAD = `# Target files

<!-- Written by \`npm run docs\` from conformance/target/schema.ts. -->

A target file describes how your gateway is started, how it is connected to the mock, and what it promises. [conformance.md](conformance.md) explains target files step by step; this page lists every field. \`waybill target init\` asks for the most important fields and writes a file. \`waybill target check FILE\` names every mistake in a file with its line, starts the gateway and makes one call.

With this first line, editors that use the YAML language server complete the file and mark mistakes while you type; the path points to [target.schema.json](target.schema.json) in the package:

\`\`\`yaml
# yaml-language-server: $schema=./node_modules/waybill/docs/target.schema.json
\`\`\`

A file needs \`name\`, \`start\`, \`providers\` and \`models\`, or \`extends\`. \`start\` has one of four forms: \`url\`, \`command\`, \`image\` with \`port\`, or \`inproc\`. \`<name>\` stands for a name that you choose, \`[]\` for each entry of a list. \`required\` means that there is no default: if the enclosing section is present, this field must be present too. A *JSON pointer* (RFC 6901) such as \`/data/0/id\` names the place of a value in an answer.

Every text may contain placeholders, which are filled in for each run:

| placeholder | what it is |
|---|---|
| \`{{mock.NAME.base_url}}\` | the mock as this provider, with \`/v1\`: \`{{mock.openai.base_url}}\` |
| \`{{mock.NAME.root}}\` | the same without \`/v1\` |
| \`{{mock.host}}\` | host and port of the mock, for gateways that need them without \`http://\` |
| \`{{mock.NAME.key}}\` | the key that the mock accepts as this provider |
| \`{{port}}\`, \`{{dir}}\` | a free port, and the directory of this instance |
| \`{{key.client}}\`, \`{{key.other}}\`, \`{{key.admin}}\` | gateway keys, made for this run |
| \`{{digest.client}}\` and so on | \`sha256:\` and the digest of this key |
| \`{{version}}\` | \`version\` of this file, or the version in \`FILE@VERSION\` |
| \`{{env.NAME}}\` | an environment variable of the suite |
| \`{{node}}\`, \`{{project}}\`, \`{{image}}\` | the Node that runs the suite, the directory of its package, and its image |
`

/** Returns the page. Settings that a file without `extends` needs are marked as required. */
export const targetFilesPage = ({ anyOf = [], ...schema }: JsonSchema): string =>
  settingsPage(HEAD, {
    ...schema,
    required: anyOf.flatMap(({ required = [] }) => required.filter((name) => name !== 'extends')),
  })

const KINDS = ['plain', 'tools', 'parallel tools', 'reasoning'] as const

type Head = Pick<RecordingHead, 'provider' | 'endpoint' | 'request' | 'response' | 'origin'> & {
  readonly name: string
}

/** Returns Markdown. `*` marks synthetic answers, which have no recording. */
export function recordingsTable(recordings: readonly Head[]): string {
  const rows = new Map<string, Head[]>()
  for (const one of recordings) {
    const key = `| ${one.provider} | \`${one.endpoint}\` |`
    rows.set(key, [...(rows.get(key) ?? []), one])
  }
  return [
    `| provider | endpoint | ${KINDS.join(' | ')} | errors |`,
    `|${'---|'.repeat(KINDS.length + 3)}`,
    ...[...rows].map(
      ([key, heads]) => `${key} ${[...KINDS.map((kind) => ways(heads, kind)), errors(heads)].join(' | ')} |`,
    ),
  ].join('\n')
}

/** Returns Markdown with the number of recordings by origin. */
export function originsSentence(recordings: readonly Pick<Head, 'origin'>[]): string {
  const of = (origin: Head['origin']) => recordings.filter((one) => one.origin === origin).length
  return [
    `**${of('recorded') || 'None'} of these ${recordings.length} recordings ${of('recorded') === 1 ? 'was' : 'were'} taken from a live provider.**`,
    `${of('authored')} are \`authored\`: written by hand to the shape of real traffic. ${of('synthetic')} are \`synthetic\`: errors that were never recorded.`,
  ].join(' ')
}

function kindOf({ name, request, response }: Head): (typeof KINDS)[number] | 'error' {
  if (response.status >= 400) return 'error'
  if (name.includes('reasoning')) return 'reasoning'
  if (request.scenario === 'tools') return 'tools'
  return request.scenario === 'tools-parallel' ? 'parallel tools' : 'plain'
}

/** Returns the forms in which an answer of this kind is recorded: whole, stream. */
function ways(heads: readonly Head[], kind: (typeof KINDS)[number]): string {
  const streams = heads.filter((head) => kindOf(head) === kind).map(({ request }) => request.stream)
  const found = [streams.some((stream) => stream !== true) && 'whole', streams.includes(true) && 'stream']
  return found.filter(Boolean).join(', ') || '–'
}

const errors = (heads: readonly Head[]): string =>
  heads
    .filter((head) => kindOf(head) === 'error')
    .map(({ request, origin }) => `${request.scenario}${origin === 'synthetic' ? '*' : ''}`)
    .sort()
    .join(', ') || '–'
