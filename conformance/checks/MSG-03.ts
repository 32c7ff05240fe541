// MSG-03: Block indexes in a translated stream are 0, 1, 2 …, and only one block is open at a time, even if tool
// calls interleave.

import { refs, servedBy } from '../dialects/lookup.ts'
import type { AnyJson } from '../evidence/reading.ts'
import { stepText } from '../evidence/step.ts'
import { type Check, finding } from '../runner/check.ts'
import { messageEvents, messageStreams } from './messages.ts'

/** Returns the problem with the indexes, in a few words. */
function wrong(events: readonly AnyJson[]): string | null {
  let next = 0
  let open: number | null = null
  for (const { type, index } of events) {
    if (type === 'content_block_start') {
      if (open !== null) return `block ${index} starts while ${open} is open`
      if (index !== next) return `block ${index} starts where ${next} is due`
      open = index
      next++
    } else if (type === 'content_block_delta' || type === 'content_block_stop') {
      if (index !== open) return `${type} of block ${index} while ${open === null ? 'none' : open} is open`
      if (type === 'content_block_stop') open = null
    }
  }
  return next === 0 ? 'no block' : null
}

export const blockIndexes = {
  id: 'MSG-03',
  needs: ['messages'],
  dialect: 'messages',
  shares: 'MSG-02',
  judge: ({ evidence }) =>
    messageStreams.in(evidence).map((exchange) => {
      const problem = wrong(messageEvents(exchange))
      return finding(
        'indexes-count-up',
        problem === null,
        `the indexes of "${stepText(exchange)}"`,
        { expected: '0, 1, 2 …, one block open at a time', actual: problem ?? 'so' },
        refs(exchange, servedBy(evidence, exchange)),
      )
    }),
} satisfies Check
