import { findBundlePath } from '#bundle';
import { createSqlHandlers } from '#http/routes/sql.js';
import type { Exports } from '#services/runs/exports.js';
import { createSql } from '#services/sql/sql.js';
import type { Closable, Core } from './core.js';

/** Composes queries over runs and the served market. */
export function composeSql(core: Core, exports: Exports, resources: Closable[]) {
  const encoder =
    findBundlePath('result-writer') ?? new URL('../../../workers/sql/result-writer.js', import.meta.url).href;
  const sql = createSql({ ...core, exports, encoder, secondsMax: core.settings.sqlSeconds });
  resources.push(sql);
  return { handlers: createSqlHandlers(sql) };
}
