// Background responses that the gateway itself runs, in the form that clients receive. Format: OpenAI API
// reference, "Background mode".
import { memberText, omitMembers, spliceMembers } from '../../json/splice.ts'
import type { RunAnswers } from '../dialect.ts'

/** Request members that the response repeats. */
const REPEATED = ['model', 'metadata', 'previous_response_id', 'instructions', 'tools', 'tool_choice']

export const runAnswers: RunAnswers = {
  plain: (text) => omitMembers(text, [['background'], ['stream']]),
  queued(text, id, at) {
    const repeated = REPEATED.flatMap((name) => {
      const value = memberText(text, name)
      return value === undefined ? [] : [`${JSON.stringify(name)}:${value}`]
    })
    const head = JSON.stringify({ id, object: 'response', created_at: Math.floor(at / 1_000) })
    return `${head.slice(0, -1)},"status":"queued","background":true,"error":null,"incomplete_details":null,"output":[],"usage":null,"store":true,${repeated.join()}}`
  },
  inProgress: (answer) => spliceMembers(answer, { status: '"in_progress"' }),
  ended: (answer, error) =>
    spliceMembers(answer, {
      status: error === null ? '"cancelled"' : '"failed"',
      error: JSON.stringify(error),
    }),
  completed: (answer, id) =>
    spliceMembers(answer, { id: JSON.stringify(id), background: 'true', store: 'true' }),
}
