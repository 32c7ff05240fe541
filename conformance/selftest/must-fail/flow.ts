// Must-fail gateways for the checks of FLOW.
import type { MustFail } from '../gateway.ts'

export const mustFail = {
  'decodes-each-chunk': {
    what: 'Characters that are split between two chunks are garbled.',
    caughtBy: ['FLOW-02'],
    hooks: {
      upstream: { chunk: (bytes) => bytes.toString('utf8') },
    },
  },
  'ends-with-a-stream': {
    what: 'The gateway crashes if the client or the provider breaks off a stream.',
    caughtBy: ['FLOW-06', 'LOG-01', 'LOG-06', 'LOG-07'],
    asCommand: true,
    hooks: {
      cut: () => process.exit(1),
    },
  },
  'loses-the-tail': {
    what: 'The last text events of a long stream are lost.',
    caughtBy: ['FLOW-01'],
    hooks: {
      event: (event, index) => (index > 5_000 && /"content":\s*"\d/.test(event) ? [] : [event]),
    },
  },
  'swaps-events': {
    what: 'Two events arrive in the wrong order.',
    caughtBy: ['FLOW-01'],
    hooks: () => {
      let held = ''
      return {
        event(event, index) {
          if (index === 3) held = event
          return index === 3 ? [] : index === 4 ? [event, held] : [event]
        },
      }
    },
  },
} satisfies Readonly<Record<string, MustFail>>
