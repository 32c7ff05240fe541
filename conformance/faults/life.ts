// What can be wrong with a gateway, and which checks of LIFE must catch it.

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import Database from 'better-sqlite3'
import type { Fault } from '../fault.ts'
import { changeJson, referenceWith } from '../fault.ts'

/** Once in a run: it is started and ended several times. */
let first = true

export const faults = {
  'cuts-at-the-end': {
    what: 'Open streams are cut when it is told to end.',
    caughtBy: ['LIFE-02'],
    hooks: {
      stopping: (cut) => cut(),
    },
  },
  'forgets-open-attempts': {
    what: 'Attempts that were open when it was killed are deleted at the next start.',
    caughtBy: ['LIFE-01'],
    asCommand: true,
    hooks: {
      before(data) {
        const file = join(data, 'waybill.db')
        if (!existsSync(file)) return
        const database = new Database(file)
        database.exec('DELETE FROM call_attempts WHERE ended_at IS NULL')
        database.close()
      },
    },
  },
  'keeps-everything': {
    what: 'Records have no cap.',
    caughtBy: ['LIFE-03'],
    hooks: {
      config: (text) => text.replace(/retention: .*/, 'retention: { rows: 100000, days: 30, bytes: 1GiB }'),
    },
  },
  lingers: {
    what: 'It ends seven seconds after its last stream.',
    caughtBy: ['LIFE-02'],
    hooks: {
      async stopping() {
        if (first) await sleep(7_000)
        first = false
      },
    },
  },
  'never-looks-again': {
    what: 'A changed configuration file is not taken up.',
    caughtBy: ['LIFE-07'],
    hooks: {
      config: (text) => text,
    },
  },
  'open-for-ever': {
    what: 'Calls that a kill interrupted stay open on record.',
    caughtBy: ['LIFE-01'],
    asCommand: true,
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/usage/request-logs') ? body.replaceAll('"interrupted"', '"streaming"') : body,
    },
  },
  'promises-artifacts': {
    what: 'A record names an artifact that is gone.',
    caughtBy: ['LIFE-03'],
    hooks: {
      body: (body, { path }) =>
        path.startsWith('/api/usage/request-logs/')
          ? changeJson(body, (json) => ({ ...json, artifact: { available: true, bytes: 1 } }))
          : body,
    },
  },
  'refuses-with-a-trace': {
    what: 'A second process is refused with a stack trace.',
    caughtBy: ['LIFE-05'],
    start: async (directory, env) => {
      try {
        return await referenceWith({})(directory, env)
      } catch (cause) {
        throw new Error((cause as Error).stack)
      }
    },
  },
  'two-at-once': {
    what: 'A second process on the same data comes up.',
    caughtBy: ['LIFE-05'],
    hooks: {
      config: (text) => text.replace('/data\n', `/data-${process.pid}-${Math.random()}\n`),
    },
  },
} satisfies Readonly<Record<string, Fault>>
