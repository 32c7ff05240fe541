// Entry point `waybill/mocks` for other people's tests: the mock on a port, and within a process.

export type { LedgerAnswer, LedgerEntry, LedgerPage, RequestKind } from './ledger.ts'
export { writeNonce } from './ledger.ts'
export type { Deviations } from './scenarios/deviations.ts'
export type { Chaos } from './server/chaos.ts'
export type { MockContext } from './server/core.ts'
export {
  createMockProviders,
  type MockOptions,
  type MockProviders,
  type MockServerContext,
} from './server/create.ts'
export { type Interception, type InterceptOptions, interceptProviders } from './server/intercept.ts'
export type { ScriptedAnswer, ScriptStep as Step } from './server/script.ts'
export type { LedgerSum } from './server/sum.ts'
