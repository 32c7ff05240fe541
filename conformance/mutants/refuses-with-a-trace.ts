// Developers like to see where it happened.
import { bent, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'A second process is refused with a stack trace.',
  kills: ['LIFE-05'],
  start: async (directory, env) => {
    try {
      return await bent({})(directory, env)
    } catch (cause) {
      throw new Error((cause as Error).stack)
    }
  },
} satisfies Mutant
