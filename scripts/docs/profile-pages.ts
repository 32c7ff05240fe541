// Writes the page of a profile: its rows with level, set and source. Pure.
import {
  PROFILES,
  type Profile,
  profileRows,
  type Requirement,
  type Requirements,
  readProfile,
} from '../../conformance/checks/requirements.ts'

/** Profiles that apply to any gateway. */
export const PUBLIC_PROFILES = PROFILES.filter((name) => name !== 'waybill')

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/**
 * Removes the part of a sentence in brackets that applies to one gateway, as in `gets a 4xx (Waybill: 404)`.
 */
export const forEveryone = (text: string): string =>
  text.replaceAll(/ ?\([^()]*\bWaybill\b[^()]*(?:\([^()]*\)[^()]*)*\)/g, '')

/** Returns the rows of all profiles except Waybill's as data for programs. */
export function profilesJson(requirements: Requirements, set: string): string {
  const profiles = Object.fromEntries(
    PUBLIC_PROFILES.map((name) => {
      const { title, about, untested, live, dialect, rows: named } = readProfile(name)
      const sources = new Map(named.map((row) => [row.id, row]))
      const rows = profileRows(requirements, name).map((row) => {
        const { id, slug, level, needs, text, links, check } = row
        const { says, source, since = row.since } = sources.get(id) ?? {}
        return {
          ...{ id, slug, level, since: since === undefined ? null : `${since}.0`, needs: needs ?? null },
          ...{ text: forEveryone(text), tested: check !== undefined, links, says, source },
        }
      })
      return [name, { title, about, untested, live, dialect, rows }]
    }),
  )
  return `${JSON.stringify({ set, profiles }, null, 2)}\n`
}

/** Returns the overview page of the profiles: versions, changes, and the way to propose a change. */
export function profilesIndex(requirements: Requirements): string {
  const rows = PUBLIC_PROFILES.flatMap((name) => profileRows(requirements, name))
  const ids = [...new Map(rows.map((row) => [row.id, row])).values()]
  const sets = [...new Set(ids.flatMap(({ since }) => since ?? []))].sort((a, b) => b - a)
  const added = (set: number | undefined) => ids.filter(({ since }) => since === set).map(({ id }) => id)
  return [
    '# The requirements, by profile',
    '',
    'These documents list the requirements for a gateway or a model server, and favour no product. A profile is a list of requirements for one purpose. A run of the suite is a run of one profile with one set.',
    '',
    ...PUBLIC_PROFILES.map(
      (name) => `- [\`${name}\`](../../conformance/profiles/${name}.yaml): ${readProfile(name).about.trim()}`,
    ),
    '',
    'For programs: [profiles.json](/files/profiles.json) has the same rows.',
    '',
    '## Versions',
    '',
    'A set is frozen when the suite is released. A requirement is never changed so that it demands more, and its id is never reused. A stricter requirement gets its own id and counts from the next set on. Set 5.0 is frozen with release 1.0.0-rc.1 and will get no further requirements, so that a report of today means the same as a report of next year.',
    '',
    'A requirement enters a set under three conditions: a wrong gateway fails each of its findings, an unusual but right gateway passes, and it was run against gateways of others, with each failure read in its transcript. Until then the requirement runs and is reported as not scored.',
    '',
    '| set | requirements that came with it |',
    '|---|---|',
    `| next (run, not scored) | ${added(undefined).join(', ') || 'none'} |`,
    ...sets.map((set) => `| ${set}.0 | ${added(set).join(', ')} |`),
    '',
    '## Propose a change',
    '',
    'Open an issue or a pull request with the sentence, the gateways that it binds, the reason why it matters, and its source: a specification, or an observed need of a client. A proposal is accepted with a check that a wrong gateway fails and an unusual but right gateway passes. If a requirement judges your gateway wrongly, please say so: doubt counts for the gateway, and a requirement that only one design can meet is a mistake.',
    '',
  ].join('\n')
}

/** Returns the page, which names no gateway because it describes any target. */
export function profilePage(name: Profile, requirements: Requirements): string {
  const { title, about, untested, live, rows: named } = readProfile(name)
  const sources = new Map(named.map((row) => [row.id, row]))
  const rows = profileRows(requirements, name)
  const line = (row: Requirement): string => {
    const { id, slug, level, needs, text, check } = row
    const source = sources.get(id)
    const since = source?.since ?? row.since
    const cells = [
      `${id} ${slug}`,
      level,
      since === undefined ? 'next' : `${since}.0`,
      needs ?? '',
      forEveryone(text) + (check === undefined ? ' *Not tested.*' : ''),
      ...(named.length === 0 ? [] : [source ? `${source.says} ([source](${source.source}))` : '']),
    ]
    return `| ${cells.map(cell).join(' | ')} |`
  }
  const head = [
    'id',
    'level',
    'since set',
    'needs',
    'sentence',
    ...(named.length === 0 ? [] : ['what the source says']),
  ]
  return [
    `# Profile \`${name}\`: ${title}`,
    '',
    about,
    ...(untested === undefined ? [] : ['', untested]),
    ...(live
      ? [
          '',
          'There is no mock behind the target: a run first says how many calls it makes, makes real calls, and needs `--live`.',
        ]
      : []),
    '',
    '*Needs* names the declarations of a target file without which a row does not apply. A row counts from its set on. Before its set, and in `next`, the row runs and is reported as not scored. Sets are frozen: `--set 4.0` selects the rows of set 4.0, without later rows.',
    '',
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---|').join('')}`,
    ...rows.map(line),
    '',
  ].join('\n')
}
