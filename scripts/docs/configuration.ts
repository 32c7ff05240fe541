// Turns the JSON Schema of a configuration file into a page with a row for each setting. Pure.

import { needsRestart } from '../../src/config/load.ts'
import type { JsonSchema } from '../../src/yaml/wording.ts'

const HEAD = `# Configuration

<!-- Written by \`npm run docs\` from src/config/schema.ts. -->

The gateway reads \`waybill.yaml\`, or the file that \`--config\` or \`WAYBILL_CONFIG\` names. \`waybill config check\` names every mistake with its line. [waybill.schema.json](waybill.schema.json) enables completion in an editor. [examples/waybill.yaml](../examples/waybill.yaml) is a file to start from; [examples/every-setting.yaml](../examples/every-setting.yaml) has every setting once.

A running gateway applies a changed file within a second. Settings marked *restart* take effect at the next start, and the process log says so. A file with a mistake has no effect, and the process log names the mistake.

A *duration* is a number and a unit, \`ms\`, \`s\`, \`m\` or \`h\`: \`5s\`. A *size* has \`B\`, \`KiB\`, \`MiB\` or \`GiB\`: \`20MiB\`. \`<name>\` stands for a name that you choose, \`[]\` for each entry of a list. \`required\` means that there is no default, and that the setting must be present if the mapping that contains it is present.
`

/** Returns the page. `example` is a file with every setting; its parts are shown above the tables. */
export const configurationPage = (schema: JsonSchema, example: string): string =>
  settingsPage(HEAD, schema, { partOf: (name) => partOf(example, name), isFixed: needsRestart })

interface Extras {
  /** Returns the part of the example below this name. */
  readonly partOf: (name: string) => string
  readonly isFixed: (setting: string) => boolean
}

/** Returns the lines of one top-level setting in a YAML file. Throws if it is missing. */
function partOf(yaml: string, name: string): string {
  const [part] = new RegExp(`^${name}:.*(\\n[ -].*|\\n(?=[ -]))*`, 'm').exec(yaml) ?? []
  if (part === undefined) throw new Error(`the example has no ${name}`)
  return part
}

/** Throws if a setting has no description. */
export function settingsPage(head: string, schema: JsonSchema, extras?: Extras): string {
  const parts = Object.entries(schema.properties ?? {})
  const marked = (text: string) =>
    extras?.isFixed(/`([\w.]+)/.exec(text)![1]!) ? text.replace(/ \|$/, ' *Restart.* |') : text
  const single = parts.filter(([, part]) => rowsBelow('', part).length === 0)
  const groups = parts.filter(([, part]) => rowsBelow('', part).length > 0)
  const sections = groups.map(([name, part]) =>
    [
      `## ${name}`,
      described(name, part),
      ...(extras ? [`\`\`\`yaml\n${extras.partOf(name)}\n\`\`\``] : []),
      table(rowsBelow(name, part).map(marked)),
    ].join('\n\n'),
  )
  const top = single.map(([name, part]) => marked(row(name, part, schema)))
  return `${[head.trimEnd(), table(top), ...sections].join('\n\n')}\n`
}

const table = (rows: readonly string[]): string =>
  ['| setting | type | default | meaning |', '|---|---|---|---|', ...rows].join('\n')

/** Returns a row for each setting below this one. */
function rowsBelow(path: string, schema: JsonSchema): string[] {
  const entry = schema.items ?? (isSchema(schema.additionalProperties) ? schema.additionalProperties : null)
  if (entry) return rowsBelow(`${path}${schema.items ? '[]' : '.<name>'}`, entry)
  const rows = Object.entries(schema.properties ?? {}).flatMap(([name, part]) => {
    const below = `${path}.${name}`
    return [row(below, part, schema), ...rowsBelow(below, part)]
  })
  // A setting with several forms has the rows of each form.
  return [...rows, ...(schema.anyOf ?? []).flatMap((form) => rowsBelow(path, form))]
}

function row(path: string, part: JsonSchema, around: JsonSchema): string {
  const isRequired = around.required?.includes(path.slice(path.lastIndexOf('.') + 1))
  const standard =
    part.default === undefined
      ? isRequired
        ? 'required'
        : ''
      : plain(part.default) && `\`${plain(part.default)}\``
  return `| \`${path}\` | ${typeOf(part)} | ${standard} | ${described(path, part)} |`
}

/** Formats a default value as in the file; an empty text, list or mapping gives an empty string. */
const plain = (value: unknown): string =>
  typeof value === 'object' || value === '' ? '' : typeof value === 'string' ? value : JSON.stringify(value)

function described(path: string, { description }: JsonSchema): string {
  if (!description) throw new Error(`${path} has no description; describe it in the schema`)
  return description.replaceAll('|', '\\|')
}

function typeOf(part: JsonSchema): string {
  if (part.title) return part.title
  if (part.const !== undefined) return `\`${part.const}\``
  if (part.enum) return part.enum.map((value) => `\`${value}\``).join(', ')
  if (part.anyOf) return part.anyOf.map(typeOf).join(', or ')
  if (part.type === undefined) return 'anything'
  if (part.type === 'array')
    return part.items?.type === 'object'
      ? 'list of mappings'
      : `list of ${part.items ? typeOf(part.items).replace(/^(text|(?:whole )?number)\b/, '$1s') : 'anything'}`
  if (part.type === 'object') return 'mapping'
  if (part.type === 'boolean') return '`true` or `false`'
  if (part.type === 'string') return part.format === 'uri' ? 'address' : 'text'
  const { minimum, maximum, exclusiveMinimum } = part
  const from = minimum === undefined || minimum < -1e15 ? null : minimum
  const to = maximum === undefined || maximum > 1e15 ? null : maximum
  const bounds = [
    exclusiveMinimum !== undefined && `more than ${exclusiveMinimum}`,
    from !== null && (to === null ? `${from} or more` : `${from} to ${to}`),
  ].filter(Boolean)
  return [part.type === 'integer' ? 'whole number' : 'number', ...bounds].join(', ')
}

const isSchema = (value: unknown): value is JsonSchema => typeof value === 'object' && value !== null
