// Facts about models: their limits and the settings that they accept. Reads the lines of models.yaml and of
// the user's file, and finds the lines for a model. Independent of particular models, dialects and providers.
import { readFileSync } from 'node:fs'
import { LineCounter, parseDocument } from 'yaml'
import { z } from 'zod'
import { packageFile } from '../shared/package-root.ts'

const tokens = z.int().positive()
const yesNo = z.enum(['yes', 'no'])
const unlessThinking = z.enum(['yes', 'no', 'without_thinking'])
export const EFFORTS = ['none', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'] as const
const effort = z.enum(EFFORTS)

/** Facts about a model. A missing fact is unknown; it refuses nothing and changes nothing. */
const FACTS = {
  endpoints: z
    .array(z.string().min(1))
    .describe(
      'The endpoints that serve the model, if it does not serve conversations: `audio/speech`, `rerank`.',
    ),
  dialects: z
    .array(z.string().min(1))
    .describe(
      'The dialects in which its provider serves the model, if not in all that it speaks: `interactions`. Calls in other dialects are translated.',
    ),
  context: tokens.describe('The longest input that it accepts, in tokens.'),
  output: tokens.describe('The largest output limit that a request may have, in tokens.'),
  thinking: z
    .array(z.enum(['budget', 'level', 'adaptive', 'off', 'between_tools']))
    .describe('The ways to request thinking; without `off`, thinking cannot be switched off.'),
  budget: z.tuple([tokens, tokens]).describe('The smallest and the largest budget for thinking, in tokens.'),
  efforts: z
    .array(effort)
    .describe('The levels of effort that the model accepts; [] if it refuses all of them.'),
  off_up_to: effort.describe('The highest level of effort that is accepted while thinking is switched off.'),
  thinks_unasked: yesNo.describe('yes: the model thinks even if the request does not mention thinking.'),
  sampling: z
    .enum(['any', 'none', 'default', 'without_thinking', 'one_without_thinking'])
    .describe(
      'Accepted values of temperature, top_p and top_k: any, none, only their defaults, only without thinking, or only one of temperature and top_p.',
    ),
  forced_tools: unlessThinking.describe('Accepts a tool choice that forces a call.'),
  prefill: unlessThinking.describe('Accepts a conversation that ends with the beginning of the answer.'),
  chat_tools: z
    .enum(['yes', 'no', 'effort_none'])
    .describe(
      'Accepts tools in chat completions. no: only in responses. effort_none: only with the effort none.',
    ),
  chat_limit: z
    .enum(['max_tokens', 'max_completion_tokens'])
    .describe('The only name of the output limit that the model accepts in chat completions.'),
  responses_lite: yesNo.describe("Accepts Codex's marker for a reduced form of Responses."),
  signatures: z
    .enum(['calls', 'reasoning'])
    .describe(
      'The part that must be returned with a call: the signature of the call, or the text of the reasoning.',
    ),
  reasoning_for: z
    .enum(['account'])
    .describe(
      'account: only the account that made the sealed reasoning can read it. The model silently drops it for other accounts.',
    ),
  result_media: yesNo.describe('Accepts images and documents inside the result of a tool.'),
  schema_refused: z
    .array(z.string().min(1))
    .describe('Words of JSON Schema that the model refuses in `parameters` of a tool.'),
  refused_tools: z.array(z.string().min(1)).describe('Types of built-in tools that the model refuses.'),
  retires: z.iso
    .date()
    .describe('The day from which its provider may refuse it (UTC), as the provider announced it.'),
  cache: z
    .strictObject({
      by: z
        .enum(['provider', 'request'])
        .describe('provider: every prompt is cached. request: only what the request marks.'),
      min: tokens.describe('The shortest prompt that is cached, in tokens.'),
      step: tokens.default(1).describe('Cached tokens are a multiple of this number.'),
    })
    .describe('The way in which the model caches prompts. The lifetime is `prompt_cache` of the provider.'),
} as const

const factsSchema = z.strictObject(FACTS).partial()
const like = z.string().min(1).describe('Another model, which provides all facts that are missing here.')
/**
 * Facts about one model in a user's configuration, where `context` is a separate setting. The end of a model is
 * announced by its provider only.
 */
export const ownFacts = factsSchema.omit({ context: true, retires: true }).extend({ like: like.optional() })
/** The verified facts about a model. A missing fact is unknown. */
export type Facts = Readonly<z.output<typeof factsSchema>>
type FactName = keyof Facts

const list = z
  .union([z.string().min(1), z.array(z.string().min(1)).min(1)])
  .transform((each) => [each].flat())
const statement = factsSchema.extend({
  provider: z.string().min(1),
  model: list,
  like: like.optional(),
  source: list,
  unverified: z.literal(true).optional(),
})
/** One line with facts about one or more models of a provider. */
type FactLine = z.output<typeof statement>

const fileSchema = z.strictObject({
  /**
   * Dialects in which each provider serves its models. Facts also hold for other providers of these dialects.
   */
  providers: z.record(z.string(), z.array(z.string())).default({}),
  sources: z.record(z.string(), z.strictObject({ title: z.string().min(1), date: z.iso.date() })).default({}),
  models: z.array(statement),
})

/** A mistake in a facts file: names the file, the line, the field, and the expected value. */
export class FactsError extends Error {}

/** Lines from one origin. */
export interface FactLayer {
  readonly origin: 'configuration' | 'synced' | 'package'
  readonly lines: readonly FactLine[]
  /** Dialects of each provider in which its facts also hold for other providers. */
  readonly providers: Readonly<Record<string, readonly string[]>>
  /** Title and date of each source. */
  readonly sources: Readonly<Record<string, { readonly title: string; readonly date: string }>>
}

/** Reads a facts file. Throws FactsError at the first mistake. */
export function parseFacts(text: string, file: string, origin: FactLayer['origin']): FactLayer {
  const lineCounter = new LineCounter()
  const document = parseDocument(text, { lineCounter, prettyErrors: false })
  const lineAt = (path: readonly PropertyKey[]): number => {
    for (let end = path.length; end > 0; end--) {
      const node = document.getIn(path.slice(0, end), true) as
        | { range?: [number, number, number] }
        | undefined
      if (node?.range) return lineCounter.linePos(node.range[0]).line
    }
    return 1
  }
  const [broken] = document.errors
  if (broken) throw new FactsError(`${file}:${lineCounter.linePos(broken.pos[0]).line}: ${broken.message}`)
  const { data, error } = fileSchema.safeParse(document.toJS())
  const issue = error?.issues[0]
  if (issue) throw new FactsError(`${file}:${lineAt(issue.path)}: ${issue.path.join('.')}: ${issue.message}`)
  const { models, providers, sources } = data!
  for (const [index, { source }] of models.entries()) {
    const missing = source.find((each) => !Object.hasOwn(sources, each))
    if (missing !== undefined)
      throw new FactsError(
        `${file}:${lineAt(['models', index])}: models.${index}.source: "${missing}" is not under sources`,
      )
  }
  return { origin, lines: models, providers, sources }
}

/** A fact with its origin, for display. */
export interface Statement {
  readonly fact: FactName
  readonly value: unknown
  readonly origin: FactLayer['origin']
  /** Model name in the line, exact or a pattern. */
  readonly name: string
  readonly source: string
  readonly date: string
  readonly unverified: boolean
}

export interface FactTable {
  /**
   * Returns the verified facts about a provider's model. The provider may have several names. With a dialect,
   * facts from other providers of the model in this dialect also hold.
   */
  of(provider: string | readonly string[], model: string, dialect: string | null): Facts
  /** Returns all statements about a model, including unverified ones, the strongest first. */
  statements(
    provider: string | readonly string[],
    model: string,
    dialect: string | null,
  ): readonly Statement[]
  /** Models that are named exactly, with their providers, in a line that states more than their end. */
  readonly models: readonly { readonly provider: string; readonly model: string }[]
}

/** Maximum number of models with cached facts. The number is bounded because clients choose the names. */
const MAX_REMEMBERED = 1_000

/** Maximum length of a chain of `like` references. */
const MAX_LIKES = 4

/** Joins layers. The first layer is the strongest. */
export function createFactTable(layers: readonly FactLayer[]): FactTable {
  const remembered = new Map<string, Facts>()
  const said = (asked: Asked, likes: number): Statement[] =>
    layers.flatMap((layer) =>
      linesFor(layer, asked).flatMap(({ line, name }) => {
        const { like } = line
        const further =
          like === undefined || likes >= MAX_LIKES ? [] : said({ ...asked, model: like }, likes + 1)
        return [...statementsOf(line, name, layer), ...further]
      }),
    )
  const statements: FactTable['statements'] = (provider, model, dialect) =>
    said({ provider, model, dialect }, 0)
  return {
    statements,
    models: layers.flatMap(({ lines }) =>
      lines
        .filter(statesMoreThanEnd)
        .flatMap(({ provider, model }) =>
          model.filter((name) => !isPattern(name)).map((name) => ({ provider, model: name })),
        ),
    ),
    of(provider, model, dialect) {
      const key = JSON.stringify([provider, model, dialect])
      const known = remembered.get(key)
      if (known) return known
      const facts: Record<string, unknown> = {}
      for (const { fact, value, unverified } of statements(provider, model, dialect))
        if (!unverified) facts[fact] ??= value
      if (remembered.size >= MAX_REMEMBERED) remembered.clear()
      remembered.set(key, facts)
      return facts
    },
  }
}

/** Returns false for a line that says only when its models end. Most of these have ended long ago. */
const statesMoreThanEnd = ({ retires, provider: _, model: __, source: ___, ...others }: FactLine): boolean =>
  retires === undefined || Object.keys(others).length > 0

/** Returns true if one of the names equals the model's name in any of its forms. */
export const isNamed = (names: ReadonlySet<string>, model: string): boolean =>
  formsOf(model).some((form) => names.has(form))

const isPattern = (name: string): boolean => name.includes('*')

interface Found {
  readonly line: FactLine
  readonly name: string
  readonly isOwn: boolean
}

interface Asked {
  readonly provider: string | readonly string[]
  readonly model: string
  readonly dialect: string | null
}

/**
 * Returns the lines for a model. Sorts its own provider first, then exact names before patterns, then longer
 * names.
 */
function linesFor(layer: FactLayer, { provider, model, dialect }: Asked): Found[] {
  const forms = formsOf(model)
  const found = layer.lines.flatMap((line): Found[] => {
    const isOwn = [provider].flat().includes(line.provider)
    if (!isOwn && !(dialect !== null && layer.providers[line.provider]?.includes(dialect))) return []
    const name = line.model.filter((each) => forms.some((form) => fits(each, form))).toSorted(byStrength)[0]
    return name === undefined ? [] : [{ line, name, isOwn }]
  })
  return found.toSorted((a, b) => Number(b.isOwn) - Number(a.isOwn) || byStrength(a.name, b.name))
}

const byStrength = (a: string, b: string): number =>
  Number(isPattern(a)) - Number(isPattern(b)) || b.length - a.length

function fits(name: string, form: string): boolean {
  if (!isPattern(name)) return name === form
  const [first = '', ...rest] = name.split('*')
  if (!form.startsWith(first)) return false
  let at = first.length
  for (const [index, piece] of rest.entries()) {
    if (index === rest.length - 1) return form.length - at >= piece.length && form.endsWith(piece)
    const next = form.indexOf(piece, at)
    if (next < 0) return false
    at = next + piece.length
  }
  return true
}

/** Date or version at the end of a name: -20260724, @20260724, -2026-07-24, -v1:0. */
const VERSION = /(?:[-@](?:\d{8}|\d{4}-\d\d-\d\d))?(?:-v\d+)?(?::\d+\w*)?$/

/** Returns the possible names of a model in a list: unchanged, without its prefix, and without its version. */
function formsOf(model: string): string[] {
  const bare = model.slice(model.lastIndexOf('/') + 1).replace(/^(?:[a-z]+\.)+/, '')
  return [...new Set([model, bare, bare.replace(VERSION, '')])]
}

function statementsOf(line: FactLine, name: string, { origin, sources }: FactLayer): Statement[] {
  const { provider: _, model: __, like: ___, source, unverified = false, ...facts } = line
  const from = source.map((each) => sources[each]!)
  return Object.entries(facts).map(([fact, value]) => ({
    fact: fact as FactName,
    value,
    origin,
    name,
    source: from.map(({ title }) => title).join('; '),
    date:
      from
        .map(({ date }) => date)
        .toSorted()
        .at(-1) ?? '',
    unverified,
  }))
}

/** Models of a configuration, by provider/model. */
type ConfiguredModels = Readonly<
  Record<
    string,
    { readonly context?: number | undefined; readonly accepts?: z.output<typeof ownFacts> | undefined }
  >
>

/**
 * Returns a table of the facts in the configuration, in the synced file and in the package, in this order of
 * precedence.
 */
export const factTableOf = ({
  models,
  synced,
}: {
  readonly models: ConfiguredModels
  readonly synced?: FactLayer
}): FactTable => createFactTable([configuredFacts(models), ...(synced ? [synced] : []), packageFacts()])

function configuredFacts(models: ConfiguredModels): FactLayer {
  const lines = Object.entries(models).flatMap(([id, { context, accepts }]): FactLine[] => {
    const [provider = '', ...name] = id.split('/')
    const facts = { ...accepts, ...(context !== undefined && { context }) }
    return Object.keys(facts).length === 0
      ? []
      : [{ ...facts, provider, model: [name.join('/')], source: ['configuration'] }]
  })
  const sources = { configuration: { title: 'the configuration', date: '' } }
  return { origin: 'configuration', lines, providers: {}, sources }
}

const FILE = 'src/models/models.yaml'
/** The facts of the file as JSON, which the build puts into the program: to parse the file takes a tenth of its start. */
declare const PACKAGE_FACTS: string | undefined
let own: FactLayer | undefined
let table: FactTable | undefined

/** Returns the facts included in the package. */
export function packageFacts(): FactLayer {
  own ??=
    typeof PACKAGE_FACTS === 'undefined'
      ? parseFacts(readFileSync(packageFile(FILE), 'utf8'), FILE, 'package')
      : (JSON.parse(PACKAGE_FACTS) as FactLayer)
  return own
}

/** Returns the table of only the package's facts. */
export function packageTable(): FactTable {
  table ??= createFactTable([packageFacts()])
  return table
}
