// Must-fail gateways with mistakes at endpoints that they relay without understanding them.

import { failWith, type MustFail, RECORD } from '../gateway.ts'
import type { GatewayHooks, Wanted } from '../wire.ts'

const isFiles = ({ path }: Wanted): boolean => path.startsWith('/v1/files')

/** Hides the records of calls at matching paths. */
const unrecorded = (is: RegExp) => (): GatewayHooks => {
  const hidden = new Set<string>()
  return {
    responseStart({ headers }, { path }) {
      if (is.test(path)) hidden.add(String(headers['x-gateway-request-id']))
    },
    request: ({ path }) =>
      path.startsWith(RECORD) && hidden.has(path.slice(RECORD.length)) ? failWith(404) : undefined,
  }
}

/** Sends every client's request with the administrator's rights, or with another client's key. */
const asOwner = (is: (wanted: Wanted) => boolean) => (): GatewayHooks => {
  let owner: string | undefined
  return {
    request(wanted) {
      if (!isFiles(wanted)) return
      if (wanted.method === 'POST') owner = wanted.headers.authorization
      else if (is(wanted) && owner) wanted.headers.authorization = owner
    },
  }
}

export const mustFail = {
  'relayed-unrecorded': {
    what: 'Calls that the gateway passes through without parsing them are not recorded.',
    caughtBy: ['PASS-01/relayed-is-recorded'],
    hooks: unrecorded(/^\/v1\/(moderations|audio)/),
  },
  'file-reads-unrecorded': {
    what: "Reads of a provider's files are not recorded.",
    caughtBy: ['PASS-01/relayed-is-recorded'],
    hooks: unrecorded(/^\/v1\/files\/./),
  },
  'files-with-other-line-ends': {
    what: 'The line endings in an uploaded file are changed.',
    caughtBy: ['PASS-02/request-is-unchanged', 'PASS-02/file-comes-back-unchanged'],
    profile: 'observable',
    hooks: {
      request(wanted) {
        if (isFiles(wanted))
          wanted.body = Buffer.from(wanted.body.toString('latin1').replace('}\r\n\t', '}\n\t'), 'latin1')
      },
    },
  },
  'foreign-file-readable': {
    what: 'Any key can read files that belong to other keys if it knows the id.',
    caughtBy: ['PASS-03/foreign-file'],
    hooks: asOwner(({ path }) => path.startsWith('/v1/files/')),
  },
  'foreign-file-in-the-list': {
    what: 'A file list contains files that belong to other keys.',
    caughtBy: ['PASS-03/foreign-file-is-not-in-the-list'],
    hooks: asOwner(({ path }) => path === '/v1/files'),
  },
} satisfies Record<string, MustFail>
