// Recognizes a 404 for a model that the provider does not know: retired, misspelt, not for this account.
// Providers word it differently, some outside their own error format, so it is recognized by the code, or by
// the model's name in the body. Pure; knows no dialect.

/** Codes of OpenAI, Together and Azure for errors that do not name the model. */
const CODES = /"(model_not_found|model_not_available|DeploymentNotFound)"/

/** Bytes of the body that are searched: an error is short. */
const MAX_SEARCHED_BYTES = 16_384

/** `status` and `body`: answer to a request for `model`. */
export function isUnknownModel(status: number, body: Buffer, model: string): boolean {
  if (status !== 404) return false
  const text = body.subarray(0, MAX_SEARCHED_BYTES).toString('utf8')
  return isJson(text) && (CODES.test(text) || names(text, model))
}

/** An HTML page comes from a wrong path: the base URL is wrong, and would be for every model. */
const isJson = (text: string): boolean => /^\s*[[{]/.test(text)

/** Returns true if the text contains the model's whole name: `gpt-5-mini` does not name `gpt-5`. */
function names(text: string, model: string): boolean {
  const name = JSON.stringify(model).slice(1, -1)
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const [before, after] = [text[at - 1] ?? '', text.slice(at + name.length, at + name.length + 2)]
    if (!/[\w-]/.test(before) && !/^([\w-]|[.:]\w)/.test(after)) return true
  }
  return false
}
