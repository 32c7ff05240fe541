// Inserts the suite's values into a target file: `{{port}}`, `{{mock.openai.base_url}}`, `{{key.client}}`.
// Pure.

/** Name -> value. */
export type Values = Readonly<Record<string, string>>

/** Fills in the placeholders of every text in a value. Throws an Error that names an unknown placeholder. */
export function fillIn<T>(value: T, values: Values): T {
  if (typeof value === 'string') return fillText(value, values) as T
  if (Array.isArray(value)) return value.map((each) => fillIn(each, values)) as T
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, each]) => [fillText(name, values), fillIn(each, values)]),
  ) as T
}

const fillText = (text: string, values: Values): string =>
  text.replace(/\{\{([\w.-]+)\}\}/g, (_, name: string) => {
    const value = values[name]
    if (value === undefined) throw new Error(`there is no {{${name}}}; known: ${known(values).join(', ')}`)
    return value
  })

const known = (values: Values): string[] =>
  Object.keys(values)
    .filter((name) => !name.startsWith('env.'))
    .sort()
