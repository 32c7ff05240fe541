// Results as one page that needs nothing but itself: what failed and what to do, the matrix, and for each requirement
// its sentence, its verdict, what the client saw and what the witness saw. Above 250 lines because of its style sheet. Pure.
import type { LedgerEntry } from '../../mocks/ledger.ts'
import { checks } from '../checks.ts'
import type { Change, Comparison } from '../compare.ts'
import type { Evidence, Exchange } from '../evidence.ts'
import type { Verdict } from '../judge.ts'
import type { Kept } from '../rejudge.ts'
import { inWords } from '../step.ts'
import { curl } from './curl.ts'
import { type Failure, failuresOf } from './failures.ts'
import { manyLines } from './text.ts'

/** Longer bodies are shown by their beginning; the evidence has them whole. */
const SHOWN = 2_000
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
    ['Calls to providers', `${inferences.total}, ${inferences.accounted} of them accounted to a check`],
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
<p class="note">The suite was the gateway’s client, and the witness stood in for its providers. In what follows <b>#3</b> is the third request of a check, as the client saw it, and <b>@7</b> the seventh request that arrived at the witness.</p>
<ul class="counts">${Object.entries(counts)
      .filter(([, count]) => count > 0)
      .map(([outcome, count]) => `<li class="${outcome}"><b>${count}</b> ${outcome}</li>`)
      .join('')}</ul>
${comparison ? comparisonOf(comparison) : ''}</header>
<main>
<section id="failed" tabindex="-1">${failed(failuresOf(kept))}</section>
<h2>All requirements</h2>
<nav aria-label="Matrix of requirements">${subjects
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

const MARKS: Readonly<Record<Verdict['outcome'], string>> = {
  pass: '✓',
  fail: '✗',
  warn: '!',
  'not-applicable': '–',
  untestable: '?',
  'harness-error': '‼',
  disabled: '·',
}

function failed(failures: readonly Failure[]): string {
  if (failures.length === 0) return '<h2>Nothing failed</h2>'
  return `<h2>What failed, and what to do</h2>${failures.map(card).join('')}`
}

function card({ verdict, findings, advice, again }: Failure): string {
  const { id, slug: name, outcome, level, scope, text: sentence, reason } = verdict
  const told = findings.map(
    ({ id: finding, what, expected, seen, see, more: others }) =>
      `<dl>${what === null ? '' : `<div><dt>Looked at</dt><dd>${prose(what)}</dd></div>`}<div><dt>Expected</dt><dd>${prose(expected)}</dd></div><div><dt>Seen</dt><dd>${prose(seen)} ${see.map((each) => link(id, each)).join(' ')}${others > 0 ? `<br><small>And ${others} more of this kind.</small>` : ''}</dd></div><div><dt>Finding</dt><dd><code>${text(finding)}</code></dd></div></dl>`,
  )
  return `<article class="card"><h3><i class="${outcome}">${MARKS[outcome]}</i> <a href="#${id}">${id}</a> ${text(name.replaceAll('-', ' '))} <small>${outcome}; ${level}, binds ${scope}</small></h3>
<p>${prose(sentence)}</p>
${told.join('') || `<p class="reason">${prose(reason)}</p>`}
${again.length > 0 ? `<p>See it again:</p><pre tabindex="0">${text(again.join('\n'))}</pre>` : ''}
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
  return `<details><summary><i class="${outcome}">${MARKS[outcome]}</i><b>${id}</b> ${text(name)} <small>${level}, binds ${scope}${scored ? '' : ', not scored'} · ${outcome}</small></summary>
<blockquote id="${id}">${prose(sentence)}</blockquote>
${outcome === 'pass' ? '' : `<p class="reason">${prose(reason)}</p>`}
${said.length > 0 ? `<ul class="findings">${said.join('')}</ul>` : ''}
${
  evidence
    ? `<p class="note">${inferences} inferences, ${evidence.exchanges.length} requests, ${verdict.duration} ms. Whole: <code>evidence/${text(evidence.check)}.json</code></p>
<div class="sides"><section><h3>What the client saw (#)</h3>${exchanges.map((each) => exchangeOf(id, each, start, evidence.check)).join('')}${more(evidence.exchanges, exchanges)}</section>
<section><h3>What the witness saw (@)</h3>${entries.map((each) => entryOf(id, each)).join('') || '<p class="note">Nothing.</p>'}${more(evidence.ledger, entries)}</section></div>`
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

/** Ids in a sentence become links. What a link points at stands inside its details, so that the browser opens them. */
const linked = (sentence: string): string =>
  sentence.replace(/\b[A-Z]+-\d\d\b/g, (id) => `<a href="#${id}">${id}</a>`)
const anchor = (id: string, ref: string): string => `${id}-${ref.replace('#', 'c').replace('@', 'w')}`
const link = (id: string, ref: string): string => `<a href="#${anchor(id, ref)}">${text(ref)}</a>`

function exchangeOf(id: string, exchange: Exchange, start: object, file: string): string {
  const { n, request, status, error, end, headers, body, at, end_at } = exchange
  const shown = status === null ? text(error ?? end) : `${status}${end === 'complete' ? '' : `, ${end}`}`
  return `<details class="exchange"><summary><b>#${n}</b> ${text(request.method)} ${text(brief(request.path, 60))} <small>${text(brief(inWords(exchange), 60))}</small> <em>${shown}</em> <small>${Math.round(end_at - at)} ms</small></summary>
<pre tabindex="0" id="${anchor(id, `#${n}`)}">${text(curl(exchange, start, `evidence/${file}.json`))}</pre>
<pre tabindex="0">${text(head(headers))}</pre><pre tabindex="0">${text(brief(body, SHOWN))}</pre></details>`
}

function entryOf(id: string, entry: LedgerEntry): string {
  const { n, kind, provider, model, stream, problems, answer, credential, body } = entry
  return `<details class="exchange"><summary><b>@${n}</b> ${text(provider)} / ${text(model ?? 'no model')} <small>${kind}${stream ? ', streamed' : ''}</small> <em>${answer.status ?? 'no answer'}</em></summary>
<p class="note" id="${anchor(id, `@${n}`)}">key ${credential}; answered from ${text(answer.from)}; ${answer.bytes} bytes${answer.complete ? '' : ', not to the end'}${endOf(entry)}${problems.length > 0 ? `; ${text(problems.join('; '))}` : ''}</p>
<pre tabindex="0">${text(brief(JSON.stringify(body, null, 2) ?? '', SHOWN))}</pre>${answer.body ? `<pre tabindex="0">${text(brief(answer.body, SHOWN))}</pre>` : ''}</details>`
}

/** Who ended the connection before the answer was complete. Earlier evidence does not say when the witness did. */
const endOf = ({ answer, peer_left_at }: LedgerEntry): string =>
  answer.cut_at != null
    ? '; the witness cut the connection, as the check told it to'
    : peer_left_at === null
      ? ''
      : '; the gateway closed the connection'

const head = (headers: Readonly<Record<string, string>>): string =>
  Object.entries(headers)
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n')
const brief = (long: string, limit: number): string =>
  long.length > limit ? `${long.slice(0, limit)}… (${long.length} characters)` : long
const slug = (words: string): string => words.replaceAll(' ', '-')
const text = (raw: string): string => manyLines(raw).replace(/[&<>"']/g, (sign) => `&#${sign.charCodeAt(0)};`)
/** A sentence; what stands between backticks is code. */
const prose = (raw: string): string => text(raw).replace(/`([^`]+)`/g, '<code>$1</code>')

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${text(title)}</title>
<style>${STYLE}</style>
</head>
<body>
${body}
</body>
</html>
`

const STYLE = `
:root { color-scheme: light dark; --ink: light-dark(#1c2024, #e6e8ea); --faint: light-dark(#5d666f, #9aa4ae); --paper: light-dark(#fbfaf7, #16181b); --card: light-dark(#fff, #1e2125); --line: light-dark(#dfdcd3, #33383e); --good: light-dark(#1a7f37, #4ac26b); --bad: light-dark(#c21f2e, #ff7b72); --warn: light-dark(#8a6100, #e3b341); --odd: light-dark(#7a3fb0, #c297ff); }
* { box-sizing: border-box }
body { margin: 0 auto; max-width: 75rem; padding: 2rem 1.25rem 6rem; background: var(--paper); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere }
.brand { margin: 0; color: var(--faint); letter-spacing: .04em; text-transform: uppercase; font-size: .8rem }
h1 { margin: .25rem 0; font-size: 2rem; font-weight: 650 }
.badge { font-size: 1rem; padding: .2rem .7rem; border-radius: 1rem; border: 1px solid currentColor; vertical-align: middle; font-weight: 600; white-space: nowrap }
.conformant, i.pass, .ok span { color: var(--good) } .partial, i.warn { color: var(--warn) } .not-conformant, i.fail, i.untestable, .bad { color: var(--bad) } .error, i.harness-error { color: var(--odd) }
.reason { font-size: 1.05rem; margin: .25rem 0 1rem }
dl { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(24rem, 100%), 1fr)); gap: .25rem 2rem; margin: 0 }
dl div { display: flex; gap: .75rem } dl div:last-child { grid-column: 1 / -1 } dt { color: var(--faint); min-width: 8.5rem } dd { margin: 0; min-width: 0 }
.counts { display: flex; flex-wrap: wrap; gap: .5rem 1.25rem; list-style: none; padding: 0; margin: 1rem 0 }
.counts b { font-size: 1.15rem }
nav { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; padding: .9rem 1rem; margin: 1rem 0 1.5rem }
.row { display: flex; gap: .3rem; margin: .3rem 0 } .row > div { display: flex; flex-wrap: wrap; gap: .3rem } .row > span { flex: 0 0 3.8rem; color: var(--faint); font-size: .85rem }
.tile { min-width: 3.1rem; text-align: center; padding: .1rem .35rem; border-radius: .35rem; border: 1px solid var(--line); color: inherit; text-decoration: none; font-variant-numeric: tabular-nums; font-size: .9rem }
.tile i { font-style: normal; margin-left: .3rem }
.tile.pass { border-color: var(--good) } .tile.pass i { color: var(--good) } .tile.fail, .tile.untestable { background: var(--bad); border-color: var(--bad); color: var(--paper) } .tile.warn { border-color: var(--warn); color: var(--warn) } .tile.harness-error { border-color: var(--odd); color: var(--odd) } .tile.not-applicable, .tile.disabled { color: var(--faint); border-style: dashed }
.skip { position: absolute; left: -99rem } .skip:focus { left: 1rem; top: 1rem; padding: .5rem 1rem; background: var(--card); z-index: 1 }
h2 { margin: 2rem 0 .75rem; font-size: 1.35rem } .card { background: var(--card); border: 1px solid var(--line); border-left: 4px solid var(--bad); border-radius: .6rem; padding: .25rem 1rem .5rem; margin: .75rem 0 } .card h3 { font-size: 1.05rem } .card h3 small { color: var(--faint); font-weight: 400 } .card dl { display: block; margin: .5rem 0; padding-left: .75rem; border-left: 2px solid var(--line) } .card dt { min-width: 5.5rem } .card p { margin: .5rem 0 } .card ul { margin: .25rem 0 }
main > details { background: var(--card); border: 1px solid var(--line); border-radius: .6rem; margin: .4rem 0; padding: .5rem .9rem }
:target { scroll-margin-top: 4rem }
summary { cursor: pointer } summary i { font-style: normal; display: inline-block; width: 1.4rem; font-weight: 700 } summary small, .note { color: var(--faint) } summary em { font-style: normal; font-weight: 600 }
:focus-visible { outline: 3px solid var(--odd); outline-offset: 2px; border-radius: .3rem }
blockquote { margin: .6rem 0; padding: .1rem 0 .1rem .9rem; border-left: 3px solid var(--line) }
.findings { list-style: none; padding: 0 } .findings li { padding: .1rem 0 } .findings small { color: var(--faint) } .findings a { font-size: .85rem; color: var(--faint) } header a { color: inherit }
.sides { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(26rem, 100%), 1fr)); gap: 1rem } .sides section { min-width: 0 } h3 { font-size: .95rem; margin: .5rem 0 .2rem }
.exchange { border-top: 1px solid var(--line); padding: .25rem 0; font-size: .9rem } details:has(> :target) { outline: 2px solid var(--odd) }
pre { overflow-x: auto; max-height: 18rem; background: var(--paper); border: 1px solid var(--line); border-radius: .4rem; padding: .5rem .7rem; font: .8rem/1.45 ui-monospace, monospace; white-space: pre-wrap } pre:empty { display: none }
code { font-family: ui-monospace, monospace; font-size: .9em }
@media (max-width: 40rem) { body { padding: 1rem .75rem 4rem } dl div { flex-direction: column; gap: 0 } }
`
