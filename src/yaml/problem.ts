// One problem in a configuration, with its message. Pure; independent of YAML and of the settings.
import { escaped } from '../terminal/clean.ts'

export interface Problem {
  /** Place in the configuration; empty for the whole file. */
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** True to point at the name of the last part of the path, not at its value. */
  readonly atName?: boolean
  /** Offset in the text, if it is known more precisely than the path. */
  readonly offset?: number
}

/** Quotes a text of the file for a message. */
export const quoted = (text: string): string => `"${escaped(text)}"`
