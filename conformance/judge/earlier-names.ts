// Names of earlier versions in what a user kept: a run's files, and a baseline. They are read with the current names.

/** Finding -> its current name. */
const FINDINGS: Readonly<Record<string, string>> = {
  'PURE-08/calls-reach-the-witness': 'PURE-08/calls-reach-the-mock',
}

/** Setting of a target -> its current name. */
const SETTINGS: Readonly<Record<string, string>> = {
  surfaces: 'dialects',
  witness_port: 'mock_port',
  witness_host: 'mock_host',
  witness_name: 'mock_name',
  witness_tls: 'mock_tls',
}

/** Returns the current id of a requirement or finding. */
export const currentId = (id: string): string => FINDINGS[id] ?? id

/** Parses a stored file of a run, with the current names of secrets, settings and facts. Throws SyntaxError. */
export function parseStored(text: string): unknown {
  const json = JSON.parse(
    text.replaceAll('[secret:witness.', '[secret:mock.').replaceAll('{{witness.', '{{mock.'),
  )
  if (json?.target) json.target = renamed(json.target, SETTINGS)
  if (json?.facts) json.facts = renamed(json.facts, { surface: 'dialect' })
  return json
}

const renamed = (object: object, names: Readonly<Record<string, string>>): object =>
  Object.fromEntries(Object.entries(object).map(([name, value]) => [names[name] ?? name, value]))
