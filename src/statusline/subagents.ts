// `subagentStatusLine` (LINE-10): reads one object with tasks and prints one JSON line for each task with a
// known route. A task without a line keeps the client's own row.
import { isObject, textOrNull } from './client-input.ts'

interface Subagent {
  readonly id: string
  /** The text that the client itself shows in the row. */
  readonly label: string | null
}

/**
 * Maximum tasks. This maximum is more than the rows of a terminal, and bounds the requests to the gateway.
 */
const MAX_TASKS = 24

/** Parses the session and its tasks; skips invalid tasks. Never throws. */
export function readTasks(json: unknown): {
  sessionId: string | null
  columns: number | null
  tasks: Subagent[]
} {
  const input = isObject(json) ? json : {}
  const list: unknown[] = Array.isArray(input.tasks) ? input.tasks : []
  const tasks = list
    .filter(isObject)
    .map(({ id, label, description, name }) => ({
      id: textOrNull(id),
      label: textOrNull(label) ?? textOrNull(description) ?? textOrNull(name),
    }))
    .filter((task): task is Subagent => task.id !== null)
  const columns = typeof input.columns === 'number' && input.columns >= 1 ? Math.floor(input.columns) : null
  return { sessionId: textOrNull(input.session_id), columns, tasks: tasks.slice(0, MAX_TASKS) }
}

/**
 * Returns one JSON line for each task whose newest call is on record. `lineOf` returns '' for other tasks.
 */
export async function subagentLines(
  tasks: readonly Subagent[],
  lineOf: (task: Subagent) => Promise<string>,
): Promise<string[]> {
  const lines = tasks.map(async (task) => ({ id: task.id, content: await lineOf(task) }))
  return (await Promise.all(lines)).filter(({ content }) => content !== '').map((row) => JSON.stringify(row))
}
