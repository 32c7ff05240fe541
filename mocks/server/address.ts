// Parts of a request's address at the mock. Pure.
import type { IncomingMessage } from 'node:http'

/** Splits the name of a test's context from a path: `/t/NAME/v1/chat/completions`. */
export function contextOf(path: string): { context: string | null; path: string } {
  const [, name, rest] = /^\/t\/([^/]+)(\/.*)$/.exec(path) ?? []
  if (name === undefined || rest === undefined) return { context: null, path }
  try {
    return { context: decodeURIComponent(name), path: rest }
  } catch {
    return { context: name, path: rest }
  }
}

/** Returns the path prefix of a test's context; empty without a context. */
export const contextPath = (name: string | null): string =>
  name === null ? '' : `/t/${encodeURIComponent(name)}`

/** Removes the query, which may contain a key. */
export const pathOf = ({ url = '/' }: IncomingMessage): string => url.replace(/\?.*$/s, '')
