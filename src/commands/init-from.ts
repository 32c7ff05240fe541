// `waybill init --from FILE`: writes a configuration based on another gateway's, and names settings that it
// could not carry over. Sends nothing, and never writes a key from the file.
import { basename } from 'node:path'
import { parse, stringify } from 'yaml'
import { problemsIn } from '../config/load.ts'
import { isLoopback } from '../gateway/listen.ts'
import { readBounded } from '../shared/bounded.ts'
import { createMask } from '../shared/redact.ts'
import { clean } from '../terminal/clean.ts'
import { MISSING } from '../yaml/wording.ts'
import { readYaml } from '../yaml/yaml.ts'
import { claudeCodeRouter } from './foreign/claude-code-router.ts'
import { ConfigDraft, type ForeignFormat, fields, list, type Note } from './foreign/draft.ts'
import { litellm } from './foreign/litellm.ts'
import { oneApi } from './foreign/one-api.ts'
import { UsageError } from './output.ts'

const FORMATS: readonly ForeignFormat[] = [litellm, claudeCodeRouter, oneApi]

/** Maximum size of the file, bytes; the same as for our own configuration. */
const MAX_BYTES = 512 * 1_024

type Env = Readonly<Record<string, string | undefined>>

export interface FromFile {
  /** The configuration, with notes as comments. */
  readonly text: string
  /** Name of the gateway to which the file belongs. */
  readonly format: string
  readonly providers: number
  readonly routes: number
  /** Models that are requested as provider/model, without a route. */
  readonly direct: readonly string[]
  readonly notes: readonly Note[]
  /** Variables that contain the providers' keys. */
  readonly variables: readonly string[]
}

/** Throws UsageError. */
export function configFrom(source: string, env: Env): FromFile {
  const file = readSource(source)
  const format = FORMATS.find((each) => each.isOne(file))
  if (!format)
    throw new UsageError(
      `${source} is no file of a gateway that is known: ${FORMATS.map(({ name }) => name).join(', ')}`,
    )
  const draft = new ConfigDraft()
  format.read(file as never, draft, env)
  draft.settle()
  const mask = createMask(secretsIn(file))
  const whole = stringify(draft.values(), { lineWidth: 0 })
  const masked = mask(whole)
  if (masked !== whole)
    draft.note('the written file', 'a credential stood in another setting, and was replaced by ***')
  const values = acceptable(fields(parse(masked)), draft)
  const providers = Object.values(fields(values.providers)).map(fields)
  if (providers.length === 0)
    throw new UsageError(
      `nothing in ${source} could be carried over: ${mask(draft.notes.map(lineOf).join('; ')) || 'it names no model'}`,
    )
  const notes = draft.notes.map(({ where, advice }) => ({ where: mask(where), advice: mask(advice) }))
  return {
    text: `# Written by \`waybill init --from\` from ${clean(basename(source))} (${format.name}). Every setting is in docs/configuration.md;
# \`waybill config check\` checks this file.
${stringify(values, { lineWidth: 0 })}${notes.length > 0 ? `\n# Not carried over, or not as it was:\n${notes.map((note) => `# - ${lineOf(note)}\n`).join('')}` : ''}`,
    format: format.name,
    providers: providers.length,
    routes: Object.keys(fields(values.routes)).length,
    direct: draft.direct,
    notes,
    variables: draft.variables.filter((name) => providers.some(({ key }) => key === `$${name}`)),
  }
}

/** Returns the values without those that a gateway refuses, and notes each of them. */
function acceptable(given: Record<string, unknown>, draft: ConfigDraft): Record<string, unknown> {
  const values = JSON.parse(JSON.stringify(given), (name, value) => {
    if (name !== '__proto__') return value
    draft.note('__proto__', 'left out, because it cannot be a name')
  })
  for (;;) {
    const [problem] = problemsIn(values)
    if (!problem) break
    const dropped = dropAt(values, problem.path)
    if (dropped === null) break
    // A missing part follows from one that was left out before.
    if (problem.message !== MISSING)
      draft.note(dropped, `left out, because the gateway refuses it: ${problem.message}`)
  }
  const { host } = fields(values.server)
  if (typeof host === 'string' && !isLoopback(host) && list(values.keys).length === 0) {
    dropAt(values, ['server', 'host'])
    draft.note('server.host', 'an address that other machines can reach needs `keys`; it was left out')
  }
  return values
}

/** Removes the value at a path, or else the nearest one around it. Returns its path; null if there is none. */
function dropAt(values: Record<string, unknown>, path: readonly PropertyKey[]): string | null {
  for (let length = path.length; length > 0; length--) {
    const above = path.slice(0, length - 1).reduce<unknown>((value, part) => (value as never)?.[part], values)
    const last = path[length - 1]!
    if (Array.isArray(above) && Number(last) in above) above.splice(Number(last), 1)
    else if (!Array.isArray(above) && Object.hasOwn(fields(above), last)) delete (above as never)[last]
    else continue
    return path.slice(0, length).map(String).join('.')
  }
  return null
}

/** Settings whose values are credentials, and settings with values that are. */
const CREDENTIAL = /key|token|secret|passw|credential|authorization|cookie|signature|^sig$|header/i

/** A text that may be a credential: long, with a digit, and neither a reference nor the name of a variable. */
const isLikeSecret = (text: string): boolean =>
  text.length >= 12 && /\d/.test(text) && !/^(\$|os\.environ\/|[A-Z_][A-Z\d_]*$)/.test(text)

/** Returns the credentials of a file, so that none is written, wherever it stands. */
function secretsIn(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string')
    return [...(isSecret ? value.split(/\s+/) : []), ...inAddress(value)].filter(isLikeSecret)
  if (Array.isArray(value)) return value.flatMap((each) => secretsIn(each, isSecret))
  return Object.entries(fields(value)).flatMap(([name, each]) =>
    secretsIn(each, isSecret || CREDENTIAL.test(name)),
  )
}

function inAddress(text: string): string[] {
  const url = URL.parse(text)
  if (!url || !/^https?:$/.test(url.protocol)) return []
  const { username, password, searchParams, hash } = url
  return [username, password, hash.slice(1), ...searchParams.values()]
}

/** Returns a note as one line, for any characters in its names. */
export const lineOf = ({ where, advice }: Note): string =>
  clean(`${where}: ${advice}`).replaceAll(/\s+/g, ' ')

/**
 * Reads YAML, or JSON with comments and trailing commas. Such JSON is valid YAML once its comments are removed.
 */
function readSource(source: string): unknown {
  let text: string
  try {
    text = readBounded(source, MAX_BYTES)
      .toString('utf8')
      .replace(/^\ufeff/, '')
  } catch (error) {
    throw new UsageError(`cannot read ${source}: ${(error as Error).message}`)
  }
  const isJson = /^\s*(\/[/*]|[[{])/.test(text)
  const { raw, problems, broken } = readYaml(isJson ? withoutComments(text) : text, source)
  if (broken)
    throw new UsageError(`${source} cannot be read: ${problems[0]?.message ?? 'it is no YAML or JSON'}`)
  return raw
}

const withoutComments = (json: string): string =>
  json.replace(/("(?:\\.|[^"\\])*")|\/\/[^\n]*|\/\*[\s\S]*?\*\//g, (_, text = '') => text)
