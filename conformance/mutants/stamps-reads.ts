// When was this asked for last? Good to know.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Each read leaves a mark in the data directory.',
  kills: ['PURE-05'],
  start: bent({
    request({ method, path }, { directory }) {
      if (method === 'GET') appendFileSync(join(directory, 'data', 'reads'), `${path}\n`)
    },
  }),
} satisfies Mutant
