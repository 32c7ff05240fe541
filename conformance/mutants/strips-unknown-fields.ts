// Only what the schema names is forwarded.
import { bent, changeCall, type Mutant } from '../mutant.ts'

export const mutant = {
  what: 'Fields that the gateway does not know are left out.',
  kills: ['ROUTE-06'],
  start: bent({
    request(wanted) {
      changeCall(wanted, ({ x_waybill_probe: _, ...rest }) => rest)
    },
  }),
} satisfies Mutant
