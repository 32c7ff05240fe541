// What a surface is: a way in which clients call a gateway, and providers are called. Checks speak of calls, texts, tool
// calls, usage, errors and ends; the file of a surface says how these are written there. Shapes only.

export const SURFACES = ['chat', 'messages', 'responses', 'embeddings'] as const
export type SurfaceName = (typeof SURFACES)[number]

/** What an answer says, streamed or not, in no dialect's words. */
export interface Reading {
  /** The text of the choices in the order of their indexes; between two of them stands SEPARATOR. */
  readonly content: string
  readonly reasoning: string
  readonly model: string | null
  /** By choice and index: id, name and joined arguments. */
  readonly tools: readonly {
    readonly choice: number
    readonly index: number
    id: string
    name: string
    arguments: string
  }[]
  /** In their order, one for each time that one was given; in the words of chat: stop, length, tool_calls, content_filter. */
  readonly finish: readonly { readonly choice: number; readonly reason: string }[]
  /** Every usage that was told, with the names of chat; what was not told is absent. */
  readonly usage: readonly unknown[]
  readonly errors: readonly unknown[]
  /** How often the end mark came, and whether anything came after the first. */
  readonly done: number
  readonly afterDone: boolean
  /** Events whose data is neither JSON nor the end mark: the official clients break on them. */
  readonly unreadable: number
}

/** What a call asks for. */
export interface Asked {
  readonly model: string
  readonly prompt: string
  readonly stream: boolean
  /** Further members of the body. */
  readonly body: object
}

export interface Surface {
  readonly name: SurfaceName
  /** Where calls go; behind `/v1/` it is what this endpoint is called at a provider. */
  readonly path: string
  /** What a stream ends with, in words. */
  readonly end: string
  /** What its clients send with every call. */
  readonly headers: Readonly<Record<string, string>>
  request(asked: Asked): object
  /** As its official clients read. */
  read(body: string): Reading
  /** Whether a body is an error in the shape of this dialect. */
  isError(body: string): boolean
  /** That shape, in words. */
  readonly errorShape: string
  /** Bodies that are no request here, by what is wrong with them; MODEL stands for a model's id. */
  readonly malformed: Readonly<Record<string, string>>
}
