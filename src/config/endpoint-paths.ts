/** Paths that dialects append to a provider's base address. */
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

/** Returns the endpoint's path at the end of an address, such as `/chat/completions`; null if there is none. */
export const endpointIn = (address: string): string | null => {
  const [, path] = AT_THE_END.exec(address) ?? []
  return path === undefined ? null : `/${path}`
}

/** Returns an address without an endpoint's path and without slashes at its end. */
export const withoutEndpoint = (address: string): string =>
  address.replace(AT_THE_END, '').replace(/\/+$/, '')
