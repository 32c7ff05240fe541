// Three models that each agent knows by name, chosen before any run. Agents send different requests for
// models that they know.
import type { AgentCall } from './table.ts'

export interface KnownModel {
  readonly agent: string
  readonly model: string
  /** Dialect in which the agent requests the model: a key of its `ways`. */
  readonly way: string
  /** Call that reads a file, if the agent offers unusual tools to this model. */
  readonly reads?: (file: string) => AgentCall
}

/**
 * Codex gives its newest models one tool that runs JavaScript. The other tools are functions in its scripts.
 */
const byScript = (file: string): AgentCall => ({
  name: 'functions__exec',
  arguments: {
    input: `const r = await tools.exec_command({ cmd: "cat ${file}" }); text(r.output ?? JSON.stringify(r))`,
  },
})

export const KNOWN_MODELS: readonly KnownModel[] = [
  { agent: 'claude-code', model: 'claude-opus-5-5', way: 'messages' },
  { agent: 'claude-code', model: 'claude-sonnet-5-5', way: 'messages' },
  { agent: 'claude-code', model: 'claude-haiku-4-5', way: 'messages' },
  { agent: 'codex', model: 'gpt-6-sol', way: 'responses', reads: byScript },
  { agent: 'codex', model: 'gpt-5.6-sol', way: 'responses', reads: byScript },
  { agent: 'codex', model: 'gpt-5.4', way: 'responses' },
  { agent: 'opencode', model: 'claude-opus-5-5', way: 'messages' },
  { agent: 'opencode', model: 'gpt-5.6-sol', way: 'responses' },
  { agent: 'opencode', model: 'gemini-3.1-pro-preview', way: 'chat' },
  { agent: 'copilot', model: 'claude-sonnet-4-6', way: 'messages' },
  { agent: 'copilot', model: 'gpt-5.4', way: 'responses' },
  { agent: 'copilot', model: 'gpt-5-mini', way: 'chat' },
  { agent: 'qwen', model: 'claude-sonnet-4-6', way: 'messages' },
  { agent: 'qwen', model: 'gpt-5.4', way: 'responses' },
  { agent: 'qwen', model: 'deepseek-v4-pro', way: 'chat' },
  { agent: 'gemini', model: 'gemini-3.1-pro-preview', way: 'gemini' },
  { agent: 'gemini', model: 'gemini-3-flash-preview', way: 'gemini' },
  { agent: 'gemini', model: 'gemini-2.5-pro', way: 'gemini' },
  { agent: 'aider', model: 'gpt-5', way: 'chat' },
  { agent: 'aider', model: 'o3', way: 'chat' },
  { agent: 'aider', model: 'claude-opus-4-5', way: 'messages' },
  { agent: 'continue', model: 'gpt-5', way: 'chat' },
  { agent: 'continue', model: 'o3', way: 'chat' },
  { agent: 'continue', model: 'claude-sonnet-4-5', way: 'messages' },
  { agent: 'cline', model: 'gpt-5.4', way: 'chat' },
  { agent: 'cline', model: 'claude-opus-4-8', way: 'chat' },
  { agent: 'cline', model: 'gemini-3.1-pro-preview', way: 'chat' },
  { agent: 'pi', model: 'claude-opus-4-7', way: 'messages' },
  { agent: 'pi', model: 'gpt-5.4', way: 'responses' },
  { agent: 'pi', model: 'gemini-3.1-pro-preview', way: 'gemini' },
]
