// Losses of translations, as names that stay stable from version to version. They appear on the attempt, in
// `X-Gateway-Lossy`, in `on_loss` of a route and as a label in the metrics. docs/losses.md is generated from
// this table.

export const LOSSES = {
  cache_control:
    'A hint about what the provider should cache. Providers of other dialects cache on their own or not at all.',
  attribution: 'The line at the start of the system prompt that names the client; only Anthropic removes it.',
  'thinking.signature':
    'Sealed reasoning (a signature, redacted or encrypted reasoning) from another family of models.',
  'thinking.text': 'The text of earlier reasoning, which the provider does not accept.',
  'thinking.budget':
    'How many tokens the reasoning may use; it is converted to a level of effort, or the other way round.',
  'thinking.off': 'The instruction not to reason, where the provider has no setting for it.',
  'thinking.display': 'How the reasoning should be shown.',
  'thinking.context': 'Which earlier reasoning the model sees again, and in which mode it reasons.',
  effort: 'The level of effort; the nearest one is requested, or none.',
  betas: 'Features requested in a header of the dialect.',
  context_management: 'Rules by which the provider clears old parts of the conversation.',
  safeguards: 'Checks that the provider should run on what the model does.',
  container: 'A container of the provider, for code and files.',
  mcp_servers: 'Servers with tools that the provider itself should call.',
  metadata: 'Labels of the request, and its user.',
  service_tier: 'How quickly and where the provider serves the call.',
  store: 'Whether the provider keeps the answer, and what is to follow from an answer that it kept.',
  thread: 'That the provider holds the conversation; the client sends all of it again with the next turn.',
  prompt_cache: 'The key under which the provider caches, and for how long.',
  safety_identifier: 'The name by which the provider knows the user.',
  'sampling.top_k': 'A limit to the k likeliest tokens.',
  'sampling.seed': 'A number that makes answers repeatable.',
  'sampling.penalties': 'Penalties for tokens that already occur, and weights of single tokens.',
  'sampling.temperature':
    'The temperature or `top_p`, where the provider does not accept the value, or not together with reasoning.',
  logprobs: 'How likely each token was.',
  n: 'Several answers at once; only one is returned.',
  prediction: 'A text that the answer is expected to resemble.',
  modalities: 'Answers other than text.',
  verbosity: 'How long the answer should be.',
  max_tokens: 'A limit on the answer that is below the provider’s minimum; the minimum is requested.',
  stop: 'Sequences at which the answer stops, where the provider accepts none or fewer.',
  stop_sequence: 'Which of these sequences ended the answer.',
  stop_reason: 'Why the answer ended, where the dialect has no word for it.',
  format: 'The format of the answer (JSON or a schema), where it cannot be passed to the provider.',
  'format.name': 'The name of the answer’s schema, and the demand to follow it strictly.',
  'tool.server': 'A tool that the provider itself runs, and what it did with the tool.',
  'tool.builtin': 'A tool whose format only one family of models knows.',
  'tool.search': 'Loading tools only when they are searched for; all of them are sent from the start.',
  compaction: 'A summary of the conversation that another family encrypted.',
  'tool.custom.grammar': 'The grammar of a tool’s input; it is written into the description.',
  'tool.options': 'Further settings of a tool, such as examples and who may call it.',
  'tool.id': 'The id of a call, where it was too long; another id replaces it throughout.',
  'tool.arguments': 'Arguments that are not a JSON object; they are put into one as text.',
  schema: 'Features of only one kind of schema, such as the order of members and examples.',
  tool_choice: 'Which tool must be called, or which are allowed.',
  'tool_result.error': 'The mark that a tool failed; it is written into the text of the result.',
  'tool_result.media':
    'That an image or a document is part of a tool result; it is sent in a message after the results.',
  phase: 'The mark that a text was a remark on the way, or the final answer.',
  order: 'The order of text, calls and results within one turn.',
  'system.place': 'The position of an instruction in the conversation, or settings that applied to one turn.',
  'role.developer': 'The difference between the developer and system roles.',
  name: 'The name of a participant.',
  'image.detail': 'How closely an image should be looked at.',
  image: 'An image in a form that the provider does not accept.',
  document: 'A document in a form that the provider does not accept.',
  'document.title': 'The title of a document, notes about it, and whether it should be cited.',
  audio: 'Audio.',
  file: 'A file given by its id, which only the provider that holds it knows.',
  citations: 'Where in a source a sentence comes from.',
  usage: 'How many of the tokens written to a cache are kept for an hour.',
  refusal: 'The mark that a text is a refusal; the text itself is kept.',
  'unknown.field': 'A field of the request that Waybill does not know.',
  'unknown.block': 'A part of a message or an answer that Waybill does not know.',
  'unknown.tool': 'A kind of tool that Waybill does not know.',
} as const satisfies Record<string, string>

/**
 * Losses of a session that moves to another key of its provider. The gateway removes nothing from the
 * request. The provider may be unable to find or read data of the first key's account.
 */
export const MOVE_LOSSES = {
  'key.cache': 'The prompt that the provider has cached for the key that served the session before.',
  'key.reasoning':
    'Sealed reasoning (a signature, redacted or encrypted reasoning) that was made for the key that served the session before.',
} as const satisfies Record<string, string>

/** Members with sealed reasoning, in all dialects. */
const SEALED = /"(encrypted_content|signature|thoughtSignature|thought_signature|reasoning_details)"\s*:/

/** Returns the losses of a request if its session moves to another key. */
export const lossesOfMove = (text: string): (keyof typeof MOVE_LOSSES)[] =>
  SEALED.test(text) ? ['key.cache', 'key.reasoning'] : ['key.cache']

export type Loss = keyof typeof LOSSES

/** Collects the losses of one translation, each once. */
export class Losses {
  readonly #words = new Set<Loss>()

  add(word: Loss): void {
    this.#words.add(word)
  }

  /** Adds a loss if there is a value that can be lost. */
  of(value: unknown, word: Loss): void {
    if (value !== undefined && value !== null) this.#words.add(word)
  }

  /** Returns the losses in alphabetical order. */
  list(): Loss[] {
    return [...this.#words].sort()
  }
}
