// Parts of an entry in the table of commands: its type, shared options, and the example below its help.
import { type Command, InvalidArgumentError } from 'commander'

export type Env = Readonly<Record<string, string | undefined>>

interface Surroundings {
  readonly env: Env
  /** The option `--config`, whose default depends on the environment. */
  readonly config: readonly [flags: string, description: string, file: string]
  /** Sets an exit code that is neither success nor a thrown error. */
  readonly finish: (exitCode: number) => void
}

/** Adds a command with its options, an example and its action, or several subcommands under one name. */
export type CommandEntry = (program: Command, surroundings: Surroundings) => void

export const GATEWAY_URL = [
  '--url <url>',
  'address of the gateway (WAYBILL_URL); default: from the configuration',
] as const

export const GATEWAY_KEY = [
  '--key-file <file>',
  'file with a gateway key that only you can read (WAYBILL_KEY_FILE)',
] as const

/** Parses a port number; throws for other text. */
export function portNumber(text: string): number {
  const port = Number(text)
  if (!/^\d+$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('A port is a number from 0 to 65535.')
  return port
}

/** Returns a port as text, as the setting expects it. */
export const portText = (text: string): string => String(portNumber(text))

/**
 * Collects the values of an option that can be repeated and may contain several values, separated by commas.
 */
export const commaList = (text: string, before: readonly string[] = []): readonly string[] => [
  ...before,
  ...text.split(',').flatMap((each) => each.trim() || []),
]

export const example = (line: string): string => `\nExample:\n  $ ${line}`
