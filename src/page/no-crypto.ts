// In the place of `node:crypto` in the browser: the page makes no ids, it only reads what the record is made of.
export const randomUUID = (): string => crypto.randomUUID()
