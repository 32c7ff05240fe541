// One thing that is wrong with a configuration, and how it is worded. Pure; knows neither YAML nor the settings.
import { escaped } from '../terminal/clean.ts'

export interface Problem {
  /** Where in the configuration; empty for the whole file. */
  readonly path: readonly PropertyKey[]
  readonly message: string
  /** Points at the name of the last part of the path, not at its value. */
  readonly atName?: boolean
  /** Offset in the text, where that is known better than by the path. */
  readonly offset?: number
}

/** A text of the file, as it is said in a message. */
export const quoted = (text: string): string => `"${escaped(text)}"`
