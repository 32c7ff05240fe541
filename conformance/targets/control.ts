// The control: the reference gateway behind hooks that change nothing. It must pass everything: then what catches a fault
// is what is wrong with it, and not what all faults are made of.
import { referenceWith } from '../fault.ts'

export const start = referenceWith({})
