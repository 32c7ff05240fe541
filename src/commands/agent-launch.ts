// Works out from an agent's entry in the table how to start it. Pure: the caller starts the process.
import { basename } from 'node:path'
import { AGENTS, type Agent, ANY_PROGRAM } from './agent-table.ts'

export interface LaunchInput {
  /** URL of the gateway, without a trailing slash. */
  readonly url: string
  /** Null: the gateway has none. */
  readonly key: string | null
  readonly session: string
  /** Null: the agent chooses by itself. */
  readonly model: string | null
  /** All models that it may request. */
  readonly models: readonly string[]
  /** Path of the file with the text of `Agent.file`. */
  readonly file: string
}

export interface Launch {
  readonly set: Readonly<Record<string, string>>
  readonly unset: readonly string[]
  /** All arguments of the program. */
  readonly args: readonly string[]
}

/** Returns the agent by the name of its program, wherever that is installed. */
export const agentFor = (program: string): Agent =>
  AGENTS.find(({ programs }) => programs.includes(basename(program).replace(/\.(exe|cmd)$/i, ''))) ??
  ANY_PROGRAM

/**
 * Description of each model for opencode. Without `attachment` and `modalities` it sends no image; without
 * `limit` it never compacts a conversation. The gateway's list of models has no limits, so these are lower
 * bounds for common models.
 */
const OPENCODE_MODEL = {
  attachment: true,
  tool_call: true,
  modalities: { input: ['text', 'image'], output: ['text'] },
  limit: { context: 128_000, output: 16_000 },
}

/** Placeholder key for a gateway without keys: agents require one. */
const NO_KEY = 'none-needed'

export function launchOf(agent: Agent, args: readonly string[], input: LaunchInput): Launch {
  const { url, key, session, model, file } = input
  const models = JSON.stringify(Object.fromEntries(input.models.map((id) => [id, OPENCODE_MODEL])))
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
      // For the status line, which the agent starts: the gateway's address, and the session.
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
