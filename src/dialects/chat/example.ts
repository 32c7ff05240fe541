// A curl command for trying the gateway.
import { client } from './client.ts'

/** `model`: the id that the client requests; `key`: additional arguments of curl. */
export const curlExample = (url: string, model: string, key = ''): string =>
  `curl -s ${url}${client.path}${key} -H 'content-type: application/json' -d '{"model":"${model}","messages":[{"role":"user","content":"Where do you go?"}]}'`
