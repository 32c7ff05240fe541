import type { OtherGateway } from '../gateway.ts'

export const peer = {
  install: [
    'npm pack --silent @musistudio/claude-code-router@1.0.73 && tar -xzf musistudio-claude-code-router-1.0.73.tgz',
    'mkdir bin && ln -s ../package/dist/cli.js bin/ccr',
  ],
  bin: 'bin',
} satisfies OtherGateway
