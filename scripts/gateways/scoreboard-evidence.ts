// Evidence of the scoreboard: docs/scoreboard/evidence/NAME.jsonl.gz, a line for each tried requirement, with
// its findings, their exchanges and requests, and shortened texts. On a terminal: `zcat FILE | jq 'select(.id
// == "FAIL-02")'`.
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gunzipSync, gzipSync } from 'node:zlib'
import { checks } from '../../conformance/checks/registry.ts'
import type { Evidence, Exchange } from '../../conformance/evidence/evidence.ts'
import type { Outcome, Verdict } from '../../conformance/judge/judge.ts'
import type { KeptRun } from '../../conformance/judge/rejudge.ts'
import type { LedgerEntry } from '../../mocks/ledger.ts'

const folder = fileURLToPath(new URL('../../docs/scoreboard/evidence/', import.meta.url))

type Finding = Verdict['findings'][number]
/** Exchange as seen by the client. */
export type SeenExchange = Omit<Exchange, 'chunks' | 'utf8'>
/** Request as seen by the provider. */
export type SeenEntry = Omit<LedgerEntry, 'headers'>

/** Evidence of a verdict. */
export interface Proof {
  readonly id: string
  readonly outcome: Outcome
  /** A few findings (only failures, if any), and the total number. */
  readonly findings: readonly Finding[]
  readonly of: number
  /**
   * Evidence by the names in the findings' `see`: `#3` is an exchange, `@7` a request at the provider; those
   * of another check begin with its name.
   */
  readonly seen: Readonly<Record<string, SeenExchange | SeenEntry>>
}

/** Maximum number of findings in a verdict. */
const MAX_FINDINGS = 4
/** Maximum number of references in a finding; evidence of a failure may have more. */
const MAX_POINTERS = { wrong: 12, right: 3 }
/** Maximum characters of a text; evidence of a failure may be longer. */
const TEXT = { wrong: 800, right: 160 }

/** Returns requirement id -> evidence of its verdict; empty if none was stored. */
export function readProofs(name: string): ReadonlyMap<string, Proof> {
  const file = proofsFile(name)
  if (!existsSync(file)) return new Map()
  const lines = gunzipSync(readFileSync(file)).toString('utf8').trim().split('\n')
  return new Map(lines.map((line) => JSON.parse(line) as Proof).map((proof) => [proof.id, proof]))
}

export const proofsFile = (name: string): string => join(folder, `${name}.jsonl.gz`)
/** Names of the gateways with evidence. */
export const provenNames = (): string[] => readdirSync(folder).map((file) => file.replace('.jsonl.gz', ''))

/** Stores evidence. `placeless` removes texts that identify the machine. */
export function keepProofs(
  name: string,
  kept: KeptRun,
  placeless: (text: string) => string,
  /** True to keep the stored evidence of other verdicts. */
  add = false,
): void {
  const proofs = kept.results.verdicts
    .filter(({ findings, outcome }) => findings.length > 0 || outcome === 'untestable')
    .map((verdict) => proofOf(verdict, kept))
  const ids = new Set(proofs.map(({ id }) => id))
  const others = add ? [...readProofs(name).values()].filter(({ id }) => !ids.has(id)) : []
  mkdirSync(folder, { recursive: true })
  writeProofs(name, [...others, ...proofs], placeless)
}

function writeProofs(
  name: string,
  proofs: readonly Proof[],
  placeless = (text: string): string => text,
): void {
  const lines = proofs.map((proof) => `${placeless(JSON.stringify(proof))}\n`)
  writeFileSync(proofsFile(name), gzipSync(lines.join(''), { level: 9 }))
}

/** Selects the evidence of a verdict. Pure. */
export function proofOf(verdict: Verdict, { evidence }: Pick<KeptRun, 'evidence'>): Proof {
  const { id, outcome } = verdict
  const own = checks.get(id)?.shares ?? id
  const findings = verdict.findings.length > 0 ? verdict.findings : [untried(verdict, evidence.get(own))]
  const wrong = findings.filter(({ ok }) => !ok)
  const kind = wrong.length > 0 ? 'wrong' : 'right'
  const shown = (kind === 'wrong' ? wrong : firstOfEach(findings)).slice(0, MAX_FINDINGS)
  const seen: Record<string, SeenExchange | SeenEntry> = {}
  for (const { see = [] } of shown)
    for (const ref of see.slice(0, MAX_POINTERS[kind])) {
      const [, check, mark, n] = /^(.*?)([#@])(\d+)$/.exec(ref) ?? []
      const { exchanges = [], ledger = [] } = evidence.get(check || own) ?? {}
      const found =
        mark === '#'
          ? exchanges.find((exchange) => exchange.n === Number(n))
          : ledger.find((entry) => entry.n === Number(n))
      if (found) seen[ref] = mark === '#' ? asSeen(found as Exchange) : asReceived(found as LedgerEntry)
    }
  const proof: Proof = {
    id,
    outcome,
    findings: shown,
    of: (kind === 'wrong' ? wrong : findings).length,
    seen,
  }
  return cut(proof, TEXT[kind])
}

/** Returns the calls of an untestable check as a finding. */
const untried = ({ id, reason }: Verdict, evidence: Evidence | undefined): Finding => ({
  id: `${id}/is-testable`,
  ok: false,
  what: reason ?? '',
  see: (evidence?.exchanges ?? []).map(({ n }) => `#${n}`),
})

const asSeen = ({ chunks: _, utf8: __, ...exchange }: Exchange): SeenExchange => exchange
const asReceived = ({ headers: _, ...entry }: LedgerEntry): SeenEntry => entry

/** Returns one finding of each kind. */
const firstOfEach = (findings: readonly Finding[]): Finding[] => [
  ...new Map(findings.toReversed().map((finding) => [finding.id, finding])).values(),
]

/** Truncates long texts at every depth. */
const cut = <Value>(value: Value, longest: number): Value =>
  JSON.parse(JSON.stringify(value), (_, each) =>
    typeof each === 'string' && each.length > longest
      ? `${each.slice(0, longest)} … (${each.length} characters)`
      : each,
  )
