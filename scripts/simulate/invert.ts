// Puts a fault into the gateway while it is loaded, for `npm run selftest -- simulate guards`. Preloaded with --import;
// WAYBILL_GUARD names a row of `guards.yaml`.
import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { parse } from 'yaml'

/** A guard and the text that inverts it. */
interface Guard {
  readonly file: string
  readonly text: string
  readonly by: string
}

export const INVERTED: Readonly<Record<string, Guard>> = parse(
  readFileSync(join(import.meta.dirname, 'guards.yaml'), 'utf8'),
)

const guard = INVERTED[process.env.WAYBILL_GUARD ?? '']
if (guard) {
  const { file, text, by } = guard
  const inverted = pathToFileURL(join(import.meta.dirname, '../..', file)).href
  registerHooks({
    load(url, context, next) {
      const loaded = next(url, context)
      if (url !== inverted) return loaded
      const [before, after, ...more] = String(loaded.source).split(text)
      if (after === undefined || more.length > 0)
        throw new Error(`${file} does not have this text once: ${text}`)
      return { ...loaded, source: before + by + after }
    },
  })
}
