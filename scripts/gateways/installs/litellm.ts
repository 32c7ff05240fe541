import { NPM, type OtherGateway } from '../gateway.ts'

const PRISMA = '5.17.0' // required by prisma 0.15.0 for Python

export const peer = {
  // LiteLLM's image includes prisma. Two of Prisma's programs are not in any package registry:
  // prisma-engine.ts replaces the query engine, and psql applies the migrations instead of the other program.
  install: [
    'python3 -m venv .',
    'bin/pip install --quiet "litellm[proxy]==1.106.2" prisma==0.15.0',
    `${NPM} prisma@${PRISMA} @prisma/client@${PRISMA} @prisma/adapter-pg@${PRISMA} @prisma/driver-adapter-utils@${PRISMA} pg@8.13.1 graphql@16.9.0`,
    `mkdir run && cat > run/query-engine <<END
#!/bin/sh
exec "$NODE" "$PROJECT/scripts/gateways/prisma-engine.ts" "$PWD" "\\$@"
END`,
    `cat > run/litellm <<END
#!/bin/sh
export PRISMA_BINARY_CACHE_DIR="$PWD" PRISMA_QUERY_ENGINE_BINARY="$PWD/run/query-engine" PRISMA_SCHEMA_ENGINE_BINARY=/bin/true
export DISABLE_SCHEMA_UPDATE=true PATH="$PWD/bin:\\$PATH"
psql -qc 'SELECT 1 FROM "LiteLLM_SpendLogs" LIMIT 0' "\\$DATABASE_URL" > /dev/null 2>&1 ||
  cat "$PWD"/lib/python*/site-packages/litellm_proxy_extras/migrations/*/migration.sql | psql -q -v ON_ERROR_STOP=1 "\\$DATABASE_URL" > /dev/null || exit
exec "$PWD/bin/litellm" "\\$@"
END`,
    'chmod +x run/*',
    'PATH="$PWD/bin:$PATH" PRISMA_BINARY_CACHE_DIR="$PWD" PRISMA_QUERY_ENGINE_BINARY="$PWD/run/query-engine" PRISMA_SCHEMA_ENGINE_BINARY=/bin/true bin/prisma generate --schema lib/python*/site-packages/litellm/proxy/schema.prisma',
  ],
  bin: 'run',
  services: ['postgres'],
} satisfies OtherGateway
