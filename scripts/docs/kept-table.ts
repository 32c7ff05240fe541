// Table of what providers store and requests refer to, from the tables of the dialects. Gemini's names are
// shown in one case.
import { kept as chat } from '../../src/dialects/chat/kept.ts'
import { kept as gemini } from '../../src/dialects/gemini/kept.ts'
import { kept as messages } from '../../src/dialects/messages/kept.ts'
import { kept as responses } from '../../src/dialects/responses/kept.ts'

export function keptTable(): string {
  const rows = Object.entries({ chat, messages, responses, gemini }).flatMap(([dialect, kinds]) =>
    kinds.map(({ what, at, onRecord, isConversation, refusal, instead }) => {
      const shown = at.filter((place) => dialect !== 'gemini' || !place.join().includes('_'))
      const where = shown.map((place) => `\`${place.join('.').replaceAll('.*', '[]')}\``).join(', ')
      const untranslated = isConversation || refusal ? 'refused' : 'a loss'
      return `| ${dialect} | ${what} | ${where} | ${onRecord ? 'yes' : 'no'} | ${untranslated} | ${instead} |`
    }),
  )
  return [
    '| dialect | what | named in | on record | at other dialects | what a client can send instead |',
    '|---|---|---|---|---|---|',
    ...rows,
  ].join('\n')
}
