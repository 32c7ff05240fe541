// The schema of the database as a list of migration steps. Append only: a released step is never edited.
// `PRAGMA user_version` counts the steps applied to a database.
import type { Database } from 'better-sqlite3'
import { rebuildRollUps } from './roll-ups.ts'

/** Columns of the sums, as of step 3. */
const AMOUNTS = [
  'tokens_input',
  'tokens_output',
  'tokens_cached_input',
  'tokens_cache_write',
  'tokens_reasoning',
  'cost_usd',
]
const SUMS = ['calls', 'failed', 'fell_back', ...AMOUNTS, ...AMOUNTS.map((name) => `${name}_known`)]
const real = (names: readonly string[]): string => names.map((name) => `${name} REAL NOT NULL`).join(', ')

export const STEPS: readonly string[] = [
  // 1: one record for each call, one row for each attempt. Times are milliseconds since the epoch, UTC. The
  // ids sort by time, so both tables grow at their end. The partial index contains only open calls. A price
  // is a JSON snapshot that many calls share. It never changes; a new price is a new row.
  `
  CREATE TABLE prices (id INTEGER PRIMARY KEY, snapshot TEXT NOT NULL UNIQUE) STRICT;

  CREATE TABLE call_logs (
    id TEXT PRIMARY KEY,
    created_at INTEGER NOT NULL,
    completed_at INTEGER,
    state TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    requested_model TEXT NOT NULL,
    resolved_provider TEXT NOT NULL,
    resolved_model TEXT NOT NULL,
    picked_provider TEXT NOT NULL,
    picked_model TEXT NOT NULL,
    response_model TEXT,
    route TEXT,
    strategy TEXT,
    tier TEXT,
    decision TEXT NOT NULL,
    session_id TEXT,
    agent_id TEXT,
    key_name TEXT,
    stream INTEGER NOT NULL,
    status INTEGER,
    error_code TEXT,
    attempts INTEGER NOT NULL,
    fallbacks INTEGER NOT NULL,
    latency_ms REAL,
    ttft_ms REAL,
    tokens_input INTEGER,
    tokens_output INTEGER,
    tokens_cached_input INTEGER,
    tokens_cache_write INTEGER,
    tokens_reasoning INTEGER,
    tokens_source TEXT,
    cost_usd REAL,
    price_id INTEGER REFERENCES prices (id),
    cache TEXT NOT NULL,
    saved_usd REAL
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX call_logs_session ON call_logs (session_id, id) WHERE session_id IS NOT NULL;
  CREATE INDEX call_logs_open ON call_logs (id) WHERE completed_at IS NULL;

  CREATE TABLE call_attempts (
    call_id TEXT NOT NULL,
    n INTEGER NOT NULL,
    provider TEXT NOT NULL,
    model TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    ended_at INTEGER,
    status INTEGER,
    outcome TEXT NOT NULL,
    error_code TEXT,
    tokens_input INTEGER,
    tokens_output INTEGER,
    tokens_cached_input INTEGER,
    tokens_cache_write INTEGER,
    tokens_reasoning INTEGER,
    cost_usd REAL,
    PRIMARY KEY (call_id, n)
  ) WITHOUT ROWID, STRICT;
  `,

  // 2: spending of each key per month (UTC, `2026-11`). It is separate from the calls, because a budget must
  // not grow when retention deletes rows. Also the origin of an attempt's tokens: reported or estimated.
  `
  CREATE TABLE key_spending (
    key_name TEXT NOT NULL,
    month TEXT NOT NULL,
    usd REAL NOT NULL,
    PRIMARY KEY (key_name, month)
  ) WITHOUT ROWID, STRICT;
  INSERT INTO key_spending
    SELECT key_name, strftime('%Y-%m', created_at / 1000, 'unixepoch') AS month, sum(cost_usd) FROM call_logs
    WHERE key_name IS NOT NULL AND cost_usd > 0 GROUP BY key_name, month;

  ALTER TABLE call_attempts ADD COLUMN tokens_source TEXT;
  UPDATE call_attempts SET tokens_source = 'reported' WHERE coalesce(tokens_input, tokens_output,
    tokens_cached_input, tokens_cache_write, tokens_reasoning) IS NOT NULL;
  `,

  // 3: sums of closed calls, per hour and series of similar calls, and per session and key; '' means no key.
  // Completed calls of each hour per step of latency. The newest artifacts. The sums are floating point, so
  // that no reported count can overflow them.
  `
  CREATE TABLE series (
    id INTEGER PRIMARY KEY,
    key_name TEXT,
    requested_model TEXT NOT NULL,
    resolved_provider TEXT NOT NULL,
    resolved_model TEXT NOT NULL,
    route TEXT,
    strategy TEXT,
    tier TEXT,
    price_id INTEGER
  ) STRICT;
  CREATE INDEX series_models ON series (requested_model, resolved_model);

  CREATE TABLE usage_hours (
    hour INTEGER NOT NULL,
    series_id INTEGER NOT NULL,
    ${real(SUMS)},
    PRIMARY KEY (hour, series_id)
  ) WITHOUT ROWID, STRICT;

  CREATE TABLE latency_hours (
    hour INTEGER NOT NULL,
    provider TEXT NOT NULL,
    key_name TEXT NOT NULL,
    step INTEGER NOT NULL,
    calls INTEGER NOT NULL,
    PRIMARY KEY (hour, provider, key_name, step)
  ) WITHOUT ROWID, STRICT;

  CREATE TABLE sessions (
    session_id TEXT NOT NULL,
    key_name TEXT NOT NULL,
    first_id TEXT NOT NULL,
    ${real(SUMS)},
    PRIMARY KEY (session_id, key_name)
  ) WITHOUT ROWID, STRICT;
  CREATE INDEX sessions_first ON sessions (first_id);

  CREATE INDEX call_logs_agent ON call_logs (agent_id, id) WHERE agent_id IS NOT NULL;

  CREATE TABLE artifacts (
    call_id TEXT PRIMARY KEY,
    bytes INTEGER NOT NULL,
    json TEXT NOT NULL
  ) STRICT;
  `,

  // 4: true for a call answered from recordings. Unknown for earlier calls.
  `
  ALTER TABLE call_logs ADD COLUMN replayed INTEGER NOT NULL DEFAULT 0;
  `,

  // 5: the part of a key's spending that was not reported, and the reservations for its open calls.
  `
  ALTER TABLE key_spending ADD COLUMN estimated_usd REAL NOT NULL DEFAULT 0;

  CREATE TABLE key_reservations (
    call_id TEXT PRIMARY KEY,
    usd REAL NOT NULL
  ) WITHOUT ROWID, STRICT;
  `,

  // 6: the purpose of a call. Unknown for earlier calls. Most calls are turns of a main conversation; the
  // index covers the rest.
  `
  ALTER TABLE call_logs ADD COLUMN purpose TEXT;
  CREATE INDEX call_logs_purpose ON call_logs (purpose, id) WHERE purpose <> 'main';
  `,

  // 7: the provider of an answer that a later call continues.
  `
  ALTER TABLE call_logs ADD COLUMN response_id TEXT;
  CREATE INDEX call_logs_response ON call_logs (response_id) WHERE response_id IS NOT NULL;
  `,

  // 8: columns for the lists of the page. Calls by error; cache use and called path, as labels of a series;
  // and the cache's savings, as a sum.
  `
  CREATE INDEX call_logs_error ON call_logs (error_code, id) WHERE error_code IS NOT NULL;
  ALTER TABLE series ADD COLUMN cache TEXT;
  ALTER TABLE series ADD COLUMN endpoint TEXT;
  ALTER TABLE usage_hours ADD COLUMN saved_usd REAL NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN saved_usd_known REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN saved_usd REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN saved_usd_known REAL NOT NULL DEFAULT 0;
  `,

  // 9: losses of translating an attempt, as a JSON list of words; null if nothing was translated.
  `
  ALTER TABLE call_attempts ADD COLUMN losses TEXT;
  `,

  // 10: calls that a fleet's shared log has not received yet (`outbox.ts`); numbers are never reused. Also
  // the id of this database in the fleet.
  `
  CREATE TABLE outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, call_id TEXT NOT NULL) STRICT;
  CREATE TABLE journal (id TEXT NOT NULL) STRICT;
  INSERT INTO journal VALUES (lower(hex(randomblob(8))));
  `,

  // 11: the caller's trace context.
  `
  ALTER TABLE call_logs ADD COLUMN traceparent TEXT;
  `,

  // 12: parts missing from a call's cost, as a JSON list of words, and the program that made the call.
  // Unknown for earlier calls. New sums: calls that the client aborted, and calls with a partly known cost.
  `
  ALTER TABLE call_logs ADD COLUMN cost_missing TEXT;
  ALTER TABLE call_logs ADD COLUMN client TEXT;
  CREATE INDEX call_logs_client ON call_logs (client, id) WHERE client IS NOT NULL;
  ALTER TABLE usage_hours ADD COLUMN aborted REAL NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN cost_partial REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN aborted REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN cost_partial REAL NOT NULL DEFAULT 0;
  `,

  // 13: the provider of a container to which a later call refers.
  `
  ALTER TABLE call_logs ADD COLUMN container_id TEXT;
  CREATE INDEX call_logs_container_id ON call_logs (container_id) WHERE container_id IS NOT NULL;
  `,

  // 14: attempts of a key with a partly unknown cost that is not estimated either.
  `
  ALTER TABLE key_spending ADD COLUMN unknown_attempts REAL NOT NULL DEFAULT 0;
  `,

  // 15: usage as served, the provider's own figure, and the cost covered by a subscription.
  `
  ALTER TABLE call_logs ADD COLUMN service_tier TEXT;
  ALTER TABLE call_logs ADD COLUMN speed TEXT;
  ALTER TABLE call_logs ADD COLUMN region TEXT;
  ALTER TABLE call_logs ADD COLUMN usage TEXT;
  ALTER TABLE call_logs ADD COLUMN reported_usd REAL;
  ALTER TABLE call_logs ADD COLUMN priced_usd REAL;
  ALTER TABLE call_logs ADD COLUMN flat_usd REAL;
  ALTER TABLE usage_hours ADD COLUMN flat_usd REAL NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN flat_usd_known REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN flat_usd REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN flat_usd_known REAL NOT NULL DEFAULT 0;
  `,

  // 16: parameters left out of an attempt because the provider refuses them, as a JSON list; null if none
  // were.
  `
  ALTER TABLE call_attempts ADD COLUMN adjusted TEXT;
  `,

  // 17: name of the provider's key that an attempt used.
  `
  ALTER TABLE call_attempts ADD COLUMN provider_key TEXT;
  `,

  // 18: transport of a call, and of its attempts.
  `
  ALTER TABLE call_logs ADD COLUMN transport TEXT;
  ALTER TABLE call_attempts ADD COLUMN transport TEXT;
  `,

  // 19: spending of each key also by day, week and session, computed first from the calls on record.
  // `src/core/period.ts` names the periods.
  `
  ALTER TABLE key_spending RENAME COLUMN month TO period;
  INSERT INTO key_spending (key_name, period, usd)
    SELECT key_name, period, sum(usd) FROM (
      SELECT key_name, cost_usd - coalesce(flat_usd, 0) AS usd, CASE n
          WHEN 0 THEN date(created_at / 1000, 'unixepoch')
          WHEN 1 THEN 'week ' || date(created_at / 1000, 'unixepoch', '-6 days', 'weekday 1')
          ELSE 'session ' || session_id
        END AS period
      FROM call_logs, (SELECT 0 AS n UNION ALL SELECT 1 UNION ALL SELECT 2)
      WHERE key_name IS NOT NULL AND cost_usd > 0 AND NOT replayed
    ) WHERE period IS NOT NULL GROUP BY key_name, period;
  `,

  // 20: files and batches made by providers, and the call that made each. They belong to that call's key.
  `
  ALTER TABLE call_logs ADD COLUMN method TEXT;
  ALTER TABLE call_logs ADD COLUMN object_id TEXT;
  ALTER TABLE call_logs ADD COLUMN objects TEXT;
  CREATE TABLE made_objects (id TEXT NOT NULL, call_id TEXT NOT NULL, PRIMARY KEY (id, call_id)) WITHOUT ROWID;
  CREATE INDEX made_objects_call ON made_objects (call_id);
  CREATE TRIGGER objects_made AFTER UPDATE OF objects ON call_logs WHEN NEW.objects IS NOT NULL BEGIN
    INSERT OR IGNORE INTO made_objects SELECT value, NEW.id FROM json_each(NEW.objects);
  END;
  CREATE TRIGGER objects_forgotten AFTER DELETE ON call_logs WHEN OLD.objects IS NOT NULL BEGIN
    DELETE FROM made_objects WHERE call_id = OLD.id;
  END;
  `,

  // 21: sealed responses that the gateway stores. Rows are numbered by age.
  `
  CREATE TABLE kept_responses (
    id TEXT NOT NULL,
    key_name TEXT NOT NULL,
    previous TEXT,
    expires_at INTEGER NOT NULL,
    bytes INTEGER NOT NULL,
    sealed TEXT NOT NULL
  ) STRICT;
  CREATE UNIQUE INDEX kept_responses_id ON kept_responses (id, key_name);
  CREATE INDEX kept_responses_previous ON kept_responses (previous, key_name) WHERE previous IS NOT NULL;
  CREATE INDEX kept_responses_expires_at ON kept_responses (expires_at);
  `,

  // 22: cached tokens that conversations lost by moving to another target.
  `
  ALTER TABLE call_logs ADD COLUMN cache_lost INTEGER;
  ALTER TABLE usage_hours ADD COLUMN cache_lost REAL NOT NULL DEFAULT 0;
  ALTER TABLE usage_hours ADD COLUMN cache_lost_known REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN cache_lost REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN cache_lost_known REAL NOT NULL DEFAULT 0;
  `,

  // 23: calls that continue at their provider, each with the request that fetches it, as JSON.
  `
  CREATE TABLE background_calls (call_id TEXT PRIMARY KEY, run TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,

  // 24: used share of a subscription.
  `
  ALTER TABLE call_logs ADD COLUMN plan_limits TEXT;
  `,

  // 25: who owns an object at a provider, until the object is deleted; its call may be deleted before. A later call
  // cannot take an object over by naming it. Only Google's clients choose names, so only there a name may return.
  `
  CREATE TABLE object_owners (
    n INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    call_id TEXT NOT NULL,
    key_name TEXT,
    provider TEXT NOT NULL,
    model TEXT NOT NULL
  ) STRICT;
  INSERT INTO object_owners (id, call_id, key_name, provider, model)
    SELECT made.id, min(call_id), key_name, resolved_provider, resolved_model FROM (
        SELECT id, call_id FROM made_objects
        UNION ALL SELECT container_id, id FROM call_logs WHERE container_id IS NOT NULL
      ) AS made JOIN call_logs ON call_logs.id = call_id GROUP BY made.id ORDER BY min(call_id);
  DROP TRIGGER objects_made;
  DROP TRIGGER objects_forgotten;
  DROP TABLE made_objects;
  DROP INDEX call_logs_container_id;
  CREATE TRIGGER objects_owned AFTER UPDATE OF objects ON call_logs WHEN NEW.objects IS NOT NULL BEGIN
    INSERT INTO object_owners (id, call_id, key_name, provider, model)
      SELECT value, NEW.id, NEW.key_name, NEW.resolved_provider, NEW.resolved_model FROM json_each(NEW.objects) WHERE true
      ON CONFLICT (id) DO UPDATE SET call_id = excluded.call_id, key_name = excluded.key_name,
        provider = excluded.provider, model = excluded.model
        WHERE excluded.id LIKE 'files/%' AND excluded.call_id > object_owners.call_id;
    DELETE FROM object_owners WHERE n <= (SELECT max(n) FROM object_owners) - 250000;
  END;
  CREATE TRIGGER container_owned AFTER UPDATE OF container_id ON call_logs WHEN NEW.container_id IS NOT NULL BEGIN
    INSERT INTO object_owners (id, call_id, key_name, provider, model)
      VALUES (NEW.container_id, NEW.id, NEW.key_name, NEW.resolved_provider, NEW.resolved_model)
      ON CONFLICT (id) DO NOTHING;
    DELETE FROM object_owners WHERE n <= (SELECT max(n) FROM object_owners) - 250000;
  END;
  CREATE TRIGGER object_deleted AFTER UPDATE OF completed_at ON call_logs
    WHEN NEW.method = 'DELETE' AND NEW.object_id IS NOT NULL AND NEW.state = 'completed' BEGIN
    DELETE FROM object_owners
      WHERE id IN (NEW.object_id, 'files/' || NEW.object_id) AND provider = NEW.resolved_provider;
  END;
  `,

  // 26: the provider's sentence about a refusal.
  `
  ALTER TABLE call_attempts ADD COLUMN refusal TEXT;
  `,

  // 27: the number of calls whose cost is estimated, so that sums can say so.
  `
  ALTER TABLE usage_hours ADD COLUMN cost_estimated REAL NOT NULL DEFAULT 0;
  ALTER TABLE sessions ADD COLUMN cost_estimated REAL NOT NULL DEFAULT 0;
  `,

  // 28: the call from which a call was forked.
  `
  ALTER TABLE call_logs ADD COLUMN parent_id TEXT;
  CREATE INDEX call_logs_parents ON call_logs (id) WHERE parent_id IS NOT NULL;
  `,
]

/** The newest schema. */
export const SCHEMA_VERSION = STEPS.length

/**
 * Migrates a database to the newest schema in one transaction, and recomputes the sums from the rows. Throws
 * if a newer Waybill wrote it. Only tests and benchmarks stop at an earlier step.
 */
export function migrate(db: Database, until = STEPS.length): void {
  const version = db.pragma('user_version', { simple: true }) as number
  if (version > STEPS.length)
    throw new Error(
      `the database was written by a newer Waybill (schema ${version}, this one knows ${STEPS.length})`,
    )
  if (version >= until) return
  db.transaction(() => {
    for (const step of STEPS.slice(version, until)) db.exec(step)
    if (until === STEPS.length) rebuildRollUps(db)
    db.pragma(`user_version = ${until}`)
  })()
}
