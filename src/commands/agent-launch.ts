// Works out how to start an agent from its entry in the table. Pure: the caller starts the process.
import { basename } from 'node:path'
import { AGENTS, type Agent, ANY_PROGRAM } from './agent-table.ts'

/** A model in the gateway's list, with the known limits in tokens. */
interface LaunchModel {
  readonly id: string
  readonly isRoute: boolean
  readonly context?: number | undefined
  readonly output?: number | undefined
}

interface LaunchInput {
  /** URL of the gateway, without a trailing slash. */
  readonly url: string
  /** Null if the gateway has no keys. */
  readonly key: string | null
  readonly session: string
  /** Null if the agent chooses the model itself. */
  readonly model: string | null
  /** All models that the agent may request. */
  readonly models: readonly LaunchModel[]
  /** Path of the temporary file that contains the text of `Agent.file`. */
  readonly file: string
}

export interface Launch {
  readonly set: Readonly<Record<string, string>>
  readonly unset: readonly string[]
  /** All arguments for the program. */
  readonly args: readonly string[]
}

/** Returns the agent with this program name, regardless of the program's directory. */
export const agentFor = (program: string): Agent =>
  AGENTS.find(({ programs }) => programs.includes(basename(program).replace(/\.(exe|cmd)$/i, ''))) ??
  ANY_PROGRAM

/**
 * Describes a model for opencode. Without `attachment` and `modalities` opencode sends no images; without
 * `limit` it never compacts a conversation. Unknown limits are set to lower bounds for common models.
 */
const openCodeModel = ({ context = 128_000, output = 16_000 }: LaunchModel) => ({
  attachment: true,
  tool_call: true,
  modalities: { input: ['text', 'image'], output: ['text'] },
  limit: { context, output: Math.min(output, context - 1) },
})

/** Placeholder key for a gateway without keys, because agents require one. */
const NO_KEY = 'none-needed'

export function launchOf(agent: Agent, args: readonly string[], input: LaunchInput): Launch {
  const { url, key, session, model, file } = input
  const models = JSON.stringify(
    Object.fromEntries(input.models.map((each) => [each.id, openCodeModel(each)])),
  )
  // An agent knows the context windows of models, but not of routes.
  const window = input.models.find(({ id, isRoute }) => isRoute && id === model)?.context ?? null
  const values: Readonly<Record<string, string | null>> = {
    url,
    key: key ?? NO_KEY,
    session,
    model,
    models,
    file,
    window: window === null ? null : String(window),
  }
  const fill = (text: string): string => text.replace(/\{(\w+)\}/g, (all, name) => values[name] ?? all)
  const isGiven = (text: string): boolean =>
    ['model', 'window'].every((name) => values[name] !== null || !text.includes(`{${name}}`))
  const set = Object.entries(agent.env).filter(([, text]) => isGiven(text))
  return {
    set: {
      ...Object.fromEntries(set.map(([name, text]) => [name, fill(text)])),
      // The gateway's address and the session, for the status line that the agent starts.
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
