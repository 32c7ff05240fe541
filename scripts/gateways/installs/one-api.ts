import { type OtherGateway, TOKEN_TABLES, tokenTables } from '../gateway.ts'

export const peer = {
  install: [
    'go mod init peer && go mod edit -require=github.com/songquanpeng/one-api@v0.6.10',
    'go build -mod=mod -o bin/one-api github.com/songquanpeng/one-api',
    ...TOKEN_TABLES,
  ],
  bin: 'bin',
  env: tokenTables,
} satisfies OtherGateway
