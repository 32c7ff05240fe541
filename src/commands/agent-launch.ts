// How an agent is started, worked out from its entry in the table. Pure: the caller makes the file and the process.
import { basename } from 'node:path'
import { AGENTS, type Agent, ANY_PROGRAM } from './agent-table.ts'

export interface LaunchInput {
  /** Of the gateway, without a slash at its end. */
  readonly url: string
  /** Null: the gateway has none. */
  readonly key: string | null
  readonly session: string
  /** Null: the agent asks for what it likes. */
  readonly model: string | null
  /** All that it may ask for. */
  readonly models: readonly string[]
  /** Where the text of `Agent.file` is. */
  readonly file: string
}

export interface Launch {
  readonly set: Readonly<Record<string, string>>
  readonly unset: readonly string[]
  /** All arguments of the program. */
  readonly args: readonly string[]
}

/** By the name of its program, wherever that lies. */
export const agentOf = (program: string): Agent =>
  AGENTS.find(({ programs }) => programs.includes(basename(program).replace(/\.(exe|cmd)$/i, ''))) ??
  ANY_PROGRAM

/** What stands for a key where the gateway has none: agents want one all the same. */
const NO_KEY = 'none-needed'

export function launchOf(agent: Agent, args: readonly string[], input: LaunchInput): Launch {
  const { url, key, session, model, file } = input
  const models = JSON.stringify(Object.fromEntries(input.models.map((id) => [id, {}])))
  const values: Readonly<Record<string, string | null>> = {
    url,
    key: key ?? NO_KEY,
    session,
    model,
    models,
    file,
  }
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all)
  const isGiven = (text: string): boolean => model !== null || !text.includes('{model}')
  const set = Object.entries(agent.env).filter(([, text]) => isGiven(text))
  return {
    set: {
      ...Object.fromEntries(set.map(([name, text]) => [name, fill(text)])),
      // For the status line, which the agent starts: where to ask, and for which session.
      WAYBILL_URL: url,
      ...(agent.session === 'own' ? {} : { WAYBILL_SESSION_ID: session }),
    },
    unset: [...(agent.unset ?? []), ...(agent.session === 'own' ? ['WAYBILL_SESSION_ID'] : [])],
    args: [
      ...(agent.options ?? [])
        .filter((option) => option.every(isGiven))
        .flatMap((option) => option.map(fill)),
      ...args,
    ],
  }
}
