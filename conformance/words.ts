// What findings say in words: sizes, whose secret was seen, how an exchange ended. Pure.
import type { Exchange } from './evidence.ts'

/** Bytes as a person says them: `64.8 MiB`. */
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

/** `witness.openai.key` -> `the gateway's key for openai`; names as they are in evidence. */
export const secrets = (names: readonly string[]): string =>
  names
    .map((name) => {
      const provider = /^witness\.(.+)\.key$/.exec(name)?.[1]
      return provider ? `the gateway's key for ${provider}` : (OWNERS[name] ?? `the secret ${name}`)
    })
    .join(', ')

/** How an exchange ended for the client: its status, or what went wrong with the connection. */
export const ended = ({ status, error, end }: Pick<Exchange, 'status' | 'error' | 'end'>): string =>
  status === null ? (error ?? end) : end === 'complete' ? String(status) : `${status}, ${end}`

export const listed = (items: readonly string[], none = 'none'): string => items.join(', ') || none
