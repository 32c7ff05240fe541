import type { Source } from './blocks.ts'

/** Parses an address or a `data:` URL. */
export function sourceOf(url: string): Source {
  const [, mediaType, data] = /^data:([^;,]*)(?:;[^,]*)?;base64,(.*)$/s.exec(url) ?? []
  return data === undefined ? { kind: 'url', url } : { kind: 'base64', mediaType: mediaType!, data }
}
