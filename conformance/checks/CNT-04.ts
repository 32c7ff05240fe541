// CNT-04: 25 simultaneous counts are answered, and `max_tokens` is not required.

import { ref } from '../dialects/lookup.ts'
import { at, jsonOf } from '../evidence/reading.ts'
import { endText } from '../evidence/wording.ts'
import { type Check, finding } from '../runner/check.ts'
import { many } from './CNT-01.ts'

export const manyCounts = {
  id: 'CNT-04',
  needs: ['counts'],
  dialect: 'messages',
  shares: 'CNT-01',
  judge: ({ evidence }) => {
    const all = many.in(evidence)
    const bad = all.filter(
      ({ status, body }) => status !== 200 || !(Number(at(jsonOf(body), '/input_tokens')) > 0),
    )
    return [
      finding(
        'many-counts-are-answered',
        all.length === 25 && bad.length === 0,
        `counts of ${all.length} requests at once, without max_tokens`,
        {
          expected: 'a number each',
          actual:
            bad.length === 0
              ? 'so'
              : `${bad.length} without, first ${endText(bad[0]!)}: ${bad[0]!.body.slice(0, 100)}`,
        },
        all.slice(0, 3).map(ref),
      ),
    ]
  },
} satisfies Check
