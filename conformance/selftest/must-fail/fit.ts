// Must-fail gateways that handle a model's refusals wrongly.

import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { sleep } from '../../../src/shared/clock.ts'
import { callIn, type MustFail } from '../gateway.ts'
import type { HookContext, Wanted } from '../wire.ts'

/** Sends a call with a temperature to the provider by itself, the given number of times. */
async function sent(wanted: Wanted, { spend }: HookContext, times: number): Promise<boolean> {
  const call = callIn(wanted)
  if (call?.temperature === undefined) return false
  for (let n = 0; n < times; n++) await spend({ messages: call.messages, temperature: call.temperature })
  return true
}

/** Removes the temperature from a call. */
function cooled(wanted: Wanted): void {
  const { temperature: _, ...call } = callIn(wanted)!
  wanted.body = Buffer.from(JSON.stringify(call))
  if (wanted.headers['content-length'] !== undefined)
    wanted.headers['content-length'] = String(wanted.body.length)
}

/** Deletes a gateway's learned refusals from its data directory. */
const forget = (data: string): void => rmSync(join(data, 'learned-refusals.json'), { force: true })
/** Time until the reference reads the file again, with a margin. */
const NOTICED_MS = 1_100

export const mustFail = {
  'loops-on-a-refusal': {
    what: 'The gateway sends a refused request repeatedly without changing it.',
    caughtBy: ['FIT-08/at-most-once-more'],
    hooks: {
      async request(wanted, context) {
        await sent(wanted, context, 3)
      },
    },
  },
  'adjusts-without-a-word': {
    what: 'The gateway leaves out a refused parameter on its second attempt without informing the client.',
    caughtBy: ['FIT-08/says-what-it-left-out'],
    hooks: {
      async request(wanted, context) {
        if (await sent(wanted, context, 1)) cooled(wanted)
      },
    },
  },
  'forgets-what-it-learned': {
    what: 'A parameter that the provider refused is sent again with the next call.',
    caughtBy: ['FIT-09/remembered'],
    hooks: {
      async request(wanted, { directory }) {
        if (callIn(wanted)?.temperature === undefined) return
        forget(join(directory, 'data'))
        await sleep(NOTICED_MS)
      },
    },
  },
  'forgets-when-it-restarts': {
    what: 'Learned refusals are stored only in memory, although the target file declares that they survive a restart.',
    caughtBy: ['FIT-09/over-a-restart'],
    hooks: { before: forget },
  },
} satisfies Record<string, MustFail>
