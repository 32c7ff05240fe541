// The page of a profile: its rows, each with its level, its set and where it comes from. Pure.
import { type Profile, profileRows, readProfile } from '../../conformance/requirements/profiles.ts'
import type { Requirement, Requirements } from '../../conformance/requirements/requirements.ts'

const cell = (text: string): string => text.replaceAll('|', '\\|').replaceAll('\n', ' ')

/** Returns the page. It is about the target, so it names no gateway. */
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
      text + (check === undefined ? ' *Not tested.*' : ''),
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
    '<!-- Written by `npm run docs` from conformance/requirements/requirements.yaml and conformance/profiles/. -->',
    '',
    about,
    ...(untested === undefined ? [] : ['', untested]),
    ...(live
      ? [
          '',
          'There is no mock behind the target: a run makes real calls, says how many first, and needs `--live`.',
        ]
      : []),
    '',
    '*Needs* is what a target file must declare for the row to apply. A row counts from its set on; before that, and in `next`, it runs and is reported as not scored. Sets are frozen: `--set 4.0` asks for those of set 4.0, whatever came later.',
    '',
    `| ${head.join(' | ')} |`,
    `|${head.map(() => '---|').join('')}`,
    ...rows.map(line),
    '',
  ].join('\n')
}
