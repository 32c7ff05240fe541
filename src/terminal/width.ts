// Measures any text in terminal cells. CJK and emoji take two cells. Loaded only for a label with unusual
// characters, because the tables cost 1 ms of start-up time (LINE-09).
import measure from 'fast-string-truncated-width'
import { isOrdinary } from './clean.ts'

/** A `Measure`. */
export const cells = (text: string): number => (isOrdinary(text) ? text.length : measure(text).width)
