// `waybill init --from FILE`: writes a configuration based on another gateway's, and names settings that it
// could not carry over. Sends nothing, and never writes a key from the file.
import { basename } from 'node:path'
import { stringify } from 'yaml'
import { parseConfig } from '../config/load.ts'
import { ConfigError } from '../core/errors.ts'
import { readBounded } from '../shared/bounded-file.ts'
import { createMask } from '../shared/redact.ts'
import { clean } from '../terminal/clean.ts'
import { readYaml } from '../yaml/yaml.ts'
import { ConfigDraft, fields, type Note } from './foreign/draft.ts'
import { FORMATS } from './foreign/formats.ts'
import { UsageError } from './usage-error.ts'

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
  const { values, variables } = { values: draft.values(), variables: draft.variables }
  const providers = Object.keys(fields(values.providers)).length
  if (providers === 0)
    throw new UsageError(
      `nothing in ${source} could be carried over: ${mask(draft.notes.map(lineOf).join('; ')) || 'it names no model'}`,
    )
  const whole = stringify(values, { lineWidth: 0 })
  const body = mask(whole)
  if (body !== whole)
    draft.note('the written file', 'a credential stood in another setting, and was replaced by ***')
  for (const problem of problemsIn(body, variables)) draft.note('the written file', problem)
  const notes = draft.notes.map(({ where, advice }) => ({ where: mask(where), advice: mask(advice) }))
  return {
    text: `# Written by \`waybill init --from\` from ${clean(basename(source))} (${format.name}). Every setting is in docs/configuration.md;
# \`waybill config check\` checks this file.
${body}${notes.length > 0 ? `\n# Not carried over, or not as it was:\n${notes.map((note) => `# - ${lineOf(note)}\n`).join('')}` : ''}`,
    format: format.name,
    providers,
    routes: Object.keys(draft.routes).length,
    direct: draft.direct,
    notes,
    variables,
  }
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

/** Returns the problems that would prevent a gateway from starting with this configuration. */
function problemsIn(body: string, variables: readonly string[]): string[] {
  try {
    parseConfig(body, 'waybill.yaml', { env: Object.fromEntries(variables.map((name) => [name, 'any'])) })
    return []
  } catch (error) {
    if (error instanceof ConfigError) return error.message.split('\n')
    throw error
  }
}
