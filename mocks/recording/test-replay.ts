// Helper that the tests of recordings share: turns a recording into a Response without a mock.

import { type Notes, respond } from '../answer.ts'
import type { Recording } from './format.ts'
import { answerFrom, type Pace } from './replay.ts'

const NEVER = new AbortController().signal
const UNHEARD: Notes = { sent() {}, completed() {}, cut() {}, peerLeft() {}, done() {} }

/** Returns the whole recording. Resolves when the first chunk is due. */
export const replay = (recording: Recording, pace: Pace): Promise<Response> =>
  respond({ answer: answerFrom(recording, pace), note: UNHEARD }, { gate: async () => {}, gone: NEVER })
