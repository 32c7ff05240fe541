// Members of a request that let a provider use other models than the one that the route chose, as data with sources. A
// budget reserves for the dearest of them, and `other_models: refuse` refuses them. Pure.
import { isOtherModel } from '../shared/model-names.ts'

interface NamingMember {
  /** Names from the top of the request; `*` stands for each element or member. */
  readonly path: string
  /** True if the other model is used in addition to the one that answers. */
  readonly isBesides?: true
  readonly source: string
}

/** One table for all dialects: hosts accept the members of other hosts. */
const NAMING: readonly NamingMember[] = [
  { path: 'models.*', source: 'OpenRouter, Model Fallbacks; Perplexity, Agent API' },
  { path: 'models.*.model', source: 'LiteLLM and other hosts with objects in the list' },
  {
    path: 'fallbacks',
    source: 'Anthropic, refusals and fallback: the word "default" leaves the choice to Anthropic',
  },
  { path: 'fallbacks.*', source: 'LiteLLM, fallbacks of a request' },
  { path: 'fallbacks.*.model', source: 'Anthropic, refusals and fallback; OpenRouter at /v1/messages' },
  { path: 'fallback_models.*', source: 'hosts with a list of their own name' },
  { path: 'providerOptions.*.models.*', source: 'Vercel AI Gateway, Model Fallbacks (`gateway.models`)' },
  { path: 'provider_options.*.models.*', source: 'the same in snake case' },
  { path: 'plugins.*.allowed_models.*', source: 'OpenRouter, Auto Router: names or patterns' },
  { path: 'plugins.*.model', source: 'OpenRouter, Fusion Router: the judge' },
  { path: 'plugins.*.analysis_models.*', isBesides: true, source: 'OpenRouter, Fusion Router: the panel' },
  { path: 'preset', source: 'OpenRouter, Presets: a stored list of models' },
  { path: 'compound_custom.models.*', isBesides: true, source: 'Groq, Compound: the models of its steps' },
  { path: 'tools.*.model', isBesides: true, source: 'Anthropic, advisor tool' },
  { path: 'tools.*.parameters.model', isBesides: true, source: 'OpenRouter, server tools' },
  { path: 'tools.*.parameters.analysis_models.*', isBesides: true, source: 'OpenRouter, fusion tool' },
]

/** Types of tools whose members name no model that thinks: the client's own, and pictures, which have a fee. */
const OTHER_TOOLS = new Set(['function', 'custom', 'image_generation', undefined])

/** A model that a request names besides its `model`. */
export interface NamedModel {
  readonly name: string
  /** Member that names it, such as `fallbacks`. */
  readonly member: string
  readonly isBesides: boolean
  /** Maximum number of uses: the tool's `max_uses`; 1 without one. */
  readonly uses: number
  /** True for a word or a pattern that leaves the choice to the provider. */
  readonly isOpen: boolean
}

/** Maximum number of models that are looked at. Hosts accept fewer than ten. More are a choice without a known price. */
const MAX_NAMED = 64
const TOO_MANY = `more than ${MAX_NAMED} models`

/** Returns true for a member of a request that may name other models. */
export const namesModels = (member: string): boolean => MEMBERS.has(member)

const PLACES = NAMING.map(({ path, isBesides = false }) => {
  const [member = '', ...rest] = path.split('.')
  return { member, rest, isBesides }
})
const MEMBERS = new Set(PLACES.map(({ member }) => member))

/** Returns the models that a request names besides its `model`. */
export function namedModels(body: Readonly<Record<string, unknown>>): NamedModel[] {
  const found: NamedModel[] = []
  const seen = new Set<string>()
  for (const { member, rest, isBesides } of PLACES) {
    if (body[member] == null) continue
    const isTool = member === 'tools'
    const holders = isTool ? toolsIn(body[member]) : [body[member]]
    for (const holder of holders) {
      const limit = isTool ? (holder as { max_uses?: unknown }).max_uses : 1
      const uses = typeof limit === 'number' && limit > 1 ? limit : 1
      for (const name of textsAt(holder, isTool ? rest.slice(1) : rest)) {
        if (!isBesides && seen.has(name)) continue // a model that is used besides counts each time
        if (found.length === MAX_NAMED)
          return [...found, { name: TOO_MANY, member, isBesides: false, uses: 1, isOpen: true }]
        if (!isBesides) seen.add(name)
        const isOpen = member === 'preset' || /\*|^default$/.test(name)
        found.push({ name, member, isBesides, uses, isOpen })
      }
    }
  }
  return found
}

/** Returns the named models that are others than the model of a target. */
export const othersThan = (model: string, named: readonly NamedModel[]): readonly NamedModel[] =>
  named.filter(({ name }) => isOtherModel(model, name))

/** Returns the tools of a list that may use a model. */
const toolsIn = (tools: unknown): object[] =>
  Object.values(tools as object).filter(
    (tool) => typeof tool === 'object' && tool !== null && !OTHER_TOOLS.has((tool as { type?: string }).type),
  )

function textsAt(value: unknown, path: readonly string[]): string[] {
  const [step, ...rest] = path
  if (step === undefined) return typeof value === 'string' && value !== '' ? [value] : []
  if (typeof value !== 'object' || value === null) return []
  if (step !== '*') return textsAt((value as Record<string, unknown>)[step], rest)
  return Object.values(value).flatMap((each) => textsAt(each, rest))
}
