// `subagentStatusLine` (LINE-10): one object with tasks in, one JSON line per task out whose route is known. A task
// that is left out keeps the client's own row.
import { type Facts, factsOf, isObject, text } from './facts.ts'
import type { Source } from './lookup.ts'

export interface Task {
  readonly id: string
  /** What the client would write in the row. */
  readonly label: string | null
}

/** More rows than a terminal shows; also bounds what is asked of the gateway. */
const MOST_TASKS = 24

/** The session and its tasks; anything that is not one is passed over. Never throws. */
export function readTasks(json: unknown): {
  sessionId: string | null
  columns: number | null
  tasks: Task[]
} {
  const input = isObject(json) ? json : {}
  const list: unknown[] = Array.isArray(input.tasks) ? input.tasks : []
  const tasks = list
    .filter(isObject)
    .map(({ id, label, description, name }) => ({
      id: text(id),
      label: text(label) ?? text(description) ?? text(name),
    }))
    .filter((task): task is Task => task.id !== null)
  const columns = typeof input.columns === 'number' && input.columns >= 1 ? Math.floor(input.columns) : null
  return { sessionId: text(input.session_id), columns, tasks: tasks.slice(0, MOST_TASKS) }
}

/** One JSON line per task whose newest call is on record; `sourceOf` is given the agent id. */
export async function subagentLines(
  sessionId: string | null,
  tasks: readonly Task[],
  sourceOf: (agentId: string) => Source,
  render: (task: Task, facts: Facts) => Promise<string>,
): Promise<string[]> {
  if (sessionId === null) return []
  const lines = tasks.map(async (task) => {
    const facts = factsOf(await sourceOf(task.id).newest(sessionId, null))
    return facts && JSON.stringify({ id: task.id, content: await render(task, facts) })
  })
  return (await Promise.all(lines)).filter((line) => line !== null)
}
