// Formats the results of many runs as tables, with a row for each dialect of each agent, and puts them into docs/agents.md.
import { readFileSync, writeFileSync } from 'node:fs'
import type { Result } from './run.ts'

const line = (cells: readonly string[]): string => `| ${cells.join(' | ')} |`
/** Formats a table; `header` has its titles, separated by `|`. */
export const formatTable = (header: string, rows: readonly (readonly string[])[]): string => {
  const titles = header.split('|')
  return [titles, titles.map(() => '---'), ...rows].map(line).join('\n')
}

/** Groups results by agent and dialect, in the order of their first run. */
function grouped(results: readonly Result[], by: (result: Result) => string): Result[][] {
  return [...Map.groupBy(results, by).values()]
}

/** Formats `done 3/2/2`: the outcome, and requests, calls and inferences. */
const told = (result: Result | undefined): string =>
  result ? `${result.outcome} ${result.requests}/${result.calls}/${result.inferences}` : '-'

/** Replaces the address of a registry, which the documentation must not contain. */
const named = (host: string): string => (/^registry\./.test(host) ? 'npm’s registry' : host)

/** Formats runs in which the provider has the agent's dialect. */
export function ownTable(results: readonly Result[]): string {
  const troubles = ['task', 'a 429', 'a 529', 'a cut stream', 'only 400']
  const rows = grouped(results, ({ agent, client }) => `${agent} ${client}`).map((runs) => {
    const { agent, version, client } = runs[0]!
    const of = (trouble: string) => runs.find((run) => run.trouble === trouble)
    const hosts = [...new Set(runs.flatMap((run) => run.hosts.map(named)))].toSorted()
    const task = of('task')
    return [
      `${agent} ${version}`,
      client,
      ...troubles.map((trouble) => told(of(trouble))),
      task?.session ?? '-',
      task && task.line !== '-' ? `\`${task.line}\`` : '-',
      hosts.join(', ') || '-',
    ]
  })
  return formatTable(`agent|speaks|${troubles.join('|')}|session|line|other hosts`, rows)
}

/** Formats runs in which the provider has another dialect. */
export function crossedTable(all: readonly Result[]): string {
  const results = all.filter(({ outcome }) => outcome !== 'not translated')
  const rows = grouped(results, ({ agent, client, upstream }) => `${agent} ${client} ${upstream}`).map(
    (runs) => {
      const { agent, version, client, upstream } = runs[0]!
      const same = runs.find((run) => run.trouble === 'task' && run.again === 'same')
      const other = runs.find((run) => run.trouble === 'task' && run.again === 'other')
      const troubles = ['a 429', 'a 529', 'a cut stream'].map((name) =>
        told(runs.find(({ trouble }) => trouble === name)),
      )
      const lost = [...new Set(runs.flatMap(({ losses }) => losses))].toSorted()
      return [
        `${agent} ${version}`,
        client,
        upstream,
        told(same),
        same?.second ?? '-',
        same?.reasoning ?? '-',
        other?.second ?? '-',
        ...troubles,
        lost.join(', ') || 'nothing',
      ]
    },
  )
  return formatTable(
    'agent|speaks|provider speaks|task|second turn|thoughts|then another family|a 429|a 529|a cut stream|lost',
    rows,
  )
}

/** Puts a table between its marks in docs/agents.md. */
export function writeTable(name: string, table: string, page = 'agents.md'): void {
  const file = new URL(`../../docs/${page}`, import.meta.url)
  const block = new RegExp(`(<!-- ${name}:begin -->\n)[\\s\\S]*?(<!-- ${name}:end -->)`)
  writeFileSync(
    file,
    readFileSync(file, 'utf8').replace(block, (_, begin, end) => `${begin}${table}\n${end}`),
  )
}

/** Returns the header of the table between these marks, and the rows of one agent. Throws if there are none. */
export function rowsOf(text: string, mark: string, title: string): string {
  const [, table = ''] = text.split(new RegExp(`<!-- ${mark}:(?:begin|end) -->\\n`))
  const lines = table.trimEnd().split('\n')
  const rows = lines.filter((line) => line.startsWith(`| ${title} `))
  if (rows.length === 0) throw new Error(`the table ${mark} in docs/agents.md has no row of ${title}`)
  return [...lines.slice(0, 2), ...rows].join('\n')
}
