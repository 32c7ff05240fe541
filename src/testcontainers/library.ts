// What `waybill/testcontainers` gives.
export type { LedgerEntry, LedgerPage } from '../../mocks/ledger.ts'
export type { ScriptedAnswer } from '../../mocks/script.ts'
export type { CallRecord } from '../record.ts'
export { type StartedWaybillContainer, WaybillContainer } from './waybill-container.ts'
export { type StartedWitnessContainer, WitnessContainer } from './witness-container.ts'
