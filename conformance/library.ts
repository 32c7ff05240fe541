// `waybill/conformance`: the suite as a library.
export { type Baseline, compareWithBaseline, readBaseline } from './baseline.ts'
export type { Conclusion, Outcome, Results, Verdict } from './judge.ts'
export { readTarget, TargetError } from './read-target.ts'
export { rejudge as judge } from './rejudge.ts'
export { type Conformed, type ConformOptions, conform } from './run.ts'
export { StartError } from './running.ts'
export type { Target } from './target.ts'
