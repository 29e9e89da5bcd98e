import { findBundlePath } from '#bundle';
import { sqlHandlers } from '#http/routes/sql.js';
import type { Exports } from '#services/runs/exports.js';
import { createSql } from '#services/sql/sql.js';
import type { Closable, Rooms } from './rooms.js';

/** Composes queries over runs and the served market. */
export function composeSql(rooms: Rooms, exports: Exports, open: Closable[]) {
  const encoder =
    findBundlePath('result-writer') ?? new URL('../../../workers/sql/result-writer.js', import.meta.url).href;
  const sql = createSql({ ...rooms, exports, encoder, secondsMax: rooms.settings.sqlSeconds });
  open.push(sql);
  return { handlers: sqlHandlers(sql) };
}
