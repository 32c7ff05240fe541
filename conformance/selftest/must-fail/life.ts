// Must-fail gateways for the checks of LIFE.

import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { sleep } from '../../../src/shared/clock.ts'
import { callIn, failWith, type MustFail, onRead, referenceWith } from '../gateway.ts'

/** Directories in which a second process has been refused. */
const refused = new Set<string>()
/** Number of stop requests to the slow gateway so far. */
let stops = 0

export const gateways = {
  'cuts-at-the-end': {
    what: 'The gateway cuts off open streams when it receives SIGTERM.',
    caughtBy: ['LIFE-02'],
    hooks: {
      stopping: (cut) => cut(),
    },
  },
  'forgets-open-attempts': {
    what: 'Attempts that were open when the gateway was killed are deleted on the next start.',
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
  lingers: {
    what: 'The gateway exits seven seconds after its last stream.',
    caughtBy: ['LIFE-02/ends-in-time'],
    hooks: {
      async stopping() {
        // The check first stops the gateway without a stream.
        if (++stops === 2) await sleep(7_000)
      },
    },
  },
  'refuses-with-a-trace': {
    what: 'A second process on the same data is refused with a stack trace.',
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
    what: 'A second process on the same data starts.',
    caughtBy: ['LIFE-05'],
    hooks: {
      config: (text) => text.replace('/data\n', `/data-${process.pid}-${Math.random()}\n`),
    },
  },
  'invents-answers': {
    what: 'Each record lists ten additional attempts with answers.',
    caughtBy: ['LIFE-01/no-invented-answer'],
    asCommand: true,
    hooks: {
      body: onRead('/api/usage/request-logs/', (json) => ({
        ...json,
        attempt_log: json.attempt_log && [
          ...json.attempt_log,
          ...Array(10).fill({ ...json.attempt_log[0], outcome: 'succeeded', status: 200 }),
        ],
      })),
    },
  },
  'takes-calls-to-the-end': {
    what: 'The gateway accepts new calls for twenty seconds after SIGTERM.',
    caughtBy: ['LIFE-02/new-calls-are-refused'],
    start: async (directory, env) => {
      const gateway = await referenceWith({})(directory, env)
      return {
        async close() {
          await sleep(20_000)
          await gateway.close()
        },
      }
    },
  },
  'falls-with-the-second': {
    what: 'The first process refuses calls after a second process was refused.',
    caughtBy: ['LIFE-05/first-goes-on'],
    start: async (directory, env) => {
      try {
        return await referenceWith({
          request: (wanted) => (callIn(wanted) && refused.has(directory) ? failWith(503) : undefined),
        })(directory, env)
      } catch (cause) {
        refused.add(directory)
        throw cause
      }
    },
  },
  'forgets-streams-on-reload': {
    what: 'An open stream loses events when the configuration changes.',
    caughtBy: ['LIFE-07/open-stream-ends-well'],
    hooks: () => {
      let first: string | null = null
      return {
        event(event, _index, _wanted, { directory }) {
          const text = readFileSync(join(directory, 'waybill.yaml'), 'utf8')
          first ??= text
          return text === first ? [event] : []
        },
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
