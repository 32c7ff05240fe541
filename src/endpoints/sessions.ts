// GET /api/sessions: the sessions, newest first, with what their calls add up to.
import { z } from 'zod'
import type { ReadEndpoint } from '../http/endpoint.ts'
import type { ReadContext } from './context.ts'
import { ownKey, page } from './query.ts'
import * as schemas from './schemas.ts'

const query = z.strictObject(page)

export const sessions = {
  path: '/api/sessions',
  summary: 'sessions, newest first, with their calls, tokens and cost; in pages',
  query,
  response: schemas.page(schemas.session),
  async answer(page, { caller }, { calls }) {
    return { object: 'list', ...(await calls.sessions(page, ownKey(caller))) }
  },
} satisfies ReadEndpoint<ReadContext, typeof query>
