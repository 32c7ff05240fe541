// Estimates the tokens of a request, to compare them with a model's context window.

/** Characters per token. Few texts have more, so the estimate is seldom too high. */
const CHARACTERS_PER_TOKEN = 4

/** Returns a low estimate of the tokens in a body; files and pictures are not counted. */
export function tokensIn(body: unknown): number {
  let characters = 0
  const walk = (value: unknown): void => {
    if (typeof value === 'string') characters += value.length
    else if (typeof value === 'object' && value !== null)
      for (const [name, each] of Object.entries(value)) if (name !== 'data') walk(each)
  }
  walk(body)
  return Math.floor(characters / CHARACTERS_PER_TOKEN)
}
