// The reference gateway behind a bend that bends nothing. It must pass everything: then what a mutant dies of is what
// is wrong with it, and not what all mutants are made of.
import { bent } from '../mutant.ts'

export const start = bent({})
