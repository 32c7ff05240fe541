// Writes the table of objects that providers store and requests refer to, from the dialects. A name with two
// spellings is shown in one of them.
import { DIALECTS, type Dialects } from '../../src/dialects/registry.ts'

export function keptTable(): string {
  const rows = Object.entries<Dialects[string]>(DIALECTS).flatMap(([dialect, { client }]) =>
    (client.kept ?? []).map(({ what, at, onRecord, isConversation, refusal, instead }) => {
      const places = new Set(at.map((place) => place.join('.')))
      const shown = at.filter(
        (place) =>
          place[0] !== 'generateContentRequest' &&
          (!place.join().includes('_') || !places.has(camelCase(place.join('.')))),
      )
      const where = shown.map((place) => `\`${place.join('.').replaceAll('.*', '[]')}\``).join(', ')
      const untranslated = isConversation || refusal ? 'refused' : 'a loss'
      return `| ${dialect} | ${what} | ${where} | ${MAY_NAME[onRecord ?? 'none']} | ${untranslated} | ${instead} |`
    }),
  )
  return [
    '| dialect | what | named in | who may name it | in other dialects | what a client can send instead |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}

const MAY_NAME = { answer: 'the key that received it', object: 'the key that made it', none: 'every key' }

const camelCase = (name: string): string => name.replace(/_(\w)/g, (_, letter) => letter.toUpperCase())
