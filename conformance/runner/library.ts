// Entry point `waybill/conformance`: the suite as a library.
export { type Baseline, compareWithBaseline, readBaseline } from '../judge/compare.ts'
export type { Conclusion, Outcome, Results, Verdict } from '../judge/judge.ts'
export { rejudge as judge } from '../judge/rejudge.ts'
export { StartError } from '../target/instance.ts'
export { readTarget, TargetError } from '../target/read.ts'
export type { Target } from '../target/schema.ts'
export { type Conformed, type ConformOptions, conform } from './run.ts'
