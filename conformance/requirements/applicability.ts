// Checks that also run in other dialects than the one they are written for, and why the others do not. Such a
// check has its own id, `FLOW-03@messages`, in findings, reports and baselines. Pure.

import { DIALECTS, type DialectName } from '../dialects/dialect.ts'
import type { Target } from '../target/schema.ts'

/** Dialects in addition to chat. */
export type Further = Exclude<DialectName, 'chat'>

const TEXT = [
  ...['PURE-07', 'ROUTE-01', 'ROUTE-02', 'ROUTE-04', 'ROUTE-07', 'ROUTE-08'],
  ...[
    'TELL-01',
    'TELL-02',
    'TELL-03',
    'TELL-04',
    'TELL-05',
    'LOG-02',
    'LOG-04',
    'LOG-05',
    'LOG-06',
    'USE-01',
    'USE-02',
  ],
  ...[
    'FLOW-01',
    'FLOW-02',
    'FLOW-03',
    'FLOW-04',
    'FLOW-05',
    'FLOW-06',
    'FLOW-07',
    'FLOW-08',
    'FLOW-09',
    'FLOW-10',
  ],
  ...['FAIL-01', 'FAIL-02', 'FAIL-04', 'FAIL-05', 'DIAL-11', 'DIAL-12', 'DIAL-13'],
]

export const ON: Readonly<Record<Further, readonly string[]>> = {
  messages: TEXT,
  responses: [...TEXT, 'DIAL-01', 'DIAL-02', 'DIAL-03', 'DIAL-05', 'DIAL-07'],
  embeddings: ['PURE-07', 'FAIL-01', 'FAIL-02'],
}

/** Reasons why a check runs in its own dialect only; without chat it may still run elsewhere. */
export const ONLY_THERE: readonly {
  readonly why: string
  /**
   * For a gateway without chat: runs in a dialect that it serves, only in one whose answers are text, or not
   * at all.
   */
  readonly otherwise: 'anywhere' | 'with words' | 'not'
  readonly ids: readonly string[]
}[] = [
  {
    why: 'it calls no model, or calls one only to see that something else works',
    otherwise: 'anywhere',
    ids: [
      'PURE-01',
      'PURE-02',
      'PURE-03',
      'PURE-04',
      'PURE-05',
      'PURE-06',
      'KEEP-05',
      'CAT-01',
      'CAT-02',
      'CAT-03',
      'ROUTE-11',
      'LIFE-05',
    ],
  },
  {
    why: 'it is about the whole run, on any dialect',
    otherwise: 'anywhere',
    ids: ['PURE-08', 'KEEP-01', 'KEEP-02'],
  },
  {
    why: 'its subject does not depend on the dialect',
    otherwise: 'with words',
    ids: [
      'ROUTE-03',
      'ROUTE-09',
      'ROUTE-10',
      'ROUTE-12',
      'TELL-06',
      'LOG-01',
      'LOG-03',
      'LOG-07',
      'LOG-08',
      'LOG-09',
      'LOG-10',
      'LOG-12',
      'USE-04',
      'USE-05',
      'USE-07',
      'USE-08',
      'KEEP-03',
      'KEEP-04',
      'KEEP-06',
      'FAIL-03',
      'FAIL-06',
      'LIFE-01',
      'LIFE-02',
      'LIFE-03',
      'LIFE-07',
    ],
  },
  {
    why: 'it is about fields that only chat has; DIAL-01 and DIAL-02 ask for those of other dialects',
    otherwise: 'not',
    ids: ['ROUTE-05', 'ROUTE-06', 'USE-03'],
  },
]

/**
 * Returns the dialect of calls that are not tied to one: chat, or the first that the gateway serves instead.
 */
export const homeOf = ({ dialects }: Pick<Target, 'dialects'>): DialectName =>
  dialects.chat === false ? (DIALECTS.find((name) => name !== 'chat' && dialects[name]) ?? 'chat') : 'chat'

/** Returns the dialect in which a check makes its calls at a target; null if it serves none that fits. */
export function placeOf(
  { id, dialect }: { readonly id: string; readonly dialect?: DialectName },
  target: Pick<Target, 'dialects'>,
): DialectName | null {
  const home = homeOf(target)
  if (dialect !== undefined || home === 'chat') return dialect ?? 'chat'
  const otherwise = ONLY_THERE.find(({ ids }) => ids.includes(id))?.otherwise ?? 'not'
  return otherwise === 'anywhere' || (otherwise === 'with words' && home !== 'embeddings') ? home : null
}

/** Removes the dialect from an id: `FLOW-03@messages/event-arrives-at-once` -> `FLOW-03/event-…`. */
export const withoutDialect = (id: string): string => id.replace(/@\w+/, '')
