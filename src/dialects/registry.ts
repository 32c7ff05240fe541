// All dialects by their names in the configuration. Each dialect has one line.
import type { DIALECT_NAMES } from '../config/schema.ts'
import { chat } from './chat/chat.ts'
import type { Dialect } from './dialect.ts'
import { embeddings } from './embeddings/embeddings.ts'
import { gemini } from './gemini/gemini.ts'
import { images } from './images/images.ts'
import { interactions } from './interactions/interactions.ts'
import { messages } from './messages/messages.ts'
import { responses } from './responses/responses.ts'

export type Dialects = Readonly<Record<string, Dialect>>

export const DIALECTS = {
  chat,
  messages,
  responses,
  embeddings,
  images,
  gemini,
  interactions,
} satisfies Record<(typeof DIALECT_NAMES)[number], Dialect>

/** Returns the dialect of an endpoint, as in a record; undefined if it has none. */
export const dialectAt = (endpoint: string): Dialect | undefined =>
  Object.values<Dialect>(DIALECTS).find(({ client: { path, alsoAt = [] } }) =>
    [path, ...alsoAt].some((each) => each.replace('*', '{model}') === endpoint),
  )
