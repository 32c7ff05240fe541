// Fields of a request, and a reason to refuse it.

/** Body of a request. */
// biome-ignore lint/suspicious/noExplicitAny: fields of any depth are read, of a body that its schema has judged
export type Fields = Readonly<Record<string, any>>

/** Headers of a request, by name. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** Reason to refuse a request, in the provider's words. */
export interface ModelProblem {
  readonly message: string
  /** Name of the refused field, and OpenAI's error code. */
  readonly param?: string
  readonly code?: string
}
