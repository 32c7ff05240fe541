// Writes results as Markdown: the summary of a CI job, and a comment for a pull request. Pure.
import { type Comparison, comparisonText } from './compare.ts'
import { type FailureText, failuresOf } from './failures.ts'
import type { KeptRun } from './rejudge.ts'
import { causesIn } from './terminal.ts'
import { asCode, inMarkdown } from './text.ts'

/** Returns the summary of a CI job. */
export function markdown(kept: KeptRun, comparison: Comparison | null = null): string {
  const { target, reproduce } = kept.results
  const failures = failuresOf(kept)
  return [
    `## ${inMarkdown(target.name)}: ${kept.results.conclusion}`,
    '',
    ...opening(kept, comparison),
    ...(failures.length > 0 ? [...table(failures), ''] : []),
    ...(reproduce ? [`Again: ${asCode(reproduce)}`, ''] : []),
  ].join('\n')
}

/** Returns the comment for a pull request, with changes first and the rest folded. */
export function comment(kept: KeptRun, comparison: Comparison | null = null): string {
  const { target, conclusion, profile } = kept.results
  const failures = failuresOf(kept)
  const mark = conclusion === 'conformant' ? '✅' : conclusion === 'partial' ? '🟡' : '❌'
  return [
    `### ${mark} ${inMarkdown(target.name)}: ${conclusion} (profile ${profile})`,
    '',
    ...opening(kept, comparison),
    ...(failures.length > 0
      ? [
          `<details><summary>${failures.length} did not hold</summary>`,
          '',
          ...table(failures),
          '',
          '</details>',
          '',
        ]
      : []),
  ].join('\n')
}

function opening({ results }: KeptRun, comparison: Comparison | null): string[] {
  const { profile, reason, counts, inferences } = results
  const summary = Object.entries(counts)
    .filter(([, count]) => count > 0)
    .map(([outcome, count]) => `${count} ${outcome}`)
  return [
    `Profile ${profile}. ${cell(reason)}. ${summary.join(', ')}. ${inferences.total} calls to providers.`,
    '',
    ...causesIn(results).flatMap((cause) => [`**${cell(cause)}**`, '']),
    ...(comparison
      ? [`Since the run of ${comparison.earlier.started_at}: ${inMarkdown(comparisonText(comparison))}.`, '']
      : []),
  ]
}

/** Returns a row for each failed finding, or one for the verdict if no finding failed. */
function table(failures: readonly FailureText[]): string[] {
  const rows = failures.flatMap(({ verdict: { id, slug, level, outcome, text, reason }, findings }) =>
    (findings.length > 0
      ? findings
      : [{ id: `${id} ${slug}`, what: null, expected: text, seen: reason }]
    ).map(
      (each) =>
        `| ${each.id} | ${level} | ${outcome} | ${cell(each.what === null ? each.expected : `${each.what}: ${each.expected}`)} | ${cell(each.seen)} |`,
    ),
  )
  return ['| finding | level | outcome | expected | seen |', '|---|---|---|---|---|', ...rows]
}

/** Truncates before escaping, so that no escape is cut. */
const cell = (text: string): string => inMarkdown(text.length > 300 ? `${text.slice(0, 300)}…` : text)
