// The coding clients whose settings accept a status line: the location of the settings, and the name of the
// entry.
import { homedir } from 'node:os'
import { join } from 'node:path'
import type { Key } from './client-settings.ts'

type Env = Readonly<Record<string, string | undefined>>

/**
 * Scopes of settings. `user`: all projects of the user. `project`: shared with the project. `local`: this
 * user in this project.
 */
export const SETTINGS_SCOPES = ['user', 'project', 'local'] as const
export type Scope = (typeof SETTINGS_SCOPES)[number]

export interface Client {
  readonly title: string
  readonly key: Key
  /** Returns the directory of the user's settings. */
  readonly home: (env: Env) => string
  /** Path below the project's directory; absent if the client has no such settings. */
  readonly project: string
  readonly local?: string
  /** Additional step for the user so that the line shows the session; absent if none is needed. */
  readonly tie?: string
}

export const homeDirectory = (env: Env): string => env.HOME || homedir()

export const CLIENTS = {
  'claude-code': {
    title: 'Claude Code',
    key: 'statusLine',
    home: (env) => env.CLAUDE_CONFIG_DIR || join(homeDirectory(env), '.claude'),
    project: '.claude/settings.json',
    local: '.claude/settings.local.json',
  },
  copilot: {
    title: 'GitHub Copilot CLI',
    key: 'statusLine',
    home: (env) => env.COPILOT_HOME || join(homeDirectory(env), '.copilot'),
    project: '.github/copilot/settings.json',
    local: '.github/copilot/settings.local.json',
    tie: 'It does not send the gateway a session of its own: start it with `waybill run -- copilot`, which gives its calls and the status line the same session id.',
  },
  qwen: {
    title: 'Qwen Code',
    key: 'ui.statusLine',
    home: (env) => join(homeDirectory(env), '.qwen'),
    project: '.qwen/settings.json',
    tie: 'It does not send the gateway a session by itself: start it with `waybill run -- qwen`, or add the header that docs/agents/qwen.md shows.',
  },
} as const satisfies Record<string, Client>
type ClientName = keyof typeof CLIENTS
export const CLIENT_NAMES = Object.keys(CLIENTS) as ClientName[]
