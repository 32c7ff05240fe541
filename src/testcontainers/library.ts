// The exports of `waybill/testcontainers`.
export type { LedgerEntry, LedgerPage } from '../../mocks/ledger.ts'
export type { ScriptedAnswer } from '../../mocks/server/script.ts'
export type { CallRecord } from '../core/record.ts'
export { MockContainer, type StartedMockContainer } from './mock-container.ts'
export { type StartedWaybillContainer, WaybillContainer } from './waybill-container.ts'
