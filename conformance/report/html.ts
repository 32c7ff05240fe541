// Results as one self-contained page: what failed and what to do, the matrix, and for each requirement
// its sentence, its verdict, what the client saw and what the witness saw.
import { checks } from '../checks.ts'
import type { Change, Comparison } from '../compare.ts'
import type { Evidence } from '../evidence.ts'
import type { Verdict } from '../judge.ts'
import type { Kept } from '../rejudge.ts'
import { curl } from './curl.ts'
import { type Failure, failuresOf } from './failures.ts'
import { block, MARKS, page, prose, slug, text } from './markup.ts'
import { entryOf, exchangeOf, link } from './transcript.ts'

/** Of many exchanges that no failed finding points at, so many are shown. */
const FEW = 12

export function html(kept: Kept, comparison: Comparison | null = null): string {
  const { results, run, evidence } = kept
  const {
    target,
    profile,
    conclusion,
    reason,
    counts,
    verdicts,
    inferences,
    duration,
    started_at,
    environment,
    reproduce,
  } = results
  const subjects = [...new Set(verdicts.map(({ id }) => id.split('-')[0]!))]
  const facts: [string, string][] = [
    ['Target', [target.name, target.version].filter(Boolean).join(' ')],
    ['Profile', `${profile}, suite ${results.suite}`],
    ['When', `${started_at}, ${(duration / 1000).toFixed(1)} s`],
    ['Calls to providers', `${inferences.total}, ${inferences.accounted} of them attributed to a check`],
    [
      'Sealed',
      target.sealed
        ? 'yes: the gateway could reach nothing but the witness'
        : 'no: calls to other destinations would not be seen',
    ],
    [
      'Ran on',
      Object.entries(environment)
        .map(([name, value]) => `${name} ${value}`)
        .join(', '),
    ],
    ['Again', reproduce],
  ]
  return page(
    `${target.name}: ${conclusion}`,
    `<a class="skip" href="#failed">Skip to what failed</a>
<header>
<p class="brand">Waybill conformance</p>
<h1>${text(target.name)} <span class="badge ${slug(conclusion)}">${text(conclusion)}</span></h1>
<p class="reason">${linked(text(reason))}</p>
<dl>${facts
      .filter(([, value]) => value)
      .map(
        ([name, value]) =>
          `<div><dt>${name}</dt><dd>${name === 'Again' ? `<code>${text(value)}</code>` : text(value)}</dd></div>`,
      )
      .join('')}</dl>
<p class="note">The suite acted as the gateway’s client, and the witness as its providers. Below, <b>#3</b> is the third request of a check, as the client saw it, and <b>@7</b> the seventh request that arrived at the witness.</p>
<ul class="counts">${Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([outcome, count]) => `<li class="${outcome}"><b>${count}</b> ${outcome}</li>`)
      .join('')}</ul>
${comparison ? comparisonOf(comparison) : ''}</header>
<main>
<section id="failed" tabindex="-1">${failed(failuresOf(kept))}</section>
<h2>All requirements</h2>
<nav class="panel" aria-label="Matrix of requirements">${subjects
      .map(
        (subject) =>
          `<div class="row"><span>${subject}</span><div>${verdicts
            .filter(({ id }) => id.startsWith(`${subject}-`))
            .map(tile)
            .join('')}</div></div>`,
      )
      .join('')}</nav>
${verdicts.map((verdict) => section(verdict, evidence.get(checks.get(verdict.id)?.shares ?? verdict.id), run.target.start)).join('\n')}</main>`,
  )
}

const tile = ({ id, slug: name, outcome }: Verdict): string =>
  `<a class="tile ${outcome}" href="#${id}" title="${text(`${id} ${name}: ${outcome}`)}">${id.split('-')[1]}<i>${MARKS[outcome]}</i></a>`

function failed(failures: readonly Failure[]): string {
  if (failures.length === 0) return '<h2>Nothing failed</h2>'
  return `<h2>What failed, and what to do</h2>${failures.map(card).join('')}`
}

function card({ verdict, findings, advice, again: commands }: Failure): string {
  const { id, slug: name, outcome, level, scope, text: sentence, reason } = verdict
  const told = findings.map(
    ({ id: finding, what, expected, seen, see, more: others }) =>
      `<dl>${what === null ? '' : `<div><dt>Looked at</dt><dd>${prose(what)}</dd></div>`}<div><dt>Expected</dt><dd>${prose(expected)}</dd></div><div><dt>Seen</dt><dd>${prose(seen)} ${see.map((each) => link(id, each)).join(' ')}${others > 0 ? `<br><small>And ${others} more of this kind.</small>` : ''}</dd></div><div><dt>Finding</dt><dd><code>${text(finding)}</code></dd></div></dl>`,
  )
  return `<article class="card failure"><h3><i class="${outcome}">${MARKS[outcome]}</i> <a href="#${id}">${id}</a> ${text(name.replaceAll('-', ' '))} <small>${outcome}; ${level}, binds ${scope}</small></h3>
<p>${prose(sentence)}</p>
${told.join('') || `<p class="reason">${prose(reason)}</p>`}
${commands.length > 0 ? `<p>Reproduce it:</p>${block(commands.join('\n'))}` : ''}
<p>What to do:</p><ul>${advice.map((each) => `<li>${prose(each)}</li>`).join('')}</ul></article>`
}

function comparisonOf({ earlier, better, worse }: Comparison): string {
  const list = (what: string, all: readonly Change[]) =>
    `<li><b>${what}</b>: ${all.map(({ id, was, is }) => `${linked(text(id))} (${text(was)}, now ${text(is)})`).join(', ') || 'nothing'}</li>`
  return `<p>Since the run of ${text(earlier.started_at)}, which was ${text(earlier.conclusion)}:</p><ul>${list('Better', better)}${list('Worse', worse)}</ul>
`
}

function section(verdict: Verdict, evidence: Evidence | undefined, start: object): string {
  const {
    id,
    slug: name,
    level,
    scope,
    outcome,
    scored,
    reason,
    findings,
    inferences,
    text: sentence,
  } = verdict
  const pointed = new Set(findings.filter(({ ok }) => !ok).flatMap(({ see = [] }) => see))
  const exchanges = some(evidence?.exchanges ?? [], '#', pointed)
  const entries = some(evidence?.ledger ?? [], '@', pointed)
  const shown = new Set([...exchanges.map(({ n }) => `#${n}`), ...entries.map(({ n }) => `@${n}`)])
  const said = findings.map(
    ({ ok, doubt, see = [], ...each }) =>
      `<li class="${ok ? 'ok' : 'bad'}"><span role="img" aria-label="${ok ? 'holds' : doubt ? 'is left open' : 'does not hold'}">${ok ? '✓' : doubt ? '?' : '✗'}</span> ${prose(each.what)}${compared(each)} ${see.map((each) => (shown.has(each) ? link(id, each) : text(each))).join(' ')}</li>`,
  )
  return `<details class="card"><summary><i class="${outcome}">${MARKS[outcome]}</i><b>${id}</b> ${text(name)} <small>${level}, binds ${scope}${scored ? '' : ', not scored'} · ${outcome}</small></summary>
<blockquote id="${id}">${prose(sentence)}</blockquote>
${outcome === 'pass' ? '' : `<p class="reason">${prose(reason)}</p>`}
${said.length > 0 ? `<ul class="findings">${said.join('')}</ul>` : ''}
${
  evidence
    ? `<p class="note">${inferences} inferences, ${evidence.exchanges.length} requests, ${verdict.duration} ms. Whole: <code>evidence/${text(evidence.check)}.json</code></p>
<div class="sides"><section><h3>What the client saw (#)</h3>${exchanges.map((each) => exchangeOf(id, `#${each.n}`, each, curl(each, start, `evidence/${evidence.check}.json`))).join('')}${more(evidence.exchanges, exchanges)}</section>
<section><h3>What the witness saw (@)</h3>${entries.map((each) => entryOf(id, `@${each.n}`, each)).join('') || '<p class="note">Nothing.</p>'}${more(evidence.ledger, entries)}</section></div>`
    : ''
}
</details>`
}

/** What was expected beside what was seen; where they are the same words, or nothing is expected, less. */
const compared = ({ expected, actual }: Pick<Verdict['findings'][number], 'expected' | 'actual'>): string =>
  expected === undefined
    ? ''
    : ` <small>expected</small> ${prose(expected)}${actual === undefined ? '' : `; <small>seen</small> ${prose(actual)}`}`

const more = (all: readonly unknown[], shown: readonly unknown[]): string =>
  all.length > shown.length
    ? `<p class="note">And ${all.length - shown.length} more in the evidence.</p>`
    : ''

/** All that a failed finding points at, and the first of the others. */
function some<Each extends { readonly n: number }>(
  all: readonly Each[],
  sign: string,
  pointed: ReadonlySet<string>,
): Each[] {
  return all.filter((each, index) => index < FEW || pointed.has(`${sign}${each.n}`))
}

/** Ids in a sentence become links. The target of a link is inside its details, so that the browser opens them. */
const linked = (sentence: string): string =>
  sentence.replace(/\b[A-Z]+-\d\d\b(?:@\w+)?/g, (id) => `<a href="#${id}">${id}</a>`)
