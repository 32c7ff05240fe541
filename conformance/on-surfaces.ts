// Which checks run on which surfaces beside the one that they are written for, and why the others do not. Such a check has
// an id of its own, `FLOW-03@messages`, in findings, reports and baselines. Pure.
import type { Requirement } from './requirements.ts'
import type { SurfaceName } from './surface.ts'
import type { Target } from './target.ts'

/** Surfaces beside chat. */
export type Further = Exclude<SurfaceName, 'chat'>

const TEXT = [
  ...['PURE-07', 'ROUTE-01', 'ROUTE-02', 'ROUTE-04', 'ROUTE-07', 'ROUTE-08'],
  ...['TELL-01', 'TELL-02', 'TELL-03', 'TELL-05', 'LOG-02', 'LOG-04', 'LOG-05', 'LOG-06', 'USE-01', 'USE-02'],
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
  ...['FAIL-01', 'FAIL-02', 'FAIL-04', 'FAIL-05'],
]

export const ON: Readonly<Record<Further, readonly string[]>> = {
  messages: TEXT,
  responses: [...TEXT, 'DIAL-01', 'DIAL-02', 'DIAL-03', 'DIAL-05'],
  embeddings: [],
}

/** Why a check runs on its own surface only. */
export const ONLY_THERE: readonly (readonly [why: string, ids: readonly string[]])[] = [
  [
    'it calls no model, or only to see that something else works',
    [
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
  ],
  ['it is about the whole run, whatever the surface', ['PURE-08', 'KEEP-01', 'KEEP-02']],
  [
    'what it is about is decided behind the surface',
    [
      'ROUTE-03',
      'ROUTE-09',
      'ROUTE-10',
      'ROUTE-12',
      'TELL-04',
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
  ],
  [
    'it is about fields that only chat has; DIAL-01 and DIAL-02 ask for those of other dialects',
    ['ROUTE-05', 'ROUTE-06', 'USE-03'],
  ],
]

/** The check, or requirement, without the surface: `FLOW-03@messages/event-arrives-at-once` -> `FLOW-03/event-…`. */
export const withoutSurface = (id: string): string => id.replace(/@\w+/, '')

/** A requirement, and what becomes of it on the further surfaces that a target declares. */
export function onEach(requirement: Requirement, { surfaces }: Pick<Target, 'surfaces'>): Requirement[] {
  const { id } = requirement
  const further = (Object.keys(ON) as Further[]).filter(
    (name) => surfaces[name] !== undefined && ON[name].includes(id),
  )
  return [
    requirement,
    ...further.map((name) => ({ ...requirement, id: `${id}@${name}`, check: `${id}@${name}` })),
  ]
}
