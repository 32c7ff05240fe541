// What `waybill/mocks` offers to other people's tests: the witness on a port, and inside a process.
export { type Interception, type InterceptOptions, interceptProviders } from './intercept.ts'
export type { LedgerAnswer, LedgerEntry, LedgerPage, RequestKind } from './ledger.ts'
export { writeNonce } from './ledger.ts'
export type { ScriptedAnswer, Step } from './script.ts'
export { createWitness, type Witness, type WitnessOptions } from './witness.ts'
