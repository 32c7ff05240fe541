// Writes files/scoreboard.html of the site: the scoreboard as one self-contained page. Its table shows
// gateways and requirements by dialect. Each cell links to its findings, and each failure has an excerpt of
// its evidence. Shares style and parts with the conformance report. The filter is a separate script; without
// it, all rows are shown.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readRequirements } from '../../conformance/checks/requirements.ts'
import type { Verdict } from '../../conformance/judge/judge.ts'
import {
  block,
  brief,
  curl,
  entryLines,
  escapeText,
  exchangeOf,
  link,
  MARKS,
  page,
  prose,
  slug,
} from '../../conformance/judge/text.ts'
import {
  clientSentences,
  EMPTY_CELL,
  isDraft,
  laterSentences,
  NOTED,
  type readAbsent,
  type readNotes,
  type StoredRun,
} from './scoreboard.ts'
import type { Proof, SeenEntry, SeenExchange } from './scoreboard-evidence.ts'

type Notes = ReturnType<typeof readNotes>
/** Verdict of a gateway on a requirement. */
type ShortVerdict = StoredRun['verdicts'][number]
type ReadProofs = (name: string) => ReadonlyMap<string, Proof>

/** Maximum characters of all excerpts together; with more failures, each excerpt is shorter. */
const MAX_ALL_EXCERPTS = 200_000
const MAX_EXCERPT_LENGTH = 9_000
/** Maximum characters of a body; the evidence has the rest. */
const MAX_BODY_LENGTH = 500
/** Maximum number of findings shown for a failure. */
const MAX_FINDINGS = 3

const FAMILIES: Readonly<Record<string, string>> = {
  PURE: 'reading never spends',
  ROUTE: 'where a call goes',
  TELL: 'what an answer says of its route',
  LOG: 'the record of a call',
  USE: 'tokens and cost',
  FLOW: 'streams',
  KEEP: 'keys and secrets',
  FAIL: 'errors',
  DIAL: 'what arrives in which dialect',
  ARR: 'what deviating providers send',
  MSG: 'Anthropic’s messages',
  RSP: 'OpenAI’s responses',
  GEM: 'Google’s Gemini',
  INT: 'Google’s interactions',
  EMB: 'embeddings',
  IMG: 'pictures',
  CNT: 'counting tokens',
  LIFE: 'starting and stopping',
  CAT: 'the list of models',
  CC: 'what Claude Code needs',
  COST: 'what a call cost',
  FIT: 'what each model accepts',
  STATE: 'what a provider keeps',
  BUDGET: 'budgets',
  SRV: 'model servers',
}

const DIALECTS: Readonly<Record<string, string>> = {
  MSG: 'messages',
  RSP: 'responses',
  GEM: 'gemini',
  INT: 'interactions',
  EMB: 'embeddings',
  IMG: 'images',
  CNT: 'messages',
  CC: 'messages',
}
const familyOf = (id: string): string => id.split('-')[0]!
const dialectOf = (id: string): string => id.split('@')[1] ?? DIALECTS[familyOf(id)] ?? 'chat'
const { requirements } = readRequirements()
const isNoted = (outcome: string): boolean => NOTED.includes(outcome)
const words = (slugged: string): string => slugged.replaceAll('-', ' ')

export function scoreboardHtml(
  outcomes: readonly StoredRun[],
  notes: Notes,
  proofsOf: ReadProofs,
  absent: ReturnType<typeof readAbsent> = [],
): string {
  const run = outcomes.filter(({ results }) => results !== null)
  const failures = run.flatMap(({ verdicts }) => verdicts.filter(({ outcome }) => isNoted(outcome))).length
  const room = Math.min(MAX_EXCERPT_LENGTH, Math.floor(MAX_ALL_EXCERPTS / Math.max(1, failures)))
  const dates = run.map(({ date }) => date).sort()
  const style = readFileSync(new URL('scoreboard-page.css', import.meta.url), 'utf8')
  const script = readFileSync(new URL('scoreboard-page.js', import.meta.url), 'utf8')
  return page(
    'What other gateways do',
    `<a class="skip" href="#matrix">Skip to the table</a>
<header>
<p class="brand">Waybill conformance</p>
<h1>What other gateways do</h1>
<p class="reason">${run.length} gateways of other projects, run ${dates[0] === dates.at(-1) ? `on ${dates[0]}` : `between ${dates[0]} and ${dates.at(-1)}`}, each tested against the requirements that apply to every gateway. A mark links to what was seen.</p>
<details class="card"><summary>How to read it</summary>
<ul>
<li>It is no ranking. The requirements are what we think a router owes its users; these projects set out to do other things as well, and some requirements they never promised. A column with many – has been asked less, not answered better.</li>
<li>${mark('pass')} holds. ${mark('fail')} does not hold (MUST). ${mark('warn')} does not hold (SHOULD). ${mark('untestable')} could not be tried, although the target file declares it. ${mark('not-applicable')} not applicable: the target file declares nothing that could be tested, because the documentation of the gateway promises nothing there. It says nothing, neither good nor bad. ${EMPTY_CELL}</li>
<li>Each ran on loopback, on one busy machine, against mock providers, not real ones. None was sealed: calls to other destinations than the mock would not have been seen.</li>
<li>Each failure was looked at in the transcript before it was published. The excerpts here are cut; the evidence beside this page is longer.</li>
<li>Is something wrong? <a href="#corrections">Send a correction, or a target file.</a></li>
</ul></details>
</header>
<main>
${filters(run)}
${matrix(run)}
${outcomes.map((outcome) => section(outcome, notes[outcome.name], proofsOf(outcome.name), room)).join('\n')}
${notHere(absent)}
${CORRECTIONS}
</main>
<script type="module">${script}</script>`,
    `<meta http-equiv="content-security-policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src '${digest(script)}'">
<style>${style}</style>
`,
  )
}

const notHere = (absent: ReturnType<typeof readAbsent>): string =>
  absent.length === 0
    ? ''
    : `<section id="absent"><h2>Not here</h2>
<p>These were to be tried too. It says nothing about them.</p>
<ul>${absent.map(({ name, homepage, why }) => `<li><b>${escapeText(name)}</b> (${escapeText(homepage)}): ${prose(why)}</li>`).join('\n')}</ul></section>`

const digest = (script: string): string => `sha256-${createHash('sha256').update(script).digest('base64')}`
const mark = (outcome: Verdict['outcome']): string => `<b class="mark ${outcome}">${MARKS[outcome]}</b>`

/** Returns the filters, hidden until the script that runs them is loaded. */
function filters(run: readonly StoredRun[]): string {
  const ids = run.flatMap(({ verdicts }) => verdicts.map(({ id }) => id))
  const choice = (label: string, name: string, all: readonly string[], said = (each: string) => each) =>
    `<label>${label} <select name="${name}"><option value="">all</option>${[...new Set(all)].map((each) => `<option value="${each}">${said(each)}</option>`).join('')}</select></label>`
  return `<form class="filters" hidden role="search" aria-label="Filter">
<label>Find <input type="text" name="find" placeholder="secrets, FLOW-05" spellcheck="false" autocomplete="off"></label>
${choice('Dialect', 'dialect', ids.map(dialectOf))}
${choice('Subject', 'family', ids.map(familyOf), (each) => `${each} ${FAMILIES[each] ?? ''}`.trim())}
${choice('Level', 'level', ['MUST', 'SHOULD'])}
<label class="check"><input type="checkbox" name="bad"> only what did not hold</label>
<details class="menu"><summary>Gateways</summary><fieldset><legend class="unseen">Gateways in the table</legend>${run.map(({ name, title }) => `<label><input type="checkbox" name="gateway" value="${name}" checked> ${escapeText(title)}</label>`).join('')}</fieldset></details>
<button type="reset">All</button>
<p class="note" role="status"></p>
</form>`
}

function matrix(run: readonly StoredRun[]): string {
  const rows = [...new Set(run.flatMap(({ verdicts }) => verdicts.map(({ id }) => id)))]
  // Requirements in the order of the contract, each followed by its variants in other dialects.
  const order = requirements.map(({ id }) => id)
  rows.sort(
    (a, b) => order.indexOf(a.split('@')[0]!) - order.indexOf(b.split('@')[0]!) || a.localeCompare(b, 'en'),
  )
  const head = run.map(
    ({ name, title, version, date, suite }) =>
      `<th scope="col" data-gateway="${name}"><a href="#${name}">${escapeText(title)}</a><small>${escapeText(version)}</small><small>${date}</small><small>suite ${escapeText(suite)}</small></th>`,
  )
  return `<div id="matrix" class="table-frame" tabindex="0" role="region" aria-label="Gateways and requirements"><table class="matrix">
<thead><tr><th scope="col">Requirement</th>${head.join('')}</tr></thead>
<tbody>
${rows.map((id) => row(id, run)).join('\n')}
</tbody></table></div>`
}

function row(id: string, run: readonly StoredRun[]): string {
  const found = run.map((outcome) => ({
    ...outcome,
    verdict: outcome.verdicts.find((each) => each.id === id),
  }))
  const { slug: name, level } = found.find(({ verdict }) => verdict)!.verdict!
  const sentence = requirements.find((each) => each.id === id.split('@')[0])?.text
  const isBad = found.some(({ verdict }) => verdict && isNoted(verdict.outcome))
  const cells = found.map(({ name: gateway, title, verdict }) =>
    verdict
      ? `<td data-gateway="${gateway}"><a class="mark ${verdict.outcome}" href="#${gateway}.${id}" aria-label="${escapeText(`${title}, ${id}: ${verdict.outcome}`)}">${MARKS[verdict.outcome]}</a></td>`
      : `<td data-gateway="${gateway}"></td>`,
  )
  return `<tr data-dialect="${dialectOf(id)}" data-family="${familyOf(id)}" data-level="${level}"${isBad ? ' data-bad' : ''}><th scope="row"><details><summary><b>${id}</b> ${escapeText(words(name))}</summary><p>${level}${isDraft(id) ? ', draft' : ''}. ${prose(sentence ?? '')}</p></details></th>${cells.join('')}</tr>`
}

function section(
  outcome: StoredRun,
  note: Notes[string] | undefined,
  proofs: ReadonlyMap<string, Proof>,
  room: number,
): string {
  const { name, title, version, homepage, date, declared, results, trouble, verdicts, suite } = outcome
  const home = escapeText(homepage)
  const facts: [string, string][] = [
    ['Home', /^https:\/\//.test(homepage) ? `<a href="${home}" rel="noreferrer">${home}</a>` : home],
    ['Run', `${date}${suite ? `, suite ${escapeText(suite)}` : ''}`],
  ]
  const head = (facts: readonly [string, string][], badge = '') =>
    `<section id="${name}" class="gateway"><h2>${escapeText(title)} <small>${escapeText(version)}</small>${badge}</h2>
${note ? `<p>${prose(note.about)}</p>` : ''}
<dl>${facts.map(([what, is]) => `<div><dt>${what}</dt><dd>${is}</dd></div>`).join('')}</dl>`
  if (!results)
    return `${head(facts)}<p>The run ended before its first check: ${escapeText(trouble ?? '')}</p></section>`
  const { counts, inferences, environment, conclusion } = results
  facts.push(
    ['Declared', escapeText(declared.map(words).join(', '))],
    ['Calls to providers', `${inferences.total}, ${inferences.accounted} of them attributed to a check`],
    ...clientSentences(outcome).map((sentence): [string, string] => ['Clients', escapeText(sentence)]),
    ...laterSentences(outcome).map((sentence): [string, string] => ['Later', escapeText(sentence)]),
    ['Ran on', escapeText(Object.values(environment).join(', '))],
    [
      'Evidence',
      `<a href="scoreboard/evidence/${name}.jsonl.gz">${name}.jsonl.gz</a>, a line for each requirement`,
    ],
  )
  const said = Object.entries(counts).filter(([, count]) => count > 0)
  const bad = verdicts.filter((each) => isNoted(each.outcome))
  const others = verdicts.filter((each) => !isNoted(each.outcome))
  return `${head(facts, ` <span class="badge ${slug(conclusion)}">${escapeText(conclusion)}</span>`)}
<ul class="counts">${said.map(([what, count]) => `<li class="${what}"><b>${count}</b> ${words(what)}</li>`).join('')}</ul>
${bad.map((verdict) => failure(name, verdict, note?.looked_at[verdict.id], proofs.get(verdict.id), room)).join('\n')}
${told('Verdicts that are not those of the run before', note?.changed)}${told('Taken back: what this suite once said wrongly', note?.taken_back)}${(note?.bugs ?? []).map(bug).join('')}
<details class="card"><summary>The other ${others.length} requirements</summary><ul class="findings">${others.map((verdict) => held(name, verdict, proofs.get(verdict.id))).join('')}</ul></details>
</section>`
}

const told = (headline: string, sentences: Readonly<Record<string, string>> = {}): string => {
  const lines = Object.entries(sentences).map(
    ([id, sentence]) => `<li><b>${escapeText(id)}</b> ${prose(sentence)}</li>`,
  )
  return lines.length > 0 ? `<h3>${headline}</h3><ul>${lines.join('')}</ul>` : ''
}
const bug = ({ what, searched, reproduce }: Notes[string]['bugs'][number]): string =>
  `<h3>A bug that the project does not list</h3><p>${prose(what)} ${prose(searched)}</p>${block(reproduce.trim())}`

/** Formats a verdict without a failure: its reason and the tested values. */
function held(
  gateway: string,
  { id, slug: name, outcome, reason }: ShortVerdict,
  proof: Proof | undefined,
): string {
  const looked = proof?.findings.map(({ what }) => what).join('; ') ?? ''
  return `<li id="${gateway}.${id}">${mark(outcome)} <b>${id}</b> ${escapeText(words(name))}: ${escapeText(reason)}${looked && ` <small>${escapeText(brief(looked, 240))}</small>`}</li>`
}

function failure(
  gateway: string,
  { id, slug: name, level, outcome, reason }: ShortVerdict,
  looked: string | undefined,
  proof: Proof | undefined,
  room: number,
): string {
  const of = `${gateway}.${id}`
  const shown = transcripts(of, proof, room)
  const refs = (see: readonly string[] = []) =>
    see.map((ref) => (shown.has(ref) ? link(of, ref) : escapeText(ref))).join(' ')
  const findings = (proof?.findings ?? [])
    .slice(0, MAX_FINDINGS)
    .map(
      ({ id: finding, what, expected, actual, see }) =>
        `<li>${prose(what)}${expected === undefined ? '' : `; <small>expected</small> ${prose(expected)}`}${actual === undefined ? '' : `; <small>seen</small> ${prose(actual)}`} ${refs(see)} <small><code>${escapeText(finding)}</code></small></li>`,
    )
  const more = (proof?.of ?? 0) - findings.length
  return `<article class="card failure" id="${of}"><h3>${mark(outcome)} ${id} ${escapeText(words(name))} <small>${level}, ${outcome}${isDraft(id) ? ', draft' : ''}</small></h3>
<p>${looked === undefined ? `${prose(reason)}. <em>Not looked at yet, not to be quoted.</em>` : prose(looked)}</p>
${findings.length > 0 ? `<details><summary>What the suite found</summary><ul class="findings">${findings.join('')}</ul>${more > 0 ? `<p class="note">And ${more} more.</p>` : ''}${[...shown.values()].join('')}</details>` : ''}
</article>`
}

/** Returns as many transcripts of the findings as fit. */
function transcripts(of: string, proof: Proof | undefined, room: number): ReadonlyMap<string, string> {
  const shown = new Map<string, string>()
  let left = room
  for (const [ref, seen] of Object.entries(proof?.seen ?? {})) {
    const markup = isExchange(seen)
      ? // Evidence from before suite 2.1 has no details of a step.
        exchangeOf(of, ref, { ...seen, details: seen.details ?? {} }, curl(seen, {}, ''), MAX_BODY_LENGTH)
      : entryLines(of, ref, seen, MAX_BODY_LENGTH)
    if (markup.length > left) continue
    left -= markup.length
    shown.set(ref, markup)
  }
  return shown
}
const isExchange = (seen: SeenExchange | SeenEntry): seen is SeenExchange => 'request' in seen

const CORRECTIONS = `<section id="corrections"><h2>A correction, or another gateway</h2>
<p>A wrong verdict is the worst bug that this page can have. Three ways, the shortest first:</p>
<ul>
<li><b>Something here is wrong, or repaired meanwhile.</b> Open an issue with the name of the gateway, its version and the requirement (<code>FLOW-06</code>), and what the gateway does. A doubt counts for the gateway.</li>
<li><b>The gateway was set up wrongly, or can do more.</b> Its target file is <code>conformance/targets/NAME.yaml</code>. Change it, run <code>waybill conform NAME --profile observable --report report</code> (or, in a clone, <code>npm run gateways -- NAME</code>), and send the file with <code>report/summary.md</code>.</li>
<li><b>A gateway is missing.</b> <code>waybill target init</code> asks a few questions and writes a target file, <code>waybill target check</code> checks it. Send it with the lines that install the gateway; <code>docs/conformance.md</code> explains the rest.</li>
</ul></section>`
