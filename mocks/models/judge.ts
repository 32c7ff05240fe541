// Refuses requests that the requested model would refuse, and models that the provider does not have.
// Combines the facts about models with the check of a request. Independent of the answer to an accepted
// request.
import { type FactTable, isNamed } from '../../src/models/facts.ts'
import { scenarioIn } from '../matching/classify.ts'
import type { Endpoint, MockProvider, RefusedRequest } from '../provider.ts'
import type { Recording } from '../recording/format.ts'
import { modelProblem, type RequestHeaders } from './check.ts'

interface ModelVerdict {
  /** Problem as shown in the ledger. */
  readonly problem: string
  readonly refused: RefusedRequest
  /** True if the provider does not have the model. */
  readonly isUnknown: boolean
}

export type ModelJudge = (
  provider: MockProvider,
  endpoint: Endpoint | null,
  asked: {
    readonly model: string | null
    readonly body: unknown
    readonly headers?: RequestHeaders
    /** Names under which the provider is configured. */
    readonly names?: readonly string[]
  },
) => ModelVerdict | null

/**
 * Providers' messages for an unknown model. Providers without a message here have models that are not all
 * listed.
 */
const UNKNOWN_MODEL: Readonly<Record<string, (model: string) => string>> = {
  anthropic: (model) => `model: ${model}`,
  openai: (model) => `The model \`${model}\` does not exist or you do not have access to it.`,
  gemini: (model) =>
    `models/${model} is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.`,
  cohere: (model) =>
    `model '${model}' not found, make sure the correct model ID was used and that you have access to the model.`,
  jina: (model) => `Model ${model} not found`,
}

/**
 * Creates the judge. Recorded models and scenarios count as known; at an endpoint without a conversation, only the
 * models recorded there. `table` is called for each request.
 */
export function createModelJudge(recordings: readonly Recording[], table: () => FactTable): ModelJudge {
  const recorded = recordings.flatMap(({ endpoint, request: { model } }) =>
    typeof model === 'string' ? [{ endpoint, model }] : [],
  )
  const remembered = new WeakMap<FactTable, Map<Endpoint, Set<string>>>()
  const namedFor = (endpoint: Endpoint, table: FactTable): Set<string> => {
    const sets = remembered.get(table) ?? new Map<Endpoint, Set<string>>()
    remembered.set(table, sets)
    const known = sets.get(endpoint)
    if (known) return known
    const named = endpoint.speech
      ? [...recorded, ...table.models]
      : recorded.filter((each) => each.endpoint === endpoint.name)
    const names = new Set(named.map(({ model }) => model))
    sets.set(endpoint, names)
    return names
  }
  return (provider, endpoint, { model, body, headers, names = [] }) => {
    if (!endpoint || model === null || scenarioIn(model) !== null) return null
    const facts = table()
    const unknown = UNKNOWN_MODEL[provider.name]
    const known = facts.of([...names, provider.name], model, null)
    const isServed = () =>
      known.endpoints?.includes(endpoint.name) ?? isNamed(namedFor(endpoint, facts), model)
    if (unknown && hasListedModels(provider, endpoint, facts) && !isServed())
      return {
        problem: `unknown model: ${model}`,
        refused: provider.refusal('unknown_model', unknown(model), 'model'),
        isUnknown: true,
      }
    const found = modelProblem(endpoint.name, model, body, known, headers)
    return (
      found && {
        problem: `${model} refuses: ${found.message}`,
        refused: provider.refusal('invalid_request', found.message, found.param, found.code),
        isUnknown: false,
      }
    )
  }
}

/**
 * Returns true if all models of an endpoint are known: at every endpoint with a conversation, and at
 * endpoints that the facts name.
 */
const hasListedModels = ({ name }: MockProvider, endpoint: Endpoint, { models, of }: FactTable): boolean =>
  endpoint.speech !== null ||
  models.some(
    ({ provider, model }) => provider === name && of(name, model, null).endpoints?.includes(endpoint.name),
  )
