// A request's fields, and a reason to refuse it.

/** Body of a request, with the members that are read here. */
// biome-ignore lint/suspicious/noExplicitAny: fields of any depth are read, of a body that its schema has judged
export type Fields = Readonly<Record<string, any>>

/** Headers of a request, by name. */
export type RequestHeaders = Readonly<Record<string, string | readonly string[] | undefined>>

/** A reason to refuse, in the provider's words. */
export interface ModelProblem {
  readonly message: string
  /** Name of the refused field, and OpenAI's code. */
  readonly param?: string
  readonly code?: string
}
