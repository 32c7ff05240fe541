// A call to try the gateway with, as a line for the shell.
import { client } from './client.ts'

/** `model` as the client would ask for it; `key`: further arguments of curl. */
export const curlExample = (url: string, model: string, key = ''): string =>
  `curl -s ${url}${client.path}${key} -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Where do you go?"}]}'`
