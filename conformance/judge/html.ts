// Writes results as one self-contained page: failures with remedies, the matrix, and each requirement with
// its sentence, its verdict, and the requests and answers of client and mock.
import { checks } from '../checks/registry.ts'
import type { Evidence } from '../evidence/evidence.ts'
import type { Change, Comparison } from './compare.ts'
import { type FailureText, failuresOf } from './failures.ts'
import type { Results, Verdict } from './judge.ts'
import type { KeptRun } from './rejudge.ts'
import {
  block,
  causesIn,
  curl,
  entryLines,
  escapeText,
  exchangeOf,
  link,
  MARKS,
  page,
  prose,
  slug,
} from './text.ts'

/** Maximum number of shown exchanges without a failed finding. */
const MAX_FURTHER_EXCHANGES = 12

export function html(kept: KeptRun, comparison: Comparison | null = null): string {
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
    ['Profile', `${profile}, set ${results.set}, suite ${results.suite}`],
    ['When', `${started_at}, ${(duration / 1000).toFixed(1)} s`],
    ['Calls to providers', `${inferences.total}, ${inferences.accounted} of them attributed to a check`],
    [
      'Sealed',
      target.sealed
        ? 'yes: the gateway could reach nothing but the mock'
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
<h1>${escapeText(target.name)} <span class="badge ${slug(conclusion)}">${escapeText(conclusion)}</span></h1>
<p class="reason">${linked(escapeText(reason))}</p>
<dl>${facts
      .filter(([, value]) => value)
      .map(
        ([name, value]) =>
          `<div><dt>${name}</dt><dd>${name === 'Again' ? `<code>${escapeText(value)}</code>` : escapeText(value)}</dd></div>`,
      )
      .join('')}</dl>
<p class="note">The suite acted as the gateway’s client, and the mock as its providers. Below, <b>#3</b> is the third request of a check, as the client saw it, and <b>@7</b> the seventh request that arrived at the mock.</p>
<ul class="counts">${Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([outcome, count]) => `<li class="${outcome}"><b>${count}</b> ${outcome}</li>`)
      .join('')}</ul>
${comparison ? comparisonOf(comparison) : ''}</header>
<main>
<section id="failed" tabindex="-1">${failed(failuresOf(kept), results)}</section>
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
${verdicts.map((verdict) => section(verdict, evidenceOf(verdict, evidence), run.target.start)).join('\n')}</main>`,
  )
}

const tile = ({ id, slug: name, outcome }: Verdict): string =>
  `<a class="tile ${outcome}" href="#${id}" title="${escapeText(`${id} ${name}: ${outcome}`)}">${id.split('-')[1]}<i>${MARKS[outcome]}</i></a>`

/**
 * Lists failures that share a cause first, folded under one sentence. The other failures follow by subject.
 */
function failed(failures: readonly FailureText[], results: Pick<Results, 'causes' | 'verdicts'>): string {
  if (failures.length === 0) return '<h2>Nothing failed</h2>'
  const of = (ids: readonly string[]) => failures.filter(({ verdict }) => ids.includes(verdict.id))
  const sentences = causesIn(results)
  const causes = results.causes.map(
    ({ verdicts }, index) =>
      `<section class="cause"><h3>${prose(sentences[index]!)}</h3><p>${links(of(verdicts))}</p><details><summary>Each of these ${verdicts.length}</summary>${of(verdicts).map(card).join('')}</details></section>`,
  )
  const explained = new Set(results.causes.flatMap(({ verdicts }) => verdicts))
  const rest = failures.filter(({ verdict }) => !explained.has(verdict.id))
  const subjects = [...Map.groupBy(rest, ({ verdict }) => verdict.id.split('-')[0]!)].map(
    ([subject, those]) =>
      `<section class="subject"><h3>${subject} <small>${links(those)}</small></h3>${those.map(card).join('')}</section>`,
  )
  return `<h2>What failed, and what to do</h2>${causes.join('')}${subjects.join('')}`
}

const links = (failures: readonly FailureText[]): string =>
  failures.map(({ verdict: { id } }) => `<a href="#${id}">${id}</a>`).join(' ')

function card({ verdict, findings, advice, again: commands }: FailureText): string {
  const { id, slug: name, outcome, level, scope, text: sentence, reason } = verdict
  const told = findings.map(
    ({ id: finding, what, expected, seen, see, more: others }) =>
      `<dl>${what === null ? '' : `<div><dt>Looked at</dt><dd>${prose(what)}</dd></div>`}<div><dt>Expected</dt><dd>${prose(expected)}</dd></div><div><dt>Seen</dt><dd>${prose(seen)} ${see.map((each) => link(id, each)).join(' ')}${others > 0 ? `<br><small>And ${others} more of this kind.</small>` : ''}</dd></div><div><dt>Finding</dt><dd><code>${escapeText(finding)}</code></dd></div></dl>`,
  )
  return `<article class="card failure"><h4><i class="${outcome}">${MARKS[outcome]}</i> <a href="#${id}">${id}</a> ${escapeText(name.replaceAll('-', ' '))} <small>${outcome}; ${level}, binds ${scope}</small></h4>
<p>${prose(sentence)}</p>
${told.join('') || `<p class="reason">${prose(reason)}</p>`}
${commands.length > 0 ? `<p>Reproduce it:</p>${block(commands.join('\n'))}` : ''}
<p>What to do:</p><ul>${advice.map((each) => `<li>${prose(each)}</li>`).join('')}</ul></article>`
}

function comparisonOf({ earlier, better, worse }: Comparison): string {
  const list = (what: string, all: readonly Change[]) =>
    `<li><b>${what}</b>: ${all.map(({ id, was, is }) => `${linked(escapeText(id))} (${escapeText(was)}, now ${escapeText(is)})`).join(', ') || 'nothing'}</li>`
  return `<p>Since the run of ${escapeText(earlier.started_at)}, which was ${escapeText(earlier.conclusion)}:</p><ul>${list('Better', better)}${list('Worse', worse)}</ul>
`
}

/**
 * Returns the evidence of a verdict. For a verdict over the whole run, this is the evidence of the checks in
 * its failed findings.
 */
function evidenceOf({ id, findings }: Verdict, all: KeptRun['evidence']): Shown | undefined {
  const own = all.get(checks.get(id)?.shares ?? id)
  if (own) return { check: own.check, exchanges: refd(own.exchanges, '#'), ledger: refd(own.ledger, '@') }
  const pointed = findings.filter(({ ok }) => !ok).flatMap(({ see = [] }) => see)
  if (pointed.length === 0) return undefined
  const among = <E extends { n: number }>(sign: string, of: (evidence: Evidence) => readonly E[]) =>
    [...all].flatMap(([check, evidence]) =>
      refd(of(evidence), `${check}${sign}`).filter(({ ref }) => pointed.includes(ref)),
    )
  return {
    check: '*',
    exchanges: among('#', ({ exchanges }) => exchanges),
    ledger: among('@', ({ ledger }) => ledger),
  }
}

/** Exchanges and ledger entries by the references that findings use. */
interface Shown {
  readonly check: string
  readonly exchanges: readonly (Evidence['exchanges'][number] & { readonly ref: string })[]
  readonly ledger: readonly (Evidence['ledger'][number] & { readonly ref: string })[]
}

const refd = <E extends { readonly n: number }>(all: readonly E[], sign: string) =>
  all.map((each) => ({ ...each, ref: `${sign}${each.n}` }))

function section(verdict: Verdict, evidence: Shown | undefined, start: object): string {
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
  const exchanges = some(evidence?.exchanges ?? [], pointed)
  const entries = some(evidence?.ledger ?? [], pointed)
  const shown = new Set([...exchanges, ...entries].map(({ ref }) => ref))
  const said = findings.map(
    ({ ok, doubt, see = [], ...each }) =>
      `<li class="${ok ? 'ok' : 'bad'}"><span role="img" aria-label="${ok ? 'holds' : doubt ? 'is left open' : 'does not hold'}">${ok ? '✓' : doubt ? '?' : '✗'}</span> ${prose(each.what)}${compared(each)} ${see.map((each) => (shown.has(each) ? link(id, each) : escapeText(each))).join(' ')}</li>`,
  )
  return `<details class="card"><summary><i class="${outcome}">${MARKS[outcome]}</i><b>${id}</b> ${escapeText(name)} <small>${level}, binds ${scope}${scored ? '' : ', not scored'} · ${outcome}</small></summary>
<blockquote id="${id}">${prose(sentence)}</blockquote>
${outcome === 'pass' ? '' : `<p class="reason">${prose(reason)}</p>`}
${said.length > 0 ? `<ul class="findings">${said.join('')}</ul>` : ''}
${
  evidence
    ? `<p class="note">${inferences} inferences, ${evidence.exchanges.length} requests, ${verdict.duration} ms. Whole: <code>evidence/${escapeText(evidence.check)}.json</code></p>
<div class="sides"><section><h3>What the client saw (#)</h3>${exchanges.map((each) => exchangeOf(id, each.ref, each, curl(each, start, `evidence/${evidence.check}.json`))).join('')}${more(evidence.exchanges, exchanges)}</section>
<section><h3>What the mock saw (@)</h3>${entries.map((each) => entryLines(id, each.ref, each)).join('') || '<p class="note">Nothing.</p>'}${more(evidence.ledger, entries)}</section></div>`
    : ''
}
</details>`
}

/** Formats the expected and the actual value; empty if nothing was expected. */
const compared = ({ expected, actual }: Pick<Verdict['findings'][number], 'expected' | 'actual'>): string =>
  expected === undefined
    ? ''
    : ` <small>expected</small> ${prose(expected)}${actual === undefined ? '' : `; <small>seen</small> ${prose(actual)}`}`

const more = (all: readonly unknown[], shown: readonly unknown[]): string =>
  all.length > shown.length
    ? `<p class="note">And ${all.length - shown.length} more in the evidence.</p>`
    : ''

/** Returns the items to which a failed finding refers, and the first few of the other items. */
function some<Each extends { readonly ref: string }>(
  all: readonly Each[],
  pointed: ReadonlySet<string>,
): Each[] {
  return all.filter(({ ref }, index) => index < MAX_FURTHER_EXCHANGES || pointed.has(ref))
}

/**
 * Turns ids in a sentence into links. The target of a link is inside its details element, so that the browser
 * opens the element.
 */
const linked = (sentence: string): string =>
  sentence.replace(/\b[A-Z]+-\d\d\b(?:@\w+)?/g, (id) => `<a href="#${id}">${id}</a>`)
