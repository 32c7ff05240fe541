// Fills a data directory with the calls of a busy month through SQL only: a million rows take seconds. Writes
// the schema of the first release. Opening the directory migrates it and computes the sums.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { migrate } from '../../src/store/sqlite/migrations.ts'

const DAYS = 30

/**
 * Writes calls of three keys to five models of four providers, through three routes and directly. Sessions
 * have about twenty calls, 2 % of the calls fail, and one call in a thousand is for a unique model. The
 * newest call is a minute old.
 */
export function fillRecord(directory: string, calls: number): void {
  const db = new Database(join(directory, 'waybill.db'))
  db.pragma('journal_mode = OFF')
  db.pragma('synchronous = OFF')
  migrate(db, 1)
  db.exec(`
    INSERT INTO prices (id, snapshot) VALUES (1, '{"source":"config","model":"m","rates":{"input_mtok":1,"output_mtok":2}}');
    CREATE TEMP TABLE models (n INTEGER PRIMARY KEY, route, strategy, tier, provider, model);
    INSERT INTO models VALUES
      (0, 'auto', 'priority', 'balanced', 'openai', 'gpt-5-mini'),
      (1, 'auto', 'priority', 'balanced', 'openai', 'gpt-5-mini'),
      (2, 'auto', 'priority', 'balanced', 'openai', 'gpt-5-mini'),
      (3, 'auto', 'priority', 'cheap', 'groq', 'openai/gpt-oss-120b'),
      (4, 'auto/cheap', 'weighted', 'cheap', 'groq', 'openai/gpt-oss-120b'),
      (5, 'auto/cheap', 'weighted', 'cheap', 'deepseek', 'deepseek-chat'),
      (6, 'auto/best', 'priority', 'premium', 'openai', 'gpt-5'),
      (7, NULL, 'direct', NULL, 'openrouter', 'z-ai/glm-4.6'),
      (8, NULL, 'direct', NULL, 'openrouter', 'rare/model');`)
  const begin = Date.now() - DAYS * 86_400_000
  const step = (DAYS * 86_400_000 - 60_000) / calls
  db.prepare(`
    INSERT INTO call_logs
    WITH RECURSIVE numbers (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM numbers WHERE i < @calls - 1),
    chance AS MATERIALIZED (
      SELECT i, cast(@begin + i * @step AS INTEGER) AS at, abs(random() % 1000) AS r, abs(random() % 8) AS m,
        abs(random() % 1000) AS s, lower(hex(randomblob(9))) AS tail FROM numbers)
    SELECT substr(printf('%012x', at), 1, 8) || '-' || substr(printf('%012x', at), 9) || '-7' || substr(tail, 1, 3) ||
        '-8' || substr(tail, 4, 3) || '-' || substr(tail, 7, 12),
      at, at + 900 + s * 4, CASE WHEN r < 20 THEN 'failed' WHEN r < 30 THEN 'aborted' ELSE 'completed' END,
      '/v1/chat/completions', coalesce(route, provider || '/' || model), provider, model, provider, model,
      model || '-2026-01-01', route, strategy, tier, '{"cause":"' || strategy || '","skipped":[]}',
      CASE WHEN s < 700 THEN printf('0e5f%04d-7c1a-4a2b-9d3e-%012d', i / 200, s % 10) END,
      CASE WHEN s < 200 THEN printf('agent-%d', i / 50) END,
      CASE s % 3 WHEN 0 THEN 'laptop' WHEN 1 THEN 'server' ELSE 'ci' END,
      s % 2, CASE WHEN r < 20 THEN 502 WHEN r < 30 THEN 499 ELSE 200 END,
      CASE WHEN r < 20 THEN 'upstream_unreachable' WHEN r < 30 THEN 'client_closed' END,
      1 + (r BETWEEN 10 AND 60), (r BETWEEN 10 AND 60), 900 + s * 4 + r, 300 + s,
      CASE WHEN r >= 30 THEN 1000 + s * 9 END, CASE WHEN r >= 30 THEN 20 + s END, CASE WHEN r >= 30 THEN s * 5 END,
      NULL, CASE WHEN r >= 30 AND m = 6 THEN s END, CASE WHEN r >= 30 THEN 'reported' END,
      CASE WHEN r >= 30 AND m < 7 THEN (1000 + s * 9) * 1e-6 END, CASE WHEN r >= 30 AND m < 7 THEN 1 END,
      'BYPASS', NULL
    FROM chance JOIN models ON n = CASE WHEN i % 1000 = 500 THEN 8 ELSE m END`).run({ calls, begin, step })
  db.exec(`
    INSERT INTO call_attempts
    SELECT id, 1, picked_provider, picked_model, created_at, completed_at, status,
      CASE state WHEN 'completed' THEN 'answered' ELSE state END, error_code,
      tokens_input, tokens_output, tokens_cached_input, tokens_cache_write, tokens_reasoning, cost_usd FROM call_logs`)
  db.close()
}
