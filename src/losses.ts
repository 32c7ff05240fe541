// What a translation could not carry, as words that stay the same from version to version: they stand on the attempt, in
// `X-Gateway-Lossy`, in `on_loss` of a route and as a label in the metrics. docs/losses.md is made from this table.

export const LOSSES = {
  cache_control:
    'A hint what the provider is to cache. Providers of other dialects cache by themselves, or not at all.',
  attribution:
    'The line at the beginning of the system prompt that names the client; only Anthropic takes it out again.',
  'thinking.signature':
    'Sealed reasoning (a signature, redacted or encrypted reasoning) that another family of models made.',
  'thinking.text': 'The text of earlier reasoning, which the provider does not take.',
  'thinking.budget':
    'How many tokens the reasoning may take; it becomes a level of effort, or the other way round.',
  'thinking.off': 'That the model is not to reason, where the provider knows no word for it.',
  'thinking.display': 'How the reasoning is to be shown.',
  effort: 'The level of effort; the nearest one is asked for, or none.',
  betas: 'Features that were asked for in a header of the dialect.',
  context_management: 'Rules by which the provider clears old parts of the conversation.',
  safeguards: 'Checks that the provider is to make of what the model does.',
  container: 'A container of the provider, for code and files.',
  mcp_servers: 'Servers with tools that the provider itself is to call.',
  metadata: 'Labels of the request, and who its user is.',
  service_tier: 'How quickly and where the provider serves the call.',
  store: 'Whether the provider keeps the answer, and what is to follow from an answer that it kept.',
  prompt_cache: 'By which key and for how long the provider caches.',
  safety_identifier: 'By which name the provider knows the user.',
  'sampling.top_k': 'A limit to so many of the likeliest tokens.',
  'sampling.seed': 'A number that makes answers repeatable.',
  'sampling.penalties': 'Penalties for tokens that stand there already, and weights of single tokens.',
  'sampling.temperature':
    'The temperature or `top_p`, where the provider does not take the value, or not beside the reasoning.',
  logprobs: 'How likely each token was.',
  n: 'Several answers at once; there is one.',
  prediction: 'A text that the answer is expected to be like.',
  modalities: 'Answers other than text.',
  verbosity: 'How long the answer is to be.',
  max_tokens: 'A limit of the answer that is lower than what the provider takes; its lowest is asked for.',
  stop: 'Sequences at which the answer stops, where the provider takes none or fewer.',
  stop_sequence: 'Which of the sequences ended the answer.',
  stop_reason: 'Why the answer ended, where the dialect has no such word.',
  format: 'The form of the answer (JSON, or a schema), where the provider cannot be told.',
  'format.name': 'The name of the schema of an answer, and that it is followed strictly.',
  'tool.server': 'A tool that the provider itself runs, and what it did with it.',
  'tool.builtin': 'A tool whose shape only one family of models knows.',
  'tool.search': 'That tools are loaded when they are looked for; all of them are there from the beginning.',
  compaction: 'A conversation in short that another family encrypted.',
  'tool.custom.grammar': 'The grammar of the input of a tool; it stands in the description.',
  'tool.options': 'Further settings of a tool, such as examples and who may call it.',
  'tool.id': 'The id of a call, where it was too long; another stands for it throughout.',
  'tool.arguments': 'Arguments that are no JSON object; they stand in one as text.',
  schema: 'What only one form of schema has, such as the order of members and examples.',
  tool_choice: 'Which tool is to be called, or which are allowed.',
  'tool_result.error': 'The mark that a tool failed; it stands in the text of the result.',
  'tool_result.media':
    'That an image or a document is part of the result of a tool; it stands in a message behind the results.',
  order: 'The order of text, calls and results within one turn.',
  'system.place': 'Where in the conversation an instruction stood, or settings that held for one turn.',
  'role.developer': 'The difference between the developer and the system.',
  name: 'The name of a participant.',
  'image.detail': 'How closely an image is to be looked at.',
  image: 'An image in a form that the provider does not take.',
  document: 'A document in a form that the provider does not take.',
  'document.title': 'The title of a document, what is said about it, and whether it is to be cited.',
  audio: 'Sound.',
  file: 'A file by its id, which only the provider that holds it knows.',
  citations: 'Where in a source a sentence comes from.',
  usage: 'How much of what was written to a cache is kept for an hour.',
  refusal: 'The mark that a text is a refusal; the text itself is there.',
  'unknown.field': 'A field of the request that Waybill does not know.',
  'unknown.block': 'A part of a message or an answer that Waybill does not know.',
  'unknown.tool': 'A kind of tool that Waybill does not know.',
} as const satisfies Record<string, string>

export type Loss = keyof typeof LOSSES

/** Collects the words of one translation, each once. */
export class Losses {
  readonly #words = new Set<Loss>()

  add(word: Loss): void {
    this.#words.add(word)
  }

  /** Names a loss where there was something to lose. */
  of(value: unknown, word: Loss): void {
    if (value !== undefined && value !== null) this.#words.add(word)
  }

  /** In the order of the alphabet. */
  list(): Loss[] {
    return [...this.#words].sort()
  }
}
