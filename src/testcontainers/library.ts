// The exports of `waybill/testcontainers`.
export type { LedgerEntry, LedgerPage } from '../../mocks/ledger.ts'
export type { ScriptedAnswer } from '../../mocks/server/script.ts'
export type { CallRecord } from '../core/record.ts'
export { MockContainer, type StartedMockContainer } from './mock-container.ts'
export { type StartedWaybillContainer, WaybillContainer } from './waybill-container.ts'

/** Throws an error for the name of earlier versions. */
export class WitnessContainer {
  constructor() {
    throw new Error('WitnessContainer is now called MockContainer')
  }
}
