// Recognizes a 404 for a model that the provider does not know: it is retired, misspelt, or not available to
// this account. Providers word this error differently, some of them outside their own error format. The error
// is therefore recognized by the model's name in the body; src/models/refusals.yaml has the codes and sentences of
// errors that do not name it, or have another status. Pure; knows no dialect.

/** Maximum bytes of the body that are searched, because an error is short. */
const MAX_SEARCHED_BYTES = 16_384

/** Returns true if an answer refuses an unknown model. `status` and `body` answer a request for `model`. */
export function isUnknownModel(status: number, body: Buffer, model: string): boolean {
  if (status !== 404) return false
  const text = body.subarray(0, MAX_SEARCHED_BYTES).toString('utf8')
  return isJson(text) && names(text, model)
}

/** Excludes HTML pages. HTML pages come from a wrong path, so the base URL is wrong for every model. */
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
