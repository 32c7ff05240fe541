// Wording of findings: sizes, owners of secrets, ends of exchanges. Pure.
import type { Exchange } from './evidence.ts'

/** Formats a number of bytes: `64.8 MiB`. */
export function size(bytes: number): string {
  if (bytes < 2 ** 10) return `${bytes} bytes`
  const [unit, name] = bytes < 2 ** 20 ? [2 ** 10, 'KiB'] : [2 ** 20, 'MiB']
  return `${Number((bytes / unit).toFixed(1))} ${name}`
}

const OWNERS: Readonly<Record<string, string>> = {
  'key.client': "the client's key",
  'key.other': "another client's key",
  'key.admin': 'the admin key',
  'key-in-query': 'the key that was sent in the query',
}

/** Formats names of secrets: `mock.openai.key` -> `the gateway's key for openai`. */
export const secrets = (names: readonly string[]): string =>
  names
    .map((name) => {
      const provider = /^mock\.(.+)\.key$/.exec(name)?.[1]
      return provider ? `the gateway's key for ${provider}` : (OWNERS[name] ?? `the secret ${name}`)
    })
    .join(', ')

/** Formats the end of an exchange for the client: its status, or the connection error. */
export const endText = ({ status, error, end }: Pick<Exchange, 'status' | 'error' | 'end'>): string =>
  status === null ? (error ?? end) : end === 'complete' ? String(status) : `${status}, ${end}`

export const listed = (items: readonly string[], none = 'none'): string => items.join(', ') || none
