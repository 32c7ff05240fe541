import { NPM, type OtherGateway } from '../gateway.ts'

export const peer = {
  // The published archive contains a built server with an SQLite binding for another version of Node.
  install: [
    'npm pack --silent omniroute@3.7.9 && tar -xzf omniroute-3.7.9.tgz',
    `${NPM} better-sqlite3@13.2.0 wreq-js@2.0.1`,
    'rm -r package/app/node_modules/better-sqlite3',
    'cp -R node_modules/better-sqlite3 package/app/node_modules/',
    // Starts the server like its own starter, with WebSocket upgrades of /v1/responses.
    'mkdir bin && printf \'#!/bin/sh\\nexec node "%s/package/app/server-ws.mjs"\\n\' "$PWD" > bin/omniroute-server',
    'chmod +x bin/omniroute-server',
  ],
  bin: 'bin',
} satisfies OtherGateway
