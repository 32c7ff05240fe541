// PURE-01: A read endpoint causes no inference, with any method (GET, HEAD, OPTIONS) and any query, even if it is
// read many times.
import type { Check } from '../runner/check.ts'
import type { CheckContext } from '../runner/context.ts'
import { readStep, readsSpentNothing } from './pure.ts'
import { measuredWindow } from './window.ts'

/** Calls each read path twice with every method, with its own query and with a foreign query. */
async function readEverything(session: CheckContext): Promise<void> {
  for (const path of session.target.capabilities.read_paths)
    for (const method of ['GET', 'HEAD', 'OPTIONS', 'GET']) {
      const { keys } = session.running
      await session.ask(readStep, path, { method, key: keys.reader })
      const query = path.includes('?') ? '&limit=1' : '?limit=1'
      if (method === 'GET') await session.ask(readStep, path + query, { key: keys.reader })
    }
}

export const readsNeverSpend = {
  id: 'PURE-01',
  needs: ['read_paths'],
  timeout: 180_000,
  exercise: (session) => measuredWindow(session, () => readEverything(session)),
  judge: ({ evidence }) => readsSpentNothing(evidence, 'reading'),
} satisfies Check
