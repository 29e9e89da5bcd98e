/**
 * Examples of the OpenAPI document. All use the same data: the index LARGE-100 on a generated market, with a run, a
 * risk model and a report. The tests send each example to a service, in an order in which every request succeeds.
 */

/** Values of path and query parameters in the examples, by name. */
export const PARAMETER_EXAMPLES: Readonly<Record<string, unknown>> = {
  index_id: 'LARGE-100',
  identifier: 'BEDV',
  job_id: 'backtest:LARGE-100',
  constraint_set_id: 'core',
  run_id: '20241231T210000-5f2b9c1a',
  model_id: 'large',
  strategy_id: 'LARGE-100-LOW-TURNOVER',
  template_id: 'MONTHLY',
  render_id: '20241231T210500-0a4be7d3',
  store_id: 'two-names',
  watchlist_id: 'favourites',
  schedule_id: 'close',
  procedure_id: 'cessation',
  calendar_code: 'XLON',
  client_id: 'ACME',
  file_name: 'LARGE-100_20240621_closing.csv',
  approval_id: 1,
  action_id: '0123456789abcdef0123',
  plugin_id: 'near-high',
  sweep_id: 'caps',
  batch_id: 'clients',
  rerun_id: 'after-refresh',
  study_id: 'aversions',
  page: 'backtest',
  kind: 'index',
  document_id: 'LARGE-100',
  ids: ['LARGE-100', 'EQUAL-100'],
  identifiers: ['BEDV', 'BIDN'],
  expiries: ['2025-03-21', '2025-06-20'],
  front_expiry: '2025-03-21',
  back_expiry: '2025-06-20',
  as_of: '2024-06-28',
  date: '2024-06-21',
  asof: '2024-06-28',
  start: '2024-01-02',
  end: '2024-12-31',
  benchmark: 'EQUAL-100',
  table: 'levels',
};

/** Recorded responses by operation id, with long lists shortened: `data/answers.json`. */
export type ExampleResponses = Readonly<Record<string, unknown>>;
