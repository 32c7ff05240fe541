// Whether a 404 means that the provider does not know the model that it was asked for: retired, misspelt, not for this
// account. Providers word it differently and some outside their own error shape, so it is told by the code, or by the
// model's name in the body. Pure; knows no dialect.

/** What OpenAI, Together and Azure say without naming the model. */
const CODES = /"(model_not_found|model_not_available|DeploymentNotFound)"/

/** How much of the body is looked at, bytes: an error is short. */
const MOST = 16_384

/** `status` and `body` of an answer to a request for `model`. */
export function isUnknownModel(status: number, body: Buffer, model: string): boolean {
  if (status !== 404) return false
  const text = body.subarray(0, MOST).toString('utf8')
  return isJson(text) && (CODES.test(text) || names(text, model))
}

/** A page of HTML comes from a path that is not there: the base URL is wrong, and so it would be for every model. */
const isJson = (text: string): boolean => /^\s*[[{]/.test(text)

/** Whether the model's whole name is in the text: `gpt-5` is not named by `gpt-5-mini`. */
function names(text: string, model: string): boolean {
  const name = JSON.stringify(model).slice(1, -1)
  for (let at = text.indexOf(name); at >= 0; at = text.indexOf(name, at + 1)) {
    const [before, after] = [text[at - 1] ?? '', text.slice(at + name.length, at + name.length + 2)]
    if (!/[\w-]/.test(before) && !/^([\w-]|[.:]\w)/.test(after)) return true
  }
  return false
}
