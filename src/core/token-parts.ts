/** Parts of a call's recorded tokens, in the order of columns and exports. */
export const TOKEN_PARTS = ['input', 'output', 'cached_input', 'cache_write', 'reasoning', 'source'] as const
