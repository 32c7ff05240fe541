// Must-fail gateways for what a model refuses.

import { callIn, type MustFail } from '../gateway.ts'
import type { HookContext, Wanted } from '../wire.ts'

/** Sends a call with a temperature to the provider by itself, as often as asked. */
async function sent(wanted: Wanted, { spend }: HookContext, times: number): Promise<boolean> {
  const call = callIn(wanted)
  if (call?.temperature === undefined) return false
  for (let n = 0; n < times; n++) await spend({ messages: call.messages, temperature: call.temperature })
  return true
}

/** Takes the temperature out of a call. */
function cooled(wanted: Wanted): void {
  const { temperature: _, ...call } = callIn(wanted)!
  wanted.body = Buffer.from(JSON.stringify(call))
  if (wanted.headers['content-length'] !== undefined)
    wanted.headers['content-length'] = String(wanted.body.length)
}

export const mustFail = {
  'loops-on-a-refusal': {
    what: 'A request that the provider refused is sent again and again as it is.',
    caughtBy: ['FIT-08/at-most-once-more'],
    hooks: {
      async request(wanted, context) {
        await sent(wanted, context, 3)
      },
    },
  },
  'adjusts-without-a-word': {
    what: 'A refused parameter is left out of a second request, and nothing says so.',
    caughtBy: ['FIT-08/says-what-it-left-out'],
    hooks: {
      async request(wanted, context) {
        if (await sent(wanted, context, 1)) cooled(wanted)
      },
    },
  },
} satisfies Record<string, MustFail>
