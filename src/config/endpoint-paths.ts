/** Ends of the paths that dialects append to the base address of a provider. */
const ENDPOINT_PATHS = [
  'chat/completions',
  'completions',
  'responses',
  'messages',
  'embeddings',
  'images/generations',
  'models',
] as const

const AT_THE_END = new RegExp(`/(${ENDPOINT_PATHS.join('|')})/*$`)

/** Returns the path of an endpoint that an address ends with, such as `/chat/completions`; null if it ends with none. */
export const endpointIn = (address: string): string | null => {
  const [, path] = AT_THE_END.exec(address) ?? []
  return path === undefined ? null : `/${path}`
}

/** Returns an address without the path of an endpoint that it ends with, and without slashes at its end. */
export const withoutEndpoint = (address: string): string =>
  address.replace(AT_THE_END, '').replace(/\/+$/, '')
