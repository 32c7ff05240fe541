// When was this asked for last? Good to know.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Each read leaves a mark in the data directory.',
  caughtBy: ['PURE-05'],
  start: referenceWith({
    request({ method, path }, { directory }) {
      if (method === 'GET') appendFileSync(join(directory, 'data', 'reads'), `${path}\n`)
    },
  }),
} satisfies Fault
