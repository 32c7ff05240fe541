// Only what the schema names is forwarded.
import { changeCall, type Fault, referenceWith } from '../fault.ts'

export const fault = {
  what: 'Fields that the gateway does not know are left out.',
  caughtBy: ['ROUTE-06'],
  start: referenceWith({
    request(wanted) {
      changeCall(wanted, ({ x_waybill_probe: _, ...rest }) => rest)
    },
  }),
} satisfies Fault
