// A fresh start is a clean start.
import { rmSync } from 'node:fs'
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'What was recorded is gone after a restart.',
  caughtBy: ['LOG-08', 'LIFE-01'],
  asCommand: true,
  start: referenceWith({
    before: (data) => rmSync(data, { recursive: true, force: true }),
  }),
} satisfies Fault
