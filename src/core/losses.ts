// Losses of translations, as names that stay stable from version to version. The names appear on the attempt,
// in `X-Gateway-Lossy`, in `on_loss` of a route and as a label in the metrics. docs/losses.md is generated
// from this table.

export const LOSSES = {
  cache_control:
    'A hint for the provider’s cache. Providers of other dialects cache automatically or not at all.',
  attribution: 'The line at the start of the system prompt that names the client; only Anthropic removes it.',
  'thinking.signature':
    'Sealed reasoning (a signature, redacted or encrypted reasoning) from another family of models.',
  'thinking.text': 'The text of earlier reasoning, which the provider does not accept.',
  'thinking.budget':
    'The maximum tokens of reasoning; it is converted to a level of effort, or an effort is converted to it.',
  'thinking.off': 'The instruction not to reason, if the provider has no setting for it.',
  'thinking.display': 'The setting for showing the reasoning.',
  'thinking.late':
    'Reasoning after the last text or call; clients of the dialect take their last block for the answer.',
  'thinking.context': 'The choice of earlier reasoning that the model sees, and the mode of reasoning.',
  effort: 'The level of effort; the nearest one is requested, or none.',
  betas: 'Features requested in a header of the dialect.',
  context_management: 'Rules by which the provider clears old parts of the conversation.',
  safeguards: 'Checks that the provider should run on the model’s actions.',
  container: 'A container of the provider, for code and files.',
  mcp_servers: 'Servers with tools that the provider itself should call.',
  metadata: 'Labels of the request, and its user.',
  service_tier: 'The speed and the place at which the provider serves the call.',
  store:
    'The request to store the answer at the provider, or to continue a stored answer, or an item that the request only names.',
  thread:
    'The conversation’s storage at the provider; the client sends the whole conversation again with the next turn.',
  prompt_cache: 'The key and the lifetime of the provider’s prompt cache.',
  safety_identifier: 'The user’s identifier at the provider.',
  'sampling.top_k': 'A limit to the k likeliest tokens.',
  'sampling.seed': 'A number that makes answers repeatable.',
  'sampling.penalties': 'Penalties for tokens that already occur, and weights of single tokens.',
  'sampling.temperature':
    'The temperature or `top_p`, if the provider refuses the value, or refuses it together with reasoning.',
  logprobs: 'The probability of each token.',
  n: 'Several answers to one request; only one is returned.',
  prediction: 'A text that the answer is expected to resemble.',
  modalities: 'Answers other than text.',
  verbosity: 'The requested length of the answer.',
  max_tokens: 'A limit on the answer that is below the provider’s minimum; the minimum is requested.',
  stop: 'Sequences at which the answer stops, if the provider accepts none or fewer.',
  stop_sequence: 'The stop sequence that ended the answer.',
  stop_reason: 'The reason for the end of the answer, if the dialect has no word for it.',
  format: 'The format of the answer (JSON or a schema), if it cannot be passed to the provider.',
  'format.name': 'The name of the answer’s schema, and the instruction to follow it strictly.',
  'tool.server': 'A tool that the provider itself runs, and its results.',
  'tool.builtin': 'A tool whose format only one family of models knows.',
  'tool.search': 'Loading tools only after a search; all tools are sent from the start.',
  compaction: 'A summary of the conversation that another family encrypted.',
  'tool.custom.grammar': 'The grammar of a tool’s input; it is written into the description.',
  'tool.options': 'Further settings of a tool, such as examples and allowed callers.',
  'tool.id':
    'The id of a call that was too long, or that another call has; another id replaces it throughout.',
  'tool.arguments': 'Arguments that are not a JSON object; they are wrapped in one as a text.',
  schema:
    'Features of a schema that the provider does not know, such as limits, the order of members, and examples; limits are written into the description.',
  tool_choice: 'The choice of a tool that must be called, or of allowed tools.',
  'tool_result.error': 'The mark that a tool failed; it is written into the text of the result.',
  'tool_result.media':
    'The place of an image or a document in a tool result; it is sent in a message after the results.',
  phase: 'The mark that a text is an interim remark or the final answer.',
  order: 'The order of text, calls and results within one turn.',
  turns:
    'The sequence of turns, calls and results: a missing result or first turn is added, a late result is moved to its call, and a result without a call becomes a text.',
  'system.place': 'The position of an instruction in the conversation, or settings that applied to one turn.',
  'role.developer': 'The difference between the developer and system roles.',
  name: 'The name of a participant.',
  'image.detail': 'The requested level of detail for an image.',
  image: 'An image in a form that the provider does not accept.',
  document: 'A document in a form that the provider does not accept.',
  'document.title': 'The title of a document, notes about it, and the request to cite it.',
  audio: 'Audio.',
  file: 'A file given by its id, which is valid only at the provider that stores it.',
  citations: 'The places in sources that the answer cites.',
  usage: 'The number of tokens that are cached for an hour.',
  refusal: 'The mark that a text is a refusal; the text itself is kept.',
  repetition: 'Content that the provider gave again as a whole, in another version; what came first is kept.',
  'unknown.field': 'A request field that is unknown to Waybill.',
  'unknown.block': 'A part of a message or an answer that is unknown to Waybill.',
  'unknown.tool': 'A kind of tool that is unknown to Waybill.',
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
