// Tables of the log that several gateways share, and their migration. Steps only add columns and tables, so
// that two releases work side by side: an older release does not write columns that it does not know. The
// columns of `calls` are derived from the record. Each day (UTC) has its own partition: the id begins with
// the time, so it is both key and partition key.
import { idAt } from '../../core/call.ts'
import { CALL_FIELDS } from '../../core/record.ts'
import type { SharedSchema } from '../shared-log.ts'
import { columnsOf } from '../sql/columns.ts'
import { SUM_COLUMNS } from '../sql/usage-sum.ts'
import type { Link } from './link.ts'

const DAY = 86_400_000
const TYPES = { TEXT: 'text', INTEGER: 'bigint', REAL: 'double precision' }

/** Columns of a call as in `call_logs`, except its id and its price. Here the price is part of the row. */
export const CALL_COLUMNS: readonly { readonly name: string; readonly type: string }[] = columnsOf(
  CALL_FIELDS,
)
  .filter(({ name }) => name !== 'id' && name !== 'price_id')
  .map(({ name, type }) => ({ name, type: TYPES[type] }))

/** Labels that the calls of a series share. */
export const SHARED_LABELS = [
  'key_name',
  'requested_model',
  'resolved_provider',
  'resolved_model',
  'route',
  'strategy',
  'tier',
  'cache',
  'endpoint',
] as const

/** Id of a call's series, as SQL over its labels. */
export const SERIES = `md5(json_build_array(${SHARED_LABELS.join(', ')})::text)::uuid`

/**
 * Schema version of the oldest release that can work with these tables. An incompatible change raises it to
 * its own version.
 */
const OLDEST_COMPATIBLE = 1

const STEPS: readonly string[] = [
  // 1: instances, calls, sums of each instance, limits, cooldowns.
  `
  CREATE TABLE instances (
    id text PRIMARY KEY,
    name text NOT NULL,
    place text NOT NULL,
    start bigint NOT NULL,
    seen_at timestamptz NOT NULL,
    started_at timestamptz NOT NULL,
    version text NOT NULL,
    config text NOT NULL,
    backlog bigint NOT NULL DEFAULT 0
  );

  CREATE TABLE calls (
    id uuid PRIMARY KEY,
    instance text NOT NULL,
    rev bigint NOT NULL,
    attempt_log json,
    price json
  ) PARTITION BY RANGE (id);

  CREATE TABLE usage_hours (
    hour bigint NOT NULL,
    instance text NOT NULL,
    series uuid NOT NULL,
    ${SHARED_LABELS.map((name) => `${name} text`).join(', ')},
    ${SUM_COLUMNS.map((name) => `${name} double precision NOT NULL`).join(', ')},
    PRIMARY KEY (hour, instance, series)
  );

  CREATE TABLE latency_hours (
    hour bigint NOT NULL,
    instance text NOT NULL,
    provider text NOT NULL,
    key_name text NOT NULL,
    step bigint NOT NULL,
    calls bigint NOT NULL,
    PRIMARY KEY (hour, instance, provider, key_name, step)
  );

  CREATE TABLE sessions (
    session_id text NOT NULL,
    key_name text NOT NULL,
    instance text NOT NULL,
    first_id uuid NOT NULL,
    PRIMARY KEY (session_id, key_name, instance)
  );
  CREATE INDEX sessions_first ON sessions (first_id);

  CREATE TABLE key_spending (
    key_name text NOT NULL,
    month text NOT NULL,
    instance text NOT NULL,
    usd double precision NOT NULL,
    estimated_usd double precision NOT NULL,
    PRIMARY KEY (key_name, month, instance)
  );

  CREATE TABLE budgets (
    key_name text NOT NULL,
    month text NOT NULL,
    granted double precision NOT NULL,
    last double precision NOT NULL DEFAULT 0,
    PRIMARY KEY (key_name, month)
  );
  CREATE TABLE leases (
    key_name text NOT NULL,
    month text NOT NULL,
    instance text NOT NULL,
    granted double precision NOT NULL,
    PRIMARY KEY (key_name, month, instance)
  );
  CREATE TABLE rates (key varchar(255) PRIMARY KEY, points integer NOT NULL DEFAULT 0, expire bigint);

  CREATE TABLE cooldowns (target text PRIMARY KEY, until timestamptz NOT NULL);
  `,

  // 2: the cost of each session, to list the most expensive ones. In fresh tables, `calls` has no columns
  // yet.
  `
  ALTER TABLE sessions ADD COLUMN cost_usd double precision NOT NULL DEFAULT 0;
  IF EXISTS (SELECT 1 FROM sessions) THEN
    UPDATE sessions AS s SET cost_usd = made.usd FROM (
      SELECT session_id, coalesce(key_name, '') AS key_name, instance, sum(cost_usd) AS usd FROM calls
        WHERE session_id IS NOT NULL AND completed_at IS NOT NULL AND cost_usd > 0 GROUP BY 1, 2, 3
    ) AS made WHERE (s.session_id, s.key_name, s.instance) = (made.session_id, made.key_name, made.instance);
  END IF;
  `,

  // 3: the number of calls that the client aborted, and of calls with a partly known cost. An older release
  // does not write them, so its aborted calls count as failed. Fresh tables have the columns from step 1.
  `
  ALTER TABLE usage_hours ADD COLUMN IF NOT EXISTS aborted double precision NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN IF NOT EXISTS cost_partial double precision NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ALTER COLUMN aborted SET DEFAULT 0, ALTER COLUMN cost_partial SET DEFAULT 0;
  IF EXISTS (SELECT 1 FROM usage_hours) THEN
    UPDATE usage_hours AS h SET aborted = left_early.calls FROM (
      SELECT created_at / 3600000 AS hour, instance, ${SERIES} AS series, count(*) AS calls FROM calls
        WHERE state = 'aborted' AND completed_at IS NOT NULL GROUP BY 1, 2, 3
    ) AS left_early WHERE (h.hour, h.instance, h.series) = (left_early.hour, left_early.instance, left_early.series);
  END IF;
  `,

  // 4: attempts of a key whose cost is neither known nor estimated.
  `
  ALTER TABLE key_spending ADD COLUMN IF NOT EXISTS unknown_attempts double precision NOT NULL DEFAULT 0;
  `,

  // 5: cost covered by a subscription. An older release does not write it. Fresh tables have the columns from
  // step 1.
  `
  ALTER TABLE usage_hours ADD COLUMN IF NOT EXISTS flat_usd double precision NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN IF NOT EXISTS flat_usd_known double precision NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ALTER COLUMN flat_usd SET DEFAULT 0, ALTER COLUMN flat_usd_known SET DEFAULT 0;
  `,

  // 6: sealed responses that the gateways store.
  `
  CREATE TABLE IF NOT EXISTS kept_responses (
    id text NOT NULL,
    key_name text NOT NULL,
    previous text,
    expires_at bigint NOT NULL,
    sealed text NOT NULL,
    PRIMARY KEY (id, key_name)
  );
  CREATE INDEX IF NOT EXISTS kept_responses_previous ON kept_responses (previous, key_name) WHERE previous IS NOT NULL;
  CREATE INDEX IF NOT EXISTS kept_responses_expires_at ON kept_responses (expires_at);
  `,

  // 7: the targets where conversations have their prompts cached, and the cached tokens lost by moving. An
  // older release writes neither. Fresh tables have the columns of the sums from step 1.
  `
  ALTER TABLE usage_hours ADD COLUMN IF NOT EXISTS cache_lost double precision NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN IF NOT EXISTS cache_lost_known double precision NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ALTER COLUMN cache_lost SET DEFAULT 0, ALTER COLUMN cache_lost_known SET DEFAULT 0;
  CREATE TABLE IF NOT EXISTS conversations (
    key text PRIMARY KEY,
    place text NOT NULL,
    cached bigint NOT NULL,
    until timestamptz NOT NULL,
    changed_at timestamptz NOT NULL,
    instance text NOT NULL
  );
  CREATE INDEX IF NOT EXISTS conversations_changed ON conversations (changed_at);
  `,

  // 8: the end of a batch, if it was fetched by an instance other than the one that created it. An older release
  // writes none.
  `
  CREATE TABLE IF NOT EXISTS left_writes (
    call_id uuid NOT NULL,
    kind text NOT NULL,
    instance text NOT NULL,
    write json NOT NULL,
    PRIMARY KEY (call_id, kind)
  );
  `,

  // 9: who owns an object at a provider, until the object is deleted. A trigger writes it, so that the calls of an older
  // release count, too. In fresh tables, `calls` has no columns yet. Rules as in the journal, step 25.
  `
  CREATE TABLE IF NOT EXISTS object_owners (
    id text PRIMARY KEY,
    call_id uuid NOT NULL,
    key_name text,
    provider text NOT NULL,
    model text NOT NULL
  );
  CREATE INDEX IF NOT EXISTS object_owners_call ON object_owners (call_id);
  CREATE OR REPLACE FUNCTION own_objects() RETURNS trigger LANGUAGE plpgsql AS $own$ BEGIN
    IF NEW.objects IS NOT NULL OR NEW.container_id IS NOT NULL THEN
      INSERT INTO waybill.object_owners AS o (id, call_id, key_name, provider, model)
        SELECT made, NEW.id, NEW.key_name, NEW.resolved_provider, NEW.resolved_model FROM (
            SELECT jsonb_array_elements_text(coalesce(NEW.objects, '[]')::jsonb) UNION SELECT NEW.container_id
          ) AS each_made (made) WHERE made IS NOT NULL
        ON CONFLICT (id) DO UPDATE SET call_id = excluded.call_id, key_name = excluded.key_name,
          provider = excluded.provider, model = excluded.model
          WHERE excluded.id LIKE 'files/%' AND excluded.call_id > o.call_id;
    END IF;
    IF NEW.method = 'DELETE' AND NEW.object_id IS NOT NULL AND NEW.state = 'completed' THEN
      DELETE FROM waybill.object_owners
        WHERE id IN (NEW.object_id, 'files/' || NEW.object_id) AND provider = NEW.resolved_provider;
    END IF;
    RETURN NULL;
  END $own$;
  DROP TRIGGER IF EXISTS own_objects ON calls;
  CREATE TRIGGER own_objects AFTER INSERT OR UPDATE ON calls FOR EACH ROW EXECUTE FUNCTION own_objects();
  IF EXISTS (SELECT 1 FROM information_schema.columns
      WHERE table_schema = 'waybill' AND table_name = 'calls' AND column_name = 'objects') THEN
    INSERT INTO object_owners (id, call_id, key_name, provider, model)
      SELECT DISTINCT ON (made.id) made.id, calls.id, key_name, resolved_provider, resolved_model
        FROM calls, LATERAL (
          SELECT jsonb_array_elements_text(coalesce(objects, '[]')::jsonb) UNION SELECT container_id
        ) AS made (id) WHERE made.id IS NOT NULL ORDER BY made.id, calls.id
      ON CONFLICT (id) DO NOTHING;
  END IF;
  `,

  // 10: the number of calls whose cost is estimated. An older release does not write it. Fresh tables have the column
  // from step 1.
  `
  ALTER TABLE usage_hours ADD COLUMN IF NOT EXISTS cost_estimated double precision NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ALTER COLUMN cost_estimated SET DEFAULT 0;
  `,
]

/** Indexes are created with the columns, on the empty parent or on each partition in turn. */
const INDEXES = [
  'calls_session ON calls (session_id, id) WHERE session_id IS NOT NULL',
  'calls_agent ON calls (agent_id, id) WHERE agent_id IS NOT NULL',
  `calls_aside ON calls (purpose, id) WHERE purpose <> 'main'`,
  'calls_key ON calls (key_name, id) WHERE key_name IS NOT NULL',
  'calls_client ON calls (client, id) WHERE client IS NOT NULL',
  'calls_error ON calls (error_code, id) WHERE error_code IS NOT NULL',
  'calls_response ON calls (response_id) WHERE response_id IS NOT NULL',
  'calls_container ON calls (container_id) WHERE container_id IS NOT NULL',
  'calls_objects ON calls USING gin ((objects::jsonb)) WHERE objects IS NOT NULL',
  'calls_open ON calls (id) WHERE completed_at IS NULL',
]

/** Version of the tables that this release creates. */
export const SHARED_SCHEMA_VERSION = STEPS.length

export async function lookAtSchema(link: Link): Promise<SharedSchema> {
  const [there] = await link.query<{ table: string | null }>(
    `SELECT to_regclass('waybill.schema')::text AS table`,
  )
  if (!there?.table) return { version: 0, problem: 'the database has no Waybill tables' }
  const [found] = await link.query<{ version: number; oldest: number }>(
    'SELECT version, oldest FROM waybill.schema',
  )
  const { version, oldest } = found!
  if (oldest > SHARED_SCHEMA_VERSION)
    return {
      version,
      problem: `the shared log was made by a newer Waybill (schema ${version}, for schema ${oldest} and later; this one knows ${SHARED_SCHEMA_VERSION}); update this gateway`,
    }
  if (version < SHARED_SCHEMA_VERSION)
    return {
      version,
      problem: `the shared log has schema ${version}, but this Waybill needs ${SHARED_SCHEMA_VERSION}`,
    }
  const missing = await missingColumns(link)
  return { version, problem: missing.length > 0 ? `the shared log lacks ${missing.length} columns` : null }
}

const missingColumns = async (link: Link) => {
  const there = await link.query<{ name: string }>(
    `SELECT column_name AS name FROM information_schema.columns WHERE table_schema = 'waybill' AND table_name = 'calls'`,
  )
  const names = new Set(there.map(({ name }) => name))
  return CALL_COLUMNS.filter(({ name }) => !names.has(name))
}

/**
 * Creates the missing tables. Several instances may call this at the same time; only one creates them.
 * Changes nothing if all tables exist or a newer release has created its own.
 */
export async function createTables(link: Link): Promise<void> {
  const { version, problem } = await lookAtSchema(link)
  if (problem === null || version > SHARED_SCHEMA_VERSION) return
  const steps = STEPS.slice(version).map(
    (step, index) => `
    IF (SELECT version FROM waybill.schema) = ${version + index} THEN
      ${step}
      UPDATE waybill.schema SET version = ${version + index + 1}, oldest = ${OLDEST_COMPATIBLE};
    END IF;`,
  )
  await link.script(`
    SELECT pg_advisory_xact_lock(${LOCK});
    CREATE SCHEMA IF NOT EXISTS waybill;
    SET LOCAL search_path = waybill;
    CREATE TABLE IF NOT EXISTS schema (version integer NOT NULL, oldest integer NOT NULL);
    INSERT INTO schema SELECT 0, ${OLDEST_COMPATIBLE} WHERE NOT EXISTS (SELECT 1 FROM schema);
    DO $steps$ BEGIN ${steps.join('\n')} END $steps$;
    ${CALL_COLUMNS.map(({ name, type }) => `ALTER TABLE calls ADD COLUMN IF NOT EXISTS ${name} ${type};`).join('\n')}
    ${INDEXES.map((index) => `CREATE INDEX IF NOT EXISTS ${index};`).join('\n')}`)
}

/** Advisory lock that allows one instance at a time to change the tables. */
export const LOCK = 4_949_001

/** Returns the partition for a time, ms since the epoch. */
export function partitionOf(at: number): { name: string; from: string; to: string } {
  const day = Math.floor(at / DAY) * DAY
  return {
    name: `calls_${new Date(day).toISOString().slice(0, 10).replaceAll('-', '')}`,
    from: lowestId(day),
    to: lowestId(day + DAY),
  }
}

/** Returns the smallest UUID for a time, ms since the epoch. */
export const lowestId = (at: number): string => `${idAt(at)}0000-0000-000000000000`

/** Creates the missing partitions of these days. */
export async function makePartitions(link: Link, days: readonly number[]): Promise<void> {
  const wanted = [...new Map(days.map((at) => [partitionOf(at).name, partitionOf(at)])).values()]
  const there = await link.query<{ name: string }>(
    `SELECT relname AS name FROM pg_class WHERE relnamespace = 'waybill'::regnamespace AND relname = ANY(?)`,
    [wanted.map(({ name }) => name)],
  )
  const missing = wanted.filter(({ name }) => !there.some((each) => each.name === name))
  if (missing.length === 0) return
  await link.script(`
    SET LOCAL lock_timeout = '2s';
    SELECT pg_advisory_xact_lock(${LOCK});
    ${missing.map(({ name, from, to }) => `CREATE TABLE IF NOT EXISTS waybill.${name} PARTITION OF waybill.calls FOR VALUES FROM ('${from}') TO ('${to}');`).join('\n')}`)
}

/** Returns today and the following days. The first call after midnight needs a partition. */
export const comingDays = (now: number): number[] => [0, 1, 2, 3].map((days) => now + days * DAY)
