// Pages of the site in the order of its sidebar: source file -> name in the sidebar. Data only.
export const PAGES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  Start: {
    'docs/index.md': 'What it is',
    'docs/gateway.md': 'Use it as a gateway',
    'docs/test-your-gateway.md': 'Test your gateway',
    'docs/test-your-application.md': 'Test your application',
  },
  'The gateway': {
    'docs/configuration.md': 'Configuration',
    'docs/routing.md': 'Routing cookbook',
    'docs/page.md': 'The page',
    'docs/status-line.md': 'The status line',
    'docs/api.md': 'Endpoints and headers',
    'docs/troubleshooting.md': 'Errors, and what to do',
    'docs/command-line.md': 'Commands',
    'docs/models.md': 'What models accept',
    'docs/losses.md': 'What a translation loses',
  },
  'Coding agents': {
    'docs/agents.md': 'All of them',
    'docs/agents/claude-code.md': 'Claude Code',
    'docs/agents/codex.md': 'Codex',
    'docs/agents/opencode.md': 'opencode',
    'docs/agents/copilot.md': 'GitHub Copilot CLI',
    'docs/agents/qwen.md': 'Qwen Code',
    'docs/agents/gemini.md': 'Gemini CLI',
    'docs/agents/aider.md': 'aider',
    'docs/agents/continue.md': 'Continue',
    'docs/agents/cline.md': 'Cline',
    'docs/agents/pi.md': 'pi',
  },
  Testing: {
    'docs/conformance.md': 'Conformance guide',
    'docs/target-files.md': 'Target files',
    'recordings/README.md': 'Recordings',
    'mocks/README.md': 'Mock providers',
    'docs/scoreboard/README.md': 'Scoreboard',
  },
  'Running it': {
    'docs/operations.md': 'Operations',
    'docs/billing.md': 'Costs and bills',
    'docs/containers.md': 'Containers',
    'docs/fleet.md': 'Several gateways',
    'docs/traces.md': 'Traces',
    'docs/security.md': 'Security model',
    'SECURITY.md': 'Reporting a vulnerability',
    'docs/platforms.md': 'Platforms',
    'docs/stability.md': 'Stability',
  },
  Background: {
    'docs/comparison.md': 'Comparison with other gateways',
    'docs/benchmarks.md': 'Benchmarks',
    'docs/contract.md': 'The contract',
    'scripts/docs/requirements.ts': 'Requirements and tests',
    'docs/selftest/must-fail.json': 'What the checks catch',
    'docs/selftest/must-pass.json': 'What they must accept',
    'docs/translation.md': 'Translation, measured',
    'docs/releasing.md': 'Releasing',
    'CHANGELOG.md': 'Changes',
    'CONTRIBUTING.md': 'Contributing',
    'DECISIONS.md': 'Decisions',
  },
}

const ELSEWHERE: Readonly<Record<string, string>> = {
  'README.md': 'index',
  'SECURITY.md': 'reporting',
  'mocks/README.md': 'mock',
  'recordings/README.md': 'recordings',
  'docs/scoreboard/README.md': 'scoreboard',
  'scripts/docs/requirements.ts': 'requirements',
  'docs/selftest/must-fail.json': 'must-fail',
  'docs/selftest/must-pass.json': 'must-pass',
}

/** Returns the address of a source file's page in the site, without an extension. */
export const pageAddress = (source: string): string =>
  ELSEWHERE[source] ?? source.replace(/^docs\//, '').replace(/\.md$/, '')
