// Developers like to see where it happened.
import { type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'A second process is refused with a stack trace.',
  caughtBy: ['LIFE-05'],
  start: async (directory, env) => {
    try {
      return await referenceWith({})(directory, env)
    } catch (cause) {
      throw new Error((cause as Error).stack)
    }
  },
} satisfies Fault
