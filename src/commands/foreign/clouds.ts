// Cloud deployments that require a sign-in instead of a key. Reads LiteLLM's parameters for them.
import { baseOf, type ForeignProvider } from './draft.ts'

/** Reads a parameter; undefined if it is absent or refers to a variable that is not set. */
type ReadParameter = (name: string) => string | undefined

/** Returns the provider, or the reason why there is none. */
type CloudReader = (
  model: string,
  read: ReadParameter,
  keyVariable: string | null,
) => ForeignProvider | string

const azure: CloudReader = (_model, read, keyVariable) => {
  const address = read('api_base')
  if (address === undefined)
    return 'its api_base is not known here; add a provider with base_url https://RESOURCE.openai.azure.com/openai/v1'
  const [resource] = baseOf(address).split('/openai')
  return {
    ...{ name: 'azure', dialect: ['chat', 'responses', 'embeddings'], baseUrl: `${resource}/openai/v1` },
    keyVariable,
    ...(keyVariable === null && { auth: 'entra' }),
  }
}

const bedrock: CloudReader = (model, read) => {
  const region = read('aws_region_name')
  if (!model.includes('anthropic.'))
    return 'only Claude is reached by InvokeModel; see docs/credentials.md for the addresses of other models'
  if (region === undefined)
    return 'its aws_region_name is not known here; add a provider as in docs/credentials.md'
  const baseUrl = `https://bedrock-runtime.${region}.amazonaws.com`
  return {
    name: 'bedrock',
    dialect: ['messages'],
    baseUrl,
    keyVariable: null,
    auth: 'aws',
    platform: 'bedrock',
  }
}

const vertex: CloudReader = (model, read) => {
  const [project, location] = [read('vertex_project'), read('vertex_location')]
  const publisher = /^claude/.test(model) ? 'anthropic' : /^gemini/.test(model) ? 'google' : null
  if (publisher === null) return 'only Claude and Gemini are reached on Vertex AI'
  if (project === undefined || location === undefined)
    return 'its vertex_project or vertex_location is not known here; add a provider as in docs/credentials.md'
  const host = location === 'global' ? 'aiplatform.googleapis.com' : `${location}-aiplatform.googleapis.com`
  const isClaude = publisher === 'anthropic'
  return {
    name: isClaude ? 'vertex-claude' : 'vertex',
    dialect: [isClaude ? 'messages' : 'gemini'],
    baseUrl: `https://${host}/v1/projects/${project}/locations/${location}/publishers/${publisher}`,
    keyVariable: null,
    auth: 'google',
    ...(isClaude && { platform: 'vertex' }),
  }
}

export const CLOUDS: Readonly<Record<string, CloudReader>> = {
  azure,
  bedrock,
  vertex_ai: vertex,
  vertex_ai_beta: vertex,
}
