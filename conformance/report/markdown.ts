// Results as Markdown, for the summary of a CI job. Pure.
import type { Results } from '../judge.ts'
import { asCode, inMarkdown } from './text.ts'

export function markdown({
  target,
  profile,
  conclusion,
  reason,
  counts,
  verdicts,
  inferences,
  reproduce,
}: Results): string {
  const shown = verdicts.filter(({ outcome }) => !['pass', 'not-applicable', 'disabled'].includes(outcome))
  const rows = shown.map(
    ({ id, slug, outcome, level, reason }) => `| ${id} ${slug} | ${level} | ${outcome} | ${cell(reason)} |`,
  )
  const summary = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`)
  return [
    `## ${cell(target.name)}: ${conclusion}`,
    '',
    `Profile \`${profile}\`. ${cell(reason)}. ${summary.join(', ')}. ${inferences.total} inferences.`,
    '',
    ...(rows.length > 0 ? ['| requirement | level | outcome | why |', '|---|---|---|---|', ...rows, ''] : []),
    ...(reproduce ? [`Again: ${asCode(reproduce)}`, ''] : []),
  ].join('\n')
}

/** Cut before it is escaped, so that no escape is cut. */
const cell = (text: string): string => inMarkdown(text.slice(0, 300))
