// A fresh start is a clean start.
import { rmSync } from 'node:fs'
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'What was recorded is gone after a restart.',
  kills: ['LOG-08', 'LIFE-01'],
  asCommand: true,
  start: bent({
    before: (data) => rmSync(data, { recursive: true, force: true }),
  }),
} satisfies Mutant
