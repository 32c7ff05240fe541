// Gateways that relay endpoints in an unusual way.
import type { Json, MustPass } from '../gateway.ts'
import { changeJson } from '../gateway.ts'
import type { GatewayHooks } from '../wire.ts'

/** Hooks that give clients file ids that differ from the provider's. */
const withOwnIds: GatewayHooks = {
  request(wanted) {
    wanted.path = wanted.path.replace(/^\/v1\/files\/own_/, '/v1/files/')
    wanted.body = Buffer.from(wanted.body.toString('latin1').replace('"own_file-', '"file-'), 'latin1')
  },
  body: (body, { path }) =>
    path.startsWith('/v1/files') && !path.endsWith('/content')
      ? body.replaceAll('"file-', '"own_file-')
      : body,
}

export const mustPass = {
  'own-ids-for-files': {
    what: "The gateway gives files its own ids, and maps each back to the provider's id.",
    hooks: withOwnIds,
  },
  'relayed-json-in-another-form': {
    what: 'The gateway parses JSON that it passes through, and writes it again with the same values.',
    hooks: {
      request(wanted) {
        if (wanted.path === '/v1/moderations')
          wanted.body = Buffer.from(changeJson(wanted.body.toString('utf8'), (json) => json))
      },
      body: (body, { path }) =>
        path === '/v1/moderations'
          ? changeJson(body, (json: Json) => Object.fromEntries(Object.entries(json).reverse()))
          : body,
    },
  },
  'foreign-files-are-forbidden': {
    what: "A read of another key's file gets 403 instead of 404.",
    hooks: {
      responseStart(start, { path }) {
        if (path.startsWith('/v1/files/') && start.status === 404) start.status = 403
      },
    },
  },
} satisfies Record<string, MustPass>
