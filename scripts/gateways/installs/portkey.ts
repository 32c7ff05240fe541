import { NPM, type OtherGateway } from '../gateway.ts'

export const peer = {
  // With a later version of @hono/node-server, which the version range allows, each streamed call ends in a
  // 500.
  install: [`${NPM} --legacy-peer-deps @portkey-ai/gateway@1.15.2 @hono/node-server@1.13.8`],
  bin: 'node_modules/.bin',
} satisfies OtherGateway
