// Redacts an address. Segments of the interface and names of public models and hosts stay; anything else
// becomes a stable placeholder, so that import and replay still match. Pure; independent of single providers.
import { createHash } from 'node:crypto'
import { placeholderOf } from './placeholders.ts'
import { isPathWord, isPublicModel, isRegion, isStructural } from './vocabulary.ts'

/**
 * Providers' own domains. A region or an interface word before a domain is public; anything else could name a
 * customer.
 */
const DOMAINS =
  /(?:^|\.)(?:ai21\.com|aliyuncs\.com|amazonaws\.com|anthropic\.com|api\.aws|assemblyai\.com|avian\.io|baseten\.co|bigmodel\.cn|cerebras\.ai|chutes\.ai|cloudflare\.com|cohere\.(?:ai|com)|deepgram\.com|deepinfra\.com|deepseek\.com|elevenlabs\.io|featherless\.ai|fireworks\.ai|friendli\.ai|github\.ai|githubcopilot\.com|googleapis\.com|groq\.com|huggingface\.co|hyperbolic\.xyz|inceptionlabs\.ai|inference\.net|jina\.ai|lambda\.ai|minimax\.(?:chat|io)|mistral\.ai|moonshot\.(?:ai|cn)|morphllm\.com|nebius\.com|novita\.ai|nvidia\.com|ollama\.com|openai\.com|openrouter\.ai|parasail\.io|perplexity\.ai|replicate\.com|sambanova\.ai|scaleway\.ai|siliconflow\.(?:cn|com)|stability\.ai|stepfun\.com|together\.(?:ai|xyz)|upstage\.ai|venice\.ai|vercel\.sh|volces\.com|voyageai\.com|writer\.com|x\.ai|z\.ai)$/

/** Loopback addresses, which reveal nothing. */
const LOOPBACK = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d{1,5})?$/

/**
 * Returns a public host without its region, because the customer chooses the region; null for a private host.
 */
function publicHost(host: string): string | null {
  if (LOOPBACK.test(host)) return host
  const domain = DOMAINS.exec(host)
  if (!domain) return null
  // `us-east5-aiplatform`: region and service in one label.
  const labels = host
    .slice(0, domain.index)
    .split('.')
    .map((label) => label.replace(/^[a-z]+-[a-z]+\d{1,2}-/, ''))
    .filter((label) => label !== '' && !isRegion(label))
  return labels.every(isPathWord) ? [...labels, domain[0].replace(/^\./, '')].join('.') : null
}

/** Segments before a name that a user chose. */
const OWNERS =
  /^(?:projects|accounts|organi[sz]ations|orgs|workspaces|tenants|users|customers|teams|subscriptions|resource-?groups|endpoints)$/i

/** Returns a host's name if it is public, otherwise a stable placeholder. */
export function hostName(host: string): string {
  const name = host.toLowerCase()
  // Three digits distinguish the hosts of one folder, but cannot confirm a guess at a host's name.
  return /^host-[\da-f]{3}$/.test(name)
    ? name
    : (publicHost(name) ?? `host-${createHash('sha256').update(name).digest('hex').slice(0, 3)}`)
}

/** Returns true if customers choose the models' names: at Azure, and on a private host. */
export const namesItsModels = (provider: string): boolean =>
  provider === 'azure' || provider.startsWith('host-')

/** Called with each replaced private name. */
type OnPrivate = (name: string) => void

/** Removes everything private from a path. Redacting twice changes nothing more. */
export function redactPath(
  path: string,
  provider = '',
  onPrivate: OnPrivate = () => {},
  place: (id: string) => string = placeholderOf,
): string {
  const hidden = (name: string) => {
    const placeholder = place(name)
    if (placeholder !== name) onPrivate(name)
    return placeholder
  }
  return path
    .split('/')
    .map((raw, i, all) => {
      const before = all[i - 1] ?? ''
      const segment = decoded(raw)
      const [, name = '', action = ''] = /^(.*?)(:[a-zA-Z]+)?$/s.exec(segment)!
      const verb = action === '' || isStructural(action.slice(1)) || isPathWord(action.slice(1))
      const [own, rest] = verb ? [name, action] : [segment, '']
      if (own === '') return own + rest
      const named = namesItsModels(provider) || before === 'deployments' ? deploymentName : modelName
      // Hugging Face and Replicate have `models/OWNER/NAME`.
      const isModel = /^(?:models?|deployments|engines)$/.test(before) || all[i - 2] === 'models'
      if (isModel && !isPathWord(own) && !OWNERS.test(before)) return named(own, onPrivate, place) + rest
      const fixed = !OWNERS.test(before) && (/^v\d\w{0,8}$/.test(own) || isPathWord(own))
      return (fixed ? own : hidden(own)) + rest
    })
    .join('/')
}

/**
 * Keeps the public part of a model's name. In a fine-tuned model's name, the owner follows the base model.
 */
export function modelName(
  name: string,
  onPrivate: OnPrivate = () => {},
  place: (id: string) => string = placeholderOf,
): string {
  const isPublic =
    /^[\w.:/@+-]+$/.test(name) &&
    !/^(?:[./~]|arn:|projects\/|accounts\/(?!fireworks\/))|(?<!REDACTED_\d*)\d{9}/.test(name) &&
    !OWNED.test(name)
  const [base = ''] = /^ft:[^:]*:|^[^:]*[:.]ft-/.exec(name) ?? []
  const kept = !isPublic ? '' : base || name
  const rest = name.slice(kept.length)
  if (rest !== '' && place(rest) !== rest) onPrivate(rest)
  return kept + (rest && place(rest))
}

/** Pattern of private model names: Gemini's tuned models, and e-mail addresses. */
const OWNED = /(?:^|\/)tunedModels\/|[\w.+-]@[a-z][\w-]*\.[a-z]/i

/** Redacts the name of a deployment, because its owner chose it, unless it is the name of a public model. */
export function deploymentName(
  name: string,
  onPrivate: OnPrivate = () => {},
  place: (id: string) => string = placeholderOf,
): string {
  if (isPublicModel(name)) return name
  const placeholder = place(name)
  if (placeholder !== name) onPrivate(name)
  return placeholder
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
